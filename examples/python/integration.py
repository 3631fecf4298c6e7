"""Keeps a storefront and Storeroom in step: orders in, stock out, status back.

You can kill and restart the program at any time: nothing is written twice or lost. Copy it and replace storefront.py
for your storefront.
"""

import json, os, sys, time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import storefront
from storeroom import Storeroom, StoreroomError, derive_fulfillment

BASE = os.environ.get("BASE", "http://127.0.0.1:8080/tenant/api/pims/v1")
KEYS = json.loads(Path(os.environ.get("KEYS_FILE", "keys.json")).read_text())
ROUND_SECONDS = float(os.environ.get("ROUND_SECONDS", 60))
PAUSE_SECONDS = 3600
KEY_KEPT = timedelta(hours=20)  # Shorter than the 24 hours for which Storeroom keeps an Idempotency-Key.
OVERLAP = timedelta(minutes=1)  # A change can become visible a little after its MODIFIED_DATE.


client = Storeroom(
    BASE, team_id=KEYS["teamID"], api_id=KEYS["apiID"], api_secret=KEYS["apiSecret"], tries=4, timeout=30
)


def main():
    stock_seen = ""  # The newest MODIFIED_DATE read so far. The first round reads all parts.
    while True:
        pause = ROUND_SECONDS
        try:
            bring_orders_in()
            stock_seen = send_stock_out(stock_seen)
            bring_status_back()
        except StoreroomError as error:
            print(error, file=sys.stderr, flush=True)
            # The next round does the rest, after an hour if the monthly quota is used up. Other errors need a person.
            if error.code == "QUOTA_EXCEEDED":
                pause = PAUSE_SECONDS
            elif not error.repeatable:
                sys.exit(1)
        time.sleep(pause)


class HalfAnOrder(Exception):
    pass


def bring_orders_in():
    for order in storefront.new_orders():
        try:
            storefront.mark_taken(order["number"], find_old_order(order) or create_order(order))
        except HalfAnOrder as reason:
            storefront.set_aside(order["number"], str(reason))
        except StoreroomError as error:
            # If the order itself is refused, the program sets it aside and continues with the others.
            if error.repeatable or error.code == "QUOTA_EXCEEDED" or error.status in (401, 403):
                raise
            storefront.set_aside(order["number"], str(error))


def create_order(order):
    """Creates an order with its lines. A key made from its number lets the next run continue where this one ended."""
    number = order["number"]
    fields = {"REFERENCE_NUMBER": number, "ORDER_TYPE": "sales_order", "SNAME": order["name"]}
    lines = [
        {"PART_CODE": line["part"], "QUANTITY": line["quantity"], "UNIT_PRICE": line["price"]} for line in order["lines"]
    ]
    key = quote(number, safe="")
    return client.orders.create_with_lines({**fields, "FREIGHT": order["shipping"]}, lines, idempotency_key=key).order_number


def find_old_order(order):
    """Returns the number of an order that an earlier run may have sent under a key that has expired, or None."""
    sold_at = datetime.fromisoformat(order["soldAt"].replace("Z", "+00:00"))
    if datetime.now(timezone.utc) - sold_at < KEY_KEPT:
        return None
    found = client.orders.by_storefront_reference(order["number"])["orders"]
    if not found:
        return None
    count, wanted = sum(len(one["items"]) for one in found), len(order["lines"])
    if count < wanted:
        raise HalfAnOrder(f"HALF_AN_ORDER: {count} of {wanted} lines are there.")
    return min((one["pims_order_number"] for one in found), key=int)


def send_stock_out(seen):
    filters = []
    if seen:
        since = datetime.fromisoformat(seen.replace("Z", "+00:00")) - OVERLAP
        filters = [{"field": "MODIFIED_DATE", "op": "ge", "value": since}]
    for page in client.inventory.query(filters, fields=["PART_CODE", "QTY_AVAILABLE", "MODIFIED_DATE"]).pages():
        storefront.publish_stock({part["PART_CODE"]: part["QTY_AVAILABLE"] for part in page.records})
        seen = max([seen] + [part["MODIFIED_DATE"] for part in page.records])
    return seen


def bring_status_back():
    for lookup in client.orders.by_storefront_reference(storefront.open_numbers()):
        found = derive_fulfillment(lookup)
        status = {"state": found.state, "shipped": found.shipped, "ordered": found.ordered}
        status["tracking"] = found.tracking_numbers
        storefront.publish_status(lookup["storefront_order_number"], status)


if __name__ == "__main__":
    main()
