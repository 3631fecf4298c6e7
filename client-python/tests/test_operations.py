"""Tests every operation of the Python client against the service of the variables BASE and KEYS_FILE.

`npm test` runs these tests: test/client/python.test.ts makes the tenant, with the parts `A/1#x` (9 units at 2.5) and
`B`.
"""

import json, os, unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from storeroom import Storeroom, StoreroomError, derive_fulfillment, step

KEYS = json.loads(Path(os.environ["KEYS_FILE"]).read_text())
NAMES = {"team_id": KEYS["teamID"], "api_id": KEYS["apiID"], "api_secret": KEYS["apiSecret"]}
CONTRACT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())


class Operations(unittest.TestCase):
    def setUp(self):
        self.tries = []
        self.client = Storeroom(os.environ["BASE"], **NAMES, on_try=self.tries.append, first_wait=0.001)
        self.addCleanup(self.client.close)

    def office(self):
        pair = {"api_id": KEYS["office"]["apiID"], "api_secret": KEYS["office"]["apiSecret"]}
        client = Storeroom(os.environ["BASE"], **{**NAMES, **pair}, on_try=self.tries.append, first_wait=0.001)
        self.addCleanup(client.close)
        return client

    def test_every_operation_answers_what_the_service_keeps(self):
        client = self.client
        begun_at = client.usage()["total"]
        code = client.customers.create({"CUSTOMER_NAME": "Ida", "CREDIT_LIMIT": 100})
        self.assertEqual(client.customers.update({"CUSTOMER_CODE": code, "NOTES": "rings twice"}), code)
        customer = client.customers.get(code, fields=["NOTES", "CREDIT_LIMIT"])
        self.assertEqual(customer, {"NOTES": "rings twice", "CREDIT_LIMIT": "100"})
        found = client.customers.query([{"field": "CUSTOMER_NAME", "value": "Ida"}]).to_list(limit=5)
        self.assertEqual([one["NOTES"] for one in found], ["rings twice"])

        number = client.orders.create({"REFERENCE_NUMBER": "#1", "ORDER_TYPE": "sales_order", "CUSTOMER_CODE": code})
        line = client.lines.add({"ORDER_NUMBER": number, "PART_CODE": "A/1#x", "QUANTITY": 2})
        self.assertEqual(line["UNIT_PRICE"], "2.5")
        change = {"ORDER_NUMBER": number, "LINE_REF_LOCK_CODE": line["LINE_REF_LOCK_CODE"], "QUANTITY": "3"}
        changed = client.lines.update(change)
        self.assertEqual(client.orders.update({"ORDER_NUMBER": number, "SHIP_VIA": "Bike"})["SHIP_VIA"], "Bike")
        order = client.orders.get(number)
        self.assertEqual((order["SHIP_VIA"], order["ORDER_TOTAL"], order.lines), ("Bike", "7.5", [changed]))
        self.assertEqual(client.orders.query([{"field": "CUSTOMER_CODE", "value": code}]).first()["ORDER_NUMBER"], number)
        self.assertEqual(client.inventory.get("A/1#x")["QTY_AVAILABLE"], "6")
        self.assertEqual([part["PART_CODE"] for part in client.inventory.query()], ["A/1#x", "B"])
        lookup = client.orders.by_storefront_reference("#1")
        self.assertEqual(lookup["orders"][0]["pims_order_number"], number)
        many = client.orders.by_storefront_reference(["#2", "#1"])
        self.assertEqual([len(one["orders"]) for one in many], [0, 1])
        self.assertEqual(derive_fulfillment(lookup).open, 3)
        self.assertEqual(client.orders.cancel(number)["ORDER_STATUS"], "CANCELLED")

        made, added, _ = client.batch(
            [
                {"operation": "createOrder", "body": {"SNAME": "$mith"}},
                {"operation": "addLineItem", "body": {"ORDER_NUMBER": step(0).data, "PART_CODE": "B"}},
                {
                    "operation": "updateCustomer",
                    "body": {"CUSTOMER_CODE": code, "NOTES": step(1).data["LINE_REF_LOCK_CODE"]},
                },
            ]
        )
        order = client.orders.get(made)
        self.assertEqual((order["SNAME"], order.lines), ("$mith", [added]))
        self.assertEqual(client.customers.get(code)["NOTES"], added["LINE_REF_LOCK_CODE"])
        page = client.list_changes(after=0, types=["orders"], include="records,changes")
        last = page.changes[-1]
        self.assertEqual((last.key, last.change, last.operation, last.record), (made, "created", "createOrder", order))
        self.assertEqual((last.by, last.changes), ("default", []))
        self.assertIn("LINE_NUMBER", [one["name"] for one in client.fields("lines")])
        office = self.office()
        self.assertEqual(office.inventory.create({"PART_CODE": "C"}), "C")
        self.assertEqual(office.inventory.update({"PART_CODE": "C", "UNIT_PRICE": Decimal("3.10")}), "C")
        self.assertEqual(office.stock.receive("C", 5)["QTY_ONHAND"], "5")
        self.assertEqual(office.stock.count("C", 3)["QTY_ONHAND"], "3")
        self.assertEqual(office.stock.adjust("C", Decimal("-0.5"), {"REASON": "broken"})["QTY_ONHAND"], "2.5")
        lines = client.lines.query([{"field": "ORDER_NUMBER", "value": made}], fields=["PART_CODE"])
        self.assertEqual(lines.to_list(limit=2), [{"PART_CODE": "B"}])
        movements = client.stock.movements("C", page_size=2)
        kinds = [(one["NUMBER"], one["KIND"], one["AFTER"]) for one in movements]
        self.assertEqual(kinds, [("1", "received", "5"), ("2", "counted", "3"), ("3", "adjusted", "2.5")])
        self.assertEqual([one["REASON"] for one in movements.page("2").records], ["broken"])
        self.assertEqual(office.orders.approve(made)["ORDER_TYPE"], "sales_order")
        self.assertEqual(office.orders.invoice(made)["ORDER_TYPE"], "invoice")
        line = {"LINE_REF_LOCK_CODE": office.orders.get(made).lines[0]["LINE_REF_LOCK_CODE"], "QUANTITY": 1}
        back = office.orders.return_lines(made, {"lines": [line]})
        self.assertEqual(office.orders.void(back)["ORDER_STATUS"], "VOID")
        self.assertEqual(office.orders.void(made, {"REASON": "wrong size"})["ORDER_STATUS"], "VOID")
        # Every call counts once, but the batch counts once for each of its steps.
        self.assertEqual(client.usage()["total"] - begun_at, len(self.tries) - 1 + 2)

        paths = [methods for path, methods in CONTRACT["paths"].items() if path.startswith("/tenant/")]
        operations = {one["operationId"] for methods in paths for one in methods.values()}
        self.assertEqual({tried.operation for tried in self.tries}, operations)
        self.assertEqual({(tried.status, tried.number) for tried in self.tries}, {(200, 1)})

    def test_an_order_with_its_lines_is_made_whole_or_not_at_all(self):
        lines = [{"PART_CODE": "A/1#x", "QUANTITY": 1}, {"PART_CODE": "B", "UNIT_PRICE": Decimal("0.10")}]
        order = {"REFERENCE_NUMBER": "#whole", "ORDER_DATE": date(2026, 11, 20), "FREIGHT": Decimal("1E+1")}
        made = self.client.orders.create_with_lines(order, lines, idempotency_key="whole")
        found = self.client.orders.get(made.order_number)
        self.assertEqual((found["ORDER_DATE"], found["FREIGHT"], found.lines), ("11/20/2026", "10", made.lines))
        self.assertEqual(self.client.orders.create_with_lines(order, lines, idempotency_key="whole"), made)
        long = self.client.orders.create_with_lines({}, lines * 75)
        self.assertEqual([one["LINE_NUMBER"] for one in long.lines], [str(at + 1) for at in range(150)])
        with self.assertRaises(StoreroomError) as raised:
            self.client.orders.create_with_lines({"PO_NUMBER": "none"}, [*lines, {"QUANTITY": "many"}])
        self.assertEqual((raised.exception.field, raised.exception.step), ("QUANTITY", 3))
        self.assertEqual(self.client.orders.query([{"field": "PO_NUMBER", "value": "none"}]).count(), 0)

        now = datetime.now(timezone(timedelta(hours=5)))
        for op, count in (("lt", 1), ("gt", 0)):
            filters = [{"field": "REFERENCE_NUMBER", "value": "#whole"}]
            filters.append({"field": "CREATE_DATE", "op": op, "value": now + timedelta(days=1)})
            self.assertEqual(self.client.orders.query(filters).count(), count)

    def test_one_batch_sells_and_invoices_a_line_by_its_lock_code(self):
        client = self.office()
        client.inventory.create({"PART_CODE": "till", "SERIALIZED": True})
        part = client.stock.receive("till", 2, {"SERIAL_NUMBERS": "S1,$S2", "FROM_QUANTITY": 0})
        self.assertEqual((part["QTY_ONHAND"], part["SERIAL_NUMBERS"]), ("2", "$S2,S1"))
        order = {"ORDER_NUMBER": step(0).data}
        line = {"LINE_REF_LOCK_CODE": step(1).data["LINE_REF_LOCK_CODE"], "QUANTITY": 1, "SERIAL_NUMBERS": "$S2"}
        number, added, _, _, invoiced = client.batch(
            [
                {"operation": "createOrder", "body": {}},
                {"operation": "addLineItem", "body": {**order, "PART_CODE": "till", "SERIAL_NUMBERS": "$S2"}},
                {"operation": "addLineItem", "body": {**order, "DESCRIPTION": "delivery"}},
                {"operation": "approveOrder", "body": order},
                {"operation": "invoiceOrder", "body": {**order, "lines": [line], "TRACKING_NUMBERS": "T1"}},
            ]
        )
        self.assertEqual((invoiced["ORDER_NUMBER"], invoiced["ORDER_TYPE"]), (number, "invoice"))
        (sold,) = client.orders.get(number).lines
        self.assertEqual((sold["LINE_REF_LOCK_CODE"], sold["SERIAL_NUMBERS"]), (added["LINE_REF_LOCK_CODE"], "$S2"))
        self.assertEqual(client.orders.get(invoiced["BACKORDER_NUMBER"]).lines[0]["DESCRIPTION"], "delivery")
        voided = client.orders.void(number, if_match=client.orders.get(number).etag)
        self.assertEqual((voided["ORDER_STATUS"], client.inventory.get("till")["QTY_ONHAND"]), ("VOID", "2"))

    def test_one_line_of_an_invoice_is_returned_and_its_serial_number_is_in_stock_again(self):
        client = self.office()
        client.inventory.create({"PART_CODE": "back", "SERIALIZED": True})
        client.stock.receive("back", 1, {"SERIAL_NUMBERS": "B1"})
        sold = client.orders.create_with_lines(
            {"REFERENCE_NUMBER": "#back"}, [{"PART_CODE": "back", "SERIAL_NUMBERS": "B1"}]
        )
        client.orders.invoice(sold.order_number)
        line = {"LINE_REF_LOCK_CODE": sold.lines[0]["LINE_REF_LOCK_CODE"], "QUANTITY": 1, "SERIAL_NUMBERS": "B1"}
        etag = client.orders.get(sold.order_number).etag
        number = client.orders.return_lines(sold.order_number, {"lines": [line], "REASON": "torn"}, if_match=etag)
        self.assertEqual(client.orders.get(number)["RETURN_OF"], sold.order_number)
        self.assertEqual(client.inventory.get("back")["QTY_ONHAND"], "1")
        lookup = client.orders.by_storefront_reference("#back")
        self.assertEqual({one.get("return_of") for one in lookup["orders"]}, {None, sold.order_number})
        (part,) = derive_fulfillment(lookup).lines
        self.assertEqual((part.ordered, part.shipped, part.open, part.returned), (1, 1, 0, 1))
        self.assertEqual(part.serial_numbers, ("B1",))

    def test_stock_that_is_not_what_was_read_is_not_written_and_the_call_not_repeated(self):
        client = self.office()
        client.inventory.create({"PART_CODE": "from"})
        self.tries.clear()
        with self.assertRaises(StoreroomError) as raised:
            client.stock.count("from", 5, {"FROM_QUANTITY": 2})
        self.assertEqual((raised.exception.code, raised.exception.repeatable), ("RECORD_CHANGED", False))
        self.assertEqual([tried.status for tried in self.tries], [412])
        self.assertEqual(client.inventory.get("from")["QTY_ONHAND"], "0")

    def test_a_pair_of_the_scope_write_calls_no_operation_of_the_back_office(self):
        client = self.client
        number = client.orders.create({})
        for call in (
            lambda: client.orders.approve(number),
            lambda: client.orders.invoice(number),
            lambda: client.orders.void(number),
            lambda: client.orders.return_lines(number, {"lines": []}),
            lambda: client.inventory.create({"PART_CODE": "A"}),
            lambda: client.inventory.update({"PART_CODE": "A/1#x"}),
            lambda: client.stock.receive("A/1#x", 1),
            lambda: client.stock.count("A/1#x", 1),
            lambda: client.stock.adjust("A/1#x", 1, {"REASON": "found"}),
            lambda: client.batch([{"operation": "approveOrder", "body": {"ORDER_NUMBER": number}}]),
        ):
            with self.assertRaises(StoreroomError) as raised:
                call()
            self.assertEqual((raised.exception.status, raised.exception.code), (403, "SCOPE_MISSING"))

    def test_the_change_feed_is_followed_from_a_position(self):
        after = self.client.list_changes().next
        codes = iter(("feed-1", "feed-2", "feed-3"))
        seen = [self.client.customers.create({"CUSTOMER_CODE": next(codes)})]
        for change in self.client.changes(after=after, types=["customers"], include="records"):
            self.assertEqual((change.key, change.record["CUSTOMER_CODE"]), (seen[-1], seen[-1]))
            code = next(codes, None)
            if code is None:
                break
            seen.append(self.client.customers.create({"CUSTOMER_CODE": code}))
        self.assertEqual(len(seen), 3)
        with self.assertRaises(StoreroomError) as raised:
            self.client.list_changes(after=10**14)
        self.assertEqual((raised.exception.code, raised.exception.status), ("CHANGES_GONE", 410))
        self.assertTrue(raised.exception.earliest.isdigit())

    def test_a_query_brings_every_record_once_with_its_lines(self):
        numbers = [self.client.orders.create({"PO_NUMBER": "pages"}) for _ in range(5)]
        for number in (numbers[1], numbers[1], numbers[3]):
            self.client.lines.add({"ORDER_NUMBER": number, "DESCRIPTION": number})
        query = self.client.orders.query(
            [{"field": "PO_NUMBER", "value": "pages"}], include="lines", page_size=2, fields=["ORDER_TYPE"]
        )
        seen = [(order["ORDER_NUMBER"], [line["DESCRIPTION"] for line in order.lines]) for order in query]
        wanted = {numbers[1]: [numbers[1]] * 2, numbers[3]: [numbers[3]]}
        self.assertEqual(seen, [(number, wanted.get(number, [])) for number in numbers])
        self.assertEqual(query.count(), 5)
        first = query.page()
        self.assertEqual(sum(len(page.records) for page in query.pages(first.cursor)), 3)
        self.tries.clear()
        self.assertEqual(len(query.to_list(limit=2)), 2)
        self.assertEqual(len(self.tries), 1)

    def test_what_is_refused_is_raised_with_its_code(self):
        with self.assertRaises(StoreroomError) as raised:
            self.client.orders.create({"REFRENCE_NUMBER": "#1"})
        error = raised.exception
        wanted = ("UNKNOWN_FIELD", 400, "createOrder", "REFRENCE_NUMBER", "REFERENCE_NUMBER", False)
        self.assertEqual(
            (error.code, error.status, error.operation, error.field, error.suggestion, error.repeatable), wanted
        )
        self.assertTrue(error.request_id)
        self.assertIsNone(self.client.orders.find("9999999"))
        with self.assertRaises(StoreroomError) as raised:
            self.client.batch(
                [
                    {"operation": "createOrder", "body": {}},
                    {"operation": "addLineItem", "body": {"ORDER_NUMBER": "9999999"}},
                ]
            )
        self.assertEqual((raised.exception.code, raised.exception.step), ("ORDER_NOT_FOUND", 1))

    def test_a_record_that_changed_since_it_was_read_is_not_overwritten(self):
        number = self.client.orders.create({})
        tag = self.client.orders.get(number).etag
        self.assertIsNone(self.client.orders.get(number, if_none_match=tag))
        self.client.lines.add({"ORDER_NUMBER": number}, if_match=tag)
        with self.assertRaises(StoreroomError) as raised:
            self.client.orders.update({"ORDER_NUMBER": number, "NOTES": "b"}, if_match=tag)
        self.assertEqual(raised.exception.code, "RECORD_CHANGED")
        self.assertNotEqual(raised.exception.etag, tag)


if __name__ == "__main__":
    unittest.main()
