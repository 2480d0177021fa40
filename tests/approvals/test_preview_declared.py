"""What a manifest may say of trying a tool: a read, or an argument that nobody but the gateway gives."""

from __future__ import annotations

import pytest

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.manifest import parse_manifest

MANIFEST = """
name: bank
tools:
  quote:
    effect: read
    args: {amount: {role: control, kind: number}}
  search:
    effect: read
    leaves_domain: true
    args: {amount: {role: control, kind: number}}
  transfer:
    effect: pay
    asks: [transfer]
    undo: it cannot be undone
    limits: {amount: 10}
    preview: PREVIEW
    args:
      to: {role: target, kind: account}
      amount: {role: amount, kind: number}
"""
READ = "{tool: quote, args: {amount: {argument: amount}}}"
DRY = "{dry_run: {only_check: true}}"
SCHEMA = "    input_schema: {properties: {to: {}, amount: {}, MEMBER}, required: [to NEEDED]}\n    args:\n      to:"


def declared(preview: str) -> str:
    return MANIFEST.replace("PREVIEW", preview)


@pytest.mark.parametrize("preview", [READ, DRY, "{dry_run: {mode: check}, seconds: 60}", "{dry_run: {commit: false}}"])
def test_both_ways_load(preview: str) -> None:
    spec = parse_manifest(declared(preview), "m.yaml").tools["transfer"]
    assert spec.preview is not None
    assert (spec.preview.look is None) != (spec.preview.fixed is None)


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("preview", "message"),
    [
        ("{}", "say how it is previewed"),
        ("{tool: quote, dry_run: {x: true}}", "say how it is previewed"),
        ("{dry_run: {x: true, y: true}}", "at most 1"),
        ("{dry_run: {x: true}, args: {amount: {argument: amount}}}", "leave `args` out"),
        ("{dry_run: {x: [1]}}", "preview"),
        ("{tool: quote, seconds: 61}", "less than or equal to 60"),
        ("{tool: quote, seconds: 0}", "greater than or equal to 1"),
        ("{tool: quote, required: true}", "unknown field"),
        ("{tool: no_such}", "no such tool"),
        ("{tool: transfer}", "does more than read"),
        ("{tool: search}", "does more than read"),
        ("{tool: quote, args: {other: {argument: amount}}}", "no such argument"),
        ("{tool: quote, args: {amount: {argument: other}}}", "no argument"),
        ("{dry_run: {amount: 1}}", "could carry it"),
    ],
)
def test_a_manifest_says_what_is_wrong(preview: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as error:
        parse_manifest(declared(preview), "m.yaml")
    assert error.value.line is not None
    assert error.value.field.startswith("tools.transfer")


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("member", "needed", "message"),
    [
        ("other: {}", "", "no argument 'only_check'"),
        ("only_check: {type: string}", "", "of type string"),
        ("only_check: {type: boolean}", ", only_check", "needs this argument"),
        ("only_check: {type: boolean, default: true}", "", "by default"),
    ],
)
def test_a_shipped_schema_has_to_have_it(member: str, needed: str, message: str) -> None:
    shipped = SCHEMA.replace("MEMBER", member).replace(" NEEDED", needed)
    with pytest.raises(ManifestError, match=message):
        parse_manifest(declared(DRY).replace("    args:\n      to:", shipped), "m.yaml")


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("effect: pay", "effect: read"), "no effect to preview"),
        (("effect: pay", "effect: execute"), "no dry run"),
        (
            ("    args:\n      to: {role: target, kind: account}\n      amount: {role: amount, kind: number}\n", ""),
            "takes any",
        ),
    ],
    ids=["read", "execute", "undeclared"],
)
def test_some_tools_have_no_dry_run(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        parse_manifest(declared(DRY).replace(*change), "m.yaml")


@pytest.mark.parametrize(
    ("members", "code", "level"),
    [
        ({"only_check": {"type": "boolean", "default": False}}, "trusts-dry-run", "warning"),
        ({}, "no-dry-run", "error"),
        ({"only_check": {"type": "string"}}, "no-dry-run", "error"),
    ],
)
def test_the_lint_compares_with_the_real_tools(members: dict[str, object], code: str, level: str) -> None:
    tool = ToolSchema("transfer", {"type": "object", "properties": {"to": {}, "amount": {}, **members}})
    others = [ToolSchema(name, {"type": "object", "properties": {"amount": {}}}) for name in ("quote", "search")]
    found = lint_manifest(declared(DRY), "m.yaml", [tool, *others])
    assert [(item.code, item.level) for item in found if "dry-run" in item.code] == [(code, level)]
    assert "undeclared-argument" not in {item.code for item in found}, "the gateway's own argument is no gap"


def test_the_lint_says_what_nobody_can_check_until_it_is_accepted() -> None:
    (found,) = [item for item in lint_manifest(declared(DRY), "m.yaml") if item.code == "trusts-dry-run"]
    assert "not even its name was checked" in found.message
    noted = declared(f"{DRY}  # lint-ok: trusts-dry-run the bank's sandbox holds it")
    assert "trusts-dry-run" not in {item.code for item in lint_manifest(noted, "m.yaml")}
