"""The Python client of Storeroom: orders, lines, customers and stock over its HTTP API.

    storeroom = Storeroom("http://127.0.0.1:8080/tenant/api/pims/v1", team_id="demo", api_id="…", api_secret="…")
    order = storeroom.orders.get("10248")

It sends, waits and repeats as docs/api-reference.md asks of a caller, with the standard library alone. A client may be
used by several threads: each has its own connection. Failures are raised as StoreroomError.
"""

from __future__ import annotations

import base64, gzip, hashlib, hmac, http.client, json, math, random, re, socket, ssl, threading, time, uuid, zlib
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterable, Iterator, List, Literal, Mapping, NamedTuple
from typing import Optional, Protocol, Sequence, Tuple, TypedDict, TypeVar, Union, overload
from urllib.parse import urlencode, urlsplit

__all__ = ["Storeroom", "StoreroomError", "Query", "Page", "Record", "Reference", "Try", "step", "OrderWithLines"]
__all__ += ["derive_fulfillment", "Fulfillment", "FulfillmentLine", "Order", "OrderLine", "Customer", "InventoryItem"]
__all__ += ["Change", "ChangePage", "Changes", "verify_webhook", "WebhookError"]
__all__ += ["NewOrder", "OrderChange", "NewOrderLine", "OrderLineChange", "NewCustomer", "CustomerChange", "Value"]
__version__ = "0.2.0"

TIMEOUT_SECONDS, LONG_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS = 10.0, 30.0, 120.0
TRIES = 5
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 30.0
SPREAD_SECONDS = 0.25  # Callers that were told the same time to wait do not come back together.
HELD_SECONDS = 25  # The longest that the service holds a call for a change.
TOLERANCE_SECONDS = 300.0
WEBHOOK_SECRET = re.compile("whsec_([A-Za-z0-9+/]{32,}=*)")  # 24 bytes at least.
LIMIT_SECONDS = 86_400.0  # A socket takes no time without an end.
IDLE_SECONDS = 60.0  # The service closes a connection after 72.
NUMBERS_MAX = 100
MOVES_MAX = 3  # A line can move again while its update is on its way.
STEPS_MAX, BATCH_BYTES_MAX = 100, 1024 * 1024
KEY_CHARACTERS_MAX = 255
PIECES_DIGITS = len(".10001")  # An order has at most 10,000 lines.

LONG = re.compile("query|find|batch")
# Codes that a wait helps with. Every 5xx and every call without an answer may be repeated too.
REPEATED = ("REQUEST_TIMEOUT", "RATE_LIMITED", "TOO_MANY_QUERIES", "TOO_MANY_WAITING", "IDEMPOTENCY_KEY_RUNNING")
REPEATED_STATUSES = (200, 408, 425, 429)  # A balancer or proxy may answer these in its own words.

Value = Union[str, int, float, Decimal, bool, date, datetime, None]
Number = Union[str, int, float, Decimal, None]
Day = Union[str, date, None]
Flag = Union[Literal["Y", "N", ""], bool, None]
Fields = Mapping[str, object]  # With custom fields, which the types below do not have.
Lookup = Dict[str, Any]

# Written by `npm run generate` from the contract. Change tools/python-types.ts, not this part.
OPERATIONS = {
    "getOrder": ("GET", "/orders/single"),
    "queryOrders": ("POST", "/orders/query"),
    "findOrdersByStorefrontReference": ("GET", "/orders/by_storefront_reference"),
    "findOrdersByStorefrontReferences": ("POST", "/orders/by_storefront_reference"),
    "createOrder": ("PUT", "/orders/create"),
    "addLineItem": ("PUT", "/orders/line_item"),
    "updateLineItem": ("POST", "/orders/line_item"),
    "updateOrder": ("POST", "/orders/update"),
    "cancelOrder": ("POST", "/orders/cancel"),
    "getCustomer": ("GET", "/customers/single"),
    "queryCustomers": ("POST", "/customers/query"),
    "createCustomer": ("PUT", "/customers/create"),
    "updateCustomer": ("POST", "/customers/update"),
    "getInventoryItem": ("GET", "/inventory/single"),
    "queryInventoryItems": ("POST", "/inventory/query"),
    "batch": ("POST", "/batch"),
    "listChanges": ("GET", "/changes"),
    "listFields": ("GET", "/fields"),
    "getUsage": ("GET", "/usage"),
}

OrderField = Literal[
    "ORDER_NUMBER", "ORDER_TYPE", "REFERENCE_NUMBER", "CUSTOMER_CODE", "LOCATION_CODE", "ORDER_DATE", "ORDER_STATUS",
    "SALESPERSON_CODE", "PO_NUMBER", "TERMS_CODE", "SHIP_VIA", "DROP_SHIP", "TRACKING_NUMBERS", "NOTES", "SUBTOTAL",
    "FREIGHT", "TAX_TOTAL", "ORDER_TOTAL", "BNAME", "BATTN", "BADDRESS1", "BADDRESS2", "BCITY", "BSTATE", "BZIPCODE",
    "BCOUNTRY", "BPHONE", "BEMAIL", "SNAME", "SATTN", "SADDRESS1", "SADDRESS2", "SCITY", "SSTATE", "SZIPCODE",
    "SCOUNTRY", "SPHONE", "SEMAIL", "CREATE_DATE", "MODIFIED_DATE",
]
OrderLineField = Literal[
    "ORDER_NUMBER", "LINE_NUMBER", "PART_CODE", "DESCRIPTION", "QUANTITY", "NUMBER_SHIPPED", "UNIT_PRICE", "DISCOUNT",
    "SERIAL_NUMBERS", "CARE_PLAN", "LINE_REF_LOCK_CODE", "CREATE_DATE", "MODIFIED_DATE",
]
CustomerField = Literal[
    "CUSTOMER_CODE", "CUSTOMER_NAME", "BNAME", "BATTN", "BADDRESS1", "BADDRESS2", "BCITY", "BSTATE", "BZIPCODE",
    "BCOUNTRY", "BPHONE", "BEMAIL", "SNAME", "SATTN", "SADDRESS1", "SADDRESS2", "SCITY", "SSTATE", "SZIPCODE",
    "SCOUNTRY", "SPHONE", "SEMAIL", "TERMS_CODE", "CREDIT_LIMIT", "NOTES", "CREATE_DATE", "MODIFIED_DATE",
]
InventoryItemField = Literal[
    "PART_CODE", "PART_DESCRIPTION", "BARCODE", "CATEGORY", "LOCATION_CODE", "QTY_ONHAND", "QTY_COMMITTED",
    "QTY_AVAILABLE", "QTY_ONORDER", "UNIT_PRICE", "UNIT_COST", "SERIALIZED", "CARE_PLAN", "CREATE_DATE",
    "MODIFIED_DATE",
]


