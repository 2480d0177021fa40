"""The gallery: each manifest is one that the lint has nothing to say about, and its cases hold every tool in check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.facts import PROFILES
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_cases import CaseResult
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_schemas import read_tools
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.filters.values import canonical
from checkvalve.gateway.decide_command import CallCase, Case, Step, decide_loaded
from checkvalve.gateway.policykit_cases import CaseFile, read_cases, read_document
from checkvalve.gateway.policykit_gallery import names
from tests.gateway.terminal import Terminal

FOLDER = Path(__file__).resolve().parents[2] / "approvals" / "gallery"
DOMAINS = {"mail", "calendar", "files", "chat", "payments", "browser", "shell", "sql", "git_hosting", "crm"}
NEVER_ALONE = {
    ("payments", "create_standing_order"): "its limit is zero: a person sees each",
    ("crm", "send_campaign"): "its limit is zero: a person sees each",
    ("browser", "click"): "the number decides what is pressed, and the user does not know it",
    ("browser", "type_text"): "the number decides where it is typed, and the user does not know it",
    ("browser", "evaluate_script"): "code of a page runs in no sandbox of the gateway",
    ("shell", "run_python"): "code has no shape",
    ("shell", "send_input"): "what is typed into a program has no shape",
}
"""Tools that no case lets run by itself, and why that is so."""
FOREIGN: dict[str, Any] = {
    "email": "zora@drop.example.org",
    "url": "https://drop.example.org/zz",
    "account": "NL91ABNA0417164300",
    "path": "/srv/zz/other.bin",
    "number": 777,
}
"""Values that stand in no case, by kind; every other kind takes a word that nobody said."""


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


@cache
def manifest(name: str) -> Manifest:
    return load_manifest(FOLDER / f"{name}.yaml")


@cache
def cases(name: str) -> CaseFile:
    return read_cases(FOLDER / f"{name}.cases.yaml")


@cache
def results(name: str) -> list[tuple[CaseResult, Case]]:
    run = cases(name).run(manifest(name), load_policy(), "strict")
    return list(zip(run, (case for _, case in cases(name).cases), strict=True))


def decided(name: str, case: Case) -> Decision:
    return decide_loaded(case, manifest(name), load_policy(), "strict")


def stays_inside(spec: ToolSpec) -> bool:
    return spec.effect is Effect.READ and not spec.leaves_domain


def test_every_domain_is_there() -> None:
    assert set(names()) == DOMAINS


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_the_lint_has_nothing_to_say(name: str) -> None:
    tools = FOLDER / f"{name}.tools.json"
    found = lint_manifest((FOLDER / f"{name}.yaml").read_text("utf-8"), name, read_tools(read_document(tools), name))
    assert [str(item) for item in found] == []


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_every_case_passes(name: str) -> None:
    assert len(results(name)) >= 8
    assert {item.expected.name: item.problems for item, _ in results(name) if item.problems} == {}


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_every_tool_has_a_case_that_it_must_not_pass_and_one_that_it_must(name: str) -> None:
    """A read inside the domain always runs: there a case must misuse what it returns, or what it is asked for."""
    stopped, passed, misused = set(), set(), set()
    for item, case in results(name):
        if item.expected.verdict == "allow":
            passed.add(case.call.tool)
        else:
            stopped.add(case.call.tool)
            misused |= {step.tool for step in case.history}
    unheld = {tool for tool in manifest(name).tools if tool not in stopped}
    assert not {tool for tool in unheld if not stays_inside(manifest(name).tools[tool]) or tool not in misused}
    idle = {tool for tool, spec in manifest(name).tools.items() if tool not in passed and not stays_inside(spec)}
    assert idle == {tool for domain, tool in NEVER_ALONE if domain == name}


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_the_calls_of_the_cases_are_calls_of_these_tools(name: str) -> None:
    schemas = {tool.name: tool.schema for tool in read_tools(read_document(FOLDER / f"{name}.tools.json"), name)}
    for expected, case in cases(name).cases:
        steps: tuple[Step | CallCase, ...] = (*case.history, case.call)
        for step in steps:
            wrong = [error.message for error in Draft202012Validator(schemas[step.tool]).iter_errors(dict(step.args))]
            assert not wrong, (expected.name, step.tool)


def one_thing_changed(spec: ToolSpec, args: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments with one that carries authority replaced by what nobody said."""
    for name, value in args.items():
        argument = spec.args[name]
        if argument.role is Role.CONTENT or value in ("", [], None):
            continue
        other = FOREIGN.get(argument.kind, "zzother")
        other = 99_999 if isinstance(value, int) and argument.kind.startswith("id:") else other
        other = (not value) if isinstance(value, bool) else other
        yield name, {**args, name: [other, *value[1:]] if isinstance(value, list) else other}


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_in_a_call_that_runs_no_argument_with_authority_can_be_exchanged(name: str) -> None:
    tried = 0
    for item, case in results(name):
        spec = manifest(name).tools[case.call.tool]
        if item.expected.verdict != "allow" or stays_inside(spec):
            continue
        for argument, args in one_thing_changed(spec, dict(case.call.args)):
            other = case.model_copy(update={"call": case.call.model_copy(update={"args": args})})
            assert decided(name, other).verdict.name != "allow", (item.expected.name, argument, args)
            tried += 1
    assert tried >= 3


def scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    elif value not in ("", None):
        yield value


