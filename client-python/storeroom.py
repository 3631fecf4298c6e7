"""The Python client of Storeroom: orders, lines, customers and stock over its HTTP API.

    storeroom = Storeroom("http://127.0.0.1:8080/tenant/api/pims/v1", team_id="demo", api_id="…", api_secret="…")
    order = storeroom.orders.get("10248")

The client waits and retries as docs/api-reference.md recommends, and needs only the standard library. Several threads
can use a client; each has its own connection. Failures are raised as StoreroomError.
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
__all__ += ["Pages", "NewPart", "PartChange", "AdvancedOrder", "InvoiceLine", "InvoiceDetails", "StockDetails"]
__all__ += ["ReturnLine", "ReturnDetails"]
__version__ = "0.3.0"

TIMEOUT_SECONDS, LONG_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS = 10.0, 30.0, 120.0
TRIES = 5
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 30.0
SPREAD_SECONDS = 0.25  # Spreads the retries of callers that got the same Retry-After. RATE_LIMITED: half of that time.
HELD_SECONDS = 55  # Maximum time that the service holds a call for a change.
TOLERANCE_SECONDS = 300.0
WEBHOOK_SECRET = re.compile("whsec_([A-Za-z0-9+/]{32,}=*)")  # A secret has at least 24 bytes.
LIMIT_SECONDS = 86_400.0  # The timeout of a socket cannot be infinite.
IDLE_SECONDS = 60.0  # The service closes an idle connection after 72 seconds.
NUMBERS_MAX = 100
MOVES_MAX = 3  # Maximum moves that an update follows, because a line can move again meanwhile.
STEPS_MAX, BATCH_BYTES_MAX = 100, 1024 * 1024
KEY_CHARACTERS_MAX = 255
PIECES_DIGITS = len(".10001")  # An order has at most 10,000 lines.

LONG = re.compile("query|find|batch")
# Codes after which a wait can help. A call that gets a 5xx or no response can also be repeated.
REPEATED = ("REQUEST_TIMEOUT", "RATE_LIMITED", "TOO_MANY_QUERIES", "TOO_MANY_WAITING", "IDEMPOTENCY_KEY_RUNNING")
REPEATED_STATUSES = (200, 408, 425, 429)  # A balancer or proxy may return these with its own body.

Value = Union[str, int, float, Decimal, bool, date, datetime, None]
Number = Union[str, int, float, Decimal, None]
Day = Union[str, date, None]
Flag = Union[Literal["Y", "N", ""], bool, None]
Fields = Mapping[str, object]  # Allows custom fields, which the types below do not have.
Lookup = Dict[str, Any]

# Written by `npm run generate` from the contract. Change tools/python-types.ts, not this part.
OPERATIONS = {
    "getOrder": ("GET", "/orders/single"),
    "queryOrders": ("POST", "/orders/query"),
    "queryLines": ("POST", "/lines/query"),
    "findOrdersByStorefrontReference": ("GET", "/orders/by_storefront_reference"),
    "findOrdersByStorefrontReferences": ("POST", "/orders/by_storefront_reference"),
    "createOrder": ("PUT", "/orders/create"),
    "addLineItem": ("PUT", "/orders/line_item"),
    "updateLineItem": ("POST", "/orders/line_item"),
    "updateOrder": ("POST", "/orders/update"),
    "cancelOrder": ("POST", "/orders/cancel"),
    "approveOrder": ("POST", "/orders/approve"),
    "invoiceOrder": ("POST", "/orders/invoice"),
    "returnOrder": ("PUT", "/orders/return"),
    "voidInvoice": ("POST", "/orders/void"),
    "getCustomer": ("GET", "/customers/single"),
    "queryCustomers": ("POST", "/customers/query"),
    "createCustomer": ("PUT", "/customers/create"),
    "updateCustomer": ("POST", "/customers/update"),
    "getInventoryItem": ("GET", "/inventory/single"),
    "queryInventoryItems": ("POST", "/inventory/query"),
    "listMovements": ("GET", "/stock/movements"),
    "createPart": ("PUT", "/inventory/create"),
    "updatePart": ("POST", "/inventory/update"),
    "receiveStock": ("POST", "/stock/receive"),
    "countStock": ("POST", "/stock/count"),
    "adjustStock": ("POST", "/stock/adjust"),
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
    "SCOUNTRY", "SPHONE", "SEMAIL", "BACKORDER_OF", "RETURN_OF", "CREATE_DATE", "MODIFIED_DATE",
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
MovementField = Literal[
    "NUMBER", "AT", "KIND", "QUANTITY", "AFTER", "ORDER_NUMBER", "DONE_BY", "REASON", "SERIAL_NUMBERS",
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


class NewPart(TypedDict, total=False):
    PART_CODE: Value
    PART_DESCRIPTION: Value
    BARCODE: Value
    CATEGORY: Value
    LOCATION_CODE: Value
    QTY_ONORDER: Number
    UNIT_PRICE: Number
    UNIT_COST: Number
    SERIALIZED: Flag
    CARE_PLAN: Flag


class PartChange(NewPart, total=False):
    pass


# The end of what `npm run generate` writes.


class InvoiceLine(TypedDict, total=False):
    """A line to invoice, and its units."""

    LINE_REF_LOCK_CODE: Value
    QUANTITY: Number
    SERIAL_NUMBERS: Value


class InvoiceDetails(TypedDict, total=False):
    """The lines to invoice and how they ship, without the order."""

    lines: Sequence[Union[InvoiceLine, Fields]]
    TRACKING_NUMBERS: Value
    SHIP_VIA: Value


class ReturnLine(InvoiceLine, total=False):
    """A line to return, and its units."""

    RESTOCK: Flag


class ReturnDetails(TypedDict, total=False):
    """The lines to return, and fields of the return."""

    lines: Sequence[Union[ReturnLine, Fields]]
    REFERENCE_NUMBER: Value
    NOTES: Value
    REASON: Value


class StockDetails(TypedDict, total=False):
    """Members of a change of stock besides the part and the units."""

    SERIAL_NUMBERS: Value
    REASON: Value
    FROM_QUANTITY: Number


Name = TypeVar("Name", bound=str)

if TYPE_CHECKING:
    from typing_extensions import Unpack  # Only type checkers need this module.

    class AnyName(Protocol):
        """Any text, for custom fields. Unlike with `str`, editors still suggest the names of the other fields."""

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
    """A call that was refused or not answered. Branch on `code`. The codes are those of docs/errors.md, and

    `NO_ANSWER`: there was no connection, the time was up or the connection ended. `status` is 0. Unless the message
    says that the client could not connect, it is unknown whether a write took effect.
    `UNREADABLE_ANSWER`: the response is not from Storeroom. Check `base_url` and the proxies in between.

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
        self.earliest: Optional[str] = refusal.get("earliest")  # For CHANGES_GONE, the lowest remaining position.
        self.remedy: Optional[str] = refusal.get("remedy")
        self.docs: Optional[str] = refusal.get("docs")
        # For BATCH_TOO_LONG, the maximum steps of a batch of this tenant, if its rate limits them.
        is_too_long = self.code == "BATCH_TOO_LONG"
        self.steps_max: Optional[int] = _rate_of(headers, "RateLimit-Policy", "q") if is_too_long else None
        self.order_number: Optional[str] = None  # For `create_with_lines`, the order that is already written, if any.
        self.request_id: Optional[str] = refusal.get("requestId", headers.get("X-Request-Id"))
        self.retry_after: Optional[int] = _seconds_of(headers.get("Retry-After"))
        self.etag: Optional[str] = headers.get("ETag")
        unreadable = self.code == "UNREADABLE_ANSWER" and status in REPEATED_STATUSES
        self.repeatable = status == 0 or status >= 500 or self.code in REPEATED or unreadable


