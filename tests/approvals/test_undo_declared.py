"""What a manifest may say of undoing, and what is made of it: pure parts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.manifest import manifest_digest, manifest_schema, parse_manifest
from checkvalve.approvals.undo_call import MAX_BODY, Seen, differences, kept, read_body
from checkvalve.approvals.undospec import UndoSpec
from tests.undo_world import MANIFEST

GOOD = """
name: x
tools:
  get:
    effect: read
    args: {id: {role: selector, kind: "id:event"}}
    result: [{path: title}, {path: day, kind: date}]
  make:
    effect: write
    args: {title: {role: content}}
    result: [{path: id, kind: "id:event"}]
    undo_with: {tool: drop, args: {id: {result: $.id}}, within: 30d}
  drop:
    effect: delete
    args: {id: {role: selector, kind: "id:event"}}
    input_schema: {type: object, properties: {id: {type: string}, force: {type: boolean}}, required: [id]}
  set:
    effect: write
    args: {id: {role: selector, kind: "id:event"}, title: {role: content}, day: {role: content, kind: date}}
    undo_with:
      tool: set
      args: {id: {argument: id}, title: {before: $.title}, day: {before: $.day}}
      before: {tool: get, args: {id: {argument: id}}}
  fetch: {effect: read, leaves_domain: true, args: {id: {role: target}}}
  shell: {effect: configure, args: {id: {role: selector}}}
