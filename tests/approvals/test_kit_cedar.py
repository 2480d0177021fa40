"""Rules read as formulas say what Cedar says, and questions about them are answered right or not at all."""

from __future__ import annotations

import importlib.resources
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.kit_cedar import ACTIONS, Formula, as_text, assume, can_be, example, negated, read_formulas
from checkvalve.approvals.kit_rules import GOOD, lint_policy
from checkvalve.approvals.policy import Fact, parse_policy

SCHEMA = importlib.resources.files("checkvalve.approvals").joinpath("default.cedarschema").read_text("utf-8")
FACTS: dict[str, Fact] = {**GOOD, "profile": "strict", "leaves_domain": False, "reversible": False}
USED = ("asked", "repeated", "anchored", "targets_ok")

CONDITIONS = [
    "when { if context.asked then context.repeated else !context.anchored }",
    "when { context has asked && context.asked } unless { context.repeated }",
    'when { context.profile == "strict" || context.asked }',
    'when { context.profile != "strict" && context.asked }',
    'when { action == Action::"send" && context.asked }',
    'when { action != Action::"send" && context.asked }',
    'when { action in [Action::"send", Action::"pay"] && context.asked }',
    'when { action in Action::"send" || context.targets_ok }',
    "when { context.asked == true && context.repeated == false }",
    "when { context.asked != context.repeated || true }",
    "when { !(context.asked && (context.repeated || !context.anchored)) }",
    "when { false } unless { context.asked }",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_formula_says_what_cedar_says(condition: str) -> None:
    text = f'@id("x")\n@decision("allow")\npermit (principal, action, resource) {condition};'
    policy = parse_policy(text, SCHEMA)
    (rule,) = read_formulas(text, "p")
    for action in ACTIONS:
        for values in itertools.product([False, True], repeat=len(USED)):
            facts = {**FACTS, **dict(zip(USED, values, strict=True))}
            known = {name: value for name, value in facts.items() if isinstance(value, bool)}
            known['profile == "strict"'] = True
            found = assume(rule.by_action[action], known)
            if rule.exact:
                assert found is (policy.evaluate(action, facts).decision == "allow"), (action, facts)


def test_the_scope_of_a_rule_counts() -> None:
    text = '@id("x") forbid (principal, action in [Action::"send", Action::"pay"], resource);'
    (rule,) = read_formulas(text, "p")
    assert {action for action, formula in rule.by_action.items() if formula is True} == {"send", "pay"}


def test_what_is_not_understood_is_an_atom_of_its_own() -> None:
    text = '@id("x") forbid (principal, action, resource) when { context.profile like "s*" && context.asked };'
    (rule,) = read_formulas(text, "p")
    assert not rule.exact
    assert can_be(rule.by_action["send"])
    assert can_be(assume(rule.by_action["send"], {"asked": False})) is False


NAMES = st.sampled_from(["a", "b", "c", "d"])
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.one_of(NAMES, st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), st.tuples(inner)),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=12,
)


def holds(formula: Formula, facts: dict[str, bool]) -> bool:
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, str):
        return facts[formula]
    kind, parts = formula
    values = [holds(part, facts) for part in parts]
    return not values[0] if kind == "not" else all(values) if kind == "and" else any(values)


@given(FORMULAS)
def test_an_example_is_one_and_none_means_none(formula: Formula) -> None:
    every = [dict(zip("abcd", values, strict=True)) for values in itertools.product([False, True], repeat=4)]
    found = example(assume(formula, {}))
    if found is False:
        assert not any(holds(formula, facts) for facts in every)
    else:
        assert isinstance(found, dict)
        assert holds(formula, {**dict.fromkeys("abcd", False), **found})
    assert all(holds(negated(formula), facts) is not holds(formula, facts) for facts in every)


def test_a_question_that_is_too_large_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkvalve.approvals.kit_cedar.MAX_STEPS", 3)
    pairs: tuple[Formula, ...] = tuple(("or", (f"x{n}", ("not", (f"x{n + 1}",)))) for n in range(10))
    assert can_be(("and", (*pairs, ("or", ("x0", "x9"))))) is None


def test_facts_as_text() -> None:
    assert as_text({"targets_ok": False, "asked": True}) == "asked, not targets_ok"


def test_a_chain_that_is_too_long_to_check_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("checkvalve.approvals.kit_rules.read_formulas", deep)
    text = '@id("x") forbid (principal, action, resource);'
    assert [item.code for item in lint_policy(text, SCHEMA, "p")] == ["not-checked"]
