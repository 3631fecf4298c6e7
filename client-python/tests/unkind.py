"""A server that answers as the test chooses: badly, late, in part or not at all."""

import http.server, json, threading, unittest

from storeroom import Storeroom, StoreroomError

SECRET = "sr_sk_verysecret"


def refuse(status, code, members=(), **headers):
    body = {"status": "error", "code": code, "message": "No.", "requestId": "r1", "suggestion": "8", **dict(members)}
    return status, headers, json.dumps(body).encode()


def succeed(data="1"):
    return 200, {}, json.dumps({"status": "success", "data": data, "subRecords": None}).encode()


def page(status, **headers):
    return status, headers, b"<html>Some proxy</html>"


HANG_UP, HANG_UP_MIDWAY, KEEP_SILENT = "hang up", "hang up midway", "keep silent"


class UnkindHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # Sends headers and body in one piece, because the second of two pieces would wait 40 ms.

    def do_any(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.received.append((self.path, dict(self.headers), body))
        server.ports.add(self.client_address[1])
        answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
        if callable(answer):
            answer = answer(self.headers, body)
        if answer == KEEP_SILENT:
            server.released.wait()
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


class UnkindCase(unittest.TestCase):
    """Tests of a client against an unkind server. `will` sets its answers; a function is called for each answer."""

    def setUp(self):
        # Each test has its own server, because a request that was given up may arrive late.
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), UnkindHandler)
        self.server.daemon_threads = True
        self.server.released = threading.Event()
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.tries = []
        self.client = self.make_client()

    def tearDown(self):
        self.server.released.set()
        self.server.shutdown()
        self.server.server_close()

    def make_client(self, **options):
        chosen = {"base_url": f"http://{self.address()}/tenant/api/pims/v1", "first_wait": 0.001, **options}
        chosen.setdefault("on_try", self.tries.append)
        client = Storeroom(team_id="shop", api_id="sr_id_one", api_secret=SECRET, **chosen)
        self.addCleanup(client.close)
        return client

    def address(self):
        return f"127.0.0.1:{self.server.server_address[1]}"

    def will(self, *answers):
        self.server.answers, self.server.received, self.server.ports = list(answers), [], set()
        self.tries.clear()

    def received(self):
        return self.server.received

    def failure_of(self, call, *args, **options):
        with self.assertRaises(StoreroomError) as raised:
            call(*args, **options)
        return raised.exception
