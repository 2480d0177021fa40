"""The cases of the packaged policy: each rule has one that it decides and one that it must not match, and is missed."""

from __future__ import annotations

import importlib.resources
from functools import cache
from pathlib import Path

import pytest

from checkvalve.approvals.kit_cases import CaseResult, negative_tests
from checkvalve.approvals.kit_cedar import read_formulas
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import Policy, load_policy, parse_policy
from checkvalve.gateway.policykit_cases import read_cases
from tests.gateway.terminal import Terminal

PACKAGE = Path(str(importlib.resources.files("checkvalve.approvals")))
POLICY = (PACKAGE / "default.cedar").read_text("utf-8")
SCHEMA = (PACKAGE / "default.cedarschema").read_text("utf-8")
FILE = read_cases(PACKAGE / "default.cases.yaml")
RULES = read_formulas(POLICY, "default.cedar")
IDS = [item.rule.id for item in RULES]


def under(policy: Policy) -> list[CaseResult]:
    return FILE.run(load_manifest(PACKAGE / "default.manifest.yaml"), policy, "strict")


@cache
def results() -> list[CaseResult]:
    return under(load_policy())


def test_every_case_passes() -> None:
    assert {item.expected.name: item.problems for item in results() if item.problems} == {}


@pytest.mark.parametrize("rule", IDS)
def test_every_rule_has_a_case_that_it_decides_and_one_that_it_must_not_match(rule: str) -> None:
    assert [item.expected.name for item in results() if item.expected.rule == rule == item.decision.verdict.rule]
    assert [item.expected.name for item in results() if rule in item.expected.never]


@pytest.mark.parametrize("rule", IDS)
def test_a_rule_that_is_taken_out_is_missed(rule: str) -> None:
    head, *rest = POLICY.split('@id("')
    without = '@id("'.join([head, *(part for part in rest if not part.startswith(f'{rule}"'))])
    assert len(without) < len(POLICY)
    assert any(item.problems for item in under(parse_policy(without, SCHEMA)))


def test_every_permit_is_held_in_check() -> None:
    permits = {item.rule.id for item in RULES if item.rule.decision != "deny"}
    assert permits <= set(negative_tests(RULES, results()))


def test_the_tools_of_the_cases_have_no_errors() -> None:
    found = lint_manifest((PACKAGE / "default.manifest.yaml").read_text("utf-8"), "default.manifest.yaml")
    assert [str(item) for item in found if item.level == "error"] == []


def test_the_packaged_policy_is_tested_and_linted_when_no_file_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(capsys, monkeypatch)
    code, out, _ = terminal("policy", "test")
    assert (code, "default.cases.yaml" in out, "note:" in out) == (0, True, False)
    assert terminal("policy", "lint")[:2] == (0, "0 errors, 0 warnings\n")
