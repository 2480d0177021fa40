"""What a manifest may pin, how two versions differ, and what the lint and ``explain`` say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.kit_explain import explain
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.pins import (
    CHANGED,
    CODES,
    MISSING,
    NOT_READ,
    REDECLARED,
    UNREADABLE,
    WHY,
    Difference,
    Found,
    Part,
    Version,
    compare,
    read_found,
)
from checkvalve.approvals.pins_shown import Moved, Pinned, PinnedItem, PinnedPart
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.redaction import Veil

MANIFEST = """
name: office
tools:
  get_contact:
    effect: read
    args: {id: {role: selector, kind: "id:contact"}}
    result:
      - {path: etag, writable_by: members, evidence: the server sets it}
      - {path: tags.label, writable_by: members, evidence: the server sets it}
      - {path: name}
  search:
    effect: read
    leaves_domain: true
    args: {q: {role: selector}}
    result: [{path: etag, writable_by: members, evidence: the server sets it}]
  update_contact:
    effect: write
    asks: [update]
    args: {id: {role: selector, kind: "id:contact"}, file: {role: selector, kind: path}, name: {role: content}}
    pin: PIN
"""
RECORD = "[{tool: get_contact, args: {id: {argument: id}}, version: [$.etag]}]"
FILE = "[{file: file, folder: /srv/files}]"


def declared(pin: str) -> str:
    return MANIFEST.replace("PIN", pin)


@pytest.mark.parametrize(
    "pin",
    [
        RECORD,
        FILE,
        RECORD.replace("$.etag", "$.etag, $.tags.0.label, $"),
        FILE.replace("}]", ", may_be_missing: true, max_bytes: 5, seconds: 60}]"),
        f"[{FILE[1:-1]}, {RECORD[1:-1]}]",
    ],
)
def test_both_kinds_load(pin: str) -> None:
    spec = parse_manifest(declared(pin), "m.yaml").tools["update_contact"]
    assert spec.pin
    assert all(bool(one.file) != bool(one.tool) for one in spec.pin)


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("pin", "message"),
    [
        ("[{}]", "say what is pinned"),
        ("[{file: file, tool: get_contact}]", "say what is pinned"),
        ("[{file: file}]", "in which `folder`"),
        ("[{file: file, folder: files}]", "from the root on"),
        ("[{file: file, folder: /srv/../etc}]", "without `..`"),
        ("[{file: file, folder: /srv, version: [$]}]", "`version` means nothing for a file"),
        ("[{tool: get_contact, args: {id: {argument: id}}}]", "which fields"),
        ("[{tool: get_contact, version: [$], folder: /srv}]", "`folder` means nothing for a record"),
        ("[{tool: get_contact, version: [$], required: false}]", "unknown field"),
        ("[{tool: get_contact, version: [etag]}]", "starts with `\\$`"),
        ("[{tool: get_contact, version: [$.etga]}]", "declares no field"),
        ("[{tool: get_contact, version: [$.tags]}]", "declares no field"),
        ("[{tool: no_such, version: [$]}]", "no such tool"),
        ("[{tool: update_contact, version: [$]}]", "more than read inside"),
        ("[{tool: search, args: {q: {argument: id}}, version: [$.etag]}]", "more than read inside"),
        ("[{tool: get_contact, args: {nope: {argument: id}}, version: [$]}]", "no such argument"),
        ("[{tool: get_contact, args: {id: {argument: nope}}, version: [$]}]", "no argument 'nope'"),
        ("[{tool: get_contact, args: {id: {argument: id}}, version: [$], seconds: 61}]", "less than or equal to 60"),
        ("[{file: nope, folder: /srv}]", "declares no argument"),
        ("[{file: name, folder: /srv}]", "of kind text"),
        ("[{file: file, folder: /srv, max_bytes: 0}]", "greater than or equal to 1"),
        (f"[{', '.join([FILE[1:-1]] * 5)}]", "at most 4"),
    ],
)
def test_what_could_hold_nothing_is_no_manifest(pin: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        parse_manifest(declared(pin), "m.yaml")


def test_a_tool_that_reads_pins_nothing() -> None:
    text = declared(RECORD).replace("effect: write", "effect: read")
    with pytest.raises(ManifestError, match="a tool that reads"):
        parse_manifest(text, "m.yaml")


@pytest.mark.parametrize(("effect", "pinned"), [("delete", True), ("read", False)])
def test_every_form_that_has_an_effect_is_pinned(effect: str, pinned: bool) -> None:
    form = f"\n    variants: [{{when: {{mode: [x]}}, effect: {effect}, evidence: the server says so}}]"
    args = "    args: {mode: {role: control}, "
    spec = parse_manifest(declared(RECORD + form).replace("    args: {id", args + "id"), "m").tools["update_contact"]
    assert bool(spec.called_with({"mode": "x"}).pin) is pinned


FILE_NOW = Version("file", "file", (Part("$", "sha256:a"),), 8)
GONE = Version("file", "file")
RECORD_NOW = Version("get", "record", (Part("$.etag", "sha256:a", 1), Part("$.owner", "sha256:b")))


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("was", "now", "code", "why"),
    [
        (FILE_NOW, replace(FILE_NOW, parts=(Part("$", "sha256:b"),)), CHANGED, ""),
        (FILE_NOW, GONE, MISSING, "missing"),
        (GONE, FILE_NOW, CHANGED, ""),
        (RECORD_NOW, replace(RECORD_NOW, parts=(RECORD_NOW.parts[0], Part("$.owner", "sha256:c"))), CHANGED, ""),
        (RECORD_NOW, replace(RECORD_NOW, parts=RECORD_NOW.parts[:1]), CHANGED, ""),
        (FILE_NOW, replace(RECORD_NOW, of="file"), REDECLARED, "redeclared"),
        (FILE_NOW, replace(FILE_NOW, of="other"), REDECLARED, "redeclared"),
    ],
)
def test_any_difference_is_one(was: Version, now: Version, code: str, why: str) -> None:
    found = compare(Found("d", (was,)), Found("d", (now,)))
    assert found is not None
    assert (found.code, found.why) == (code, why)


@pytest.mark.parametrize("version", [FILE_NOW, GONE, RECORD_NOW, replace(RECORD_NOW, call="another read")])
def test_the_same_is_the_same(version: Version) -> None:
    read = Found("d", (replace(version, call="this read"),))
    assert compare(read_found(Found("d", (version,)).to_json()), read) is None


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("asked", "now", "code"),
    [
        (None, Found("d", (FILE_NOW,)), NOT_READ),
        (Found("d", of="file", why="link"), Found("d", (FILE_NOW,)), NOT_READ),
        (Found("d", (FILE_NOW,)), None, NOT_READ),
        (Found("d", (FILE_NOW,)), Found("d", of="file", why="link"), UNREADABLE),
        (Found("d", (FILE_NOW,)), Found("d", of="file", why="missing"), MISSING),
        (Found("d", (FILE_NOW,)), Found("e", (FILE_NOW,)), REDECLARED),
        (Found("d", (FILE_NOW,)), Found("d"), REDECLARED),
        (Found("d", (FILE_NOW, RECORD_NOW)), Found("d", (FILE_NOW,)), REDECLARED),
    ],
)
def test_what_was_not_read_is_not_the_same(asked: Found | None, now: Found | None, code: str) -> None:
    found = compare(asked, now)
    assert isinstance(found, Difference)
    assert found.code == code
    assert code in CODES
    assert found.why in {"", *WHY}


@pytest.mark.parametrize("body", [{}, {"declared": "d"}, {"declared": "d", "pins": [1]}, {"declared": "d", "pins": 1}])
def test_what_is_no_record_of_versions_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match="no record"):
        read_found(body)


def lint(pin: str, *schemas: ToolSchema) -> list[tuple[str, str]]:
    return [(one.code, one.level) for one in lint_manifest(declared(pin), "m.yaml", schemas) if "pin" in one.code]


def schema(**types: str) -> ToolSchema:
    members = {name: {"type": kind} for name, kind in types.items()}
    return ToolSchema("update_contact", {"type": "object", "properties": members})


def test_the_lint_finds_what_the_real_tool_does_not_have_and_who_writes_a_version() -> None:
    assert lint(RECORD) == [("not-pinned", "warning")]
    given = schema(id="string", file="string", name="string")
    assert lint(FILE, given) == []
    assert lint(FILE, schema(id="string", file="integer", name="string")) == [("no-pin", "error")]
    assert ("no-pin", "error") in lint(FILE, schema(id="string", name="string"))
    assert lint(RECORD.replace("$.etag", "$.name"), given) == [("pin-by-outsiders", "warning")]
    assert lint(RECORD.replace("{argument: id}", "{value: 7}"), given) == [("no-pin", "warning")]


def test_a_shipped_schema_is_looked_at_on_loading() -> None:
    shipped = "\n    input_schema: {properties: {id: {}, name: {}, file: {type: array}}}"
    with pytest.raises(ManifestError, match="of type array"):
        parse_manifest(declared(FILE + shipped), "m.yaml")


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("review", "pinned: file (read when a person is asked"), ("allow", "not pinned, since nobody is asked: file")],
)
def test_explain_says_what_is_pinned_and_where_nothing_is(verdict: str, said: str) -> None:
    decision = {"verdict": verdict, "rule": "r", "rules": ["r"], "facts": {}, "arguments": [], "pins": ["file"]}
    spec = parse_manifest(declared(FILE), "m.yaml").tools["update_contact"]
    step = explain("update_contact", "write", spec, decision, load_policy(None)).steps[-1]
    assert step.details[0].startswith(said)
    assert step.data["pins"] == ["file"]


def test_no_secret_is_shown_in_a_path_or_in_what_ended_a_permit() -> None:
    key = "AKIA" + "Q7RM3TB2ZX9KPLWD"
    path = PinnedItem("path", "file", f"notes/{key}.txt", 3, (PinnedPart("$", "sha256:00"),))
    state = PinnedItem("get_contact", "record", parts=(PinnedPart("$.state", "sha256:01", f'"{key}"'),))
    found = Pinned("read", 1, (path,), moved=Moved(CHANGED, "get_contact", was=state, now=state))
    assert str(found).count(key) == 3
    shown = found.under(Veil(b"k" * 32))
    assert key not in str(shown) + str(shown.to_json())
    assert shown.items[0].target.startswith("notes/")
