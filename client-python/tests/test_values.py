"""Tests how values of Python are written in JSON, and which are refused before anything is sent."""

import json, unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from storeroom import step
from unkind import UnkindCase, succeed

NAN, INFINITY = float("nan"), float("inf")
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=timezone(timedelta(hours=2)))


class Values(UnkindCase):
    def sent(self):
        return json.loads(self.received()[-1][2])

    def test_decimals_are_sent_as_their_exact_text_and_dates_as_iso(self):
        self.will(succeed())
        for value, text in (
            (Decimal("12.50"), "12.50"),
            (Decimal("1E+3"), "1000"),
            (Decimal("1E-7"), "0.0000001"),
            (Decimal("12345678901234567890.01"), "12345678901234567890.01"),
            (date(2026, 11, 20), "2026-11-20"),
            (NOON, "2026-11-20T10:00:00Z"),
            (NOON.replace(microsecond=1500), "2026-11-20T10:00:00.001500Z"),
            (1.5, 1.5),
            (True, True),
            (None, None),
        ):
            self.client.orders.create({"FREIGHT": value})
            self.assertEqual(self.sent(), {"FREIGHT": text})
        self.will(succeed({}))
        self.client.lines.update({"UNIT_PRICE": Decimal("0.10")})
        self.assertEqual(self.sent(), {"UNIT_PRICE": "0.10"})

    def test_filters_and_batches_take_them_too(self):
        self.will(succeed([]))
        self.client.orders.query([{"field": "MODIFIED_DATE", "op": "ge", "value": NOON}]).page()
        self.assertEqual(self.sent()[0]["value"], "2026-11-20T10:00:00Z")
        days = [date(2026, 11, 20), date(2026, 11, 21)]
        self.client.orders.query([{"field": "ORDER_DATE", "op": "in", "value": days}]).page()
        self.assertEqual(self.sent()[0]["value"], ["2026-11-20", "2026-11-21"])
        self.client.customers.query([{"field": "NOTES", "op": "empty"}]).page()
        self.assertEqual(self.sent(), [{"field": "NOTES", "op": "empty"}])
        body = {"ORDER_NUMBER": step(0).data, "UNIT_PRICE": Decimal("2E+1")}
        self.client.batch([{"operation": "addLineItem", "body": body}])
        self.assertEqual(self.sent()[0]["body"], {"ORDER_NUMBER": "$0.data", "UNIT_PRICE": "20"})

    def test_the_lines_of_an_invoice_take_them_too(self):
        self.will(succeed({}))
        line = {"LINE_REF_LOCK_CODE": "L", "QUANTITY": Decimal("1E+1")}
        self.client.orders.invoice("7", {"lines": [line]})
        self.assertEqual(self.sent(), {"ORDER_NUMBER": "7", "lines": [{**line, "QUANTITY": "10"}]})

    def test_what_no_field_can_have_is_refused_with_what_to_send_and_nothing_is_sent(self):
        calls = (
            lambda value: self.client.orders.create({"FREIGHT": value}),
            lambda value: self.client.lines.add({"FREIGHT": value}),
            lambda value: self.client.customers.update({"FREIGHT": value}),
            lambda value: self.client.orders.invoice("7", {"lines": [{"FREIGHT": value}]}),
            lambda value: self.client.inventory.query([{"field": "FREIGHT", "value": value}]),
            lambda value: self.client.inventory.query([{"field": "FREIGHT", "op": "in", "value": [1, value]}]),
            lambda value: self.client.batch([{"operation": "createOrder", "body": {"FREIGHT": value}}]),
            lambda value: self.client.orders.create_with_lines({}, [{}] * 200 + [{"FREIGHT": value}]),
        )
        finite = "FREIGHT must be a finite number, not {}. Send a number, or None if there is none."
        refused = [(value, ValueError, finite.format(value)) for value in (NAN, INFINITY, -INFINITY, Decimal("sNaN"))]
        zone = "Send one with a time zone, such as datetime.now(timezone.utc), or a date."
        naive = f"FREIGHT is the datetime 2026-11-20T12:00:00, which has no time zone. {zone}"
        refused.append((NOON.replace(tzinfo=None), ValueError, naive))
        kinds = "Send a str, int, float, Decimal, bool, date, datetime or None."
        refused.append((b"5", TypeError, f"FREIGHT cannot be b'5', which is of type bytes. {kinds}"))
        self.will(succeed())
        for value, kind, message in refused:
            for call in calls:
                with self.assertRaises(kind) as raised:
                    call(value)
                self.assertEqual(str(raised.exception), message)
        self.assertEqual(self.received(), [])


if __name__ == "__main__":
    unittest.main()
