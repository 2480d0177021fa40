"""Decide recorded calls again by their recorded facts, and say how two policies differ over all calls there could be.

Guarantees: pure; a call that was refused before there were facts stays refused, and what a detector or a flooded queue
made stricter stays at least as strict: a policy has no say in either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from checkvalve.approvals.kit_cedar import ACTIONS, RuleFormula, as_text, assume, both, example, verdict_formula
from checkvalve.approvals.kit_rules import GOOD
from checkvalve.approvals.policy import Fact, Policy
from checkvalve.approvals.previewspec import RULE as PREVIEW
from checkvalve.approvals.standing import PREFIX

STRICTNESS: Final[Mapping[str, int]] = {"allow": 0, "review": 1, "deny": 2}
OF_THE_SURFACE: Final = frozenset({"unregistered-tool", "changed-arguments", "no-thread", "queue-flooded"})
"""Refusals that a surface or the queue reached by itself, whatever the policy says."""
_ONLY: Final = {
    "composed_link": ("answer",),
    "lineage_ok": ("remember",),
    "record_named": ("delete", "pay"),
    "sandboxed": ("execute",),
    "command_ok": ("execute",),
}
"""Facts that are bad with these effects only: an example with another one would show what does not happen."""
_VERDICTS: Final = ("allow", "review", "deny")


@dataclass(frozen=True, slots=True)
class Redecided:
    """One recorded call, decided again; ``how`` is what it was decided from."""

    id: str
    thread: str
    tool: str
    before: str
    before_rule: str
    after: str
    after_rule: str
    how: Literal["facts", "history", "refused", "unknown"]

    @property
    def changed(self) -> bool:
        """Say whether the verdict is another one; the same verdict by another rule is not a change."""
        return self.before != self.after

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return {
            "id": self.id,
            "thread": self.thread,
            "tool": self.tool,
            "before": {"verdict": self.before, "rule": self.before_rule},
            "after": {"verdict": self.after, "rule": self.after_rule},
            "changed": self.changed,
            "how": self.how,
        }


def by_facts(
    decision: Mapping[str, Any], verdict: tuple[str, str], action: str, policy: Policy
) -> tuple[str, str, str]:
    """Return verdict, rule, and what it rests on, for a recorded decision under ``policy``.

    ``action`` is the effect that the tool has today; the recorded one counts where there is one, since the facts are
    about it. 1. Without facts the call was refused before any policy: it stays so. 2. Without an action (an old record,
    and the tool is not in the manifest any more) nothing can be said. 3. Where something other than the policy
    had made it stricter, it stays. 4. Facts of an older or newer version say nothing. 5. What a standing rule let
    through stays so, where the policy asks by no other rule than before, and what was tried, where nothing denies it.
    """
    action = str(decision.get("action") or action)
    facts: dict[str, Fact] = dict(decision.get("facts") or {})
    rules = [str(item) for item in decision.get("rules") or ()]
    if not facts:
        return (*verdict, "refused")
    if not action:
        return (*verdict, "unknown")
    answer = policy.evaluate(action, facts)
    found = answer.decision, answer.rules[0] if answer.rules else "default-deny"
    if (verdict[1] not in rules or verdict[1] in OF_THE_SURFACE) and STRICTNESS[verdict[0]] >= STRICTNESS[found[0]]:
        return (*verdict, "facts")
    if answer.errors:
        return (*verdict, "unknown")
    if verdict == ("allow", PREVIEW) and found[0] != "deny":
        return (*verdict, "facts")
    if verdict[1].startswith(PREFIX) and found[0] == "review" and set(answer.rules) <= set(rules):
        return (*verdict, "facts")
    return (*found, "facts")


def policy_differences(old: Sequence[RuleFormula], new: Sequence[RuleFormula]) -> Iterator[dict[str, str]]:
    """Yield how verdicts differ, one example for each effect and pair of verdicts: facts under which it happens."""
    for action in ACTIONS:
        for before in _VERDICTS:
            for after in _VERDICTS:
                if before == after:
                    continue
                formula = both(verdict_formula(old, before, action), verdict_formula(new, after, action))
                found = example(
                    assume(formula, {name: GOOD[name] for name in GOOD if action not in _ONLY.get(name, action)})
                )
                found = found or example(formula)
                if isinstance(found, dict):
                    notable = {name: value for name, value in found.items() if GOOD.get(name) is not value}
                    yield {"action": action, "before": before, "after": after, "with": as_text(notable)}


def rule_differences(old: Policy, new: Policy) -> dict[str, list[str]]:
    """Return which rules, by id, are only in one policy or decide something else in the other."""
    before, after = ({rule.id: rule.decision for rule in policy.rules} for policy in (old, new))
    return {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "decides_otherwise": [name for name in before if name in after and before[name] != after[name]],
    }
