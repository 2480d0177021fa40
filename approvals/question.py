"""What a question is about, as far as it decides who may answer it: pure, and taken from the recorded call alone.

Guarantees: nothing here is text that a model or a source wrote for people; the tier, the effect and the rule are the
record's, an amount is what the arguments with that role say, and one that cannot be read counts as above every limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.filters.values import canonical

UNREADABLE: Final = "?"
"""Stands where a call moves something, and nobody can say how much."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call that waits for people.

    ``tenant`` is the gateway's; ``amount`` a plain decimal in the tool's own unit (amounts of one call are added up),
    empty where there is none, and :data:`UNREADABLE` where there should be one.
    """

    tool: str
    server: str
    effect: str
    rule: str
    tier: Tier
    tenant: str = ""
    amount: str = ""

    def is_called(self, name: str) -> bool:
        """Say whether a name in a file means this tool: ``tool`` on any server, or ``server/tool``."""
        return name in {self.tool, f"{self.server}/{self.tool}"}

    def reaches(self, amount: Decimal) -> bool:
        """Say whether this call moves at least ``amount``; what cannot be read does."""
        return self.amount == UNREADABLE or (self.amount != "" and Decimal(self.amount) >= amount)

    def exceeds(self, amount: Decimal) -> bool:
        """Say whether this call moves more than ``amount``; what cannot be read does."""
        return self.amount == UNREADABLE or (self.amount != "" and Decimal(self.amount) > amount)


def question_of(request: ActionRequest, decision: Decision, *, tenant: str = "") -> Question:
    """Return what a decided call asks."""
    rule = decision.verdict.rule
    return Question(
        tool=request.tool,
        server=request.server,
        effect=decision.action,
        rule=rule,
        tier=tier_of(decision.action, rule),
        tenant=tenant,
        amount=_amount(request, decision),
    )


def _amount(request: ActionRequest, decision: Decision) -> str:
    """Return what the call moves.

    1. The arguments that the decision took for amounts are added up, without their signs. 2. One that is no number
    makes the whole unreadable. 3. So does a payment without any.
    """
    paths = {report.path for report in decision.arguments if report.role == Role.AMOUNT}
    found = [canonical("number", str(leaf.value)) for leaf in request.leaves() if leaf.dotted() in paths]
    numbers = [Decimal(text) for text in found if text is not None]
    if len(numbers) < len(found) or len(found) < len(paths):
        return UNREADABLE
    if not numbers:
        return UNREADABLE if decision.action == Effect.PAY else ""
    total = sum((abs(number) for number in numbers), Decimal())
    return format(total.normalize(), "f") if total else "0"


__all__ = ["UNREADABLE", "Question", "question_of"]