class AddressValues(TypedDict, total=False):
    BNAME: Value
    BATTN: Value
    BADDRESS1: Value
    BADDRESS2: Value
    BCITY: Value
    BSTATE: Value
    BZIPCODE: Value
    BCOUNTRY: Value
    BPHONE: Value
    BEMAIL: Value
    SNAME: Value
    SATTN: Value
    SADDRESS1: Value
    SADDRESS2: Value
    SCITY: Value
    SSTATE: Value
    SZIPCODE: Value
    SCOUNTRY: Value
    SPHONE: Value
    SEMAIL: Value


class NewOrder(AddressValues, total=False):
    ORDER_TYPE: Literal["worksheet", "quote", "sales_order", "", None]
    REFERENCE_NUMBER: Value
    CUSTOMER_CODE: Value
    LOCATION_CODE: Value
    ORDER_DATE: Day
    ORDER_STATUS: Value
    SALESPERSON_CODE: Value
    PO_NUMBER: Value
    TERMS_CODE: Value
    SHIP_VIA: Value
    DROP_SHIP: Flag
    TRACKING_NUMBERS: Value
    NOTES: Value
    SUBTOTAL: Number
    FREIGHT: Number
    TAX_TOTAL: Number
    ORDER_TOTAL: Number


class OrderChange(AddressValues, total=False):
    ORDER_NUMBER: Value
    REFERENCE_NUMBER: Value
    CUSTOMER_CODE: Value
    LOCATION_CODE: Value
    ORDER_DATE: Day
    ORDER_STATUS: Value
    SALESPERSON_CODE: Value
    PO_NUMBER: Value
    TERMS_CODE: Value
    SHIP_VIA: Value
    DROP_SHIP: Flag
    TRACKING_NUMBERS: Value
    NOTES: Value
    SUBTOTAL: Number
    FREIGHT: Number
    TAX_TOTAL: Number
    ORDER_TOTAL: Number


class NewOrderLine(TypedDict, total=False):
    ORDER_NUMBER: Value
    PART_CODE: Value
    DESCRIPTION: Value
    QUANTITY: Number
    UNIT_PRICE: Number
    DISCOUNT: Number
    SERIAL_NUMBERS: Value
    CARE_PLAN: Flag


class OrderLineChange(NewOrderLine, total=False):
    NUMBER_SHIPPED: Number
    LINE_REF_LOCK_CODE: Value


class NewCustomer(AddressValues, total=False):
    CUSTOMER_CODE: Value
    CUSTOMER_NAME: Value
    TERMS_CODE: Value
    CREDIT_LIMIT: Number
    NOTES: Value


class CustomerChange(NewCustomer, total=False):
    pass


# The end of what `npm run generate` writes.

Name = TypeVar("Name", bound=str)

if TYPE_CHECKING:
    from typing_extensions import Unpack  # Type checkers have it; nothing of this runs.

    class AnyName(Protocol):
        """Any text, for the names of custom fields. Beside it, editors still offer the names of the others."""

        def isidentifier(self) -> bool: ...

    class CallOptions(TypedDict, total=False):
        timeout: Optional[float]
        total_timeout: Optional[float]
        tries: Optional[int]
        first_wait: Optional[float]
        on_try: Optional[Callable[[Try], object]]

    class ReadOptions(CallOptions, Generic[Name], total=False):
        fields: Optional[Sequence[Union[Name, AnyName]]]
        if_none_match: Optional[str]

    class QueryOptions(CallOptions, Generic[Name], total=False):
        sort: Optional[str]
        fields: Optional[Sequence[Union[Name, AnyName]]]
        page_size: Optional[int]

    class WriteOptions(CallOptions, total=False):
        idempotency_key: Optional[str]

    class ChangeOptions(WriteOptions, total=False):
        if_match: Optional[str]

    class Filter(TypedDict, Generic[Name], total=False):
        field: Union[Name, AnyName]
        op: Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "starts_with", "contains", "empty", "not_empty"]
        value: Union[Value, Sequence[Value]]
        contains: bool
        conjunction: Literal["AND", "OR"]

    Filters = Iterable[Union[Filter[Name], Mapping[str, Any]]]


class StoreroomError(Exception):
    """A call that was refused or not answered. Branch on `code`: the codes are those of docs/errors.md, and

    `NO_ANSWER`: there was no connection, the time was up or the connection ended. `status` is 0, and unless the message
    says that it could not connect, whether a write happened is unknown.
    `UNREADABLE_ANSWER`: not an answer of Storeroom. Check `base_url`, and the proxies in between.

    `remedy` says what to do, and `docs` is the path of the page about the code.
    """

    def __init__(self, operation: str, status: int, refusal: Mapping[str, Any], headers: Message):
        super().__init__(f"{refusal['code']}: {refusal.get('message', '')}")
        self.code: str = refusal["code"]
        self.status = status
        self.operation = operation
        self.field: Optional[str] = refusal.get("field")
        self.suggestion: Optional[str] = refusal.get("suggestion")
        self.step: Optional[int] = refusal.get("step")
        self.earliest: Optional[str] = refusal.get("earliest")  # Of CHANGES_GONE: the lowest position that is left.
        self.remedy: Optional[str] = refusal.get("remedy")
        self.docs: Optional[str] = refusal.get("docs")
        # Of BATCH_TOO_LONG: the most steps that the rate of the tenant allows at once, where it has one.
        self.steps_max: Optional[int] = _steps_of(headers) if self.code == "BATCH_TOO_LONG" else None
        self.order_number: Optional[str] = None  # Where `create_with_lines` has made the order, but not all its lines.
        self.request_id: Optional[str] = refusal.get("requestId", headers.get("X-Request-Id"))
        self.retry_after: Optional[int] = _seconds_of(headers.get("Retry-After"))
        self.etag: Optional[str] = headers.get("ETag")
        unreadable = self.code == "UNREADABLE_ANSWER" and status in REPEATED_STATUSES
        self.repeatable = status == 0 or status >= 500 or self.code in REPEATED or unreadable


