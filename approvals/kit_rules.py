"""Lint a policy: rules that say the opposite of what they should, that can never decide, or that leave a hole.

1. Each rule by itself: it can match at all, and a worse fact never makes it kinder (an inverted condition).
2. Rules beside each other: one that always loses, or that another always covers.
3. The policy as a whole: for every effect, nothing runs by itself while a fact that protects is false.
4. Cases: every permit has one that it must not permit.

Guarantees: pure; a hole is reported with facts under which it opens. A rule that uses more of Cedar than facts and
actions is not judged by 1 and 2, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from checkvalve.approvals.errors import PolicyError
from checkvalve.approvals.kit_cedar import (
    ACTIONS,
    Formula,
    RuleFormula,
    as_text,
    assume,
    both,
    can_be,
    either,
    example,
    negated,
    read_formulas,
    verdict_formula,
)
from checkvalve.approvals.kit_findings import Finding, without_accepted
from checkvalve.approvals.policy import parse_policy

GOOD: Final[dict[str, bool]] = {
    "asked": True,
    "repeated": False,
    "anchored": True,
    "record_named": True,
    "targets_ok": True,
    "selectors_ok": True,
    "commands_ok": True,
    "command_ok": True,
    "sandboxed": True,
    "credentials_ok": True,
    "amounts_ok": True,
    "controls_ok": True,
    "readers_ok": True,
    "links_ok": True,
    "fetches_ok": True,
    "composed_link": False,
    "lineage_ok": True,
    "within_limits": True,
    "egress_ok": True,
    "required_ok": True,
    "protected": False,
}
"""Which way round each fact is the better one. The facts not listed describe a tool and have no better side."""

_AUTHORITY: Final = ("targets_ok", "selectors_ok", "commands_ok", "credentials_ok", "amounts_ok", "controls_ok")
_EFFECTS: Final = ("write", "send", "pay", "delete", "configure", "remember")
_GUARDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_EFFECTS, (*_AUTHORITY, "readers_ok", "links_ok", "egress_ok", "protected")),
    "execute": ("sandboxed", "command_ok", "commands_ok", "egress_ok", "protected"),
    "read": ("egress_ok", "protected"),
    "answer": ("fetches_ok",),
}
"""What must be good before a call runs by itself; an effect that runs without is a hole."""
_SHOULD: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_EFFECTS, ("asked", "within_limits")),
    "delete": ("asked", "within_limits", "record_named"),
    "pay": ("asked", "within_limits", "record_named", "repeated"),
    "remember": ("lineage_ok",),
    "read": ("required_ok",),
    "execute": ("asked", "within_limits"),
    "answer": ("composed_link",),
}
"""What the packaged policy asks for besides; a policy without it is warned about."""
_FETCH: Final = ("targets_ok", "selectors_ok", "readers_ok", "links_ok")
_BETTER: Final = {"allow": "allows", "review": "asks", "deny": "denies"}


def lint_policy(text: str, schema_text: str, name: str, negative: Sequence[str] | None = None) -> list[Finding]:
    """Return everything that is wrong with a policy, in the order of its lines.

    ``negative`` are the ids of the permits that have a negative test; None means that there are no cases at all.
    """
    try:
        parse_policy(text, schema_text, name=name)
        rules = read_formulas(text, name)
    except PolicyError as error:
        remedy = error.remedy or "mend it"
        return [Finding(name, error.line or 1, "does-not-load", "error", error.field, error.message, remedy)]
    except RecursionError:
        message = "a rule has too long a chain of operators to be checked"
        return [Finding(name, 1, "not-checked", "error", "", message, "split it into several rules")]
    findings: list[Finding] = []
    for item in rules:
        findings += _alone(item, name)
    findings += _beside(rules, name)
    findings += _whole(rules, name)
    findings += _untested(rules, negative, name)
    return without_accepted(findings, text)


def _finding(
    item: RuleFormula, name: str, code: str, message: str, remedy: str, level: Literal["error", "warning"] = "error"
) -> Finding:
    return Finding(name, item.rule.line, code, level, item.rule.id, message, remedy)


def _alone(item: RuleFormula, name: str) -> Iterator[Finding]:
    if not item.exact:
        message = "uses more of Cedar than facts and actions, so it is not checked for contradictions"
        yield _finding(item, name, "not-checked", message, "write cases for it", "warning")
        return
    if all(can_be(item.by_action[action]) is False for action in ACTIONS):
        message = "its conditions contradict each other, so it never matches"
        yield _finding(item, name, "unreachable", message, "correct the condition, or remove the rule")
        return
    for fact in item.facts():
        if fact in GOOD and (found := _inverted(item, fact)) is not None:
            yield _finding(
                item,
                name,
                "inverted",
                f"{_BETTER[item.rule.decision]} because {found}, and would not if it were the other way round",
                f"turn it round: an allow asks for `{_wanted(fact)}`, a review or a forbid for `{_opposite(fact)}`",
            )


def _inverted(item: RuleFormula, fact: str) -> str | None:
    """Return the fact in its state when the rule is the wrong way round for it.

    An ``allow`` may not need a bad fact; a ``review`` or ``deny`` may not need a good one.
    """
    wrong = (not GOOD[fact]) if item.rule.decision == "allow" else GOOD[fact]
    for action in ACTIONS:
        formula = item.by_action[action]
        needs = both(assume(formula, {fact: wrong}), negated(assume(formula, {fact: not wrong})))
        if can_be(needs):
            return as_text({fact: wrong})
    return None


def _beside(rules: Sequence[RuleFormula], name: str) -> Iterator[Finding]:
    """Yield rules that never decide anything: 1. a stricter rule always beats them; 2. others always say the same."""
    stricter = {"allow": ("review", "deny"), "review": ("deny",), "deny": ()}
    for item in rules:
        if not item.exact or all(can_be(item.by_action[action]) is False for action in ACTIONS):
            continue
        beaten = _covered(item, [other for other in rules if other.rule.decision in stricter[item.rule.decision]])
        if beaten is not None:
            message = f"never decides: whenever it matches, {beaten} does too and is stricter"
            yield _finding(item, name, "contradiction", message, "narrow the stricter rule, or remove this one")
            continue
        same = _covered(
            item, [other for other in rules if other is not item and other.rule.decision == item.rule.decision]
        )
        if same is not None:
            message = f"has no effect: whenever it matches, {same} does too and decides the same"
            yield _finding(item, name, "no-effect", message, "remove it, or say what it is to decide", "warning")


def _covered(item: RuleFormula, others: Sequence[RuleFormula]) -> str | None:
    """Return which rules cover this one for every action, by name; one alone if one alone does."""
    usable = [other for other in others if other.exact]

    def covers(group: Sequence[RuleFormula]) -> bool:
        return all(
            can_be(both(item.by_action[action], negated(either(*(other.by_action[action] for other in group)))))
            is False
            for action in ACTIONS
        )

    if not usable or not covers(usable):
        return None
    single = next((other.rule.id for other in usable if covers([other])), None)
    return f"`{single}`" if single else "one of the others"


def _whole(rules: Sequence[RuleFormula], name: str) -> Iterator[Finding]:
    """Yield holes: an effect that runs by itself though a fact that protects is bad; one for each rule and fact."""
    holes: dict[tuple[int, str, bool], tuple[RuleFormula, str, list[str]]] = {}
    for action in ACTIONS:
        allowed = verdict_formula(rules, "allow", action)
        asked: list[tuple[str, bool, Formula]] = [(fact, True, allowed) for fact in _GUARDS[action]]
        asked += [(fact, False, allowed) for fact in _SHOULD.get(action, ())]
        if action == "read":
            asked += [(fact, True, assume(allowed, {"leaves_domain": True})) for fact in _FETCH]
        for fact, must, formula in asked:
            found = _hole(rules, action, fact, formula)
            if found is not None:
                item, facts = found
                holes.setdefault((item.rule.line, fact, must), (item, facts, []))[2].append(action)
    for (_, fact, must), (item, facts, actions) in holes.items():
        bad = as_text({fact: not GOOD[fact]})
        yield _finding(
            item,
            name,
            "unguarded",
            f"{', '.join(actions)}: runs by itself though {bad}" + (f" (as with: {facts})" if facts else ""),
            f"add `{_wanted(fact)}` to it, or a review permit for `{_opposite(fact)}`",
            "error" if must else "warning",
        )


def _hole(rules: Sequence[RuleFormula], action: str, fact: str, allowed: Formula) -> tuple[RuleFormula, str] | None:
    bad = {fact: not GOOD[fact]}
    found = example(assume(allowed, bad))
    if not isinstance(found, dict):
        return None
    for item in rules:
        if item.rule.decision == "allow" and assume(item.by_action[action], {**_settled(item), **found, **bad}) is True:
            others = {key: value for key, value in found.items() if key in GOOD and value != GOOD[key]}
            return item, as_text(others)
    return next((item, "") for item in rules if item.rule.decision == "allow")


def _settled(item: RuleFormula) -> dict[str, bool]:
    return {fact: GOOD.get(fact, True) for fact in item.facts()}


def _wanted(fact: str) -> str:
    return f"context.{fact}" if GOOD[fact] else f"!context.{fact}"


def _opposite(fact: str) -> str:
    return f"!context.{fact}" if GOOD[fact] else f"context.{fact}"


def _untested(rules: Sequence[RuleFormula], negative: Sequence[str] | None, name: str) -> Iterator[Finding]:
    for item in rules:
        if item.rule.decision == "deny" or (negative is not None and item.rule.id in negative):
            continue
        if negative is None and item.rule.decision != "allow":
            continue  # without any cases, one finding for each rule that lets calls run is enough
        yield _finding(
            item,
            name,
            "no-negative-test",
            "no case says what it must not permit",
            f"write a case with `never: [{item.rule.id}]` in NAME.cases.yaml beside it, or name a file by `--cases`",
            "warning" if negative is None else "error",
        )
