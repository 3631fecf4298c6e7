"""The storefront: here a folder, in your program the API of your storefront.

`orders` has the orders that were sold, `taken` those that Storeroom has, `aside` those that a person has to look at.
Files are replaced as a whole, so that a crash leaves the old or the new file.
"""

import json, os, urllib.parse
from pathlib import Path

FOLDER = Path(os.environ.get("STOREFRONT", "storefront"))
for name in ("orders", "taken", "aside"):
    (FOLDER / name).mkdir(parents=True, exist_ok=True)


def file_of(kind, number):
    return FOLDER / kind / (urllib.parse.quote(number, safe="") + ".json")


def read(file):
    return json.loads(file.read_text())


def replace(file, content):
    new = file.with_name(file.name + ".new")
    new.write_text(json.dumps(content))
    new.replace(file)


def new_orders():
    """Returns the orders that are neither taken by Storeroom nor set aside."""
    orders = [read(file) for file in sorted((FOLDER / "orders").glob("*.json"))]
    done = lambda number: file_of("taken", number).exists() or file_of("aside", number).exists()
    return [order for order in orders if not done(order["number"])]


def mark_taken(number, order_number):
    replace(file_of("taken", number), {"number": number, "orderNumber": order_number})


def set_aside(number, reason):
    replace(file_of("aside", number), {"number": number, "reason": reason})


def open_numbers():
    """Returns the numbers of orders that are neither shipped nor cancelled."""
    taken = [read(file) for file in sorted((FOLDER / "taken").glob("*.json"))]
    return [one["number"] for one in taken if one.get("status", {}).get("state") not in ("shipped", "cancelled")]


def publish_status(number, status):
    file = file_of("taken", number)
    replace(file, {**read(file), "status": status})


def publish_stock(available):
    file = FOLDER / "stock.json"
    replace(file, {**(read(file) if file.exists() else {}), **available})
