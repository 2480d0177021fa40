"""What a command establishes: only what a shape says, and never less than what holds for every other call."""

from __future__ import annotations

from typing import Any

import pytest

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.requests import ActionRequest
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority

pytestmark = pytest.mark.claim("C3", "C9")
POLICY = load_policy()
MANIFEST = parse_manifest(
    """
name: t
tools:
  shell:
    effect: execute
    sandbox: {}
    asks: [run]
    args:
      argv: {role: command}
      where: {role: target, kind: path, optional: true}
      options: {role: content, fields: {before: {role: command}, note: {role: content}}}
    commands:
      - {run: ls, operands: [{kind: folder, optional: true}], reads_only: true, evidence: lists names only}
      - {run: make, operands: [{kind: name}], asks: [build]}
      - {run: shred, operands: [{kind: path}], review: true}
  two:
    effect: execute
    sandbox: {}
    args: {first: {role: command}, second: {role: command}}
    commands: [{run: ls, reads_only: true, evidence: lists names only}]
  deploy:
    effect: send
    asks: [deploy]
    args: {to: {role: target, kind: name}, command: {role: command}}
    commands: [{run: deploy now}]
  plain:
    effect: send
    asks: [send]
    args: {to: {role: target, kind: email}}
""",
    "t.yaml",
)


def decided(said: str, tool: str, *, sandbox: bool = True, calls: int = 0, **args: Any) -> Decision:
    index = AttributionIndex()
    index.add_words(said, authority=Authority.USER)
    context = DecisionContext(
        manifest=MANIFEST, policy=POLICY, index=index, sandbox=sandbox, calls_so_far={"shell": calls}
    )
    return decide(ActionRequest.build(tool, args), context)


def facts(said: str, tool: str, **args: Any) -> dict[str, bool | str]:
    return dict(decided(said, tool, **args).facts)


def test_a_tool_that_runs_nothing_is_not_concerned() -> None:
    found = facts("Send it to ann@corp.example", "plain", to="ann@corp.example", sandbox=False)
    assert (found["command_ok"], found["sandboxed"]) == (True, True)


def test_a_shape_on_a_tool_of_another_effect_holds_as_well() -> None:
    assert facts("Deploy to prod", "deploy", to="prod", command="deploy now")["command_ok"] is True
    assert decided("Deploy to prod", "deploy", to="prod", command="deploy later").verdict.rule == "command"
    assert decided("Deploy to prod", "deploy", to="prod").verdict.rule == "command"


def test_a_command_inside_an_object_has_no_shape() -> None:
    call = decided("Run ls", "shell", argv=["ls"], options={"before": "rm -r x", "note": "hello"})
    assert call.verdict.rule == "command"
    assert decided("Run ls", "shell", argv=["ls"], options={"note": "hello"}).verdict.name == "allow"


def test_every_command_of_a_call_has_to_have_a_shape() -> None:
    assert decided("Look", "two", first="ls", second="ls").verdict.name == "allow"
    assert decided("Look", "two", first="ls").verdict.name == "allow"
    assert decided("Look", "two", first="ls", second="id").verdict.rule == "command"


def test_another_argument_is_held_to_its_own_role() -> None:
    assert decided("Look", "shell", argv="ls", where="src").verdict.rule == "untrusted-target"


def test_the_words_of_a_shape_ask_for_it_and_nothing_else() -> None:
    assert decided("Please build docs", "shell", argv=["make", "docs"]).verdict.name == "allow"
    assert decided("Please build docs", "shell", argv=["make", "publish"]).verdict.rule == "untrusted-command"
    assert decided("Do not build docs", "shell", argv=["make", "docs"]).verdict.name == "review"
    assert decided("What are docs?", "shell", argv=["make", "docs"]).verdict.name == "review"


def test_a_shape_that_wants_a_person_gets_one() -> None:
    assert decided("Run shred old.txt", "shell", argv=["shred", "old.txt"]).verdict.rule == "over-limit"


def test_a_word_that_is_empty_says_nothing_and_fits_no_kind() -> None:
    assert decided("Look", "shell", argv=["ls", ""]).verdict.rule == "command"


def test_no_sandbox_no_code() -> None:
    assert decided("Run ls", "shell", argv=["ls"], sandbox=False).verdict.rule == "no-sandbox"
