"""A mandate that was granted, as it stands at one moment: what is left of it, and how it ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.moments import rfc3339
from checkvalve.filters.strictjson import JSON

CLOCK: Final = "clock"
"""Who ends what nobody has taken back in time."""


@dataclass(frozen=True, slots=True)
class MandateEntry:
    """One granted mandate. ``amounts`` are what each counted call has taken; ``used_here``: the looked-at call did."""

    mandate: Mandate
    id: str
    tenant: str
    thread: str
    requester: str
    granted_by: str
    granted_at: int
    expires_at: int
    version: int
    ended_at: int | None
    ended_by: str
    amounts: tuple[str, ...] = ()
    used_here: bool = False
    counts: bool = True
    """False where whoever granted it may not grant it now; :mod:`still_given` looks."""

    @property
    def calls_left(self) -> int:
        """How many calls may still use it."""
        return self.mandate.max_calls - len(self.amounts)

    @property
    def spent(self) -> Decimal:
        """What all counted calls have moved together."""
        return sum((Decimal(amount or "0") for amount in self.amounts), Decimal(0))

    @property
    def amount_left(self) -> Decimal | None:
        """How much may still be moved; None where it moves nothing."""
        return None if self.mandate.total is None else self.mandate.total - self.spent

    def holds(self, at: int) -> bool:
        """Say whether it counts at this moment: not ended, and before its deadline."""
        return (self.ended_at is None or self.ended_at > at) and at < self.expires_at

    def state(self, at: int) -> str:
        """Return ``in force``, ``void``, ``used up``, ``revoked`` or ``expired``."""
        if not self.holds(at):
            return "revoked" if self.ended_by not in {"", CLOCK} else "expired"
        if self.calls_left <= 0 or self.amount_left == 0:
            return "used up"
        return "in force" if self.counts else "void"

    def to_json(self, at: int) -> dict[str, JSON]:
        """Return the published form."""
        left = self.amount_left
        return {
            "id": self.id,
            "state": self.state(at),
            "mandate": self.mandate.to_json(),
            "in_words": self.mandate.in_words(),
            "thread": self.thread,
            "requester": self.requester,
            "granted_by": self.granted_by,
            "granted_at": rfc3339(self.granted_at),
            "expires_at": rfc3339(self.expires_at),
            "ended_at": None if self.ended_at is None else rfc3339(self.ended_at),
            "ended_by": self.ended_by,
            "calls_used": len(self.amounts),
            "calls_left": self.calls_left,
            "amount_used": format(self.spent, "f"),
            "amount_left": None if left is None else format(left, "f"),
        }