class Record(Dict[str, str], Generic[Name]):
    """The fields of a record. It has an `etag` if it was read by its key, and `lines` if it is an order with lines."""

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
AdvancedOrder = Record[Literal["ORDER_NUMBER", "ORDER_TYPE", "ORDER_STATUS", "BACKORDER_NUMBER"]]


class OrderWithLines(NamedTuple):
    """The order and lines that `create_with_lines` has written."""

    order_number: str
    lines: List[OrderLine]


@dataclass(frozen=True)
class Try:
    """The outcome of a try, for logs and figures. It contains no secret."""

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


class _Pace:
    """Keeps the calls of a client within the rate of its team, as the service's last answers told it."""

    def __init__(self) -> None:
        # The time between two calls at the rate, 0 if the service tells none, and the time of the next call.
        self._lock, self._gap, self._free_at = threading.Lock(), 0.0, 0.0

    def note(self, headers: Message, refused_for: Optional[float]) -> None:
        """Notes the rate and what is left of it, or the wait that a refusal asks for."""
        calls, seconds = _rate_of(headers, "RateLimit-Policy", "q"), _rate_of(headers, "RateLimit-Policy", "w")
        with self._lock:
            if calls and seconds:
                self._gap = seconds / calls
            is_used_up = _rate_of(headers, "RateLimit", "r") == 0
            wait = refused_for if refused_for is not None else self._gap if is_used_up else 0.0
            if wait > 0:
                self._free_at = max(self._free_at, time.monotonic() + wait)

    def take(self) -> float:
        """Returns the seconds until a call may be sent, and reserves that place."""
        with self._lock:
            wait = self._free_at - time.monotonic()
            if wait <= 0:
                return 0.0
            self._free_at += self._gap
            return wait