"""


def test_a_good_one_loads_and_is_part_of_digest_and_schema() -> None:
    found = parse_manifest(GOOD, "m.yaml")
    undo = found.tools["make"].undo_with
    assert undo is not None
    assert undo.microseconds == 30 * 86_400 * 1_000_000
    assert manifest_digest(found) != manifest_digest(parse_manifest(GOOD.replace("30d", "31d"), "m.yaml"))
    assert "undo_with" in json.dumps(manifest_schema())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tool: drop,", "tool: dropp,", "no such tool on this server (did you mean `drop`?)"),
        ("args: {id: {result", "args: {idd: {result", "'drop' has no such argument (did you mean `id`?)"),
        ("args: {id: {result: $.id}}", "args: {}", "'drop' needs 'id', which is not given"),
        ("{result: $.id}", "{result: id}", "a path starts with `$`"),
        ("{result: $.id}", "{result: $.id, value: 1}", "say where the value is from: one of"),
        ("{result: $.id}", "{value: null}", "say where the value is from: one of"),
        ("{result: $.id}", "{}", "say where the value is from: one of"),
        ("{result: $.id}", "{value: 7}", "the argument is of type string"),
        ("{result: $.id}", "{argument: titel}", "'make' has no argument 'titel' (did you mean `title`?)"),
        ("{result: $.id}", "{before: $.id}", "nothing is read"),
        ("within: 30d", "within: 30", "has to be a string"),
        ("within: 30d", "within: 30w", "pattern"),
        ("within: 30d", "wihtin: 30d", "did you mean `within`?"),
        ("title: {before: $.title}", "title: {before: $.day}", ""),
        ("day: {before: $.day}", "day: {argument: id}", "of another kind than the argument"),
        ("{before: $.title}, day: {before: $.day}", "{argument: title}, day: {argument: day}", "would undo itself"),
        ("before: {tool: get,", "before: {tool: gett,", "no such tool on this server"),
        ("before: {tool: get,", "before: {tool: make,", "'make' does more than read inside"),
        ("before: {tool: get,", "before: {tool: fetch,", "'fetch' does more than read inside"),
        (
            "before: {tool: get, args: {id: {argument: id}}}",
            "before: {tool: get, args: {i: {value: 1}}}",
            "'get' has no",
        ),
        ("get, args: {id: {argument: id}}}", "get, args: {id: {argument: idd}}}", "'set' has no argument 'idd'"),
        ("tool: drop,", "tool: shell,", "a `configure` is no part of an undoing"),
        ("  shell: {effect: configure", "  shell: {effect: execute", ""),
        ("fetch: {effect: read,", "fetch: {effect: read, undo_with: {tool: drop},", "has no effect to undo"),
    ],
)
def test_what_is_wrong_is_named_with_place_and_remedy(old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    if not said:
        parse_manifest(text, "m.yaml")
        return
    with pytest.raises(ManifestError) as error:
        parse_manifest(text, "m.yaml")
    assert said in str(error.value)
    assert error.value.field.startswith(("tools.make.undo_with", "tools.set.undo_with", "tools.fetch.undo_with"))
    assert error.value.line


def spec(**values: object) -> UndoSpec:
    return UndoSpec.model_validate({"tool": "t", **values})


def test_every_origin_gives_its_value_and_stands_in_what_is_kept() -> None:
    undo = spec(
        args={
            "a": {"argument": "id"},
            "b": {"result": "$.items.1.id"},
            "c": {"before": "$"},
            "d": {"value": False},
        },
        before={"tool": "get", "args": {"id": {"argument": "id"}, "deep": {"value": 1}}},
    )
    seen = Seen({"items": [{"id": 1}, {"id": 2}]}, {"old": None}, "p")
    found = read_body(kept(undo, server="s", args={"id": "n1"}, seen=seen).body)
    assert found.args == {"a": "n1", "b": 2, "c": {"old": None}, "d": False}
    assert (found.tool, found.server, found.look, found.before) == ("t", "s", ("get", {"id": "n1", "deep": 1}), "p")
    assert found.origins["b"] == {"result": "$.items.1.id"}


@pytest.mark.parametrize(
    ("args", "seen", "why"),
    [
        ({"a": {"argument": "other"}}, Seen(), "no_such_argument"),
        ({"a": {"result": "$.id"}}, Seen({"number": 1}), "no_such_field"),
        ({"a": {"result": "$.0"}}, Seen([]), "no_such_field"),
        ({"a": {"result": "$"}}, Seen(), "no_such_field"),
        ({"a": {"before": "$.id"}}, Seen(why="before_not_allowed"), "before_not_allowed"),
        ({"a": {"before": "$.id"}}, Seen(record={"id2": 1}), "not_read"),
        ({"a": {"result": "$"}}, Seen({"x": float("nan")}), "not_canonical"),
        ({"a": {"result": "$"}}, Seen({str(n): "x" * 200_000 for n in range(2)}), "too_large"),
    ],
)
def test_what_cannot_be_kept_says_why(args: dict[str, object], seen: Seen, why: str) -> None:
    found = kept(spec(args=args), server="", args={"id": 1}, seen=seen)
    assert (found.body, found.why) == ("", why)
    assert MAX_BODY < 400_000


LEAF = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab.", max_size=3)
RECORD = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", min_size=1, max_size=2), inner, max_size=3)
    ),
)


@given(RECORD)
def test_a_record_is_no_different_from_itself(value: object) -> None:
    assert differences(value, value) == []  # type: ignore[arg-type]  # it is JSON


@given(RECORD, RECORD)
def test_records_without_a_difference_are_the_same(old: object, new: object) -> None:
    same = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    assert bool(differences(old, new)) is not same  # type: ignore[arg-type]  # both are JSON


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"a": None, "b": 1}, {"b": 1}, [("$.a", None, None)]),
        ({"a": True}, {"a": 1}, [("$.a", True, 1)]),
        ({"a.b": 1}, {"a": {"b": 1}}, [("$", {"a.b": 1}, {"a": {"b": 1}})]),
        ({"a": [1, 2]}, {"a": [1]}, [("$.a.1", 2, None)]),
        ({"a": {}}, {"a": []}, [("$.a", {}, [])]),
    ],
)
def test_what_looks_alike_and_is_not_is_a_difference(old: object, new: object, said: object) -> None:
    assert differences(old, new) == said  # type: ignore[arg-type]  # both are JSON


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"tool":1}', '{"args":{},"from":[],"tool":"t","server":"","declared":"x"}']
)
def test_what_is_no_kept_undoing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no kept undoing"):
        read_body(text)


def test_the_world_of_these_tests_is_a_manifest() -> None:
    assert parse_manifest(MANIFEST, "notebook.yaml").tools["send_note"].undo_with is None