class Record(Dict[str, str], Generic[Name]):
    """The fields of a record. It has an `etag` when it was read by its key, and `lines` when it is an order with them."""

    etag: str = ""
    lines: List[Record[OrderLineField]]

    def __init__(self, fields: Mapping[str, str], etag: str = "", lines: Sequence[Record[OrderLineField]] = ()):
        super().__init__(fields)
        self.etag = etag
        self.lines = list(lines)

    if TYPE_CHECKING:

        def __getitem__(self, name: Union[Name, AnyName]) -> str: ...


Order = Record[OrderField]
OrderLine = Record[OrderLineField]
Customer = Record[CustomerField]
InventoryItem = Record[InventoryItemField]


class OrderWithLines(NamedTuple):
    """What `create_with_lines` has made."""

    order_number: str
    lines: List[OrderLine]


@dataclass(frozen=True)
class Try:
    """What came of a try, for logs and figures. It holds no secret."""

    operation: str
    number: int
    status: int
    code: Optional[str]
    request_id: Optional[str]
    month_requests: Optional[int]
    replayed: bool
    seconds: float
    wait_seconds: Optional[float]


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Message
    body: Any


class _Caller:
    """One call from its first try to its answer. Knows no record."""

    def __init__(self, base_url: str, team_id: str, api_id: str, api_secret: str, options: Mapping[str, Any]):
        given = {"base_url": base_url, "team_id": team_id, "api_id": api_id, "api_secret": api_secret}
        for name, value in given.items():
            if not isinstance(value, str) or not re.fullmatch("[!-~]+", value):
                raise TypeError(f"Storeroom needs the argument {name}.")
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.username is not None or url.query:
            raise ValueError("base_url must be http or https, without credentials and query.")
        self._url = url
        self._team_id = team_id
        self._options = dict(options)
        self._own = threading.local()
        pair = base64.b64encode(f"{api_id}:{api_secret}".encode()).decode()
        # In a closure, so that no list of the client's attributes shows it.
        self._authorize: Callable[[], Dict[str, str]] = lambda: {"Authorization": "Basic " + pair}

    def call(
        self,
        operation: str,
        query: Optional[Mapping[str, Optional[str]]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, Optional[str]]] = None,
        options: Optional[Mapping[str, Any]] = None,
        held: float = 0,
    ) -> _Answer:
        """`held` is how long the service may hold the call before it answers: a try may take that much longer."""
        chosen = {**self._options, **(options or {})}
        unknown = set(chosen) - {"timeout", "total_timeout", "tries", "first_wait", "on_try"}
        if unknown:
            raise TypeError(f"Storeroom has no option {', '.join(sorted(unknown))}.")
        timeout = chosen.get("timeout") or (LONG_TIMEOUT_SECONDS if LONG.match(operation) else TIMEOUT_SECONDS)
        timeout += held
        ends_at = time.monotonic() + (chosen.get("total_timeout") or TOTAL_TIMEOUT_SECONDS)
        tries, on_try = chosen.get("tries") or TRIES, chosen.get("on_try")
        number = 0
        while True:
            number += 1
            begun_at = time.monotonic()
            limit = max(min(timeout, ends_at - begun_at, LIMIT_SECONDS), 0.001)
            outcome = self._try(operation, query or {}, body, headers or {}, limit)
            error = outcome if isinstance(outcome, StoreroomError) else None
            wait = None if error is None else self._choose_wait(error, number, chosen)
            now = time.monotonic()
            if number >= tries or (wait is not None and now + wait >= ends_at):
                wait = None
            if on_try is not None:
                on_try(_describe(operation, number, outcome, now - begun_at, wait))
            if isinstance(outcome, _Answer):
                return outcome
            if wait is None:
                raise outcome
            time.sleep(wait)

    def _choose_wait(self, error: StoreroomError, number: int, chosen: Mapping[str, Any]) -> Optional[float]:
        if not error.repeatable:
            return None
        if error.code == "REQUEST_TIMEOUT":
            return 0.0
        if error.retry_after:
            return error.retry_after + random.random() * SPREAD_SECONDS
        first: float = chosen.get("first_wait") or FIRST_WAIT_SECONDS
        doubled = first * 2.0 ** min(number - 1, 60)  # A feed is followed through thousands of tries.
        return float(min(doubled, LONGEST_WAIT_SECONDS)) * (0.5 + random.random() / 2)

    def _try(
        self,
        operation: str,
        query: Mapping[str, Optional[str]],
        body: Any,
        headers: Mapping[str, Optional[str]],
        limit: float,
    ) -> Union[_Answer, StoreroomError]:
        method, path = OPERATIONS[operation]
        sent = {name: value for name, value in query.items() if value is not None}
        target = f"{self._url.path.rstrip('/')}{path}?{urlencode({'teamID': self._team_id, **sent})}"
        all_headers = {**self._authorize(), "Accept-Encoding": "gzip"}
        all_headers.update((name, value) for name, value in headers.items() if value is not None)
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        connection = None
        ends_at = time.monotonic() + limit
        try:
            connection = self._connect(limit)
            status, answered, text = self._exchange(connection, method, target, payload, all_headers, ends_at)
        except (OSError, http.client.HTTPException, EOFError, zlib.error) as cause:
            self.close()
            return _fail(operation, self._address(), cause, limit, connection is not None)
        except BaseException:
            self.close()  # An answer may still come on this connection.
            raise
        return _read(operation, self._address(), status, answered, text)

    def _address(self) -> str:
        host, port = self._url.hostname or "", self._url.port or (443 if self._url.scheme == "https" else 80)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        payload: Optional[bytes],
        headers: Mapping[str, str],
        ends_at: float,
    ) -> Tuple[int, Message, bytes]:
        connection.request(method, target, payload, dict(headers))
        response = connection.getresponse()
        parts: List[bytes] = []
        while True:
            left = ends_at - time.monotonic()
            if left <= 0:
                raise TimeoutError("The answer took too long.")
            if connection.sock is not None:
                connection.sock.settimeout(left)
            part = response.read1(65536)
            if not part:
                break
            parts.append(part)
        if response.length:  # Fewer bytes came than were announced.
            raise http.client.IncompleteRead(b"", response.length)
        response.close()  # The connection stays open for the next call.
        self._own.used_at = time.monotonic()
        text = b"".join(parts)
        is_packed = response.headers.get("Content-Encoding") == "gzip"
        return response.status, response.headers, gzip.decompress(text) if is_packed else text

    def _connect(self, limit: float) -> http.client.HTTPConnection:
        kept: Optional[http.client.HTTPConnection] = getattr(self._own, "connection", None)
        if kept is not None and kept.sock is not None and time.monotonic() - self._own.used_at < IDLE_SECONDS:
            kept.timeout = limit
            kept.sock.settimeout(limit)
            return kept
        self.close()
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=limit, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=limit)
        connection.connect()
        self._own.connection, self._own.used_at = connection, time.monotonic()
        return connection

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None


