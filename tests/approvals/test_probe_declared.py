"""What a manifest may say of a crash in the middle of a call: a key that reaches the server, a probe that is sound."""

from __future__ import annotations

import pytest

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.manifest import manifest_digest, parse_manifest
from checkvalve.approvals.probes import judge, probe_args
from checkvalve.approvals.probespec import ProbeSpec
from checkvalve.filters.strictjson import JSON

MANIFEST = """
name: bank
tools:
  find:
    effect: read
    args: {key: {role: selector, kind: text}, id: {role: selector, kind: "id:order"}}
    result:
      - {path: state, writable_by: owner, evidence: the shop sets it}
      - {path: found, writable_by: owner, evidence: the shop sets it}
      - {path: note}
  order:
    effect: pay
    asks: [order]
    undo: it cannot be undone
    limits: {amount: 10}
    args: {id: {role: target, kind: "id:order"}, amount: {role: amount, kind: number}}
    CLASS
"""
PROBE = "{tool: find, args: {key: {key: true}}, done_when: {path: $.state, values: [done]}}"


def declared(what: str) -> str:
    return MANIFEST.replace("CLASS", what)


def probing(probe: str) -> str:
    return declared(f"idempotency: probe\n    probe_with: {probe}")


def linted(text: str) -> list[tuple[str, str]]:
    mine = {"key-not-passed", "no-probe", "weak-probe", "does-not-load"}
    return [(item.code, item.level) for item in lint_manifest(text, "bank.yaml") if item.code in mine]


def test_a_sound_probe_loads_and_a_manifest_without_one_keeps_its_digest() -> None:
    found = parse_manifest(probing(PROBE), "bank.yaml").tools["order"].probe_with
    assert found is not None
    assert list(found.conditions) == ["done_when"]
    plain = parse_manifest(declared("idempotency: none"), "bank.yaml")
    assert manifest_digest(plain) == "sha256:6f00510eb875ffca7e8aa1877e9354cc20525d234d83dbd1859fbe4bf60fc77f"
    assert linted(probing(PROBE)) == []


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("idempotency: probe", "not how"),
        (f"probe_with: {PROBE}", "`idempotency: probe` only"),
        (f"idempotency: key\n    probe_with: {PROBE}", "`idempotency: probe` only"),
    ],
)
def test_neither_goes_without_the_other(what: str, told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        parse_manifest(declared(what), "bank.yaml")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tool: find", "tool: order", "more than read"),
        ("tool: find", "tool: gone", "no such tool"),
        ("{key: {key: true}}", "{none: {key: true}}", "no such argument"),
        ("{key: {key: true}}", "{id: {argument: none}}", "no argument"),
        ("{key: {key: true}}", "{key: {key: true, value: x}}", "where the value is from"),
        ("{key: {key: true}}", "{key: {}}", "where the value is from"),
        ("path: $.state", "path: $.note", "outsiders can write"),
        ("path: $.state", "path: $.none", "declares no field"),
        ("path: $.state", "path: state", "starts with"),
        ("values: [done]", "values: []", "has to hold"),
        ("values: [done]", "values: [done], there: true", "has to hold"),
        ("values: [done]", "argument: none", "no argument"),
    ],
)
def test_what_is_wrong_with_a_probe_is_said(old: str, new: str, told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        parse_manifest(probing(PROBE.replace(old, new)), "bank.yaml")


def test_the_lint_says_what_rests_on_nothing() -> None:
    assert linted(declared("idempotency: key")) == []
    server = declared("idempotency: key\n    server: shop")
    assert linted(server) == [("key-not-passed", "warning")]
    assert linted(probing(PROBE.replace("{key: true}", "{value: x}"))) == [("no-probe", "error")]
    weak = PROBE.replace("{key: {key: true}}", "{id: {argument: id}}")
    assert linted(probing(weak)) == [("weak-probe", "warning")]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"found": True}, (True, "done_when")),
        ({"found": False}, (False, "not_done_when")),
        ({"found": None}, (None, "neither")),
        ({"found": 1}, (None, "neither")),
        ({"found": "true"}, (None, "neither")),
        ({}, (None, "neither")),
        ([True], (None, "neither")),
        (True, (None, "neither")),
    ],
)
def test_an_answer_is_met_to_the_letter(record: JSON, said: tuple[bool | None, str]) -> None:
    spec = ProbeSpec.model_validate(
        {
            "tool": "find",
            "done_when": {"path": "$.found", "values": [True]},
            "not_done_when": {"path": "$.found", "values": [False]},
        }
    )
    assert judge(spec, record, {}) == said


def test_the_forms_of_a_condition() -> None:
    """A null that is written is a value; a field that is not there meets nothing."""
    spec = ProbeSpec.model_validate(
        {
            "tool": "find",
            "args": {"key": {"key": True}, "id": {"argument": "id"}, "n": {"value": 3}},
            "done_when": {"path": "$.id", "argument": "id"},
            "not_done_when": {"path": "$.order", "values": [None]},
        }
    )
    args: dict[str, JSON] = {"id": "o7"}
    assert judge(spec, {"id": "o7"}, args) == (True, "done_when")
    assert judge(spec, {"id": "o7"}, {}) == (None, "neither")
    assert judge(spec, {"id": "o7", "order": None}, args) == (None, "both")
    assert judge(spec, {"id": "o8", "order": None}, args) == (False, "not_done_when")
    assert judge(spec, {"id": "o8"}, args) == (None, "neither")
    assert probe_args(spec, args, "k") == {"key": "k", "id": "o7", "n": 3}
    assert probe_args(spec, {}, "k") is None
    there = ProbeSpec.model_validate({"tool": "find", "done_when": {"path": "$.id", "there": True}})
    assert judge(there, {"id": 0}, {}) == (True, "done_when")
    assert judge(there, {"id": None}, {}) == (None, "neither")
