"""What the events say of hand-overs, after-looks and the ladder of one subject: pure, a part of ``said``.

None of these events moves a call, although some are about one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

REVIEWER: Final = "reviewer:"
"""Before the name of whoever decided in the ordinary way."""
GLASS: Final = "breakglass:"
"""Before the name of whoever broke the glass."""
BROKEN: Final = "break_glass"
"""The code of an approval that one person gave alone."""
LADDER: Final = ("proposal.reminded", "proposal.escalated")
"""Kinds of events that take a call one rung up its ladder."""
EARLY: Final = "early"
"""Stands in the event of a step that was climbed before its time, with why nobody of the step before can be reached."""
REACHING: Final = ("proposal.unreachable", "proposal.reachable")
"""Kinds of events that say that nobody can decide a call, or that somebody can again."""
OPENED: Final = "afterlook.opened"
CLOSED: Final = "afterlook.closed"
DUE: Final = "afterlook.due"
"""A day is over in which nobody looked; it changes nothing."""
_OTHERS: Final = ("delegation.given", "delegation.ended", OPENED, CLOSED)
HANDED: Final = frozenset({*LADDER, *REACHING, *_OTHERS})
"""The kinds that are taken in here; none of them moves a call."""


@dataclass(slots=True)
class Told:
    """What the events of one subject say of it."""

    delegation: dict[str, Any] | None = None
    afterlook: dict[str, Any] | None = None
    rungs: int = 0
    ahead: int = 0
    unreachable_at: int | None = None

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event of :data:`HANDED`."""
        if kind == "delegation.given":
            giver = str(body.get("by")).removeprefix(REVIEWER)
            told = {name: body.get(name) for name in ("taker", "reason", "starts_at", "expires_at")}
            self.delegation = {**told, "giver": giver, "given_at": at, "ended_at": None, "ended_by": ""}
        elif kind == "delegation.ended" and self.delegation is not None:
            self.delegation |= {"ended_at": at, "ended_by": str(body.get("by"))}
        elif kind == OPENED:
            by = str(body.get("by")).removeprefix(GLASS)
            told = {"by": by, "reason": body.get("reason"), "at": at}
            self.afterlook = {**told, "looked_by": "", "looked_at": None, "finding": "", "disagreed": False}
        elif kind == CLOSED and self.afterlook is not None:
            looked_by = str(body.get("by")).removeprefix(REVIEWER)
            self.afterlook |= {"looked_by": looked_by, "looked_at": at, "finding": body.get("finding")}
            self.afterlook["disagreed"] = body.get("disagreed") is True
            self.afterlook["disagreed"] = body.get("disagreed") is True
        elif kind in LADDER and EARLY in body:
            self.ahead = ahead if isinstance(ahead := body.get("ahead"), int) else -1
        elif kind in LADDER:
            self.rungs += 1
        elif kind in REACHING:
            self.unreachable_at = at if kind == REACHING[0] else None


__all__ = ["BROKEN", "CLOSED", "DUE", "EARLY", "GLASS", "HANDED", "LADDER", "OPENED", "REACHING", "REVIEWER", "Told"]
