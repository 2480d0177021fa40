"""The words that people type in Teams: one code for each call, answer and channel, and one to link an account.

A code is the beginnings of the call's id and digest, and an HMAC-SHA256 over all of both, the answer and the channel.

Guarantees: pure; a code with one character changed, of another call, answer or channel, or of a call that was edited
since, is none. A code alone lets nobody decide: Teams has to say who typed it, and the queue whether that person may.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.matching import MIN_DIGEST
from checkvalve.approvals.records import Proposal

APPROVE: Final = "approve"
REJECT: Final = "reject"
ESCALATE: Final = "escalate"
LINK: Final = "link"
ANSWERS: Final = (APPROVE, REJECT, ESCALATE)
_ID: Final = 8
_MAC: Final = 10  # bytes: 80 bits, 16 characters
_ANSWER: Final = re.compile(
    rf"(approve|reject|escalate)-([0-9a-f]{{{_ID}}})-([0-9a-f]{{{MIN_DIGEST}}})-([a-z2-7]{{16}})"
)
_LINKING: Final = re.compile(r"link-([0-9a-f]{16})-([0-9]{10})-([a-z2-7]{16})")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a code says before anything was compared: the answer, and which call it begins like."""

    verb: str
    start: str
    digest: str
    code: str


@dataclass(frozen=True, slots=True)
class Linking:
    """Whose account a code links, by the public half of the token, and when it was made, in seconds since 1970."""

    selector: str
    made_at: int
    code: str


def code_for(token: bytes, channel: str, row: Proposal, verb: str) -> str:
    """Return the code of one answer to one call in one channel."""
    start, digest = row.id[:_ID], row.digest.removeprefix("sha256:")
    return f"{verb}-{start}-{digest[:MIN_DIGEST]}-{_mac(token, 'answer', channel, verb, row.id, digest)}"


def link_code(token: bytes, channel: str, selector: str, made_at: int) -> str:
    """Return the code that links the account of a reviewer to whoever types it."""
    return f"{LINK}-{selector}-{made_at}-{_mac(token, LINK, channel, selector, str(made_at))}"


def read_answer(word: str) -> Answer | None:
    """Return what a word says if it has the form of an answer's code."""
    found = _ANSWER.fullmatch(word)
    return None if found is None else Answer(found[1], found[2], found[3], word)


def read_link(word: str) -> Linking | None:
    """Return what a word says if it has the form of a code that links an account."""
    found = _LINKING.fullmatch(word)
    return None if found is None else Linking(found[1], int(found[2]), word)


def is_code(given: str, wanted: str) -> bool:
    """Say whether two codes are the same, in a time that tells nothing."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _mac(token: bytes, *said: str) -> str:
    key = hmac.digest(token, b"checkvalve: words typed in teams", hashlib.sha256)  # not the key that Teams signs with
    return base64.b32encode(hmac.digest(key, json.dumps(said).encode(), hashlib.sha256)[:_MAC]).decode().lower()


__all__ = [
    "ANSWERS", "APPROVE", "ESCALATE", "LINK", "REJECT", "Answer", "Linking", "code_for", "is_code", "link_code",
    "read_answer", "read_link",
]  # fmt: skip