def _fail(operation: str, address: str, cause: Exception, limit: float, connected: bool) -> StoreroomError:
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if not connected:
        what, remedy = f"could not connect to {address} ({reason})", "Check base_url, and that the service runs there."
    else:
        is_late = isinstance(cause, (TimeoutError, socket.timeout))
        ended = f"the connection to {address} ended before the answer was complete ({reason})"
        what = f"{address} did not answer within {math.ceil(limit)} s" if is_late else ended
        remedy = "Whether a write happened is unknown. Send it again with the same idempotency_key."
    refusal = {"code": "NO_ANSWER", "message": f"{operation} failed: {what}.", "remedy": remedy}
    error = StoreroomError(operation, 0, refusal, Message())
    error.__cause__ = cause
    return error


def _read(
    operation: str, address: str, status: int, headers: Message, text: bytes
) -> Union[_Answer, StoreroomError]:
    if status == 304:
        return _Answer(status, headers, None)
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if 200 <= status < 300 and isinstance(body, (dict, list)):
        return _Answer(status, headers, body)
    if status < 300 or not isinstance(body, dict) or not isinstance(body.get("code"), str):
        message = f"{operation} failed: {address} sent an answer with status {status} that is not Storeroom's."
        remedy = "Check base_url, and the proxies between this program and the service."
        body = {"code": "UNREADABLE_ANSWER", "message": message, "remedy": remedy}
    return StoreroomError(operation, status, body, headers)


def _describe(
    operation: str, number: int, outcome: Union[_Answer, StoreroomError], seconds: float, wait: Optional[float]
) -> Try:
    if isinstance(outcome, StoreroomError):
        return Try(operation, number, outcome.status, outcome.code, outcome.request_id, None, False, seconds, wait)
    get = outcome.headers.get
    month, replayed = get("X-Month-Requests"), get("Idempotent-Replayed") == "true"
    count = None if month is None else int(month)
    return Try(operation, number, outcome.status, None, get("X-Request-Id"), count, replayed, seconds, wait)


def _seconds_of(header: Optional[str]) -> Optional[int]:
    """Seconds of a Retry-After, which a proxy may write as a date."""
    try:
        return None if header is None else max(math.ceil(float(header)), 0)
    except (ValueError, OverflowError):
        pass
    try:
        return max(math.ceil(parsedate_to_datetime(header or "").timestamp() - time.time()), 0)
    except (TypeError, ValueError, OverflowError):
        return None


def _steps_of(headers: Message) -> Optional[int]:
    """The most calls that the rate of a tenant allows at once: the `q` of the item "rate"."""
    found = re.search(r'"rate"[^,]*;\s*q=(\d+)', ", ".join(headers.get_all("RateLimit-Policy", [])))
    return max(int(found[1]), 1) if found else None


@dataclass(frozen=True)
class Page(Generic[Name]):
    """A page of a query: `cursor` is where the next one begins, None on the last; `total` is there when asked for."""

    records: List[Record[Name]]
    cursor: Optional[str]
    total: Optional[int]


class Query(Generic[Name]):
    """A query: its records one by one, or page by page. Each page is a call, made when it is needed."""

    def __init__(self, load: Callable[[Optional[str], Optional[int], bool], Page[Name]]):
        self._load = load

    def __iter__(self) -> Iterator[Record[Name]]:
        for page in self.pages():
            yield from page.records

    def pages(self, cursor: Optional[str] = None) -> Iterator[Page[Name]]:
        """All pages, from the first or from a cursor on, which may have been kept."""
        page = self.page(cursor)
        while page.cursor is not None:
            yield page
            page = self.page(page.cursor)
        yield page

    def page(self, cursor: Optional[str] = None) -> Page[Name]:
        """One page: the first, or the one that begins at the cursor."""
        return self._load(cursor, None, False)

    def first(self) -> Optional[Record[Name]]:
        """The first record, or None."""
        return next(iter(self._load(None, 1, False).records), None)

    def to_list(self, limit: int) -> List[Record[Name]]:
        """So many records at most."""
        found: List[Record[Name]] = []
        if limit > 0:
            for record in self:
                found.append(record)
                if len(found) >= limit:
                    break
        return found

    def count(self) -> int:
        """How many records match. It costs a call."""
        return self._load(None, 1, True).total or 0


def _plain(name: str, value: Any) -> Any:
    """A value as JSON has it. Raises ValueError or TypeError for one that no field can have."""
    if isinstance(value, (float, Decimal)):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise ValueError(f"{name} must be a finite number, not {value}. Send a number, or None if there is none.")
        return f"{value:f}" if isinstance(value, Decimal) else value
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            message = f"{name} is the datetime {value.isoformat()}, which has no time zone. Send one with a time zone,"
            raise ValueError(f"{message} such as datetime.now(timezone.utc), or a date.")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, (str, int)):
        return value
    message = f"{name} cannot be {repr(value)[:80]}, which is of type {type(value).__name__}."
    raise TypeError(f"{message} Send a str, int, float, Decimal, bool, date, datetime or None.")


def _plain_filter(one: Mapping[str, Any]) -> Dict[str, Any]:
    name, value = str(one.get("field")), one.get("value")
    if isinstance(value, (list, tuple)):
        return {**one, "value": [_plain(name, each) for each in value]}
    return {**one, "value": _plain(name, value)} if "value" in one else dict(one)


def _write(caller: _Caller, operation: str, fields: Any, options: Any) -> Any:
    return _send(caller, operation, {name: _plain(name, value) for name, value in fields.items()}, dict(options))


