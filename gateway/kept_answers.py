"""Answers of requests that may be sent twice: sealed for whoever holds the credential that the request came with.

1. The key is made from the credential, which is long and random and stored nowhere, and from whose request it was. 2.
The request is bound in, so that no answer can be put beside another one.

Guarantees: the store holds nothing of an answer that it, or anybody with a copy of it, can read; an answer that cannot
be opened is none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from checkvalve.approvals.canonical import digest
from checkvalve.filters.strictjson import JSON

MAX_ANSWER: Final = 1_048_576
"""Bytes of an answer that is kept; of a larger one it is only kept that the request was carried out."""
KEPT_HEADERS: Final = ("Location", "ETag", "Cache-Control", "Content-Type")
"""What of an answer's head belongs to it; everything else is of the connection."""
_NONCE: Final = 12
_PURPOSE: Final = b"checkvalve kept answer 1\0"


@dataclass(frozen=True, slots=True)
class Answered:
    """How a request ended: its status, the headers of :data:`KEPT_HEADERS` that it had, and its body as text."""

    status: int
    headers: dict[str, str]
    body: str


def seal(answer: Answered, credential: str, who: str, request: JSON) -> bytes:
    """Return the sealed form of an answer; empty where it is too large to be kept."""
    text = json.dumps([answer.status, answer.headers, answer.body]).encode()
    if len(text) > MAX_ANSWER:
        return b""
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(_key(credential, who)).encrypt(nonce, text, digest(request).encode())


def unseal(kept: bytes, credential: str, who: str, request: JSON) -> Answered | None:
    """Return an answer; nothing where none was kept, or it was kept for another credential or request."""
    try:
        text = AESGCM(_key(credential, who)).decrypt(kept[:_NONCE], kept[_NONCE:], digest(request).encode())
        status, headers, body = _parts(json.loads(text))
    except (InvalidTag, ValueError):
        return None
    return Answered(status, headers, body)


def _parts(found: Any) -> tuple[int, dict[str, str], str]:
    status, headers, body = found
    return int(status), {str(key): str(value) for key, value in headers.items()}, str(body)


def _key(credential: str, who: str) -> bytes:
    return hmac.new(credential.encode(), _PURPOSE + who.encode(), hashlib.sha256).digest()


__all__ = ["KEPT_HEADERS", "MAX_ANSWER", "Answered", "seal", "unseal"]
