"""Keeps a storefront and Storeroom in step: orders in, stock out, status back.

It may be killed and started again at any time: nothing is doubled, nothing is lost. Copy it and write storefront.py for
your storefront.
"""

import os, sys, time
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import storefront
from client import Problem, call

ROUND_SECONDS = float(os.environ.get("ROUND_SECONDS", 60))
PAUSE_SECONDS = 3600
STEPS_MAX = 100
NUMBERS_MAX = 100
KEY_KEPT = timedelta(hours=20)  # Storeroom keeps an Idempotency-Key for 24 hours.
OVERLAP = timedelta(minutes=1)  # A change can become visible a little after its MODIFIED_DATE.


def main():
    stock_seen = ""  # The newest MODIFIED_DATE seen. After a start all parts are read once.
    while True:
        pause = ROUND_SECONDS
        try:
            bring_orders_in()
            stock_seen = send_stock_out(stock_seen)
            bring_status_back()
        except Problem as problem:
            print(problem, file=sys.stderr)
            # What is left comes with the next round.
            if problem.action == "pause":
                pause = PAUSE_SECONDS
            elif problem.action != "repeat":
                sys.exit(1)
        time.sleep(pause)


def bring_orders_in():
    for order in storefront.new_orders():
        try:
            storefront.mark_taken(order["number"], find_old_order(order) or create_order(order))
        except Problem as problem:
            if problem.action != "set aside":
                raise
            storefront.set_aside(order["number"], str(problem))


def create_order(order):
    """The order and its first lines in one batch, all or nothing; further lines in others. Each batch has its own key."""
    number, lines = order["number"], order["lines"]
    fields = {"REFERENCE_NUMBER": number, "ORDER_TYPE": "sales_order", "SNAME": order["name"]}
    steps = [{"operation": "createOrder", "body": literal({**fields, "FREIGHT": order["shipping"]})}]
    order_number = "$0.data"
    for at, line in enumerate(lines):
        body = literal({"PART_CODE": line["part"], "QUANTITY": line["quantity"], "UNIT_PRICE": line["price"]})
        steps.append({"operation": "addLineItem", "body": {"ORDER_NUMBER": order_number, **body}})
        if len(steps) < STEPS_MAX and at < len(lines) - 1:
            continue
        created = send_batch(steps, f"{quote(number, safe='')}/{at}")
        if order_number == "$0.data":
            order_number = created
        steps = []
    return send_batch(steps, quote(number, safe="")) if steps else order_number


def send_batch(steps, key):
    """What the first step answered."""
    answer, _ = call("POST", "/batch", body=steps, key=key)
    return answer["data"][0]["data"]


def literal(fields):
    """A `$` at the start of a text would refer to a step before."""
    return {name: "$" + value if value.startswith("$") else value for name, value in fields.items()}


def find_old_order(order):
    """Of an order that a run may have sent when its key has been forgotten since: what Storeroom has of it."""
    sold_at = datetime.fromisoformat(order["soldAt"].replace("Z", "+00:00"))
    if datetime.now(timezone.utc) - sold_at < KEY_KEPT:
        return None
    orders = sorted(look_up([order["number"]])[0]["orders"], key=lambda one: int(one["pims_order_number"]))
    if not orders:
        return None
    count, wanted = sum(len(one["items"]) for one in orders), len(order["lines"])
    if count < wanted:
        raise Problem("set aside", "HALF_AN_ORDER", f"{count} of {wanted} lines are there.")
    return orders[0]["pims_order_number"]


def send_stock_out(seen):
    filters = []
    if seen:
        since = datetime.fromisoformat(seen.replace("Z", "+00:00")) - OVERLAP
        filters = [{"field": "MODIFIED_DATE", "op": "ge", "value": since.strftime("%Y-%m-%dT%H:%M:%SZ")}]
    query = {"fields": "PART_CODE,QTY_AVAILABLE,MODIFIED_DATE"}
    while True:
        page, cursor = call("POST", "/inventory/query", query, filters)
        storefront.publish_stock({part["PART_CODE"]: part["QTY_AVAILABLE"] for part in page["data"]})
        seen = max([seen] + [part["MODIFIED_DATE"] for part in page["data"]])
        if not cursor:
            return seen
        query["cursor"] = cursor


def bring_status_back():
    numbers = storefront.open_numbers()
    for start in range(0, len(numbers), NUMBERS_MAX):
        for found in look_up(numbers[start : start + NUMBERS_MAX]):
            storefront.publish_status(found["storefront_order_number"], status_of(found["orders"]))


def look_up(numbers):
    """In halves where one answer does not hold them all."""
    try:
        return call("POST", "/orders/by_storefront_reference", body=numbers)[0]
    except Problem as problem:
        if problem.code != "RESULT_TOO_LARGE" or len(numbers) == 1:
            raise
        half = (len(numbers) + 1) // 2
        return look_up(numbers[:half]) + look_up(numbers[half:])


def status_of(orders):
    """Adds up over all invoices and sales orders: a partial invoice makes two orders of one."""
    binding = [o for o in orders if not o.get("cancelled") and o["order_type"] in ("invoice", "sales_order")]
    items = [item for order in binding for item in order["items"]]
    ordered, shipped = sum(item["quantity"] for item in items), sum(item["shipped"] for item in items)
    tracking = [number for order in binding for number in order["tracking_numbers"]]
    if not binding and any(order.get("cancelled") for order in orders):
        state = "cancelled"
    elif binding and all(order["order_type"] == "invoice" for order in binding):
        state = "shipped"
    else:
        state = "shipped in part" if shipped > 0 else "open"
    return {"state": state, "shipped": shipped, "ordered": ordered, "tracking": tracking}


if __name__ == "__main__":
    main()