def _send(caller: _Caller, operation: str, body: Any, options: Dict[str, Any]) -> Any:
    """A write has one Idempotency-Key for all its tries."""
    headers = {"Idempotency-Key": options.pop("idempotency_key", None) or str(uuid.uuid4())}
    headers["If-Match"] = options.pop("if_match", None)
    return caller.call(operation, None, body, headers, options).body["data"]


def _get(caller: _Caller, operation: str, key: Dict[str, str], options: Any) -> Any:
    fields, tag = options.pop("fields", None), options.pop("if_none_match", None)
    query = {**key, "fields": None if fields is None else ",".join(fields)}
    answer = caller.call(operation, query, None, {"If-None-Match": tag}, options)
    if answer.status == 304:
        return None
    lines: List[OrderLine] = [Record(entry["ORDER_LINEITEMS"]) for entry in answer.body["subRecords"] or []]
    return Record(answer.body["data"], answer.headers.get("ETag", ""), lines)


def _find(caller: _Caller, operation: str, key: Dict[str, str], options: Any) -> Any:
    try:
        return _get(caller, operation, key, options)
    except StoreroomError as error:
        if error.code != "NOT_FOUND":
            raise
        return None


def _query(caller: _Caller, operation: str, filters: Iterable[Any], include: Optional[str], options: Any) -> Query[Any]:
    sort, fields, page_size = (options.pop(name, None) for name in ("sort", "fields", "page_size"))
    body = [_plain_filter(one) for one in filters]
    if include == "lines" and fields is not None and "ORDER_NUMBER" not in fields:
        fields = ["ORDER_NUMBER", *fields]  # Lines say which order they are of by its number.
    query = {"sort": sort, "fields": None if fields is None else ",".join(fields), "include": include}

    def load(cursor: Optional[str], size: Optional[int], counted: bool) -> Page[Any]:
        most = size or page_size
        own = {"cursor": cursor, "maxReturn": most and str(most), "count": "exact" if counted else None}
        answer = caller.call(operation, {**query, **own}, body, None, options)
        records: List[Record[Any]] = [Record(one) for one in answer.body["data"]]
        by_number = {record.get("ORDER_NUMBER"): record for record in records}
        for entry in answer.body["subRecords"] or []:
            line: OrderLine = Record(entry["ORDER_LINEITEMS"])
            by_number[line["ORDER_NUMBER"]].lines.append(line)
        total = answer.headers.get("X-Total-Count")
        return Page(records, answer.headers.get("X-Next-Cursor"), None if total is None else int(total))

    return Query(load)


@dataclass(frozen=True)
class Change:
    """A committed change of a record. Read the record for its values, or ask for them with `include="records"`."""

    seq: str  # The number of the change. Send it as `after` to continue with the next one.
    type: Literal["orders", "customers", "inventory"]  # The change of a line is one of its order.
    key: str  # The ORDER_NUMBER, CUSTOMER_CODE or PART_CODE.
    change: Literal["created", "updated"]
    at: str  # ISO 8601.
    operation: str
    record: Optional[Record[Any]] = None  # With `include`: the record at the time of the call, an order without lines.


@dataclass(frozen=True)
class ChangePage:
    """A page of the change feed. `next` is the `after` of the next page; it can be higher than the last `seq`."""

    changes: List[Change]
    next: str
    has_more: bool


class Changes:
    """Every change after a position, in order, and then those to come. It ends only with an error."""

    def __init__(self, load: Callable[[Union[str, int, None]], ChangePage], after: Union[str, int, None]):
        self._load, self._after = load, after

    def __iter__(self) -> Iterator[Change]:
        for page in self.pages():
            yield from page.changes

    def pages(self) -> Iterator[ChangePage]:
        """Whole pages, whose `next` is the position to keep.

        A page without changes comes at least every 25 seconds, so that the position stays new where changes are rare.
        """
        after = self._after
        while True:
            page = self._load(after)
            after = page.next
            yield page


def _list_changes(
    caller: _Caller,
    after: Union[str, int, None],
    types: Optional[Sequence[str]],
    include: Optional[str],
    page_size: Optional[int],
    wait: float,
    options: Mapping[str, Any],
) -> ChangePage:
    query = {
        "after": None if after is None else str(after),
        "types": None if types is None else ",".join(types),
        "include": include,
        "maxReturn": page_size and str(page_size),
        "wait": str(wait) if wait else None,
    }
    answer = caller.call("listChanges", query, options=options, held=wait)
    following = answer.headers.get("X-Next-After")
    if following is None:
        message = "The answer of listChanges has no X-Next-After. Check the proxies in front of the service."
        refusal = {"code": "UNREADABLE_ANSWER", "message": message}
        raise StoreroomError("listChanges", answer.status, refusal, answer.headers)
    changes = [_change_of(one) for one in answer.body["data"]]
    return ChangePage(changes, following, answer.headers.get("X-Has-More") == "true")


def _change_of(one: Mapping[str, Any]) -> Change:
    record = one.get("record")
    kept = None if record is None else Record(record)
    return Change(one["seq"], one["type"], one["key"], one["change"], one["at"], one["operation"], kept)


