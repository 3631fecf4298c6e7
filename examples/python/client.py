"""Calls Storeroom, and repeats what a repetition can help."""

import base64, http.client, json, os, random, time, urllib.error, urllib.parse, urllib.request
from pathlib import Path

BASE = os.environ.get("BASE", "http://127.0.0.1:8080/tenant/api/pims/v1")
KEYS = json.loads(Path(os.environ.get("KEYS_FILE", "keys.json")).read_text())
TRIES = 4
TIMEOUT_SECONDS = 30
WAIT_AND_REPEAT = ("REQUEST_TIMEOUT", "RATE_LIMITED", "TOO_MANY_QUERIES", "IDEMPOTENCY_KEY_RUNNING")


def action_for(status, code):
    """What to do about an answer that is no success. Status 0: there was none.

    `repeat`: a wait helps. `pause`: only next month helps. `stop`: a person has to. `set aside`: the request is wrong.
    """
    if status == 0 or status >= 500 or code in WAIT_AND_REPEAT:
        return "repeat"
    if code == "QUOTA_EXCEEDED":
        return "pause"
    return "stop" if status in (401, 403) else "set aside"


class Problem(Exception):
    def __init__(self, action, code, message):
        super().__init__(f"{code}: {message}")
        self.action = action
        self.code = code


def call(method, path, query=None, body=None, key=None):
    """The answer, and the cursor of the next page. Raises a Problem.

    `key` is the Idempotency-Key of a write: the same for every repetition, also after a restart.
    """
    for attempt in range(1, TRIES + 1):
        status, answer, headers = send(method, path, query or {}, body, key)
        if status == 200:
            return answer, headers.get("X-Next-Cursor")
        code = answer.get("code", "NO_ANSWER")
        action = action_for(status, code)
        if action != "repeat" or attempt == TRIES:
            raise Problem(action, code, answer.get("message", f"{method} {path} was not answered."))
        time.sleep(int(headers.get("Retry-After", 0)) or random.random() * 2**attempt)


def send(method, path, query, body, key):
    pair = base64.b64encode(f"{KEYS['apiID']}:{KEYS['apiSecret']}".encode()).decode()
    headers = {"Authorization": "Basic " + pair}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    url = BASE + path + "?" + urllib.parse.urlencode({"teamID": KEYS["teamID"], **query})
    try:
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            return 200, json.load(response), response.headers
    except urllib.error.HTTPError as refusal:
        try:
            return refusal.code, json.load(refusal), refusal.headers
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}, {}
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}, {}  # no answer, or half of one