class _Caller:
    """Makes calls, each from its first try to its response. It knows nothing about records."""

    def __init__(self, base_url: str, team_id: str, api_id: str, api_secret: str, options: Mapping[str, Any]):
        given = {"base_url": base_url, "team_id": team_id, "api_id": api_id, "api_secret": api_secret}
        for name, value in given.items():
            if not isinstance(value, str) or not re.fullmatch("[!-~]+", value):
                raise TypeError(f"Set the argument {name}, without spaces and line breaks.")
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.username is not None or url.query:
            raise ValueError("base_url must be http or https, without credentials and query.")
        self._url = url
        self._team_id = team_id
        self._options = dict(options)
        self._own = threading.local()
        self._pace = _Pace()
        pair = base64.b64encode(f"{api_id}:{api_secret}".encode()).decode()
        # A closure keeps the pair, so that no list of the client's attributes shows it.
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
        """Makes a call. The service may hold it for `held` seconds, so a try may take that much longer."""
        chosen = {**self._options, **(options or {})}
        unknown = set(chosen) - {"timeout", "total_timeout", "tries", "first_wait", "on_try"}
        if unknown:
            raise TypeError(f"Storeroom has no option {', '.join(sorted(unknown))}.")
        timeout = chosen.get("timeout") or (LONG_TIMEOUT_SECONDS if LONG.match(operation) else TIMEOUT_SECONDS)
        timeout += held
        ends_at = time.monotonic() + (chosen.get("total_timeout") or TOTAL_TIMEOUT_SECONDS)
        tries, on_try = chosen.get("tries") or TRIES, chosen.get("on_try")
        turn = self._pace.take()
        if 0 < turn < ends_at - time.monotonic():  # A turn that comes too late is not awaited: the service decides.
            time.sleep(turn)
        number = 1
        while True:
            begun_at = time.monotonic()
            limit = max(min(timeout, ends_at - begun_at, LIMIT_SECONDS), 0.001)
            outcome = self._try(operation, query or {}, body, headers or {}, limit)
            error = outcome if isinstance(outcome, StoreroomError) else None
            wait = None if error is None else self._choose_wait(error, number, chosen)
            now = time.monotonic()
            is_counted = error is None or error.code != "RATE_LIMITED" or tries <= 1
            if (is_counted and number >= tries) or (wait is not None and now + wait >= ends_at):
                wait = None
            if on_try is not None:
                on_try(_describe(operation, number, outcome, now - begun_at, wait))
            if isinstance(outcome, _Answer):
                return outcome
            if wait is None:
                raise outcome
            time.sleep(wait)
            number += is_counted

    def _choose_wait(self, error: StoreroomError, number: int, chosen: Mapping[str, Any]) -> Optional[float]:
        if not error.repeatable:
            return None
        if error.code == "REQUEST_TIMEOUT":
            return 0.0
        if error.retry_after:
            if error.code != "RATE_LIMITED":
                return error.retry_after + random.random() * SPREAD_SECONDS
            return max(self._pace.take(), error.retry_after) + random.random() * error.retry_after / 2
        first: float = chosen.get("first_wait") or FIRST_WAIT_SECONDS
        doubled = first * 2.0 ** min(number - 1, 60)  # Following a feed can take thousands of tries.
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
            self.close()  # A late response may still arrive on this connection.
            raise
        outcome = _read(operation, self._address(), status, answered, text)
        is_refused = isinstance(outcome, StoreroomError) and outcome.code == "RATE_LIMITED"
        self._pace.note(answered, (outcome.retry_after or 0) if is_refused else None)
        return outcome

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
        if response.length:  # The body is shorter than its Content-Length.
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
    """Returns the seconds of a Retry-After, which a proxy may write as a date."""
    try:
        return None if header is None else max(math.ceil(float(header)), 0)
    except (ValueError, OverflowError):
        pass
    try:
        return max(math.ceil(parsedate_to_datetime(header or "").timestamp() - time.time()), 0)
    except (TypeError, ValueError, OverflowError):
        return None


def _rate_of(headers: Message, header: str, parameter: str) -> Optional[int]:
    """Returns a parameter of the item "rate": of `"rate";q=20;w=2, "quota";q=1000`, `q` is 20."""
    found = re.search(rf'"rate"[^,]*;\s*{parameter}=(\d+)', ", ".join(headers.get_all(header, [])))
    return int(found[1]) if found else None


@dataclass(frozen=True)
class Page(Generic[Name]):
    """A page of a query. `cursor` is the start of the next page, None on the last. `total` is None unless requested."""

    records: List[Record[Name]]
    cursor: Optional[str]
    total: Optional[int]


