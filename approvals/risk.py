"""How grave a question is: a tier that follows from the recorded effect and rule alone, for ranking and for friction.

Guarantees: pure; no text of a call, a source or a model can change a tier, and an effect or rule that is not known here
counts as grave. A tier decides how a question is shown and how much a yes takes, never whether a call may run.

1. ``critical``: code, settings, or a rule about commands and credentials. 2. ``high``: money, deletion, whatever
leaves for somebody whom an outsider named, and data on its way to people who may not read it. 3. ``medium``: other
effects. 4. ``low``: reads.
"""

from __future__ import annotations

import enum
from typing import Final

from checkvalve.approvals.fieldspec import Effect


class Tier(enum.StrEnum):
    """How much a mistake would cost, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


TIERS: Final = tuple(Tier)
"""The tiers in the order in which people are shown them."""
CRITICAL_EFFECTS: Final = frozenset({Effect.EXECUTE.value, Effect.CONFIGURE.value})
CRITICAL_RULES: Final = frozenset({"untrusted-command", "untrusted-credential", "execute"})
HIGH_EFFECTS: Final = frozenset({Effect.PAY.value, Effect.DELETE.value})
MILD_RULES: Final = frozenset({"not-asked", "over-limit", "repeated-effect", "untrusted-selector", "dictated-record"})
"""Rules whose question is about what the user wants rather than about who gets something."""
MILD_EFFECTS: Final = frozenset({Effect.WRITE.value, Effect.SEND.value, Effect.REMEMBER.value, "answer"})


def tier_of(effect: str, rule: str) -> Tier:
    """Return the tier of a call with this recorded effect, asked about by this rule; see the module's list."""
    if effect in CRITICAL_EFFECTS or rule in CRITICAL_RULES:
        return Tier.CRITICAL
    if effect in HIGH_EFFECTS:
        return Tier.HIGH
    if effect == Effect.READ.value:
        return Tier.LOW
    if effect in MILD_EFFECTS and (effect != Effect.SEND.value or rule in MILD_RULES):
        return Tier.MEDIUM
    return Tier.HIGH


__all__ = ["TIERS", "Tier", "tier_of"]
