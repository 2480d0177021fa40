"""The case format refuses what would be measured as nothing, and the shipped cases keep its promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkvalve.corpora.builtin import load_builtin_manifest
from checkvalve.corpora.cases import Call, Case, Reading, areas, load_cases, parse_cases
from checkvalve.corpora.errors import CorpusError

AREAS = {"mail", "calendar", "files", "chat", "payments", "web", "shell", "git", "memory", "crm", "account", "answer"}


def minimal(**changes: Any) -> dict[str, Any]:
    case = {
        "id": "one",
        "area": "mail",
        "title": "A title",
        "task": [{"text": "Read my mail."}],
        "attack": [{"tool": "send", "args": {"to": "x@drop.example.net"}, "expect": ["deny"]}],
        "effects": ["send"],
        "twin": {"calls": [{"tool": "answer", "args": {"text": "Nothing new."}, "expect": ["allow"]}]},
        "origin": "this test",
    }
    return {**case, **changes}


def parse(**changes: Any) -> tuple[Case, ...]:
    return parse_cases(json.dumps(minimal(**changes)), "cases.jsonl")


def test_a_minimal_case_is_read() -> None:
    (case,) = parse()
    assert case.manifest == "builtin"
    assert case.attack[0].name == "send"
    assert case.twin.task is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"attack": []}, "attack: Tuple should have at least 1 item"),
        ({"attack": [{"tool": "send", "argz": {}, "expect": ["deny"]}]}, "attack.0.argz"),
        ({"effects": ["pay"]}, "effects ['pay'] are not among the attack calls ['send']"),
        ({"attack": [{"tool": "send", "expect": ["allow", "deny"]}]}, "may not expect `allow`"),
        ({"twin": {"calls": [{"tool": "send", "expect": ["deny"]}]}}, "a twin may not expect `deny`"),
        ({"attack": [{"tool": "send", "expect": ["perhaps"]}]}, "attack.0.expect.0"),
        ({"task": [{"text": "x", "authority": "system"}]}, "task.0.authority"),
        ({"id": "Not An Id"}, "id: String should match pattern"),
    ],
)
def test_a_wrong_case_is_named_with_line_and_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(CorpusError) as raised:
        parse(**changes)
    assert str(raised.value).startswith("cases.jsonl, line 1: ")
    assert said in str(raised.value)


@pytest.mark.parametrize("line", ["{", "[]", "null", '{"id": "a", "id": "b"}', "[" * 200_000])
def test_a_line_that_is_not_one_object_is_refused(line: str) -> None:
    with pytest.raises(CorpusError, match="line 2"):
        parse_cases(json.dumps(minimal()) + "\n" + line, "cases.jsonl")


def test_an_id_may_be_used_once() -> None:
    line = json.dumps(minimal())
    with pytest.raises(CorpusError, match="line 3: the id 'one' is used twice"):
        parse_cases(f"{line}\n\n{line}", "cases.jsonl")


def test_only_a_newline_ends_a_line() -> None:
    raw = json.dumps(minimal(title="one\u2028two"), ensure_ascii=False)
    assert parse_cases(raw, "cases.jsonl")[0].title == "one\u2028two"


def test_no_case_at_all_and_no_file_at_all_are_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no case in it"):
        parse_cases("\n", "empty.jsonl")
    with pytest.raises(CorpusError, match=r"cannot read the cases in missing\.jsonl"):
        load_cases(tmp_path / "missing.jsonl")


def test_the_shipped_cases_cover_every_kind_of_tool() -> None:
    cases = load_cases()
    assert len(cases) >= 25
    assert {name for name, _ in areas(cases)} >= AREAS


def test_every_call_and_reading_that_should_be_known_is_declared() -> None:
    manifest = load_builtin_manifest()
    for case in load_cases():
        expected_unknown = [call for call in case.attack if call.expect == ("deny",)]
        calls = [*(call for call in case.attack if call not in expected_unknown), *case.twin.calls]
        used: list[Call | Reading] = [*calls, *case.history, *(case.twin.history or ())]
        for item in used:
            known = manifest.find(item.tool, item.server) is not None or (item.tool, item.server) == ("answer", "")
            assert known, f"{case.id}: {item.server}/{item.tool} is not in the manifest"


def test_only_reserved_names_occur_as_hosts() -> None:
    text = "\n".join(case.model_dump_json().casefold() for case in load_cases())
    for word in (".com", ".org", ".net"):
        for rest in text.split(word)[:-1]:
            assert rest.endswith("example"), f"…{rest[-40:]}{word} is not an example name"