class Pages(Generic[Name]):
    """A list, which returns records one by one or page by page. Each page is a call that is made when it is needed."""

    def __init__(self, load: Callable[[Optional[str], Optional[int], bool], Page[Name]]):
        self._load = load

    def __iter__(self) -> Iterator[Record[Name]]:
        for page in self.pages():
            yield from page.records

    def pages(self, cursor: Optional[str] = None) -> Iterator[Page[Name]]:
        """Returns all pages, from the first or from a saved cursor."""
        page = self.page(cursor)
        while page.cursor is not None:
            yield page
            page = self.page(page.cursor)
        yield page

    def page(self, cursor: Optional[str] = None) -> Page[Name]:
        """Returns one page: the first, or the one at the cursor."""
        return self._load(cursor, None, False)

    def first(self) -> Optional[Record[Name]]:
        """Returns the first record, or None."""
        return next(iter(self._load(None, 1, False).records), None)

    def to_list(self, limit: int) -> List[Record[Name]]:
        """Returns a list of at most `limit` records."""
        found: List[Record[Name]] = []
        if limit > 0:
            for record in self:
                found.append(record)
                if len(found) >= limit:
                    break
        return found


class Query(Pages[Name]):
    """A query, whose matching records can be counted."""

    def count(self) -> int:
        """Returns the number of matching records. It makes a call."""
        return self._load(None, 1, True).total or 0


def _plain(name: str, value: Any) -> Any:
    """Returns the JSON form of a value. Raises ValueError or TypeError for a value that no field can have."""
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


def _body(fields: Mapping[str, Any], convert: Callable[[str, Any], Any]) -> Dict[str, Any]:
    """Returns the body of a write. Converts each value, also those of the lines of an invoice."""

    def of(name: str, value: Any) -> Any:
        if name == "lines" and isinstance(value, (list, tuple)):
            return [_body(one, convert) if isinstance(one, Mapping) else convert(name, one) for one in value]
        return convert(name, value)

    return {name: of(name, value) for name, value in fields.items()}


def _write(caller: _Caller, operation: str, fields: Any, options: Any) -> Any:
    return _send(caller, operation, _body(fields, _plain), dict(options))


def _send(caller: _Caller, operation: str, body: Any, options: Dict[str, Any]) -> Any:
    """Sends a write, with one Idempotency-Key for all its tries, and returns its data."""
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
        fields = ["ORDER_NUMBER", *fields]  # The ORDER_NUMBER of a line identifies its order.
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
    """A committed change of a record. Read the record for its values, or request them with `include="records"`."""

    seq: str  # The number of the change. Send it as `after` to continue with the next one.
    type: Literal["orders", "customers", "inventory"]  # A change of a line is a change of its order.
    key: str  # The ORDER_NUMBER, CUSTOMER_CODE or PART_CODE.
    change: Literal["created", "updated"]
    at: str  # ISO 8601.
    operation: str
    record: Optional[Record[Any]] = None  # With `include`: the record at the time of the call, an order without lines.
    by: str = ""  # Name of the pair of keys, email address of the user, `command line`, or `import`.
    changes: Optional[List[Dict[str, str]]] = None  # With `include`: changed fields, each with `field`, `from` and `to`.


@dataclass(frozen=True)
class ChangePage:
    """A page of the change feed. `next` is the `after` of the next page; it can be higher than the last `seq`."""

    changes: List[Change]
    next: str
    has_more: bool


