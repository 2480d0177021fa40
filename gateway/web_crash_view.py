"""What a card says of a call of unknown end: how often it was tried, and what its probe settled.

Guarantees: everything is a number, a moment or a word of ours; the name of a tool is in :class:`Shown`.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.crash_shown import AfterCrash
from checkvalve.approvals.probes import WHY
from checkvalve.approvals.retries import MAX_TRIES
from checkvalve.gateway.web_text import Shown, line


@dataclass(frozen=True, slots=True)
class CrashView:
    """One card's part. ``stand`` and ``why`` are words of ours; ``until`` and ``at`` are in microseconds."""

    stand: str
    tries: int
    of: int
    until: int
    tool: Shown
    why: str
    at: int


def crash_view(found: AfterCrash | None) -> CrashView | None:
    """Return what the card of a call says of its unknown end, if anything."""
    if found is None:
        return None
    why = found.why if not found.why or found.why in WHY else "failed"
    return CrashView(found.stand, found.tries, MAX_TRIES, found.until, line(found.tool), why, found.at)


__all__ = ["CrashView", "crash_view"]