class Orders:
    def __init__(self, caller: _Caller):
        self._caller = caller

    def create(self, fields: Union[NewOrder, Fields], **options: Unpack[WriteOptions]) -> str:
        """Makes an order and gives its ORDER_NUMBER. `create_with_lines` makes one with its lines."""
        return str(_write(self._caller, "createOrder", fields, options))

    def create_with_lines(
        self,
        order: Union[NewOrder, Fields],
        lines: Iterable[Union[NewOrderLine, Fields]],
        **options: Unpack[WriteOptions],
    ) -> OrderWithLines:
        """Makes an order and its lines, in one batch where they fit one: all of it, or nothing.

        A batch has at most 100 steps and 1 MiB, and no more steps than the tenant's rate allows at once. What is more is
        sent in pieces. When a piece fails, those before it stay: the error has the `order_number`, and the same call with
        the same `idempotency_key` continues where this one stopped.
        """
        chosen: Dict[str, Any] = dict(options)
        key = chosen.pop("idempotency_key", None) or str(uuid.uuid4())
        if len(key) > KEY_CHARACTERS_MAX - PIECES_DIGITS:
            most = KEY_CHARACTERS_MAX - PIECES_DIGITS
            raise ValueError(f"idempotency_key has {len(key)} characters. Send at most {most}: pieces add to it.")
        steps = [_step_of("createOrder", order), *(_step_of("addLineItem", one) for one in lines)]
        return self._create_in_pieces(steps, key, chosen)

    def _create_in_pieces(self, steps: List[Dict[str, Any]], key: str, options: Dict[str, Any]) -> OrderWithLines:
        number: Optional[str] = None
        answers: List[Any] = []
        most, piece_number = STEPS_MAX, 1
        while len(answers) < len(steps):
            piece = steps[len(answers) : len(answers) + most]
            for one in piece:
                if one["operation"] == "addLineItem":
                    one["body"]["ORDER_NUMBER"] = number or "$0.data"
            piece = piece[: _count_fitting(piece)]
            own_key = key if piece_number == 1 else f"{key}.{piece_number}"
            try:
                answers += _send(self._caller, "batch", piece, {**options, "idempotency_key": own_key})
            except StoreroomError as error:
                # A batch that is refused as too long has done nothing, and its key is still free.
                if error.steps_max is not None and error.steps_max < len(piece):
                    most = error.steps_max
                    continue
                error.order_number = number
                if error.step is not None:
                    error.step += len(answers)
                raise
            number = number or str(answers[0]["data"])
            piece_number += 1
        return OrderWithLines(number or "", [Record(one["data"]) for one in answers[1:]])

    def get(self, order_number: str, **options: Unpack[ReadOptions[OrderField]]) -> Order:
        """An order and its lines. Raises `NOT_FOUND`. With `if_none_match` it is None while nothing has changed."""
        return _get(self._caller, "getOrder", {"orderNum": order_number}, options)  # type: ignore[no-any-return]

    def find(self, order_number: str, **options: Unpack[ReadOptions[OrderField]]) -> Optional[Order]:
        """As `get`, but None where there is no such order."""
        return _find(self._caller, "getOrder", {"orderNum": order_number}, options)  # type: ignore[no-any-return]

    def query(
        self,
        filters: Filters[OrderField] = (),
        include: Optional[Literal["lines"]] = None,
        **options: Unpack[QueryOptions[OrderField]],
    ) -> Query[OrderField]:
        """The orders that pass the filters; all of them without any. `include="lines"` brings the lines of each."""
        return _query(self._caller, "queryOrders", filters, include, options)

    def update(self, fields: Union[OrderChange, Fields], **options: Unpack[ChangeOptions]) -> Order:
        """Changes the fields that are given and gives the order. None and "" clear a field."""
        return Record(_write(self._caller, "updateOrder", fields, options))

    def cancel(self, order_number: str, **options: Unpack[ChangeOptions]) -> Order:
        """Releases the stock of the order. Cancelling a cancelled order succeeds; an invoice raises `ORDER_CLOSED`."""
        return Record(_write(self._caller, "cancelOrder", {"ORDER_NUMBER": order_number}, options))

    @overload
    def by_storefront_reference(  # type: ignore[overload-overlap]
        self, numbers: str, **options: Unpack[CallOptions]
    ) -> Lookup: ...
    @overload
    def by_storefront_reference(self, numbers: Sequence[str], **options: Unpack[CallOptions]) -> List[Lookup]: ...
    def by_storefront_reference(self, numbers: Union[str, Sequence[str]], **options: Unpack[CallOptions]) -> Any:
        """Every order with a storefront number. A list is answered in its order, by a call for each 100 numbers."""
        if not isinstance(numbers, str):
            return self._look_up(list(numbers), options)
        query = {"storefront_order_number": numbers}
        return self._caller.call("findOrdersByStorefrontReference", query, options=options).body

    def _look_up(self, numbers: List[str], options: Mapping[str, Any]) -> List[Lookup]:
        """In halves where one answer does not hold them all."""
        if not numbers:
            return []
        size = NUMBERS_MAX
        if len(numbers) <= NUMBERS_MAX:
            try:
                answer = self._caller.call("findOrdersByStorefrontReferences", None, numbers, None, options)
                return list(answer.body)
            except StoreroomError as error:
                if error.code != "RESULT_TOO_LARGE" or len(numbers) == 1:
                    raise
                size = (len(numbers) + 1) // 2
        return self._look_up(numbers[:size], options) + self._look_up(numbers[size:], options)


class Lines:
    def __init__(self, caller: _Caller):
        self._caller = caller

    def add(self, fields: Union[NewOrderLine, Fields], **options: Unpack[ChangeOptions]) -> OrderLine:
        """Adds a line to an order and gives it, with its LINE_REF_LOCK_CODE. `if_match` takes the tag of the order."""
        return Record(_write(self._caller, "addLineItem", fields, options))

    def update(self, fields: Union[OrderLineChange, Fields], **options: Unpack[ChangeOptions]) -> OrderLine:
        """Changes the fields of a line that are given and gives the line. A QUANTITY of 0 takes it out of the order.

        Where a partial invoice has moved it to another order, it is changed there, unless `if_match` says which order
        is meant.
        """
        options.setdefault("idempotency_key", str(uuid.uuid4()))
        sent, moves = {**fields}, 0
        while True:
            try:
                return Record(_write(self._caller, "updateLineItem", sent, options))
            except StoreroomError as error:
                is_moved = error.code == "LINE_MOVED" and error.suggestion is not None
                if not is_moved or options.get("if_match") is not None or moves == MOVES_MAX:
                    raise
                sent["ORDER_NUMBER"] = error.suggestion
                moves += 1


class _Readable(Generic[Name]):
    """Records that are read by a code and by queries."""

    _get, _list, _key = "", "", ""

    def __init__(self, caller: _Caller):
        self._caller = caller

    def get(self, code: str, **options: Unpack[ReadOptions[Name]]) -> Record[Name]:
        """The record with the code. Raises `NOT_FOUND`. With `if_none_match` it is None while nothing has changed."""
        return _get(self._caller, self._get, {self._key: code}, options)  # type: ignore[no-any-return]

    def find(self, code: str, **options: Unpack[ReadOptions[Name]]) -> Optional[Record[Name]]:
        """As `get`, but None where there is no such record."""
        return _find(self._caller, self._get, {self._key: code}, options)  # type: ignore[no-any-return]

    def query(self, filters: Filters[Name] = (), **options: Unpack[QueryOptions[Name]]) -> Query[Name]:
        """The records that pass the filters; all of them without any."""
        return _query(self._caller, self._list, filters, None, options)


class Inventory(_Readable[InventoryItemField]):
    _get, _list, _key = "getInventoryItem", "queryInventoryItems", "partCode"


