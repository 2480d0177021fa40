"""Mandates and standing rules as programs are shown them: under the veil of their task, with every bound in sight.

1. What a rule or a mandate demands is what a person judges it by, so a call hides nothing of it by declaring the same
as secret: only registered values, and keys by their form, are marks. 2. Content that a standing rule names is no bound
of authority: it is shown as on the card of its call. 3. The sentence beside it is made of the same parts.

Guarantees: pure; terminal, pages and programs show the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from checkvalve.approvals.redaction import OPEN_ROLES, Veil
from checkvalve.approvals.standing import StandingRule
from checkvalve.approvals.standing_values import Constraint
from checkvalve.filters.strictjson import JSON


def mandate_shown(found: Mapping[str, JSON], veil: Veil) -> dict[str, JSON]:
    """Return the published form of a mandate as it is shown."""
    return {name: veil.judged_json(value) for name, value in found.items()}


def rule_words(rule: StandingRule, veil: Veil) -> str:
    """Return the sentence about a standing rule as it is shown."""
    return rule.in_words(lambda item: veil.bound(item.role, item.in_words()))


def rule_shown(found: Mapping[str, JSON], rule: StandingRule, veil: Veil) -> dict[str, JSON]:
    """Return the published form of a standing rule, or of a trial of one, as it is shown; ``rule`` is what it is of."""
    told = {name: veil.judged_json(value) for name, value in found.items()}
    body = veil.judged_json(rule.to_json())
    if isinstance(body, dict):
        body["arguments"] = [_argument(item, veil) for item in rule.constraints]
    return told | {"rule": body, "in_words": rule_words(rule, veil)}


def _argument(item: Constraint, veil: Veil) -> dict[str, JSON]:
    shown = veil.json if item.role in OPEN_ROLES else veil.judged_json
    return {
        name: shown(value) if name == item.how else veil.judged_json(value) for name, value in item.to_json().items()
    }


__all__ = ["mandate_shown", "rule_shown", "rule_words"]
