"""A decision names the call it is about by its digest, or by the start of it. Pure."""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.errors import DigestError
from checkvalve.approvals.records import Proposal

MIN_DIGEST: Final = 6
"""Hexadecimal characters of the digest a reviewer gives: enough to know the card was read, few enough to type."""
_HEX: Final = frozenset("0123456789abcdef")


def match_digest(proposal: Proposal, prefix: str) -> None:
    """Check that a digest, or the start of one, is that of the stored call.

    Raises:
        DigestError: it is too short, or that of another call.
    """
    given = prefix.strip().casefold().removeprefix("sha256:")
    if len(given) < MIN_DIGEST or not set(given) <= _HEX:
        raise DigestError(
            f"give at least {MIN_DIGEST} hexadecimal characters of the digest", remedy="they are shown with the call"
        )
    if not proposal.digest.removeprefix("sha256:").startswith(given):
        raise DigestError(
            "this is not the digest of the stored call",
            remedy="look at the call again before you decide",
            present=proposal.present,
        )


__all__ = ["MIN_DIGEST", "match_digest"]