class Customers(_Readable[CustomerField]):
    _get, _list, _key = "getCustomer", "queryCustomers", "customerCode"

    def create(self, fields: Union[NewCustomer, Fields], **options: Unpack[WriteOptions]) -> str:
        """Makes a customer and gives its CUSTOMER_CODE: yours if it is free (else `CODE_TAKEN`), or the next number."""
        return str(_write(self._caller, "createCustomer", fields, options))

    def update(self, fields: Union[CustomerChange, Fields], **options: Unpack[ChangeOptions]) -> str:
        """Changes the fields that are given and gives the CUSTOMER_CODE. None and "" clear a field."""
        return str(_write(self._caller, "updateCustomer", fields, options))


@dataclass(frozen=True)
class Reference:
    """Stands for a text that an earlier step answers: its data, or a field of it: `step(1).data["PART_CODE"]`."""

    at: int
    name: str = ""

    def __getitem__(self, name: str) -> "Reference":
        return Reference(self.at, name)


@dataclass(frozen=True)
class _Step:
    data: Reference


def step(at: int) -> _Step:
    """What a step of a batch, counted from 0, will have answered: `step(0).data`."""
    return _Step(Reference(at))


def _render(name: str, value: Any) -> Any:
    """References in the words of the API, and texts that only look like one marked."""
    if isinstance(value, Reference):
        return f"${value.at}.data" + (f".{value.name}" if value.name else "")
    plain = _plain(name, value)
    return "$" + plain if isinstance(plain, str) and plain.startswith("$") else plain


def _step_of(operation: str, fields: Any) -> Dict[str, Any]:
    return {"operation": operation, "body": {name: _render(name, value) for name, value in fields.items()}}


def _count_fitting(steps: Sequence[Any]) -> int:
    """How many of the steps fit the body of a batch: one at least."""
    size = 0
    for at, one in enumerate(steps):
        size += len(json.dumps(one)) + len(", ")
        if at > 0 and size > BATCH_BYTES_MAX:
            return at
    return len(steps)


class Storeroom:
    """A tenant's orders, customers and inventory.

    Every call takes these options by name, and they can be given here for all: `timeout` for a try (10 seconds; 30 for
    queries, lookups and batches), `total_timeout` for all tries and waits (120), `tries` (5), `first_wait` (1 second,
    doubled up to 30), `on_try`, which is told of every try. Reads take `fields` and `if_none_match`, queries `sort`,
    `fields` and `page_size`, writes `idempotency_key`, changes `if_match`.
    """

    def __init__(self, base_url: str, team_id: str, api_id: str, api_secret: str, **options: Unpack[CallOptions]):
        self._caller = _Caller(base_url, team_id, api_id, api_secret, options)
        self.orders = Orders(self._caller)
        self.lines = Lines(self._caller)
        self.customers = Customers(self._caller)
        self.inventory = Inventory(self._caller)

    def fields(
        self, record_type: Literal["orders", "lines", "customers", "inventory"], **options: Unpack[CallOptions]
    ) -> List[Dict[str, Any]]:
        """The fields of `orders`, `lines`, `customers` or `inventory`, custom ones included."""
        return list(self._caller.call("listFields", {"type": record_type}, options=options).body["data"])

    def usage(self, month: Optional[str] = None, **options: Unpack[CallOptions]) -> Dict[str, Any]:
        """The calls of a month (UTC), `2026-11`; of this month by default."""
        return dict(self._caller.call("getUsage", {"month": month}, options=options).body["data"])

    def changes(
        self,
        after: Union[str, int, None] = None,
        types: Optional[Sequence[Literal["orders", "customers", "inventory"]]] = None,
        include: Optional[Literal["records"]] = None,
        page_size: Optional[int] = None,
        **options: Unpack[CallOptions],
    ) -> Changes:
        """Follows the change feed: every change after a position (a `seq`, the `next` of a page, 0), in order.

        It then waits for the next ones, and continues by itself after lost connections, 429 and 5xx. Without `after` it
        begins now. It raises `CHANGES_GONE` if some of the changes are already deleted.
        """
        chosen = {"tries": math.inf, "total_timeout": math.inf, **options}

        def load(position: Union[str, int, None]) -> ChangePage:
            wait = 0 if position is None else HELD_SECONDS
            return _list_changes(self._caller, position, types, include, page_size, wait, chosen)

        return Changes(load, after)

    def list_changes(
        self,
        after: Union[str, int, None] = None,
        types: Optional[Sequence[Literal["orders", "customers", "inventory"]]] = None,
        include: Optional[Literal["records"]] = None,
        page_size: Optional[int] = None,
        wait: int = 0,
        **options: Unpack[CallOptions],
    ) -> ChangePage:
        """A page of the change feed. Without `after` it is empty, and its `next` is the position of now.

        `wait`: the most seconds, up to 25, to wait for a change if there is none.
        """
        return _list_changes(self._caller, after, types, include, page_size, wait, options)

    def batch(self, steps: Iterable[Mapping[str, Any]], **options: Unpack[WriteOptions]) -> List[Any]:
        """Does 1 to 100 writes, or none of them, and gives the data of each.

        A step is `{"operation": …, "body": {…}}`; a value may be what an earlier step answers: `step(0).data`. An error
        has the number of the refused step as `step`.
        """
        sent = [{**one, **_step_of(one["operation"], one["body"])} for one in steps]
        answers = [one["data"] for one in _send(self._caller, "batch", sent, dict(options))]
        return [Record(data) if isinstance(data, dict) else data for data in answers]

    def close(self) -> None:
        """Closes the connection of this thread."""
        self._caller.close()

    def __enter__(self) -> "Storeroom":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WebhookError(ValueError):
    """A webhook that is not from Storeroom, or too old. Answer it with 400 and do nothing else."""


