"""Judge decided cases against what they expect, and find the permits that no case holds in check.

Guarantees: pure; a case that expects nothing passes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.kit_cedar import RuleFormula

_STRICTNESS: Final = {"allow": 0, "review": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case says about its decision. ``never`` are rules that must not match."""

    name: str
    verdict: Literal["allow", "review", "deny"]
    rule: str = ""
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case with its decision, and what is wrong with it; nothing wrong is a pass."""

    expected: Expectation
    action: str
    decision: Decision
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        verdict = self.decision.verdict
        return {
            "name": self.expected.name,
            "passed": not self.problems,
            "expected": self.expected.verdict,
            "verdict": verdict.name,
            "rule": verdict.rule,
            "rules": list(self.decision.rules),
            "problems": list(self.problems),
        }


def judge(expected: Expectation, action: str, decision: Decision) -> CaseResult:
    """Compare one decision with what was expected of it."""
    verdict = decision.verdict
    problems = []
    if verdict.name != expected.verdict:
        problems.append(f"expected {expected.verdict}, got {verdict.name} by {verdict.rule}")
    if expected.rule and expected.rule != verdict.rule:
        problems.append(f"expected the rule {expected.rule}, got {verdict.rule}")
    problems += [f"the rule {rule} matched, and must not" for rule in expected.never if rule in decision.rules]
    return CaseResult(expected, action, decision, tuple(problems))


def negative_tests(rules: Sequence[RuleFormula], results: Iterable[CaseResult]) -> list[str]:
    """Return the permits that a passing case holds in check.

    A case does so when it names the permit under ``never``; or when its call has an effect that the permit is about,
    what is expected is something else than the permit would give, and the permit did not match.
    """
    held: set[str] = set()
    for result in results:
        if result.problems:
            continue
        held |= set(result.expected.never)
        for item in rules:
            decides, matched = item.rule.decision, item.rule.id in result.decision.rules
            if decides == "deny" or matched or item.by_action.get(result.action, False) is False:
                continue
            other = _STRICTNESS[result.expected.verdict] - _STRICTNESS[decides]
            if (decides == "allow" and other > 0) or (decides == "review" and other < 0):
                held.add(item.rule.id)
    return [item.rule.id for item in rules if item.rule.id in held]


def undecided(rules: Sequence[RuleFormula], results: Iterable[CaseResult]) -> list[str]:
    """Return the rules that decide no passing case: what they do is tested by none."""
    won = {result.decision.verdict.rule for result in results if not result.problems}
    return [item.rule.id for item in rules if item.rule.id not in won]


def unknown_rules(rules: Sequence[RuleFormula], expected: Iterable[Expectation], built_in: Iterable[str]) -> list[str]:
    """Return rule names in ``rule`` and ``never`` that no rule has: such a case would hold nothing in check."""
    known = {item.rule.id for item in rules} | set(built_in)
    named = {rule for item in expected for rule in (*item.never, item.rule) if rule}
    return sorted(named - known)
