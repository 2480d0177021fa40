"""A receiver of Checkvalve's webhooks: checks the signature, the time and the id, and decides nothing.

    python webhook_receiver.py SECRET_FILE

Put TLS in front of it. It needs nothing but the standard library, and follows Standard Webhooks 1.0.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

DIGITS = 11  # of a time in seconds, for the next millennia
WINDOW = 300  # seconds that a message may be old, or early
MAX_BODY = 1_048_576


# [docs]
class RefusedError(Exception):
    """The message is not from Checkvalve, not from now, or was changed on its way."""


def verified(secrets: list[bytes], headers: Mapping[str, str], body: bytes, now: float) -> dict[str, object]:
    """Return the message; ``body`` is the raw bytes, before anything has parsed them."""
    name, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not name or not (sent.isascii() and sent.isdigit() and len(sent) <= DIGITS) or abs(now - int(sent)) > WINDOW:
        raise RefusedError("no id, or not from now")
    signed = f"{name}.{sent}.".encode() + body
    given = [part.removeprefix("v1,") for part in headers.get("webhook-signature", "").split() if part[:3] == "v1,"]
    for secret in secrets:
        wanted = base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
        if any(hmac.compare_digest(wanted.encode(), part.encode()) for part in given):
            return {**json.loads(body), "id": name}
    raise RefusedError("the signature is not right")


# [/docs]
class Receiver(BaseHTTPRequestHandler):
    """Takes each message once: what comes again with the same id was dealt with."""

    secrets: list[bytes]
    seen: dict[str, float]

    def do_POST(self) -> None:  # the name that the library asks for
        """Verify, answer quickly, then work."""
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            self._answer(413)
            return
        body, now = self.rfile.read(size), time.time()
        try:
            message = verified(self.secrets, {key.lower(): value for key, value in self.headers.items()}, body, now)
        except RefusedError:
            self._answer(401)
            return
        self._answer(204)  # again also for one that was seen: it arrived
        if str(message["id"]) not in self.seen:
            self.seen[str(message["id"])] = now
            print(json.dumps(message), flush=True)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main() -> None:
    """Serve on this machine."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    Receiver.secrets = [base64.b64decode(line.removeprefix("whsec_")) for line in lines]
    Receiver.seen = {}
    HTTPServer(("127.0.0.1", 8080), Receiver).serve_forever()


if __name__ == "__main__":
    main()
