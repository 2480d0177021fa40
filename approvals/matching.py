"""A person names a thing by the start of its id, and decides on a call by the start of its digest. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from checkvalve.approvals.errors import DigestError, NotFoundError
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import AmbiguousError

MIN_PREFIX: Final = 6
"""Characters of an id that name a thing where no other one's id starts like this."""
MIN_DIGEST: Final = 6
"""Hexadecimal characters of the digest a reviewer gives: enough to know the card was read, few enough to type."""
_HEX: Final = frozenset("0123456789abcdef")


class Named(Protocol):
    """Whatever has an id."""

    @property
    def id(self) -> str:
        """Its id, in small letters."""


_T = TypeVar("_T", bound=Named)


def one_named(known: Iterable[_T], prefix: str, what: str, listing: str) -> _T:
    """Return the one thing whose id starts like this; ``what`` it is, and the command that lists them, are for errors.

    Raises:
        NotFoundError: none does.
        AmbiguousError: several do, or it is too short to name one.
    """
    start = prefix.strip().casefold()
    found = [item for item in known if start and item.id.startswith(start)]
    if not found:
        raise NotFoundError(f"there is no such {what}", remedy=f"list them: {listing}")
    if len(start) < MIN_PREFIX or len(found) > 1:
        raise AmbiguousError(f"this id is too short to name one {what}", remedy="give more of its characters")
    return found[0]


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


__all__ = ["MIN_DIGEST", "MIN_PREFIX", "match_digest", "one_named"]
