"""The place to go on from in a list of calls, as the API hands it out. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from checkvalve.approvals.records import Proposal
from checkvalve.gateway.http_problems import Problem

_PLACE: Final = re.compile(r"([0-9]{1,18}) ([0-9a-f-]{36})")  # a moment that every database can compare, and an id


def cursor(row: Proposal) -> str:
    """Return the place after a call."""
    return base64.urlsafe_b64encode(f"{row.created_at} {row.id}".encode()).decode()


def place_of(after: str) -> tuple[int, str] | None:
    """Return the moment in microseconds and the id that a place names; nothing for the start.

    Raises:
        Problem: it is no place.
    """
    if not after:
        return None
    try:
        text = base64.b64decode(after, altchars=b"-_", validate=True).decode("ascii")
        if (found := _PLACE.fullmatch(text)) is None:
            raise ValueError
        return int(found[1]), found[2]
    except (binascii.Error, ValueError):
        raise Problem(400, "bad_cursor", "this is no place to go on from", "send `next` of an answer") from None


__all__ = ["cursor", "place_of"]
