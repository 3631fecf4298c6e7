"""Tests the errors of the Python client."""

import socket, unittest

from unkind import HANG_UP, KEEP_SILENT, UnkindCase, page, refuse


class Errors(UnkindCase):
    def test_without_an_answer_they_name_the_address_and_the_cause(self):
        get, address = self.client.orders.get, self.address()
        for answer, options, message in (
            (KEEP_SILENT, {"timeout": 0.04}, f"{address} did not answer within 1 s."),
            (HANG_UP, {}, f"the connection to {address} ended before the answer was complete (Remote end closed "),
            (page(404), {}, f"{address} sent an answer with status 404 that is not Storeroom's."),
        ):
            self.will(answer)
            error = self.failure_of(get, "1", tries=1, **options)
            self.assertIn(f"{error.code}: getOrder failed: {message}", str(error))
            self.assertTrue(error.remedy)

    def test_without_a_connection_they_say_so(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))  # No server listens on this port.
            address = f"127.0.0.1:{other.getsockname()[1]}"
            client = self.make_client(base_url=f"http://{address}/tenant/api/pims/v1", tries=1)
            error = self.failure_of(client.orders.get, "1")
        wanted = f"NO_ANSWER: getOrder failed: could not connect to {address} (Connection refused)."
        self.assertEqual((str(error), error.status, error.repeatable), (wanted, 0, True))
        self.assertIn("base_url", error.remedy)
        self.will((200, {"Connection": "close"}, b'{"data":{}}'))
        self.client.usage()
        self.server.shutdown()
        self.server.server_close()
        self.assertIn("could not connect to", str(self.failure_of(self.client.usage, tries=1)))
        client = self.make_client(base_url="https://[::1]/tenant", tries=1)
        self.assertIn("could not connect to [::1]:443 (", str(self.failure_of(client.usage)))

    def test_they_carry_what_the_answer_says_to_do_and_where_it_is_explained(self):
        members = {"remedy": "Check ORDER_NUMBER.", "docs": "/docs/errors#NOT_FOUND"}
        self.will(refuse(404, "NOT_FOUND", members))
        error = self.failure_of(self.client.orders.get, "1")
        self.assertEqual((error.remedy, error.docs), ("Check ORDER_NUMBER.", "/docs/errors#NOT_FOUND"))
        self.assertEqual(str(error), "NOT_FOUND: No.")
        self.will(refuse(404, "NOT_FOUND"))  # An earlier version of the service sends no remedy.
        error = self.failure_of(self.client.orders.get, "1")
        self.assertEqual((error.remedy, error.docs), (None, None))

    def test_seconds_to_wait_are_whole(self):
        for header, seconds in (("7", "7"), ("0.4", "1"), ("soon", "None"), ("inf", "None")):
            self.will(refuse(429, "QUOTA_EXCEEDED", Retry_After=header))
            self.assertEqual(str(self.failure_of(self.client.usage).retry_after), seconds)


if __name__ == "__main__":
    unittest.main()
