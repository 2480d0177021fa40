"""``checkvalve policy ...``: the kit from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gateway.terminal import Terminal


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_lint_names_file_line_code_and_remedy(terminal: Terminal, tmp_path: Path) -> None:
    file = write(tmp_path / "m.yaml", "name: x\ntools:\n  delete_file:\n    effect: write\n    asks: [delete]\n")
    code, out, _ = terminal("policy", "lint", file)
    assert code == 1
    assert f"{file}:4: error [weak-effect]" in out
    assert "do: write `effect: delete`" in out
    code, found = terminal.json("policy", "lint", file)
    assert (code, found[0]["code"], found[0]["line"]) == (1, "weak-effect", 4)


def test_lint_of_what_is_only_suspicious_succeeds(terminal: Terminal, tmp_path: Path) -> None:
    file = write(tmp_path / "m.yaml", "name: x\ntools:\n  create_file:\n    effect: write\n")
    code, out, _ = terminal("policy", "lint", file)
    assert (code, out.splitlines()[-1]) == (0, "0 errors, 1 warnings")


def test_lint_checks_against_the_schemas_given(terminal: Terminal, tmp_path: Path) -> None:
    file = write(tmp_path / "m.yaml", "name: x\ntools:\n  send_mail:\n    asks: [send]\n    args:\n      too: {}\n")
    tools = write(
        tmp_path / "t.json",
        json.dumps({"tools": [{"name": "send_mail", "inputSchema": {"properties": {"to": {"type": "string"}}}}]}),
    )
    code, found = terminal.json("policy", "lint", file, "--tools", tools)
    assert code == 1
    assert "unknown-argument" in {item["code"] for item in found}


def test_lint_of_the_packaged_policy_and_of_one_of_your_own(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal("policy", "lint")[0] == 0
    file = write(tmp_path / "p.cedar", '@id("all")\n@decision("allow")\npermit (principal, action, resource);\n')
    code, out, _ = terminal("policy", "lint", file)
    assert code == 1
    line = next(item for item in out.splitlines() if "though not targets_ok" in item)
    assert "[unguarded] all: read, write, send" in line


def test_lint_of_a_file_that_is_not_there(terminal: Terminal, tmp_path: Path) -> None:
    code, _, err = terminal("policy", "lint", tmp_path / "none.yaml")
    assert code == 2
    assert "cannot be read" in err
