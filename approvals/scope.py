"""Where the roles of somebody hold: tools, tenants, tiers, and up to which amount.

Guarantees: pure; a scope limits what one may decide, never what one sees; its amount limits a yes and never a no.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.question import Question
from checkvalve.approvals.risk import Tier
from checkvalve.filters.strictjson import JSON


@dataclass(frozen=True, slots=True)
class Scope:
    """Where roles hold. Empty means everywhere; ``tools`` are names or ``server/name``."""

    tools: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()
    max_amount: Decimal | None = None

    def covers(self, question: Question, *, yes: bool = True) -> bool:
        """Say whether this person may decide such a question; a no may be about any amount."""
        return (
            (not self.tools or any(question.is_called(name) for name in self.tools))
            and (not self.tenants or question.tenant in self.tenants)
            and (not self.tiers or question.tier in self.tiers)
            and not (yes and self.max_amount is not None and question.exceeds(self.max_amount))
        )

    def in_words(self) -> str:
        """Return it for people; empty where it is everywhere."""
        parts = [f"{name} {', '.join(found)}" for name, found in self._lists() if found]
        return "; ".join([*parts, *([f"at most {self.max_amount:f}"] if self.max_amount is not None else [])])

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("tools", self.tools), ("tenants", self.tenants), ("tiers", tuple(tier.value for tier in self.tiers))

    def to_json(self) -> dict[str, JSON]:
        """Return the stored form: what limits nothing is left out."""
        found: dict[str, JSON] = {name: [*sorted(listed)] for name, listed in self._lists() if listed}
        return found if self.max_amount is None else {**found, "max_amount": f"{self.max_amount:f}"}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Scope:
        """Return the scope in a stored form.

        Raises:
            QueueError: there is no such tier, or the amount is none.
        """
        try:
            amount = None if body.get("max_amount") is None else Decimal(str(body["max_amount"]))
            tiers = tuple(Tier(word) for word in body.get("tiers", ()))
        except (ValueError, InvalidOperation):
            raise QueueError(
                "this is no scope", remedy="tiers are low, medium, high, critical; amounts digits"
            ) from None
        if amount is not None and not (amount.is_finite() and amount >= 0):
            raise QueueError("this is no amount", remedy="write it as digits, such as 99.50")
        return cls(tuple(body.get("tools", ())), tuple(body.get("tenants", ())), tiers, amount)


__all__ = ["Scope"]
