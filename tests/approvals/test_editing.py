"""What an edit is, before anything is stored: kinds of values, what changed, and what a foreign UI sends back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.editing import EDITED, TYPED, as_edit, changes, parse_as
from checkvalve.approvals.endorsements import Endorsement, Use
from checkvalve.approvals.errors import EditRefusedError, QueueError
from checkvalve.approvals.inert import inert
from checkvalve.approvals.verdicts import Allow, Deny, Review
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.edit_notice import MAX_CHANGES, notice
from checkvalve.gateway.shown_edits import MAX_VALUE, exact
from tests.approvals.made import decided

SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ARGS = st.dictionaries(st.text(min_size=1, max_size=8), VALUES, max_size=4)


@pytest.mark.parametrize(
    ("old", "text", "found"),
    [
        ("a", "1", "1"),
        ("a", "true", "true"),
        ("a", "  kept  ", "  kept  "),
        (1, "2", 2),
        (1, " 2.5 ", 2.5),
        (1.5, "2", 2),
        (True, "false", False),
        ([1], "[2, 3]", [2, 3]),
        ({"a": 1}, '{"b": []}', {"b": []}),
        (None, '"x"', "x"),
        (None, "3", 3),
    ],
)
def test_a_value_keeps_its_kind(old: JSON, text: str, found: JSON) -> None:
    got = parse_as(old, text)
    assert (got, type(got)) == (found, type(found))


@pytest.mark.parametrize(
    ("old", "text"),
    [
        (1, "x"),
        (1, "true"),
        (True, "1"),
        (True, "yes"),
        ([1], "{}"),
        ({"a": 1}, "[]"),
        (1, "NaN"),
        ({}, '{"a":1,"a":2}'),
        (None, ""),
    ],
)
def test_what_is_of_another_kind_is_none(old: JSON, text: str) -> None:
    with pytest.raises(QueueError, match="this is not"):
        parse_as(old, text)


@given(ARGS, ARGS)
def test_changes_are_all_of_the_difference(before: dict[str, JSON], after: dict[str, JSON]) -> None:
    found = changes(before, after)
    assert (not found) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))
    assert {item.path for item in found} == {item.path for item in changes(after, before)}
    assert changes(before, before) == []


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ("1", 1), ([], {}), (None, "")])
def test_values_that_python_takes_for_equal_are_changes(one: JSON, other: JSON) -> None:
    assert [item.kind for item in changes({"a": one}, {"a": other})] == ["changed"]


@given(ARGS)
def test_what_comes_back_from_a_foreign_ui_untouched_is_the_call_itself(args: dict[str, JSON]) -> None:
    def shown(value: JSON) -> Any:
        if isinstance(value, str):
            return inert(value, limit=MAX_VALUE)
        if isinstance(value, list):
            return [shown(item) for item in value]
        return {inert(key): shown(item) for key, item in value.items()} if isinstance(value, dict) else value

    came_back = {inert(key): shown(value) for key, value in args.items()}
    assert json.dumps(exact(args, came_back), sort_keys=True) == json.dumps(args, sort_keys=True)


@given(ARGS)
def test_a_ui_that_sends_everything_as_a_text_changes_no_kind(args: dict[str, JSON]) -> None:
    plain = {key: value for key, value in args.items() if isinstance(value, bool | int)}
    assert exact(plain, {inert(key): json.dumps(value) for key, value in plain.items()}) == plain


def test_a_value_that_was_not_shown_to_its_end_is_not_edited() -> None:
    old = {"body": "x" * 10_000}
    shown = inert(str(old["body"]), limit=MAX_VALUE)
    assert exact(old, {"body": shown}) == old
    with pytest.raises(EditRefusedError, match="not shown to its end"):
        exact(old, {"body": shown + "!"})


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("verdict", "name", "rule"),
    [
        (Allow("all-known"), "review", EDITED),
        (Review("untrusted-target", "untrusted-target"), "review", "untrusted-target"),
        (Deny("protected", "protected"), "deny", "protected"),
    ],
)
def test_an_edit_is_never_allowed_by_a_rule_alone(verdict: Any, name: str, rule: str) -> None:
    offered = [
        Endorsement("new@x.example", "none", "target", "send"),
        Endorsement("kept", "tool:a/b", "content", "send"),
    ]
    base = decided(verdict, offered)
    made = as_edit(
        type(base)(**{**vars(base), "uses": (Use("mandate", "m"),)}),
        {"to": "old@x.example", "body": "kept"},
        {"to": "new@x.example", "body": "kept"},
        editor="ann",
    )
    assert (made.verdict.name, made.verdict.rule, EDITED in made.rules) == (name, rule, True)
    assert (made.uses, made.mandate) == ((), None)
    assert [item.value for item in made.endorsable] == ["kept"]
    firsts = {item.path: item.origins[0] for item in made.arguments if item.origins}
    assert [path for path, origin in firsts.items() if origin["match"] == TYPED] == ["to"]
    assert firsts["to"]["source"] == "edit:ann"


def test_a_notice_names_what_changed_and_counts_the_rest() -> None:
    before: dict[str, JSON] = {f"a{number}": number for number in range(MAX_CHANGES + 5)}
    text = notice(before, {**before, "a0": "x\u202ey" * 400, "new": [1]}, "id-1")
    assert "a0 from 0 to" in text
    assert "\u202e" not in text
    assert "new.0 was added as 1" in text
    assert "bytes more" in text
    many = notice(before, dict.fromkeys(before, -1), "id-1")
    assert "and 5 more" in many
    assert "a1 was left out" in notice({"a1": 1}, {}, "id-1")
