"""A standing rule that was made, as it stands at one moment: what is left of it, who agreed, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from checkvalve.approvals.moments import rfc3339
from checkvalve.approvals.people import is_usable, same_person
from checkvalve.approvals.standing import ANYBODY, PREFIX, StandingRule
from checkvalve.filters.strictjson import JSON

CLOCK: Final = "clock"
"""Who ends what nobody has taken back in time."""
DAY: Final = 86_400_000_000
"""Microseconds of the span within which the calls of a day are counted; it moves along."""
STATES: Final = ("waiting", "in force", "used up", "revoked", "expired")


@dataclass(frozen=True, slots=True)
class StandingEntry:
    """One stored rule, as read at the moment ``at``.

    ``used`` holds, for each counted call, what it moved and when; ``used_here`` says that the looked-at call did.
    ``people`` are the persons who agreed, under every name they have; ``needed`` is how many have to.
    """

    rule: StandingRule
    id: str
    tenant: str
    proposal_id: str
    made_by: str
    made_at: int
    confirmed_by: str
    confirmed_at: int | None
    expires_at: int
    version: int
    ended_at: int | None
    ended_by: str
    at: int
    used: tuple[tuple[str, int], ...] = ()
    used_here: bool = False
    people: frozenset[str] = frozenset()
    needed: int = 2
    single_user: bool = False

    @property
    def verdict_rule(self) -> str:
        """What the rule of a verdict is called that this one gave."""
        return f"{PREFIX}{self.id}"

    @property
    def agreed(self) -> int:
        """How many people agreed to it by now."""
        return 1 + bool(self.is_confirmed and not same_person(self.made_by, self.confirmed_by))

    @property
    def is_confirmed(self) -> bool:
        """Say whether it had been confirmed, by the maker alone where one is enough."""
        return bool(self.confirmed_by) and self.confirmed_at is not None and self.confirmed_at <= self.at

    @property
    def holds(self) -> bool:
        """Say whether it counts: enough people agreed, it has not ended, and its deadline is ahead."""
        open_ = (self.ended_at is None or self.ended_at > self.at) and self.made_at <= self.at < self.expires_at
        return open_ and self.is_confirmed and self.agreed >= max(self.needed, self.rule.persons)

    @property
    def calls_left(self) -> int:
        """How many calls it may still answer now."""
        lately = sum(at > self.at - DAY for _, at in self.used)
        return max(0, min(self.rule.max_calls - len(self.used), self.rule.per_day - lately))

    @property
    def spent(self) -> Decimal:
        """What all counted calls have moved together."""
        return sum((Decimal(amount or "0") for amount, _ in self.used), Decimal(0))

    @property
    def amount_left(self) -> Decimal | None:
        """How much may still be moved; None where it moves nothing."""
        return None if self.rule.max_total is None else self.rule.max_total - self.spent

    def has_left(self, amount: Decimal) -> bool:
        """Say whether one more call that moves this much is within what is left."""
        once, left = self.rule.max_amount, self.amount_left
        if self.calls_left < 1 or amount < 0:
            return False
        return once is None or left is None or (amount <= once and amount <= left)

    def is_for(self, requester: str, behind: tuple[str, ...] = ()) -> bool:
        """Say whether calls of this requester are meant: never those of who agreed to it, unless all is one person's.

        ``behind`` are the others who asked, see ``asked_by``. Whom nobody knows may be anybody, also one of those.
        """
        if self.rule.requester not in {ANYBODY, requester}:
            return False
        return self.single_user or all(
            is_usable(name) and not any(same_person(name, person) for person in self._persons())
            for name in (requester, *behind)
        )

    def _persons(self) -> Iterator[str]:
        yield from (self.made_by, *([self.confirmed_by] if self.confirmed_by else []), *self.people)

    @property
    def state(self) -> str:
        """Return one of :data:`STATES`."""
        if self.ended_at is not None and self.ended_at <= self.at:
            return "expired" if self.ended_by == CLOCK else "revoked"
        if self.at >= self.expires_at:
            return "expired"
        if not self.holds:
            return "waiting"
        left = self.amount_left
        return "used up" if len(self.used) >= self.rule.max_calls or (left is not None and left <= 0) else "in force"

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        left = self.amount_left
        return {
            "id": self.id,
            "state": self.state,
            "rule": self.rule.to_json(),
            "in_words": self.rule.in_words(),
            "approval": self.proposal_id,
            "made_by": self.made_by,
            "made_at": rfc3339(self.made_at),
            "confirmed_by": self.confirmed_by,
            "confirmed_at": None if self.confirmed_at is None else rfc3339(self.confirmed_at),
            "persons_needed": max(self.needed, self.rule.persons),
            "expires_at": rfc3339(self.expires_at),
            "ended_at": None if self.ended_at is None else rfc3339(self.ended_at),
            "ended_by": self.ended_by,
            "calls_used": len(self.used),
            "calls_left": self.calls_left,
            "amount_used": format(self.spent, "f"),
            "amount_left": None if left is None else format(left, "f"),
        }


__all__ = ["CLOCK", "DAY", "STATES", "StandingEntry"]
