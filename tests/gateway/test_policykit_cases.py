"""``checkvalve policy test`` and ``simulate``: cases beside a policy, and permits that no case holds in check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gateway.terminal import Terminal
from tests.gateway.world import World

POLICY = """\
@id("reads")
@decision("allow")
permit (principal, action == Action::"read", resource) when { !context.leaves_domain && !context.protected };

@id("asked")
@decision("allow")
permit (principal, action == Action::"send", resource)
when { context.targets_ok && context.readers_ok && context.asked };

@id("ask-me")
@decision("review")
permit (principal, action == Action::"send", resource) when { !context.targets_ok || !context.readers_ok };
"""


def send(to: str) -> dict[str, Any]:
    return {"tool": "send_mail", "args": {"to": to, "body": "hello"}}


ALLOWED = {
    "name": "to a person the user names",
    "task": "Send a mail to ann@corp.example that says hello",
    "call": send("ann@corp.example"),
    "expect": "allow",
    "rule": "asked",
}
STRANGER = {
    "name": "to a stranger",
    "task": "Send a mail that says hello",
    "call": send("thief@evil.example"),
    "expect": "review",
    "never": ["asked"],
}
NOT_A_READ = {**STRANGER, "name": "no send is a read", "never": ["reads"]}


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def cases(
    place: World, *items: dict[str, Any], policy: str = POLICY, name: str = "own.cases.yaml", **head: Any
) -> Path:
    (place.folder / "own.cedar").write_text(policy)
    path = place.folder / name
    body = {"manifest": "manifest.yaml", "policy": "own.cedar", **head, "cases": list(items)}
    path.write_text(json.dumps(body) if name.endswith("json") else yaml.safe_dump(body))
    return path


@pytest.mark.parametrize("name", ["own.cases.yaml", "own.cases.json"])
def test_cases_pass_and_hold_every_permit_in_check(name: str, terminal: Terminal, place: World) -> None:
    file = cases(place, ALLOWED, STRANGER, NOT_A_READ, name=name)
    code, out, err = terminal("policy", "test", file)
    assert (code, err) == (0, ""), out
    assert "3 of 3 cases passed" in out
    assert [item["passed"] for item in terminal.json("policy", "test", file)[1][0]["cases"]] == [True] * 3


def test_a_permit_without_a_negative_test_fails(terminal: Terminal, place: World) -> None:
    code, out, _ = terminal("policy", "test", cases(place, ALLOWED))
    assert code == 1
    assert "the permit reads has no case that it must not permit" in out
    assert "the permit asked has no case" in out
    assert "the permit ask-me" not in out  # that it does not ask about a named person is a test of it


def test_an_inverted_condition_fails_its_negative_test(terminal: Terminal, place: World) -> None:
    inverted = POLICY.replace("{ context.targets_ok &&", "{ !context.targets_ok &&")
    file = cases(place, ALLOWED, STRANGER, NOT_A_READ, policy=inverted)
    code, out, _ = terminal("policy", "test", file)
    assert code == 1
    assert "FAILED to a stranger" in out
    assert "the rule asked matched, and must not" in out
    assert "expected allow, got deny by default-deny" in out


def test_the_packaged_policy_needs_no_cases_of_yours(terminal: Terminal, place: World) -> None:
    file = cases(place, {**ALLOWED, "rule": "attributed-effect"}, policy="", name="x.cases.yaml")
    body = yaml.safe_load(file.read_text())
    del body["policy"]
    file.write_text(yaml.safe_dump(body))
    assert terminal("policy", "test", file)[0] == 0
    code, out, _ = terminal("policy", "test", cases(place, {**STRANGER, "never": ["no-such-rule"]}))
    assert code == 1
    assert "no rule is called 'no-such-rule'" in out


def test_lint_finds_the_cases_beside_a_policy(terminal: Terminal, place: World) -> None:
    cases(place, ALLOWED)
    found = terminal.json("policy", "lint", place.folder / "own.cedar")[1]
    assert {item["field"] for item in found if item["code"] == "no-negative-test"} == {"reads", "asked"}
    cases(place, ALLOWED, STRANGER, NOT_A_READ)
    found = terminal.json("policy", "lint", place.folder / "own.cedar")[1]
    assert "no-negative-test" not in {item["code"] for item in found}


@pytest.mark.parametrize(
    "item",
    [
        {}, {"name": "x", "expect": "maybe", "task": "", "call": {"tool": "a"}}, {"expect": "allow", "task": ""},
        {"expect": "allow", "task": "", "call": {"tool": "a"}, "more": 1},
    ],
)  # fmt: skip
def test_what_is_no_case_is_an_error(item: dict[str, Any], terminal: Terminal, place: World) -> None:
    code, _, err = terminal("policy", "test", cases(place, item))
    assert code == 2
    assert "case" in err


def test_a_file_of_cases_that_cannot_be_used(terminal: Terminal, place: World) -> None:
    assert terminal("policy", "test", place.folder / "none.yaml")[0] == 2
    assert terminal("policy", "test", cases(place, ALLOWED, ALLOWED))[0] == 2
    assert terminal("policy", "test", cases(place, ALLOWED, more=1))[0] == 2
    assert terminal("policy", "test", cases(place, ALLOWED, profile="lax"))[0] == 2
    assert terminal("policy", "test", cases(place, ALLOWED, manifest=""))[0] == 2
    bad = place.folder / "bad.json"
    bad.write_text("{")
    assert terminal("policy", "test", bad)[0] == 2


def test_simulate_puts_verdicts_side_by_side(terminal: Terminal, place: World) -> None:
    file = cases(place, ALLOWED, STRANGER)
    strict = place.folder / "strict.cedar"
    strict.write_text('@id("ask")\n@decision("review")\npermit (principal, action, resource);\n')
    options = ("--policy", "default", "--policy", strict, "--profile", "strict")
    code, out, _ = terminal("policy", "simulate", file, *options)
    assert code == 0
    assert "allow attributed-effect" in out
    assert "review ask" in out
    assert "1, 1, 0" in out
    first, second = terminal.json("policy", "simulate", file, *options)[1]
    assert first["counts"] == {"allow": 1, "review": 1}
    assert second["cases"]["to a stranger"] == {"verdict": "review", "rule": "ask"}
    other = cases(place, ALLOWED, name="other.cases.yaml")
    both = terminal.json("policy", "simulate", file, other, "--profile", "strict")[1]
    assert "other.cases.yaml: to a person the user names" in both[0]["cases"]
    assert terminal("policy", "simulate", file, "--profile", "lax")[0] == 2


def test_the_cases_of_the_documentation_pass(terminal: Terminal, place: World) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "policy-kit.md").read_text("utf-8")
    text = page.split("```text\nmanifest:")[1].split("```")[0]
    file = place.folder / "own.cases.yaml"
    file.write_text("manifest:" + "".join(line for line in text.splitlines(True) if not line.startswith("policy:")))
    code, out, _ = terminal("policy", "test", file)
    assert code == 0, out


def test_a_rule_that_decides_no_case_is_named(terminal: Terminal, place: World) -> None:
    more = f'{POLICY}\n@id("never-seen")\nforbid (principal, action, resource)'
    file = cases(place, ALLOWED, STRANGER, NOT_A_READ, policy=more + " when { context.protected };\n")
    code, out, _ = terminal("policy", "test", file)
    assert code == 0
    assert "note: no case is decided by reads, never-seen" in out
    assert terminal.json("policy", "test", file)[1][0]["idle"] == ["reads", "never-seen"]


def test_the_cases_beside_a_policy_or_a_manifest_are_meant(terminal: Terminal, place: World) -> None:
    cases(place, ALLOWED, STRANGER, NOT_A_READ)
    code, out, _ = terminal("policy", "test", place.folder / "own.cedar")
    assert (code, "own.cases.yaml: 3 of 3 cases passed" in out) == (0, True)
    assert terminal("policy", "simulate", place.folder / "own.cedar")[0] == 0
    code, _, err = terminal("policy", "test", place.folder / "manifest.yaml")
    assert code == 2
    assert "is a manifest, no file of cases" in err
    assert "write cases into manifest.cases.yaml beside it" in err


def test_a_case_that_fails_says_how_to_see_why(terminal: Terminal, place: World) -> None:
    file = cases(place, {**ALLOWED, "name": "it's mine", "expect": "deny"}, STRANGER, NOT_A_READ)
    code, out, _ = terminal("policy", "test", file)
    assert (code, f"checkvalve policy explain {file} --case 'it'\"'\"'s mine'" in out) == (1, True)
