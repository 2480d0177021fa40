"""Every mistake in a manifest is named with file, line, field and remedy; nothing in it means two things."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.errors import ApprovalError, ManifestError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.manifest import load_manifest, manifest_digest, manifest_schema, parse_manifest, schema_digest
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES
from tests.effort import bounded

GOOD = """\
name: office
tools:
  send:
    effect: send
    args:
      to: {role: target, kind: email}
      body: {role: content}
  bare:
"""


def refused(text: str | bytes) -> ManifestError:
    with bounded(), pytest.raises(ManifestError) as caught:
        parse_manifest(text, "office.yaml")
    assert caught.value.file == "office.yaml"
    assert str(caught.value).startswith("office.yaml")
    return caught.value


def test_a_good_manifest() -> None:
    manifest = parse_manifest(GOOD, "office.yaml")
    assert manifest.tools["send"].args["body"].role is Role.CONTENT
    assert manifest.tools["bare"].effect is Effect.SEND, "what is not declared takes the strictest value"
    assert parse_manifest(GOOD.encode(), "x") == parse_manifest(b"\xef\xbb\xbf" + GOOD.encode(), "y") == manifest


@pytest.mark.parametrize(
    ("added", "line", "field", "remedy"),
    [
        ("    revesible: true", 9, "tools.bare.revesible", "did you mean `reversible`?"),
        ("    args: {to: {roel: target}}", 9, "tools.bare.args.to.roel", "did you mean `role`?"),
        ("    args: {to: {fields: {x: {kinde: a}}}}", 9, "tools.bare.args.to.fields.x.kinde", "did you mean `kind`?"),
        ("    args: {to: {role: targit}}", 9, "tools.bare.args.to.role", "did you mean `target`?"),
        ("    effect: raed", 9, "tools.bare.effect", "did you mean `read`?"),
        ("    limits: {amuont: 3}", 9, "tools.bare.limits.amuont", "did you mean `amount`?"),
        (
            "    result:\n      - path: a\n      - {path: b, writeable_by: owner}",
            11,
            "tools.bare.result.1.writeable_by",
            "writable_by",
        ),
        ("    result:\n      - {kind: text}", 10, "tools.bare.result.0.path", "add `path:`"),
        ("principal: {onwer: [a]}", 9, "principal.onwer", "did you mean `owner`?"),
        ("toolz: {}", 9, "toolz", "did you mean `tools`?"),
        ("zzz: {}", 9, "zzz", "known here: version, name"),
        ("description: 1.5", 9, "description", "quotes"),
    ],
)
def test_a_mistake_names_line_field_and_remedy(added: str, line: int, field: str, remedy: str) -> None:
    error = refused(GOOD + added)
    assert (error.line, error.field) == (line, field)
    assert remedy in error.remedy
    assert remedy in str(error)
    assert isinstance(error, ApprovalError)


def test_trust_without_evidence_is_refused() -> None:
    error = refused(GOOD + "    result: [{path: a, writable_by: owner}]")
    assert error.line == 9
    assert "evidence" in error.message


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (GOOD + "name: again", 9, "second time, first on line 1"),
        (GOOD.replace("body:", "to:"), 7, "second time, first on line 6"),
        (GOOD + "    args: {a: {role: content, 'role': target}}", 9, "second time"),
        (GOOD + "\tx: 1", 9, "tabs"),
        (GOOD.replace("    args", "\targs"), 5, "tabs"),
        (GOOD.encode() + b"description: \xff", 9, "not UTF-8"),
        (GOOD.encode("utf-16"), 1, "not UTF-8"),
        (GOOD + "description: \x00", None, "character"),
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        ("[]", 1, "mapping"),
        ("tools", 1, "mapping"),
        (GOOD + "---\nname: b\n", 9, "second document"),
        ("name: 'x", 1, "not valid YAML"),
        ("name: yes\ntools: {}", 1, "differently"),
        ("name: 010\ntools: {}", 1, "differently"),
        ("name: 12:30\ntools: {}", 1, "differently"),
        ("name: 2024-01-01\ntools: {}", 1, "differently"),
        ("name: .nan\ntools: {}", 1, "differently"),
        ("name: x\ntools: {on: {}}", 2, "differently"),
        ("name: x\ntools: {1: {}}", 2, "key"),
        ("? [a]\n: 1", 1, "key"),
        ("<<: {name: x}", 1, "merge"),
        ("name: !!python/object:os.system x", 1, "tags"),
        ("name: !!python/object/apply:os.system [x]", 1, "tags"),
        ("name: !secret x", 1, "tags"),
        ('name: "\\ud800"', 1, "YAML"),
        ("a: &a [*a]", 1, "alias"),
        ("a: *nothing", 1, "alias"),
        ("name: x\ntools: {t: {args: {a: {safe_values: [9007199254740993]}}}}", None, "2**53"),
        ("name: x\ntools: {t: {limits: {amount: -1}}}", 2, "greater than or equal"),
        ("name: x\ntools: {t: {name: other}}", 2, "not its key"),
        ("name: x\ntools: {t: {schema_digest: sha256:1}}", 2, "pattern"),
    ],
)
def test_what_is_no_manifest(text: str | bytes, line: int | None, says: str) -> None:
    error = refused(text)
    assert error.line == line
    assert says in str(error)


def test_quoted_text_stays_text() -> None:
    manifest = parse_manifest("name: 'yes'\ndescription: \"010\"\ntools: {'on': {asks: ['no', \"12:30\"]}}", "x")
    assert (manifest.name, manifest.description, manifest.tools["on"].asks) == ("yes", "010", ("no", "12:30"))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "{a: " * 200_000,
        "- " * 200_000,
        "'" * 100_001,
        '"' + "\\" * 1_000_000,
        "a" * 1_000_000 + ": 1",
        "? " * 100_000,
        "&a " * 100_000,
        " " * (MAX_YAML_BYTES + 1),
        b"\xff" * 1_000_000,
        "a: &a ["
        + "1," * 10
        + "]\n"
        + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [" + f"*{chr(97 + n)}, " * 10 + "]" for n in range(20)),
        "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\nb: [" + "*a, " * 1000 + "]",
    ],
    ids=[
        "brackets",
        "maps",
        "dashes",
        "quotes",
        "escapes",
        "key",
        "marks",
        "anchors",
        "spaces",
        "bytes",
        "bomb",
        "quadratic",
    ],
)
def test_bombs_are_refused_quickly(text: str | bytes) -> None:
    refused(text)


def test_aliases_are_fine_while_they_stay_small() -> None:
    text = "name: x\ntools:\n  a: &spec {effect: read}\n  b: *spec\n"
    assert parse_manifest(text, "x").tools["b"].effect is Effect.READ


@given(st.text(alphabet="a:-[]{}&*!|>'\"%#?, \n\t1.", max_size=60) | st.binary(max_size=40))
def test_no_other_error_ever_leaves(text: str | bytes) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(text, "x")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "office.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_manifest(path) == load_manifest(str(path))
    for bad, says in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "directory"), ("a\x00b", "usable")):
        with pytest.raises(ManifestError, match=says) as caught:
            load_manifest(bad)
        assert caught.value.file == str(bad)


def test_the_digest_covers_everything_but_layout() -> None:
    first = manifest_digest(parse_manifest(GOOD, "a"))
    assert manifest_digest(parse_manifest("# note\n" + GOOD.replace("  bare:\n", "  bare: {}\n"), "b")) == first
    assert manifest_digest(parse_manifest(GOOD.replace("content", "control"), "c")) != first
    assert manifest_digest(parse_manifest(GOOD + "protected: [/etc]\n", "d")) != first


SCHEMA = "{type: object, properties: {to: {type: string}, n: {type: integer, maximum: 9223372036854775807}}}"


def test_a_shipped_schema_is_checked_against_pin_and_arguments() -> None:
    pin = schema_digest(
        {"properties": {"n": {"type": "integer", "maximum": 2**63 - 1}, "to": {"type": "string"}}, "type": "object"}
    )
    head = f"name: x\ntools:\n  t:\n    input_schema: {SCHEMA}\n"
    assert parse_manifest(head + f"    schema_digest: {pin}\n", "x").tools["t"].schema_digest == pin
    wrong = refused(head + f"    schema_digest: sha256:{'0' * 64}\n")
    assert (wrong.line, wrong.field) == (5, "tools.t.schema_digest")
    assert pin in wrong.remedy
    typo = refused(head + "    args:\n      too: {}\n")
    assert (typo.line, typo.field, typo.remedy) == (6, "tools.t.args.too", "did you mean `to`?")
    assert refused("name: x\ntools: {t: {input_schema: {$ref: 'http://x/'}}}").field == "tools.t.input_schema"


def test_the_published_schema_describes_the_file() -> None:
    schema = manifest_schema()
    assert schema["$id"] == "urn:checkvalve:manifest:1"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"name", "tools"}
    assert {"type": "null"} in schema["properties"]["tools"]["additionalProperties"]["anyOf"]
    for definition in ("ToolSpec", "ArgumentSpec", "ResultField", "Limits", "Principal"):
        assert schema["$defs"][definition]["additionalProperties"] is False


def test_every_mistake_is_listed_in_words() -> None:
    tools = "  send:\n    effect: sned\n    args: [a]\n  read:\n    effect: read\n    result: 3\n"
    with pytest.raises(ManifestError) as wrong:
        parse_manifest(f"version: 1\nname: x\ntools:\n{tools}", "m.yaml")
    said = str(wrong.value)
    for part in (
        "m.yaml:5: tools.send.effect: this has to be 'read'",
        "line 6: tools.send.args: this has to be a mapping",
        "line 9: tools.read.result: this has to be a list",
        "did you mean `send`?",
    ):
        assert part in said
    assert "Input" not in said
    many = "".join(f"    colour{number}: red\n" for number in range(30))
    with pytest.raises(ManifestError, match="and 19 more"):
        parse_manifest(f"version: 1\nname: x\ntools:\n  send:\n    effect: send\n{many}", "m.yaml")
