"""Signatures of outgoing webhooks, in the scheme of Standard Webhooks 1.0: HMAC-SHA256 over id, time and body.

Header ``webhook-signature`` holds ``v1,`` and base64 for each secret, with blanks between them, so that a secret can be
changed while both are accepted. ``examples/webhook_receiver.py`` is the other side. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence


def headers(name: str, at: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """Return the three headers for a message called ``name`` that is sent at ``at`` (seconds since 1970)."""
    signed = f"{name}.{at}.".encode() + body
    lines = ("v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in secrets)
    return {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": " ".join(lines)}


__all__ = ["headers"]