def verify_webhook(
    secret: Union[str, Sequence[str]],
    headers: Union[Mapping[str, str], Message],
    body: Union[bytes, str],
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> Dict[str, Any]:
    """The event, if a signature matches one of the secrets and its time is near. Otherwise raises WebhookError.

    The form is that of the Standard Webhooks specification (https://www.standardwebhooks.com). `body` is what was
    received, unchanged. While a secret is replaced, either of the two is enough. The event says that a record changed;
    the change feed has the change.
    """
    if not isinstance(body, (bytes, str)):
        raise TypeError("verify_webhook needs the raw body of the request, not the value that was parsed from it.")
    found = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if name not in found:
            raise WebhookError(f"The header {name} is missing.")
    timestamp = found["webhook-timestamp"]
    raw = body.encode() if isinstance(body, str) else body
    signed = f"{found['webhook-id']}.{timestamp}.".encode() + raw
    signatures = found["webhook-signature"].encode().split(b" ")
    expected = [_sign(one, signed) for one in (secret if isinstance(secret, (list, tuple)) else [secret])]
    # Every pair is compared, in a time that does not depend on where they differ.
    if not sum(hmac.compare_digest(own, signature) for own in expected for signature in signatures):
        raise WebhookError("No signature of the webhook matches the secret.")
    is_number = re.fullmatch("[0-9]{1,15}", timestamp) is not None
    if not is_number or abs(math.floor(time.time()) - int(timestamp)) > tolerance_seconds:
        seconds = f"more than {tolerance_seconds:g} seconds from the time of this machine"
        raise WebhookError(f"webhook-timestamp is {timestamp}, {seconds}.")
    return dict(json.loads(raw))


def _sign(secret: str, signed: bytes) -> bytes:
    """The signature, such as `v1,K5oZ…`."""
    encoded = WEBHOOK_SECRET.fullmatch(secret) if isinstance(secret, str) else None
    if encoded is None:
        raise TypeError("The secret of a webhook must begin with whsec_ and be complete, such as Storeroom showed it.")
    key = base64.b64decode(encoded[1])
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


@dataclass
class FulfillmentLine:
    """A part of the order, added up over the records that have it."""

    part_number: str
    description: str
    is_care_plan: bool
    parent: Optional[str]  # Of a care plan: the part_number of the product it covers, if that can be told.
    ordered: float = 0
    shipped: float = 0
    open: float = 0  # Units that are still to come.
    returned: float = 0  # Units of lines with a negative quantity; they count nowhere else.
    serial_numbers: Tuple[str, ...] = ()  # Of the units shipped. A care plan has those of its parent.


@dataclass(frozen=True)
class Fulfillment:
    """What became of a storefront order.

    `state`: `unknown` (there is no record), `draft` (worksheets and quotes, nothing is ordered yet), `open` (nothing was
    shipped), `partly_shipped`, `shipped`, `cancelled` (all that was ordered is).
    """

    state: str
    ordered: float
    shipped: float
    open: float
    tracking_numbers: Tuple[str, ...]
    lines: Tuple[FulfillmentLine, ...]


def derive_fulfillment(lookup: Mapping[str, Any]) -> Fulfillment:
    """Adds up invoices and sales orders: a partial invoice makes two records of one order. Calls nothing.

    What is cancelled is left out. Lines with the same part are one line, and so are lines without a part that have the
    same description. The parent of a care plan is the product before it in its record; where a partial invoice has
    parted the two, the one it has in another record.
    """
    orders = lookup["orders"]
    binding = [one for one in orders if not one.get("cancelled") and one["order_type"] in ("invoice", "sales_order")]
    lines = _add_up([order["items"] for order in binding])
    ordered, shipped, left = (_sum(getattr(line, name) for line in lines) for name in ("ordered", "shipped", "open"))
    tracking = dict.fromkeys(number for order in binding for number in order["tracking_numbers"])
    if not orders:
        state = "unknown"
    elif not binding:
        state = "cancelled" if all(one.get("cancelled") for one in orders) else "draft"
    elif shipped > 0:
        state = "partly_shipped" if left > 0 else "shipped"
    else:
        is_over = ordered == 0 and all(one["order_type"] == "invoice" for one in binding)
        state = "shipped" if is_over else "open"
    return Fulfillment(state, ordered, shipped, left, tuple(tracking), tuple(lines))


def _add_up(records: Sequence[Sequence[Mapping[str, Any]]]) -> List[FulfillmentLine]:
    parents = _parents_of(records)
    sums: Dict[Tuple[str, str, bool, Optional[str]], FulfillmentLine] = {}
    for items in records:
        for at, item in enumerate(items):
            part, is_plan = item["part_number"], item["is_care_plan"]
            parent = (_find_parent(items, at) or parents.get(part)) if is_plan else None
            description = item["description"]
            name = (part, "" if part else description)
            line = sums.setdefault((*name, is_plan, parent), FulfillmentLine(part, description, is_plan, parent))
            quantity, shipped = item["quantity"], item["shipped"]
            if quantity < 0:
                line.returned = _sum((line.returned, -quantity))
            else:
                line.ordered = _sum((line.ordered, quantity))
                line.shipped = _sum((line.shipped, shipped))
                line.open = _sum((line.open, max(_sum((quantity, -shipped)), 0)))
            line.serial_numbers += tuple(item["serial_numbers"])
    for plan in sums.values():
        if plan.is_care_plan:
            product = sums.get((plan.parent, "", False, None)) if plan.parent else None
            plan.serial_numbers = product.serial_numbers if product else ()
    return list(sums.values())


def _find_parent(items: Sequence[Mapping[str, Any]], at: int) -> Optional[str]:
    """The product of the record that a care plan belongs to: the nearest before it, else the first after it."""
    near = [*reversed(items[:at]), *items[at:]]
    return next((item["part_number"] for item in near if not item["is_care_plan"]), None)


def _parents_of(records: Sequence[Sequence[Mapping[str, Any]]]) -> Dict[str, Optional[str]]:
    """The parents of care plans by part, for records with a plan and no product. Ambiguous ones are left out."""
    parents: Dict[str, Optional[str]] = {}
    plans = {item["part_number"] for items in records for item in items if item["is_care_plan"]}
    products = {item["part_number"] for items in records for item in items if not item["is_care_plan"]}
    for items in records:
        for at, item in enumerate(items):
            parent = _find_parent(items, at) if item["is_care_plan"] else None
            if parent is not None:
                is_other = parents.get(item["part_number"], parent) != parent
                parents[item["part_number"]] = None if is_other else parent
    if len(products) == 1:  # Of a plan that never stands beside a product: the only product there is.
        for plan in plans:
            parents.setdefault(plan, next(iter(products)))
    return parents


def _sum(numbers: Iterable[float]) -> float:
    """Decimals as they are written: 0.1 and 0.2 make 0.3."""
    total = float(f"{sum(numbers):.15g}")
    return int(total) if total.is_integer() else total