SWAPPED = {("crm", "merge_contacts")}
"""Calls whose two records the user named: which is kept is not told apart."""


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_in_a_call_that_runs_no_argument_can_be_exchanged_for_what_was_only_read(name: str) -> None:
    tried = 0
    for item, case in results(name):
        spec = manifest(name).tools[case.call.tool]
        if item.expected.verdict != "allow" or stays_inside(spec) or (name, spec.name) in SWAPPED:
            continue
        said = " ".join(part.text for part in case.task).casefold()
        read = {value for step in case.history for value in scalars(step.result) if str(value).casefold() not in said}
        for argument, value in case.call.args.items():
            if spec.args[argument].role is Role.CONTENT or value in ("", [], None):
                continue
            own = {str(item) for item in (value if isinstance(value, list) else [value])}
            for other in sorted((found for found in read if str(found) not in own), key=str):
                args = {**case.call.args, argument: [other, *value[1:]] if isinstance(value, list) else other}
                changed = case.model_copy(update={"call": case.call.model_copy(update={"args": args})})
                allowed = decided(name, changed).verdict.name == "allow"
                kept = argument == "iban" and canonical("account", str(other)) is None  # a word that no bank takes
                assert not allowed or kept, (item.expected.name, argument, other)
                tried += 1
    assert tried or name in {"browser", "shell"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_no_profile_lets_an_attack_run(name: str, profile: str) -> None:
    found = cases(name).run(manifest(name), load_policy(), profile)
    stopped = [item for item in found if item.expected.verdict != "allow"]
    assert stopped
    assert [item.expected.name for item in stopped if item.decision.verdict.name == "allow"] == []


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_without_the_words_of_the_user_nothing_but_reads_runs(name: str) -> None:
    for item, case in results(name):
        if item.expected.verdict != "allow" or stays_inside(manifest(name).tools[case.call.tool]):
            continue
        mute = case.model_copy(
            update={"task": [part.model_copy(update={"text": "Good morning"}) for part in case.task]}
        )
        found = decided(name, mute)
        assert found.verdict.name != "allow" or found.rules == ("sandboxed-command",), item.expected.name


def test_a_setting_that_is_declared_as_content_could_be_exchanged() -> None:
    """What the test above would find: without its role the argument holds nothing."""
    (case,) = (case for expected, case in cases("git_hosting").cases if expected.name == "twin: a push as asked")
    spec = manifest("git_hosting").tools["push_branch"]
    loose = spec.args["force"].model_copy(update={"role": Role.CONTENT, "safe_values": ()})
    tools = {"push_branch": spec.model_copy(update={"args": {**spec.args, "force": loose}}).model_dump()}
    weak = Manifest.model_validate({**manifest("git_hosting").model_dump(), "tools": tools})
    args = {**case.call.args, "force": True}
    other = case.model_copy(update={"call": case.call.model_copy(update={"args": args})})
    assert decided("git_hosting", other).verdict.name == "review"
    assert decide_loaded(other, weak, load_policy(), "strict").verdict.name == "allow"


def test_the_gallery_is_listed(terminal: Terminal) -> None:
    code, out, _ = terminal("policy", "gallery", "list")
    assert code == 0
    assert all(name in out for name in DOMAINS)
    assert {item["name"] for item in terminal.json("policy", "gallery", "list")[1]} == DOMAINS


def test_each_part_is_shown_as_it_ships(terminal: Terminal) -> None:
    for part, suffix in (("manifest", ".yaml"), ("cases", ".cases.yaml"), ("tools", ".tools.json")):
        code, out, _ = terminal("policy", "gallery", "show", "mail", "--part", part)
        assert (code, out) == (0, (FOLDER / f"mail{suffix}").read_text("utf-8"))
    assert terminal("policy", "gallery", "show", "mail", "--part", "other")[0] == 2
    code, _, err = terminal("policy", "gallery", "show", "mal")
    assert (code, "did you mean `mail`?" in err) == (2, True)


def test_a_copy_can_be_linted_tested_and_pinned_at_once(terminal: Terminal, tmp_path: Path) -> None:
    place = tmp_path / "new"
    code, out, _ = terminal("policy", "gallery", "copy", "mail", place)
    assert (code, "policy lint" in out) == (0, True)
    assert {path.name for path in place.iterdir()} == {"mail.yaml", "mail.cases.yaml", "mail.tools.json"}
    assert terminal("policy", "lint", place / "mail.yaml")[1].strip() == "0 errors, 0 warnings"
    assert terminal("policy", "pin", place / "mail.yaml", "--write")[0] == 0
    assert terminal("policy", "test", place / "mail.cases.yaml")[0] == 0
    assert terminal("policy", "gallery", "copy", "mail", place)[0] == 2
    assert terminal("policy", "gallery", "copy", "mail", place, "--force")[0] == 0
    assert terminal("policy", "gallery", "copy", "mail", place / "mail.yaml")[0] == 2


def test_the_lint_of_a_copy_names_what_the_own_server_has_otherwise(terminal: Terminal, tmp_path: Path) -> None:
    terminal("policy", "gallery", "copy", "mail", tmp_path)
    schemas = tmp_path / "mail.tools.json"
    value = json.loads(schemas.read_text())
    (send,) = (tool for tool in value["tools"] if tool["name"] == "send_email")
    send["inputSchema"]["properties"]["recipients"] = send["inputSchema"]["properties"].pop("to")
    schemas.write_text(json.dumps(value))
    code, out, _ = terminal("policy", "lint", tmp_path / "mail.yaml")
    assert code == 1
    assert "tools.send_email.args.to: send_email has no argument 'to'" in out
    assert "[undeclared-argument] tools.send_email.args" in out
