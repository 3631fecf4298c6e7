"""Tests orders with their lines: one batch if they fit, otherwise several, which a repeated call continues."""

import json, unittest
from decimal import Decimal

from storeroom import StoreroomError
from unkind import HANG_UP, UnkindCase, refuse


class Service:
    """Accepts batches with at most this many steps, and carries out each key once."""

    def __init__(self, most=100, policy='"quota";q=9000;w=2592000, "rate";w=2;q={}'):
        self.most, self.policy = most, policy
        self.kept, self.orders, self.lines = {}, 0, []

    def __call__(self, headers, body):
        steps, key = json.loads(body), headers["Idempotency-Key"]
        if len(body) > 1024 * 1024:
            return refuse(413, "BODY_TOO_LARGE")
        if len(steps) > self.most:
            return refuse(400, "BATCH_TOO_LONG", RateLimit_Policy=self.policy.format(self.most))
        if key in self.kept:
            sent, answer = self.kept[key]
            return answer if sent == body else refuse(422, "IDEMPOTENCY_KEY_REUSED")
        data = [{"data": self.take(one)} for one in steps]
        answer = 200, {}, json.dumps({"status": "success", "data": data, "subRecords": None}).encode()
        self.kept[key] = (body, answer)
        return answer

    def take(self, one):
        if one["operation"] == "createOrder":
            self.orders += 1
            return "10001"
        assert one["body"]["ORDER_NUMBER"] == ("$0.data" if len(self.kept) == 0 else "10001"), one
        self.lines.append(one["body"]["PART_CODE"])
        return {**one["body"], "LINE_NUMBER": str(len(self.lines))}


def lines(count):
    return [{"PART_CODE": f"P{at}", "UNIT_PRICE": Decimal("0.25")} for at in range(count)]


class Lines(UnkindCase):
    def create(self, count=30, **options):
        return self.client.orders.create_with_lines({"SNAME": "$mith"}, lines(count), **options)

    def asked(self):
        """Returns the key and the number of steps of each call."""
        return [(headers["Idempotency-Key"], len(json.loads(body))) for _, headers, body in self.received()]

    def test_an_order_that_fits_is_one_batch(self):
        self.will(Service())
        number, made = self.create(99, idempotency_key="K")
        self.assertEqual((number, [one["PART_CODE"] for one in made]), ("10001", [f"P{at}" for at in range(99)]))
        self.assertEqual(self.asked(), [("K", 100)])
        steps = json.loads(self.received()[0][2])
        self.assertEqual(steps[0], {"operation": "createOrder", "body": {"SNAME": "$$mith"}})
        body = {"PART_CODE": "P0", "UNIT_PRICE": "0.25", "ORDER_NUMBER": "$0.data"}
        self.assertEqual(steps[1], {"operation": "addLineItem", "body": body})
        self.will(Service())
        self.assertEqual(self.create(0), ("10001", []))
        self.assertEqual(len(self.received()), 1)

    def test_what_the_rate_does_not_allow_at_once_comes_in_pieces_of_the_size_that_it_does(self):
        for most, pieces in ((20, [31, 20, 11]), (1, [31] + [1] * 31), (30, [31, 30, 1])):
            service = Service(most)
            self.will(service)
            made = self.create(idempotency_key="K")
            self.assertEqual((service.orders, len(made.lines)), (1, 30))
            self.assertEqual(service.lines, [f"P{at}" for at in range(30)])
            self.assertEqual([steps for _, steps in self.asked()], pieces)
            keys = ["K", "K"] + [f"K.{at}" for at in range(2, len(pieces))]
            self.assertEqual([key for key, _ in self.asked()], keys)

    def test_more_steps_or_bytes_than_a_batch_takes_come_in_pieces(self):
        service = Service()
        self.will(service)
        self.assertEqual(len(self.create(250).lines), 250)
        self.assertEqual([steps for _, steps in self.asked()], [100, 100, 51])
        service = Service()
        self.will(service)
        large = [{"PART_CODE": "P", "DESCRIPTION": "ä" * 8000}] * 50
        self.assertEqual(len(self.client.orders.create_with_lines({}, large).lines), 50)
        sizes = [len(body) for _, _, body in self.received()]
        self.assertEqual((len(sizes), max(sizes) <= 1024 * 1024 < sum(sizes)), (3, True))

    def test_the_same_call_continues_where_one_stopped(self):
        service = Service(20)
        for stop in (1, 2):
            self.will(*[service] * (1 + stop), HANG_UP)
            error = self.failure_of(self.create, 70, idempotency_key="K", tries=1)
            self.assertEqual((error.code, error.order_number, len(service.lines)), ("NO_ANSWER", "10001", 20 * stop - 1))
        self.will(service)
        self.assertEqual(len(self.create(70, idempotency_key="K").lines), 70)
        self.assertEqual((service.orders, service.lines), (1, [f"P{at}" for at in range(70)]))

    def test_a_rate_that_changes_in_between_makes_no_second_order_and_doubles_no_line(self):
        for before, after in ((20, 100), (100, 20), (20, 10), (10, 20)):
            service = Service(before)
            self.will(service, service, HANG_UP)
            try:
                self.create(idempotency_key="K", tries=1)
            except StoreroomError:
                pass
            made = list(service.lines)
            service.most = after
            self.will(service)
            error = self.failure_of(self.create, idempotency_key="K")
            self.assertEqual((error.code, error.order_number), ("IDEMPOTENCY_KEY_REUSED", None))
            self.assertEqual((service.orders, service.lines), (1, made))

    def test_a_rate_that_falls_while_pieces_are_sent_makes_the_rest_smaller(self):
        service = Service(20)

        def fall(headers, body):
            service.most = 5
            return service(headers, body)

        self.will(service, service, fall, service)
        self.assertEqual(len(self.create(30, idempotency_key="K").lines), 30)
        self.assertEqual(self.asked()[2:], [("K.2", 11), ("K.2", 5), ("K.3", 5), ("K.4", 1)])
        self.assertEqual(service.lines, [f"P{at}" for at in range(30)])

    def test_the_step_of_an_error_counts_from_the_order_on(self):
        service = Service(20)
        self.will(service, service, refuse(400, "INVALID_VALUE", {"step": 3}))
        error = self.failure_of(self.create)
        self.assertEqual((error.step, error.order_number), (23, "10001"))
        self.will(refuse(400, "INVALID_VALUE", {"step": 3}))
        error = self.failure_of(self.create)
        self.assertEqual((error.step, error.order_number), (3, None))

    def test_a_batch_that_no_smaller_one_can_replace_is_sent_once(self):
        for policy in ("", '"quota";q=9000;w=2592000', '"rate";q=31;w=2'):
            self.will(refuse(400, "BATCH_TOO_LONG", RateLimit_Policy=policy))
            error = self.failure_of(self.create)
            self.assertEqual((error.code, error.steps_max), ("BATCH_TOO_LONG", 31 if "rate" in policy else None))
            self.assertEqual(len(self.received()), 1)

    def test_a_key_has_room_for_the_numbers_of_pieces(self):
        self.will(Service())
        self.create(idempotency_key="k" * 249)
        with self.assertRaisesRegex(ValueError, "^idempotency_key has 250 characters. Send at most 249: pieces add to it.$"):
            self.create(idempotency_key="k" * 250)
        self.assertEqual(len(self.received()), 1)


if __name__ == "__main__":
    unittest.main()