class Changes:
    """All changes after a position, in order, including future ones. The loop ends only with an error."""

    def __init__(self, load: Callable[[Union[str, int, None]], ChangePage], after: Union[str, int, None]):
        self._load, self._after = load, after

    def __iter__(self) -> Iterator[Change]:
        for page in self.pages():
            yield from page.changes

    def pages(self) -> Iterator[ChangePage]:
        """Returns whole pages, whose `next` is the position to keep.

        If there are no changes, an empty page comes every 55 seconds, so that the position stays recent.
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
    plain = [one[name] for name in ("seq", "type", "key", "change", "at", "operation")]
    return Change(*plain, kept, one.get("by", ""), one.get("changes"))


class Orders:
    def __init__(self, caller: _Caller):
        self._caller = caller

    def create(self, fields: Union[NewOrder, Fields], **options: Unpack[WriteOptions]) -> str:
        """Creates an order and returns its ORDER_NUMBER. `create_with_lines` creates an order with its lines."""
        return str(_write(self._caller, "createOrder", fields, options))

    def create_with_lines(
        self,
        order: Union[NewOrder, Fields],
        lines: Iterable[Union[NewOrderLine, Fields]],
        **options: Unpack[WriteOptions],
    ) -> OrderWithLines:
        """Creates an order with its lines, in one batch if they fit. A batch writes everything or nothing.

        A batch has at most 100 steps and 1 MiB, and no more steps than the tenant's rate allows at once. A larger order
        is sent in several batches, and a failure can leave the order with only its first lines. The error then has the
        number as `order_number`: call again with the same `idempotency_key` to add the rest.
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
                # A batch that is refused as too long has no effect, so its key is still unused.
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
        """Returns an order and its lines. Raises `NOT_FOUND`. With `if_none_match`, returns None if it is unchanged."""
        return _get(self._caller, "getOrder", {"orderNum": order_number}, options)  # type: ignore[no-any-return]

    def find(self, order_number: str, **options: Unpack[ReadOptions[OrderField]]) -> Optional[Order]:
        """Reads like `get`, but returns None if there is no such order."""
        return _find(self._caller, "getOrder", {"orderNum": order_number}, options)  # type: ignore[no-any-return]

    def query(
        self,
        filters: Filters[OrderField] = (),
        include: Optional[Literal["lines"]] = None,
        **options: Unpack[QueryOptions[OrderField]],
    ) -> Query[OrderField]:
        """Queries the orders that match the filters, or all orders. `include="lines"` adds the lines of each."""
        return _query(self._caller, "queryOrders", filters, include, options)

    def update(self, fields: Union[OrderChange, Fields], **options: Unpack[ChangeOptions]) -> Order:
        """Changes the given fields and returns the order. None and "" clear a field."""
        return Record(_write(self._caller, "updateOrder", fields, options))

    def cancel(self, order_number: str, **options: Unpack[ChangeOptions]) -> Order:
        """Cancels an order and releases its stock. Cancelling it again succeeds; an invoice raises `ORDER_CLOSED`."""
        return Record(_write(self._caller, "cancelOrder", {"ORDER_NUMBER": order_number}, options))

    def approve(self, order_number: str, **options: Unpack[ChangeOptions]) -> AdvancedOrder:
        """Turns a worksheet or a quote into a sales order. Needs the scope `office`."""
        return Record(_write(self._caller, "approveOrder", {"ORDER_NUMBER": order_number}, options))

    def invoice(
        self,
        order_number: str,
        details: Union[InvoiceDetails, Fields, None] = None,
        **options: Unpack[ChangeOptions],
    ) -> AdvancedOrder:
        """Invoices an order, or only the `lines` of the details. Needs the scope `office`.

        The units left open move to a new sales order, the BACKORDER_NUMBER.
        """
        sent = {**(details or {}), "ORDER_NUMBER": order_number}
        return Record(_write(self._caller, "invoiceOrder", sent, options))

    def void(
        self, order_number: str, details: Optional[Fields] = None, **options: Unpack[ChangeOptions]
    ) -> AdvancedOrder:
        """Puts the units of an invoice back in stock and returns the order, which is void.

        The details can have a REASON. Voiding it again succeeds. Needs the scope `office`.
        """
        return Record(_write(self._caller, "voidInvoice", {**(details or {}), "ORDER_NUMBER": order_number}, options))

    def return_lines(
        self, order_number: str, details: Union[ReturnDetails, Fields], **options: Unpack[ChangeOptions]
    ) -> str:
        """Returns units of the `lines` of an invoice, and returns the ORDER_NUMBER of the return.

        The units are in stock again, unless RESTOCK of the line is "N". Needs the scope `office`.
        """
        sent = {**details, "ORDER_NUMBER": order_number}
        return _write(self._caller, "returnOrder", sent, options)  # type: ignore[no-any-return]

    @overload
    def by_storefront_reference(  # type: ignore[overload-overlap]
        self, numbers: str, **options: Unpack[CallOptions]
    ) -> Lookup: ...
    @overload
    def by_storefront_reference(self, numbers: Sequence[str], **options: Unpack[CallOptions]) -> List[Lookup]: ...
    def by_storefront_reference(self, numbers: Union[str, Sequence[str]], **options: Unpack[CallOptions]) -> Any:
        """Returns every order with a storefront number, or for a list of numbers, the results in the same order."""
        if not isinstance(numbers, str):
            return self._look_up(list(numbers), options)
        query = {"storefront_order_number": numbers}
        return self._caller.call("findOrdersByStorefrontReference", query, options=options).body

    def _look_up(self, numbers: List[str], options: Mapping[str, Any]) -> List[Lookup]:
        """Looks up a list of numbers. Splits the list if one response cannot contain all results."""
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

    def query(
        self, filters: Filters[OrderLineField] = (), **options: Unpack[QueryOptions[OrderLineField]]
    ) -> Query[OrderLineField]:
        """Queries the lines of all orders that match the filters, such as those with a serial number."""
        return _query(self._caller, "queryLines", filters, None, options)

    def add(self, fields: Union[NewOrderLine, Fields], **options: Unpack[ChangeOptions]) -> OrderLine:
        """Adds a line to an order and returns it with its LINE_REF_LOCK_CODE. `if_match` is the tag of the order."""
        return Record(_write(self._caller, "addLineItem", fields, options))

    def update(self, fields: Union[OrderLineChange, Fields], **options: Unpack[ChangeOptions]) -> OrderLine:
        """Changes the given fields of a line and returns the line. A line with QUANTITY 0 stays, but holds no stock.

        If a partial invoice has moved the line to another order, changes it there, unless `if_match` names an order.
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
        """Returns the record with a code. Raises `NOT_FOUND`. With `if_none_match`, returns None if it is unchanged."""
        return _get(self._caller, self._get, {self._key: code}, options)  # type: ignore[no-any-return]

    def find(self, code: str, **options: Unpack[ReadOptions[Name]]) -> Optional[Record[Name]]:
        """Reads like `get`, but returns None if there is no such record."""
        return _find(self._caller, self._get, {self._key: code}, options)  # type: ignore[no-any-return]

    def query(self, filters: Filters[Name] = (), **options: Unpack[QueryOptions[Name]]) -> Query[Name]:
        """Queries the records that match the filters, or all records without filters."""
        return _query(self._caller, self._list, filters, None, options)


class Inventory(_Readable[InventoryItemField]):
    _get, _list, _key = "getInventoryItem", "queryInventoryItems", "partCode"

    def create(self, fields: Union[NewPart, Fields], **options: Unpack[WriteOptions]) -> str:
        """Creates a part with nothing on hand and returns its PART_CODE. Needs the scope `office`."""
        return str(_write(self._caller, "createPart", fields, options))

    def update(self, fields: Union[PartChange, Fields], **options: Unpack[WriteOptions]) -> str:
        """Changes the given fields and returns the PART_CODE. Needs the scope `office`."""
        return str(_write(self._caller, "updatePart", fields, options))


class Stock:
    """Changes of QTY_ONHAND, and their ledger. Each change returns the part, with its SERIAL_NUMBERS if SERIALIZED.

    The changes need the scope `office`. If FROM_QUANTITY is set and QTY_ONHAND is another by then, they raise
    `RECORD_CHANGED`, and nothing is written.
    """

    def __init__(self, caller: _Caller):
        self._caller = caller

    def receive(
        self,
        code: str,
        quantity: Number,
        details: Union[StockDetails, Fields, None] = None,
        **options: Unpack[WriteOptions],
    ) -> InventoryItem:
        """Adds received units, and takes them off QTY_ONORDER."""
        return self._move("receiveStock", code, quantity, details, options)

    def count(
        self,
        code: str,
        quantity: Number,
        details: Union[StockDetails, Fields, None] = None,
        **options: Unpack[WriteOptions],
    ) -> InventoryItem:
        """Sets QTY_ONHAND to the counted units. Serial numbers that are not given leave stock."""
        return self._move("countStock", code, quantity, details, options)

    def adjust(
        self, code: str, quantity: Number, details: Union[StockDetails, Fields], **options: Unpack[WriteOptions]
    ) -> InventoryItem:
        """Adds units, or removes them if the quantity is negative. The details need a REASON."""
        return self._move("adjustStock", code, quantity, details, options)

    def movements(
        self, code: str, page_size: Optional[int] = None, **options: Unpack[CallOptions]
    ) -> Pages[MovementField]:
        """Returns the movements of a part in the order of NUMBER. The cursor of a page is the NUMBER it begins after."""

        def load(after: Optional[str], size: Optional[int], is_counted: bool) -> Page[MovementField]:
            most = size or page_size
            query = {"partCode": code, "after": after, "maxReturn": most and str(most)}
            answer = self._caller.call("listMovements", query, options=options)
            has_more = answer.headers.get("X-Has-More") == "true"
            records: List[Record[MovementField]] = [Record(one) for one in answer.body["data"]]
            return Page(records, answer.headers.get("X-Next-After") if has_more else None, None)

        return Pages(load)

    def _move(self, operation: str, code: str, quantity: Number, details: Any, options: Any) -> InventoryItem:
        sent = {**(details or {}), "PART_CODE": code, "QUANTITY": quantity}
        return Record(_write(self._caller, operation, sent, options))


class Customers(_Readable[CustomerField]):
    _get, _list, _key = "getCustomer", "queryCustomers", "customerCode"

    def create(self, fields: Union[NewCustomer, Fields], **options: Unpack[WriteOptions]) -> str:
        """Creates a customer and returns its CUSTOMER_CODE: yours (raises `CODE_TAKEN` if used), or the next number."""
        return str(_write(self._caller, "createCustomer", fields, options))

    def update(self, fields: Union[CustomerChange, Fields], **options: Unpack[ChangeOptions]) -> str:
        """Changes the given fields and returns the CUSTOMER_CODE. None and "" clear a field."""
        return str(_write(self._caller, "updateCustomer", fields, options))


@dataclass(frozen=True)
class Reference:
    """Refers to a text that an earlier step returns: its data, or a field such as `step(1).data["PART_CODE"]`."""

    at: int
    name: str = ""

    def __getitem__(self, name: str) -> "Reference":
        return Reference(self.at, name)


@dataclass(frozen=True)
class _Step:
    data: Reference


def step(at: int) -> _Step:
    """Refers to the result of an earlier step of a batch, counted from 0: `step(0).data`."""
    return _Step(Reference(at))


def _render(name: str, value: Any) -> Any:
    """Returns the value to send: a reference in the API's notation, or a text that only looks like one, escaped."""
    if isinstance(value, Reference):
        return f"${value.at}.data" + (f".{value.name}" if value.name else "")
    plain = _plain(name, value)
    return "$" + plain if isinstance(plain, str) and plain.startswith("$") else plain


