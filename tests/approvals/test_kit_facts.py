"""The kit knows every fact of the schema: a new one cannot be added without its better side, its words and its use."""

from __future__ import annotations

import importlib.resources
import re

import pytest

from checkvalve.approvals.kit_cedar import ACTIONS, assume, both, can_be, negated, read_formulas, verdict_formula
from checkvalve.approvals.kit_explain import WANTED
from checkvalve.approvals.kit_rules import GOOD
from checkvalve.approvals.policy import load_policy

PACKAGE = importlib.resources.files("checkvalve.approvals")
SCHEMA = PACKAGE.joinpath("default.cedarschema").read_text("utf-8")
FACTS = dict(re.findall(r"^\s+(\w+)\??: (\w+),$", SCHEMA, re.MULTILINE))
RULES = read_formulas(PACKAGE.joinpath("default.cedar").read_text("utf-8"), "default.cedar")
DESCRIBING = {"profile", "leaves_domain", "reversible"}
"""Facts that say what a tool is, and have no better side."""


def test_the_schema_is_read() -> None:
    assert {"asked", "protected", *DESCRIBING} <= FACTS.keys()
    facts: dict[str, bool | str] = {**GOOD, "profile": "strict", "leaves_domain": False, "reversible": False}
    assert load_policy().evaluate("send", facts).errors == ()


def test_every_fact_has_a_better_side_or_describes_the_tool() -> None:
    """A fact that is missing here: say in ``kit_rules.GOOD`` which side is the better one."""
    assert FACTS.keys() - GOOD.keys() == DESCRIBING
    assert not GOOD.keys() - FACTS.keys()
    assert {FACTS[name] for name in GOOD} == {"Bool"}


def test_every_fact_with_a_better_side_has_words_for_it() -> None:
    """A fact that is missing here: say in ``kit_explain.WANTED`` what it says when it is good."""
    assert WANTED.keys() == GOOD.keys()
    assert len(set(WANTED.values())) == len(WANTED)


@pytest.mark.parametrize("fact", sorted(GOOD))
def test_the_better_side_is_the_one_that_the_packaged_policy_takes_for_it(fact: str) -> None:
    """Turning a fact bad never lets a call run that would not run with it good, and somewhere it stops one."""
    stops = False
    for action in ACTIONS:
        allowed = verdict_formula(RULES, "allow", action)
        good, bad = assume(allowed, {fact: GOOD[fact]}), assume(allowed, {fact: not GOOD[fact]})
        assert can_be(both(bad, negated(good))) is False
        stops = stops or can_be(both(good, negated(bad))) is True
    assert stops
