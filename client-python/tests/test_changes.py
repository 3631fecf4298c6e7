"""Tests that the Python client skips and repeats no change of the feed, through every kind of failure."""

import json
from unittest import main, mock
from urllib.parse import parse_qs, urlsplit

import storeroom
from test_repeats import StandingTime
from unkind import HANG_UP, HANG_UP_MIDWAY, UnkindCase, page, refuse, succeed

TYPES = ("orders", "customers", "inventory")


def changes_of(first, last):
    rest = {"key": "1", "change": "updated", "at": "2026-03-18T12:00:00Z", "operation": "updateOrder"}
    return [{"seq": str(number), "type": TYPES[(number - 1) % 3], **rest} for number in range(first, last + 1)]


def answer(changes, following, more=False):
    headers = {"X_Next_After": str(following), **({"X_Has_More": "true"} if more else {})}
    return 200, headers, json.dumps({"status": "success", "data": changes, "subRecords": None}).encode()


def take_to(last, changes):
    taken = []
    for change in changes:
        taken.append(change.seq)
        if change.seq == last:
            return taken


class ChangesCase(UnkindCase):
    def asked(self):
        asked = [parse_qs(urlsplit(path).query) for path, _, _ in self.received()]
        return [{name: values[0] for name, values in one.items() if name != "teamID"} for one in asked]

    def serve(self, newest, *faults):
        """Answers like a feed with this many changes, after these faults, one for each of the first calls."""
        left = list(faults)

        def choose(_headers, _body):
            if left:
                return left.pop(0)
            asked = self.asked()[-1]
            after = int(asked.get("after", newest))
            following = min(after + int(asked.get("maxReturn", 500)), newest)
            types = asked.get("types", ",".join(TYPES)).split(",")
            found = [one for one in changes_of(after + 1, following) if one["type"] in types]
            return answer(found, following, following < newest)

        self.will(choose)

    def test_every_change_comes_once_and_in_order_through_failures_in_every_place(self):
        faults = [HANG_UP, HANG_UP_MIDWAY, refuse(429, "RATE_LIMITED"), page(502), refuse(500, "INTERNAL_ERROR")]
        self.serve(40, *faults)
        # Five failures follow one another, and `tries` is 2: following continues, as its calls have no limit of tries.
        changes = self.make_client(tries=2, total_timeout=60).changes(after=0, page_size=4)
        taken = []
        for change in changes:
            taken.append(change.seq)
            if change.seq in ("4", "20"):
                self.serve(40, *faults)
            if change.seq == "40":
                break
        self.assertEqual(taken, [str(number) for number in range(1, 41)])

    def test_a_kept_number_continues_with_the_change_after_it(self):
        self.serve(20)
        first = take_to("7", self.client.changes(after="2", page_size=3))
        second = take_to("20", self.client.changes(after=first[-1], page_size=3))
        self.assertEqual(first + second, [str(number) for number in range(3, 21)])

    def test_it_waits_in_calls_of_55_seconds_and_without_a_position_begins_now(self):
        self.will(answer([], 5), answer([], 5), answer(changes_of(6, 6), 6), answer(changes_of(7, 7), 7))
        self.assertEqual(take_to("7", self.client.changes()), ["6", "7"])
        waits = [{"after": after, "wait": "55"} for after in ("5", "5", "6")]
        self.assertEqual(self.asked(), [{}, *waits])

    def test_pages_have_the_position_to_keep(self):
        self.serve(6)
        seen = []
        for one in self.client.changes(after=0, types=["customers", "inventory"], page_size=4).pages():
            seen.append(([change.seq for change in one.changes], one.next, one.has_more))
            if not one.changes:
                break
        self.assertEqual(seen, [(["2", "3"], "4", True), (["5", "6"], "6", False), ([], "6", False)])

    def test_one_page_has_what_the_service_says_and_waits_only_if_asked(self):
        self.serve(3)
        first = self.client.list_changes()
        self.assertEqual((first.changes, first.next, first.has_more), ([], "3", False))
        one = self.client.list_changes(after="1", page_size=1, include="records", wait=10)
        self.assertEqual((one.changes[0].seq, one.changes[0].type, one.next, one.has_more), ("2", "customers", "2", True))
        wanted = {"after": "1", "include": "records", "maxReturn": "1", "wait": "10"}
        self.assertEqual(self.asked(), [{}, wanted])

    def test_what_waiting_cannot_help_with_ends_it_at_once(self):
        self.will(refuse(410, "CHANGES_GONE", {"earliest": "1024"}))
        error = self.failure_of(take_to, "1", self.client.changes(after=5))
        self.assertEqual((error.code, error.status, error.earliest, error.repeatable), ("CHANGES_GONE", 410, "1024", False))
        for refusal in (refuse(429, "QUOTA_EXCEEDED", Retry_After="1"), refuse(401, "INVALID_CREDENTIALS")):
            self.will(refusal)
            self.failure_of(take_to, "1", self.client.changes(after=5))
            self.assertEqual(len(self.received()), 1)
        self.will(refuse(503, "SERVICE_BUSY"))
        self.failure_of(take_to, "1", self.client.changes(after=5, tries=3))
        self.assertEqual(len(self.received()), 3)
        self.will(succeed([]))
        self.assertRegex(str(self.failure_of(take_to, "1", self.client.changes())), "^UNREADABLE_ANSWER: .*X-Next-After")

    def test_an_outage_of_a_day_ends_nothing(self):
        with mock.patch.object(storeroom, "time", StandingTime()) as standing:
            self.serve(1, *[refuse(503, "SERVICE_BUSY")] * 1100)
            self.assertEqual(take_to("1", self.make_client(first_wait=1.0).changes(after=0)), ["1"])
            self.assertEqual(len(standing.waits), 1100)
            self.assertLessEqual(max(standing.waits), 30)

    def test_a_call_that_the_service_holds_may_take_that_much_longer(self):
        self.will(answer([], 7))
        with mock.patch.object(self.client._caller, "_connect", wraps=self.client._caller._connect) as connect:
            self.client.list_changes(after=7, wait=25)
            self.client.list_changes(after=7)
        self.assertEqual([round(call.args[0]) for call in connect.call_args_list], [35, 10])


if __name__ == "__main__":
    main()
