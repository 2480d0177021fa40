"""The bugs that were found in the policies of other systems, planted one by one: the lint names each.

The table is the one in ``docs/policy-kit.md``: what the page claims is what is tested.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path

import pytest

from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_rules import lint_policy
from checkvalve.approvals.kit_schemas import read_tools

ROOT = Path(__file__).resolve().parents[2]
PLANTED = Path(__file__).with_name("planted")
SCHEMA = importlib.resources.files("checkvalve.approvals").joinpath("default.cedarschema").read_text("utf-8")
TOOLS = read_tools(json.loads((PLANTED / "tools.json").read_text("utf-8")), "tools.json")
PAGE = (ROOT / "docs" / "policy-kit.md").read_text("utf-8")
TABLE = re.findall(r"^\| .+ \| `([a-z_]+\.(?:cedar|yaml))` \| `([a-z-]+)` \|$", PAGE, re.MULTILINE)
MEND = re.compile(r"^(\s*)(.*?)\s*(?:#|//) mend: (.*)$", re.MULTILINE)


def lint(name: str, text: str) -> list[Finding]:
    if name.endswith(".cedar"):
        return lint_policy(text, SCHEMA, name, ["planted"])
    return lint_manifest(text, name, TOOLS)


def test_the_table_names_every_planted_file() -> None:
    assert {name for name, _ in TABLE} | {"tools.json"} == {path.name for path in PLANTED.iterdir()}
    assert len(TABLE) >= 20


@pytest.mark.parametrize(("name", "code"), TABLE)
def test_a_planted_bug_is_found_on_its_line_with_a_remedy(name: str, code: str) -> None:
    text = (PLANTED / name).read_text("utf-8")
    (mark,) = MEND.finditer(text)
    line = text[: mark.start(3)].count("\n") + 1
    found = [item for item in lint(name, text) if item.code == code]
    assert line in {item.line for item in found}
    assert all(item.file == name and item.remedy and item.message for item in found)


@pytest.mark.parametrize(("name", "code"), TABLE)
def test_what_is_mended_is_not_found(name: str, code: str) -> None:
    text = MEND.sub(r"\1\3", (PLANTED / name).read_text("utf-8"))
    assert "mend:" not in text
    found = lint(name, text)
    assert [str(item) for item in found if item.level == "error"] == []
    assert code not in {item.code for item in found}
