"""Tests when the Python client repeats a call, how long it waits, and when it gives up."""

import json, os, threading, time, unittest
from unittest import mock

import storeroom
from storeroom import Storeroom, StoreroomError
from unkind import HANG_UP, HANG_UP_MIDWAY, KEEP_SILENT, SECRET, UnkindCase, page, refuse, succeed

# [status, code, whether the guide says to repeat the call] for every code. test/client/python.test.ts makes the list.
ANSWERS = json.loads(os.environ["ANSWERS"])


class StandingTime:
    """The time of the client, which passes only while the client waits before it repeats a call."""

    time = staticmethod(time.time)

    def __init__(self):
        self.now, self.waits = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


class Repeats(UnkindCase):
    def test_of_every_code_those_are_repeated_that_the_guide_says(self):
        self.assertGreater(len(ANSWERS), 40)
        for status, code, is_repeated in ANSWERS:
            self.will(refuse(status, code), succeed())
            try:
                self.client.orders.create({})
                outcome = True
            except StoreroomError:
                outcome = False
            self.assertEqual((outcome, len(self.received())), (is_repeated, 2 if is_repeated else 1), code)

    def test_a_call_without_an_answer_is_repeated_with_one_key(self):
        self.will(HANG_UP, HANG_UP_MIDWAY, page(502), page(200), succeed("7"))
        self.assertEqual(self.client.orders.create({}), "7")
        self.assertEqual([tried.status for tried in self.tries], [0, 0, 502, 200, 200])
        self.assertEqual(len({headers["Idempotency-Key"] for _, headers, _ in self.received()}), 1)
        self.will(succeed())
        self.client.orders.create({}, idempotency_key="mine")
        self.assertEqual(self.received()[0][1]["Idempotency-Key"], "mine")

    def test_calls_of_a_thread_share_a_connection_and_other_threads_have_their_own(self):
        self.will(succeed({}))
        for _ in range(3):
            self.client.usage()
        self.assertEqual(len(self.server.ports), 1)
        thread = threading.Thread(target=lambda: (self.client.usage(), self.client.close()))
        thread.start()
        thread.join()
        self.assertEqual((len(self.received()), len(self.server.ports)), (4, 2))

    def test_a_wrong_address_and_a_redirection_are_not_repeated(self):
        for answer in (page(404), page(301, Location="http://127.0.0.1:1/")):
            self.will(answer)
            self.assertEqual(self.failure_of(self.client.usage).code, "UNREADABLE_ANSWER")
            self.assertEqual(len(self.received()), 1)

    def test_it_gives_up_after_its_tries(self):
        self.will(refuse(503, "SERVICE_BUSY"))
        error = self.failure_of(self.client.orders.create, {})
        self.assertEqual((error.code, error.repeatable, error.request_id), ("SERVICE_BUSY", True, "r1"))
        self.assertEqual(len(self.received()), 5)
        self.will(refuse(503, "SERVICE_BUSY"))
        self.failure_of(self.client.orders.create, {}, tries=2)
        self.assertEqual(len(self.received()), 2)

    def test_it_waits_as_retry_after_says_but_never_longer_than_a_call_may_take(self):
        with mock.patch.object(storeroom, "time", StandingTime()) as standing:
            self.will(refuse(429, "RATE_LIMITED", Retry_After="1"), succeed({}))
            self.client.usage()
            self.assertEqual(standing.waits, [self.tries[0].wait_seconds])
            self.assertTrue(1 <= standing.waits[0] <= 1.5, standing.waits)
            self.will(refuse(503, "SERVICE_BUSY", Retry_After="30"))
            self.failure_of(self.client.usage, total_timeout=100)
            self.assertEqual((len(self.received()), len(standing.waits)), (4, 4))
            for code, retry_after in (("QUOTA_EXCEEDED", 1), ("STORE_UNAVAILABLE", 86400)):
                self.will(refuse(429 if code == "QUOTA_EXCEEDED" else 503, code, Retry_After=str(retry_after)))
                self.assertEqual(self.failure_of(self.client.usage).retry_after, retry_after)
                self.assertEqual((len(self.received()), len(standing.waits)), (1, 4))

    def test_a_refusal_for_the_rate_is_no_try_and_ends_only_with_the_time_of_the_call(self):
        refused = refuse(429, "RATE_LIMITED", Retry_After="1", RateLimit_Policy='"rate";q=10;w=2')
        with mock.patch.object(storeroom, "time", StandingTime()) as standing:
            self.will(*[refused] * 20, refuse(503, "SERVICE_BUSY"), succeed({}))
            self.make_client(tries=2).usage()
            self.assertEqual([tried.number for tried in self.tries], [1] * 21 + [2])
            self.will(refused)
            error = self.failure_of(self.make_client(total_timeout=30).usage)
            self.assertEqual((error.code, error.repeatable), ("RATE_LIMITED", True))
            self.assertGreaterEqual(len(self.received()), 20)
            self.will(refused)
            self.failure_of(self.make_client(tries=1).usage)
            self.assertEqual(len(self.received()), 1)
            self.assertGreater(len(set(standing.waits)), 10)

    def test_a_call_waits_before_it_is_sent_if_none_is_left(self):
        limits = {"RateLimit_Policy": '"rate";q=10;w=2, "quota";q=9;w=9'}
        empty, left = ((200, {"RateLimit": f'"rate";r={r};t=2', **limits}, succeed({})[2]) for r in (0, 1))
        with mock.patch.object(storeroom, "time", StandingTime()) as standing:
            self.will(left, empty, empty, left)
            for _ in range(4):
                self.client.usage()
            self.assertEqual([round(wait, 6) for wait in standing.waits], [0.2, 0.2])
            standing.now += 1
            self.client.usage()
            self.assertEqual(len(standing.waits), 2)
            self.will(empty, succeed({}))
            self.client.usage()
            self.client.usage(total_timeout=0.1)
            self.assertEqual(len(standing.waits), 2, "a turn after the end of the call is not awaited")

    def test_otherwise_it_waits_a_random_time_that_doubles(self):
        with mock.patch.object(storeroom, "time", StandingTime()) as standing:
            self.will(refuse(500, "INTERNAL_ERROR"))
            self.failure_of(self.make_client(first_wait=10, total_timeout=1000).usage)
            self.assertEqual([tried.wait_seconds for tried in self.tries], [*standing.waits, None])
            for most, wait in zip((10, 20, 30, 30), standing.waits):
                self.assertTrue(most / 2 <= wait <= most, wait)
            self.assertEqual(len(standing.waits), 4)

    def test_a_try_that_is_not_answered_in_its_time_is_repeated_until_all_time_is_up(self):
        self.will(KEEP_SILENT, succeed("7"))
        self.assertEqual(self.client.orders.create({}, timeout=0.1, tries=99), "7")
        self.will(KEEP_SILENT)
        error = self.failure_of(self.client.orders.create, {}, timeout=0.04, total_timeout=0.1, tries=99)
        self.assertEqual((error.code, error.status), ("NO_ANSWER", 0))
        self.assertLessEqual(len(self.tries), 3)

    def test_an_update_follows_a_line_that_moved_unless_a_tag_names_the_order(self):
        change = {"ORDER_NUMBER": "7", "LINE_REF_LOCK_CODE": "c"}
        self.will(refuse(400, "LINE_MOVED"), HANG_UP, succeed({}))
        self.client.lines.update(change)
        self.assertEqual([json.loads(body)["ORDER_NUMBER"] for _, _, body in self.received()], ["7", "8", "8"])
        self.assertEqual(len({headers["Idempotency-Key"] for _, headers, _ in self.received()}), 1)
        self.will(refuse(400, "LINE_MOVED"))
        self.failure_of(self.client.lines.update, change, if_match='"a"')
        self.assertEqual(len(self.received()), 1)

    def test_secrets_are_in_the_header_and_nowhere_else(self):
        self.will(HANG_UP)
        error = self.failure_of(self.client.orders.create, {}, tries=1)
        caller = vars(self.client)["_caller"]
        shown = repr([error, vars(error), error.__cause__, self.tries, vars(self.client), vars(caller)])
        shown += repr([(path, body) for path, _, body in self.received()])
        self.assertNotIn(SECRET, shown)
        for broken in (None, "", "with a space", "with-its-line-break\n"):
            with self.assertRaisesRegex(TypeError, "^Set the argument api_secret, without spaces and line breaks.$"):
                Storeroom("http://127.0.0.1", team_id="a", api_id="b", api_secret=broken)


if __name__ == "__main__":
    unittest.main()
