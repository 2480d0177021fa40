"""Challenges that a person's proof answers: made for one purpose and its parts, fresh for minutes, answered once.

Guarantees: a challenge is SHA-256 over a domain, the purpose, the parts (each with its length before it) and a nonce.
So an answer to one is no answer to another. The nonce has the moment it was drawn at; the note that a challenge was
answered commits with what the answer brought about.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

import sqlalchemy as sa

from checkvalve.approvals.account_tables import spent_proofs
from checkvalve.approvals.refusals import StepUpOtherError

Purpose = Literal["step-up", "sign-in", "passkey", "oidc"]

DOMAIN: Final = "checkvalve challenge 1"
"""What every challenge begins with: an answer made for another program is none here."""
GOOD_FOR: Final = 300_000_000
"""Microseconds for which a challenge may be answered."""
_KEPT: Final = 2 * GOOD_FOR
_NONCE_BYTES: Final = 24
_MAX_DIGITS: Final = 18


def draw_nonce(now: int) -> str:
    """Return a new nonce that was drawn at ``now`` (microseconds)."""
    return f"{now}.{secrets.token_urlsafe(_NONCE_BYTES)}"


def challenge(purpose: Purpose, *parts: str, nonce: str) -> bytes:
    """Return the 32 bytes to sign for exactly these parts."""
    form = (DOMAIN, purpose, *parts, nonce)
    data = (part.encode("utf-8", "surrogatepass") for part in form)
    return hashlib.sha256(b"".join(b"%d:%b" % (len(one), one) for one in data)).digest()


def is_fresh(nonce: str, now: int) -> bool:
    """Say whether a nonce was drawn a moment ago."""
    drawn, _, rest = nonce.partition(".")
    if not (drawn.isascii() and drawn.isdigit() and len(drawn) <= _MAX_DIGITS and rest):
        return False
    return 0 <= now - int(drawn) <= GOOD_FOR


def spend(connection: sa.Connection, value: bytes, purpose: Purpose, name: str, at: int) -> None:
    """Note inside the caller's write transaction that a challenge was answered.

    Raises:
        StepUpError: it was answered before.
    """
    key = value.hex()
    if connection.execute(sa.select(spent_proofs.c.key).where(spent_proofs.c.key == key)).scalar() is not None:
        raise StepUpOtherError("this proof was used before", remedy="prove once more who you are")
    old = sa.and_(spent_proofs.c.at < at - _KEPT, spent_proofs.c.purpose != "step-up")
    connection.execute(sa.delete(spent_proofs).where(old))
    connection.execute(sa.insert(spent_proofs).values(key=key, purpose=purpose, name=name, at=at))


__all__ = ["DOMAIN", "GOOD_FOR", "Purpose", "challenge", "draw_nonce", "is_fresh", "spend"]
