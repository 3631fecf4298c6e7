"""When the Python client repeats a call, how long it waits, and when it gives up: against a server that is unkind."""

import http.server, json, os, threading, time, unittest

from storeroom import Storeroom, StoreroomError

SECRET = "sr_sk_verysecret"
# [status, code, whether the guide says to repeat it], of every code of the service: test/client/python.test.ts knows them.
ANSWERS = json.loads(os.environ["ANSWERS"])


def refuse(status, code, **headers):
    body = json.dumps({"status": "error", "code": code, "message": "No.", "requestId": "r1", "suggestion": "8"})
    return status, headers, body.encode()


def succeed(data="1"):
    return 200, {}, json.dumps({"status": "success", "data": data, "subRecords": None}).encode()


def page(status, **headers):
    return status, headers, b"<html>Some proxy</html>"


HANG_UP, HANG_UP_MIDWAY, KEEP_SILENT = "hang up", "hang up midway", "keep silent"


class UnkindHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_any(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.received.append((self.path, dict(self.headers), body, time.monotonic()))
        server.ports.add(self.client_address[1])
        answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
        if answer == KEEP_SILENT:
            server.released.wait(10)
            self.close_connection = True
        elif answer == HANG_UP:
            self.close_connection = True
        elif answer == HANG_UP_MIDWAY:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"status":"succ')
            self.close_connection = True
        else:
            status, headers, text = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_any

    def log_message(self, *_):
        pass


class Repeats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), UnkindHandler)
        cls.server.daemon_threads = True
        cls.server.released = threading.Event()
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.released.set()
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        self.tries = []
        self.client = self.make_client()

    def make_client(self, **options):
        base = f"http://127.0.0.1:{self.server.server_address[1]}/tenant/api/pims/v1"
        chosen = {"first_wait": 0.001, "on_try": self.tries.append, **options}
        client = Storeroom(base, team_id="shop", api_id="sr_id_one", api_secret=SECRET, **chosen)
        self.addCleanup(client.close)
        return client

    def will(self, *answers):
        self.server.answers, self.server.received, self.server.ports = list(answers), [], set()
        self.tries.clear()

    def received(self):
        return self.server.received

    def failure_of(self, call, *args, **options):
        with self.assertRaises(StoreroomError) as raised:
            call(*args, **options)
        return raised.exception

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
        self.assertEqual(len({headers["Idempotency-Key"] for _, headers, _, _ in self.received()}), 1)
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

    def test_it_waits_as_retry_after_says_but_never_for_days(self):
        self.will(refuse(429, "RATE_LIMITED", Retry_After="1"), succeed({}))
        self.client.usage()
        self.assertGreaterEqual(self.received()[1][3] - self.received()[0][3], 0.99)
        self.will(refuse(429, "QUOTA_EXCEEDED", Retry_After="1"))
        self.assertEqual(self.failure_of(self.client.usage).retry_after, 1)
        self.will(refuse(503, "STORE_UNAVAILABLE", Retry_After="86400"))
        self.assertEqual(self.failure_of(self.client.usage).retry_after, 86400)
        self.assertEqual(len(self.received()), 1)

    def test_otherwise_it_waits_a_random_time_that_doubles(self):
        self.will(refuse(500, "INTERNAL_ERROR"))
        self.failure_of(self.make_client(first_wait=0.008).usage)
        waits = [tried.wait_seconds for tried in self.tries]
        self.assertIsNone(waits.pop())
        for at, wait in enumerate(waits):
            self.assertTrue(0.004 * 2**at <= wait <= 0.008 * 2**at, wait)

    def test_a_try_that_is_not_answered_in_its_time_is_repeated_until_all_time_is_up(self):
        self.will(KEEP_SILENT, succeed("7"))
        self.assertEqual(self.client.orders.create({}, timeout=0.1, tries=99), "7")
        self.will(KEEP_SILENT)
        error = self.failure_of(self.client.orders.create, {}, timeout=0.04, total_timeout=0.1, tries=99)
        self.assertEqual((error.code, error.status), ("NO_ANSWER", 0))
        self.assertLessEqual(len(self.tries), 3)
        # What was given up may arrive late, and is not to count for another test.
        ends_at = time.monotonic() + 10
        while len(self.received()) < len(self.tries) and time.monotonic() < ends_at:
            time.sleep(0.01)

    def test_an_update_follows_a_line_that_moved_unless_a_tag_names_the_order(self):
        change = {"ORDER_NUMBER": "7", "LINE_REF_LOCK_CODE": "c"}
        self.will(refuse(400, "LINE_MOVED"), HANG_UP, succeed({}))
        self.client.lines.update(change)
        self.assertEqual([json.loads(body)["ORDER_NUMBER"] for _, _, body, _ in self.received()], ["7", "8", "8"])
        self.assertEqual(len({headers["Idempotency-Key"] for _, headers, _, _ in self.received()}), 1)
        self.will(refuse(400, "LINE_MOVED"))
        self.failure_of(self.client.lines.update, change, if_match='"a"')
        self.assertEqual(len(self.received()), 1)

    def test_secrets_are_in_the_header_and_nowhere_else(self):
        self.will(HANG_UP)
        error = self.failure_of(self.client.orders.create, {}, tries=1)
        caller = vars(self.client)["_caller"]
        shown = repr([error, vars(error), error.__cause__, self.tries, vars(self.client), vars(caller)])
        shown += repr([(path, body) for path, _, body, _ in self.received()])
        self.assertNotIn(SECRET, shown)
        for broken in (None, "", "with a space"):
            with self.assertRaisesRegex(TypeError, "^Storeroom needs the argument api_secret.$"):
                Storeroom("http://127.0.0.1", team_id="a", api_id="b", api_secret=broken)


if __name__ == "__main__":
    unittest.main()