def _step_of(operation: str, fields: Any) -> Dict[str, Any]:
    return {"operation": operation, "body": _body(fields, _render)}


def _count_fitting(steps: Sequence[Any]) -> int:
    """Returns how many of the steps fit into the body of a batch: at least one."""
    size = 0
    for at, one in enumerate(steps):
        size += len(json.dumps(one)) + len(", ")
        if at > 0 and size > BATCH_BYTES_MAX:
            return at
    return len(steps)


class Storeroom:
    """A tenant's orders, customers, inventory and stock.

    The client and every call accept these options by name: `timeout` for a try (10 seconds; 30 for queries, lookups and
    batches), `total_timeout` for all tries and waits (120), `tries` (5, not counting `RATE_LIMITED`), `first_wait` (1 second, doubled up to 30), and
    `on_try`, which is called after every try. Reads also accept `fields` and `if_none_match`, queries `sort`, `fields`
    and `page_size`, writes `idempotency_key`, and changes `if_match`.
    """

    def __init__(self, base_url: str, team_id: str, api_id: str, api_secret: str, **options: Unpack[CallOptions]):
        self._caller = _Caller(base_url, team_id, api_id, api_secret, options)
        self.orders = Orders(self._caller)
        self.lines = Lines(self._caller)
        self.customers = Customers(self._caller)
        self.inventory = Inventory(self._caller)
        self.stock = Stock(self._caller)

    def fields(
        self, record_type: Literal["orders", "lines", "customers", "inventory"], **options: Unpack[CallOptions]
    ) -> List[Dict[str, Any]]:
        """Lists the fields of `orders`, `lines`, `customers` or `inventory`, including custom fields."""
        return list(self._caller.call("listFields", {"type": record_type}, options=options).body["data"])

    def usage(self, month: Optional[str] = None, **options: Unpack[CallOptions]) -> Dict[str, Any]:
        """Returns the calls of a month (UTC), such as `2026-11`, by default of this month."""
        return dict(self._caller.call("getUsage", {"month": month}, options=options).body["data"])

    def changes(
        self,
        after: Union[str, int, None] = None,
        types: Optional[Sequence[Literal["orders", "customers", "inventory"]]] = None,
        include: Optional[Literal["records", "changes", "records,changes"]] = None,
        page_size: Optional[int] = None,
        **options: Unpack[CallOptions],
    ) -> Changes:
        """Follows the change feed: returns all changes after a position (a `seq`, the `next` of a page or 0), in order.

        It then waits for the next changes, and continues by itself after lost connections, 429 and 5xx. Without
        `after`, it begins now. It raises `CHANGES_GONE` if some of the changes are already deleted.
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
        include: Optional[Literal["records", "changes", "records,changes"]] = None,
        page_size: Optional[int] = None,
        wait: int = 0,
        **options: Unpack[CallOptions],
    ) -> ChangePage:
        """Returns a page of the change feed. Without `after`, the page is empty and its `next` is the current position.

        `wait` is the maximum number of seconds to wait for a change if there is none, up to 55.
        """
        return _list_changes(self._caller, after, types, include, page_size, wait, options)

    def batch(self, steps: Iterable[Mapping[str, Any]], **options: Unpack[WriteOptions]) -> List[Any]:
        """Runs 1 to 100 writes in one transaction and returns the data of each.

        A step is `{"operation": …, "body": {…}}`. A value can be the result of an earlier step: `step(0).data`. An
        error has the index of the rejected step as `step`.
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
    """Returns the event if a signature matches one of the secrets and its time is within the tolerance.

    Otherwise raises WebhookError. Webhooks follow the Standard Webhooks specification
    (https://www.standardwebhooks.com). Pass the body exactly as received. While a secret is replaced, either of the two
    is enough. The event says that a record changed; the change feed has the change.
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
    # Every pair is compared, in a time that does not depend on the place where the two differ.
    if not sum(hmac.compare_digest(own, signature) for own in expected for signature in signatures):
        raise WebhookError("No signature of the webhook matches the secret.")
    is_number = re.fullmatch("[0-9]{1,15}", timestamp) is not None
    if not is_number or abs(math.floor(time.time()) - int(timestamp)) > tolerance_seconds:
        seconds = f"more than {tolerance_seconds:g} seconds from the time of this machine"
        raise WebhookError(f"webhook-timestamp is {timestamp}, {seconds}.")
    return dict(json.loads(raw))


def _sign(secret: str, signed: bytes) -> bytes:
    """Returns the signature of the text, such as `v1,K5oZ…`."""
    encoded = WEBHOOK_SECRET.fullmatch(secret) if isinstance(secret, str) else None
    if encoded is None:
        raise TypeError("The secret of a webhook must begin with whsec_ and be complete, as Storeroom showed it.")
    key = base64.b64decode(encoded[1])
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


@dataclass
class FulfillmentLine:
    """A part of the order, added up over the records that have it."""

    part_number: str
    description: str
    is_care_plan: bool
    parent: Optional[str]  # For a care plan, the part_number of the product that it covers, if that is known.
    ordered: float = 0
    shipped: float = 0
    open: float = 0  # Units that are not shipped yet.
    returned: float = 0  # Units of returns, and of other lines with a negative quantity. They count only here.
    serial_numbers: Tuple[str, ...] = ()  # Serial numbers of the shipped units. A care plan has its parent's.


@dataclass(frozen=True)
class Fulfillment:
    """The fulfillment of a storefront order.

    `state` is `unknown` (there is no record), `draft` (there are only worksheets and quotes, so nothing is ordered
    yet), `open` (nothing is shipped), `partly_shipped` (some ordered units are shipped), `shipped` (all are shipped) or
    `cancelled` (every record is cancelled).
    """

    state: str
    ordered: float
    shipped: float
    open: float
    tracking_numbers: Tuple[str, ...]
    lines: Tuple[FulfillmentLine, ...]


def derive_fulfillment(lookup: Mapping[str, Any]) -> Fulfillment:
    """Adds up the invoices and sales orders of a storefront lookup, without a call.

    A partial invoice makes two records of one order. Cancelled records are left out. Lines with the same part are one
    line, and so are lines without a part that have the same description. The parent of a care plan is the product
    before it in its record. If a partial invoice has separated the two, it is the product that the plan has in another
    record.
    """
    orders = lookup["orders"]
    binding = [one for one in orders if not one.get("cancelled") and one["order_type"] in ("invoice", "sales_order")]
    lines = _add_up(binding)
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


def _add_up(orders: Sequence[Mapping[str, Any]]) -> List[FulfillmentLine]:
    # A return may have a care plan beside another product than its invoice, so the invoices come first.
    orders = sorted(orders, key=lambda order: "return_of" in order)
    parents = _parents_of([order["items"] for order in orders if "return_of" not in order])
    sums: Dict[Tuple[str, str, bool, Optional[str]], FulfillmentLine] = {}
    for order in orders:
        items = order["items"]
        for at, item in enumerate(items):
            part, is_plan = item["part_number"], item["is_care_plan"]
            description = item["description"]
            name = (part, "" if part else description)
            parent = _find_parent(items, at) if is_plan else None
            if "return_of" in order and (*name, is_plan, parent) not in sums and part in parents:
                parent = None
            if is_plan and parent is None:
                parent = parents.get(part)
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
    """Returns the product of a care plan in its record: the nearest before it, otherwise the first after it."""
    near = [*reversed(items[:at]), *items[at:]]
    return next((item["part_number"] for item in near if not item["is_care_plan"]), None)


def _parents_of(records: Sequence[Sequence[Mapping[str, Any]]]) -> Dict[str, Optional[str]]:
    """Returns the parents of care plans by part, for records with a plan and no product. Ambiguous parents are None."""
    parents: Dict[str, Optional[str]] = {}
    plans = {item["part_number"] for items in records for item in items if item["is_care_plan"]}
    products = {item["part_number"] for items in records for item in items if not item["is_care_plan"]}
    for items in records:
        for at, item in enumerate(items):
            parent = _find_parent(items, at) if item["is_care_plan"] else None
            if parent is not None:
                is_other = parents.get(item["part_number"], parent) != parent
                parents[item["part_number"]] = None if is_other else parent
    if len(products) == 1:  # A plan that is never in a record with a product belongs to the only product.
        for plan in plans:
            parents.setdefault(plan, next(iter(products)))
    return parents


def _sum(numbers: Iterable[float]) -> float:
    """Adds decimals exactly: 0.1 and 0.2 make 0.3."""
    total = float(f"{sum(numbers):.15g}")
    return int(total) if total.is_integer() else total
