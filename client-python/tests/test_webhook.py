"""Tests that verify_webhook of the Python client only accepts messages that are signed and recent."""

import base64, hashlib, hmac, json
from email.message import Message
from unittest import TestCase, main, mock

import storeroom
from storeroom import WebhookError, verify_webhook

# The values are from the examples of the Standard Webhooks specification and of its reference libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EXAMPLE = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
EXAMPLE_BODY = '{"test": 2432232314}'
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = 1_700_000_000
BODY = json.dumps({"type": "orders.updated", "data": {"seq": "7", "key": "ä€😀"}}, ensure_ascii=False).encode()


def sign(secret, at=NOW):
    digest = hmac.new(base64.b64decode(secret[6:]), b"msg_1.%s." % str(at).encode() + BODY, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def headers_of(signature, at=NOW):
    return {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": signature}


class Webhooks(TestCase):
    def setUp(self):
        standing = mock.patch.object(storeroom.time, "time", lambda: NOW + 0.9)
        standing.start()
        self.addCleanup(standing.stop)

    def refuses(self, why, *args, **options):
        with self.assertRaisesRegex(WebhookError, why):
            verify_webhook(*args, **options)

    def test_the_example_of_the_specification_verifies_when_its_time_is_near(self):
        self.refuses("^webhook-timestamp is 1614265330, more than 300 ", SECRET, EXAMPLE, EXAMPLE_BODY)
        event = verify_webhook(SECRET, EXAMPLE, EXAMPLE_BODY, tolerance_seconds=float("inf"))
        self.assertEqual(event, {"test": 2432232314})

    def test_a_signed_webhook_gives_its_event_from_headers_and_a_body_in_each_form(self):
        headers = headers_of(sign(SECRET))
        message = Message()
        for name, value in headers.items():
            message[name.title()] = value
        for form in (headers, {name.upper(): value for name, value in headers.items()}, message):
            for body in (BODY, BODY.decode()):
                self.assertEqual(verify_webhook(SECRET, form, body), json.loads(BODY))

    def test_while_a_secret_is_replaced_either_signature_and_either_secret_is_enough(self):
        both = headers_of(f"{sign(OTHER)} {sign(SECRET)}")
        for secret in (SECRET, OTHER, [SECRET, OTHER]):
            verify_webhook(secret, both, BODY)
        verify_webhook([OTHER, SECRET], headers_of(f"v1a,{'A' * 86} v2,x {sign(SECRET)}"), BODY)

    def test_another_secret_body_time_id_or_version_is_refused(self):
        good, why = sign(SECRET), "^No signature of the webhook matches"
        self.refuses(why, SECRET, headers_of(sign(OTHER)), BODY)
        self.refuses(why, SECRET, headers_of(good), BODY + b" ")
        self.refuses(why, SECRET, headers_of(good, NOW - 1), BODY)
        self.refuses(why, SECRET, {**headers_of(good), "webhook-id": "msg_2"}, BODY)
        for wrong in ("", "v1,", good[3:], good[:-1], good + "=", good.replace("v1", "v2"), "v1,ä"):
            self.refuses(why, SECRET, headers_of(wrong), BODY)
        for at, character in enumerate(good):
            self.refuses(why, SECRET, headers_of(good[:at] + ("C" if character == "B" else "B") + good[at + 1 :]), BODY)
        self.refuses(why, [], headers_of(good), BODY)

    def test_a_time_is_taken_up_to_the_tolerance_of_the_past_and_of_the_future(self):
        for sense in (-1, 1):
            near, far = NOW + 300 * sense, NOW + 301 * sense
            verify_webhook(SECRET, headers_of(sign(SECRET, near), near), BODY)
            self.refuses("more than 300 seconds", SECRET, headers_of(sign(SECRET, far), far), BODY)
            verify_webhook(SECRET, headers_of(sign(SECRET, far), far), BODY, tolerance_seconds=301)
        for wrong in ("x", "-1", "1e9", "", "９"):
            self.refuses("^webhook-timestamp is ", SECRET, headers_of(sign(SECRET, wrong), wrong), BODY)

    def test_a_missing_header_is_named_and_a_wrong_secret_or_body_is_a_mistake_of_the_program(self):
        for name in EXAMPLE:
            others = {key: value for key, value in headers_of(sign(SECRET)).items() if key != name}
            self.refuses(f"^The header {name} is missing", SECRET, others, BODY)
        for secret in ("", SECRET[6:], "whsec_short", SECRET + "!", None, [None]):
            with self.assertRaises(TypeError) as raised:
                verify_webhook(secret, headers_of(sign(SECRET)), BODY)
            self.assertNotIn(SECRET[6:], str(raised.exception))
        with self.assertRaisesRegex(TypeError, "needs the raw body"):
            verify_webhook(SECRET, headers_of(sign(SECRET)), json.loads(BODY))


if __name__ == "__main__":
    main()
