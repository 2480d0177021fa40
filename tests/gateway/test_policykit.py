"""``checkvalve policy ...``: the kit from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkvalve.approvals.store import Store
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
    assert (code, out.splitlines()[-1]) == (0, "0 errors, 1 warning")


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


TOOLS = {"tools": [{"name": "send_mail", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}]}


def test_a_draft_is_printed_or_written_once(terminal: Terminal, tmp_path: Path) -> None:
    tools, out = write(tmp_path / "t.json", json.dumps(TOOLS)), tmp_path / "m.yaml"
    code, text, _ = terminal("policy", "draft", tools)
    assert (code, "effect: send  # high" in text) == (0, True)
    assert terminal("policy", "draft", tools, "--out", out)[0] == 0
    assert out.read_text() == text
    assert terminal("policy", "draft", tools, "--out", out)[0] == 2
    assert terminal("policy", "draft", tools, "--out", out, "--force", "--name", "other")[0] == 0
    assert "name: other" in out.read_text()
    assert terminal("policy", "draft")[0] == 2
    assert terminal("policy", "draft", tools, tools)[0] == 2
    assert terminal("policy", "draft", tools, "--out", tmp_path / "none" / "m.yaml")[0] == 2


def test_langchain_tools_are_drafted_and_pinned(terminal: Terminal, tmp_path: Path) -> None:
    code = "from langchain_core.tools import tool\n\n\n@tool\ndef send_mail(to: str, body: str) -> str:\n"
    file = write(tmp_path / "mytools.py", code + '    """Send a mail."""\n    return ""\n')
    out = tmp_path / "m.yaml"
    assert terminal("policy", "draft", "--langchain", file, "--out", out)[0] == 0
    assert "body: {role: content}" in out.read_text()
    assert terminal("policy", "pin", out, "--langchain", file, "--write")[0] == 0
    assert terminal("policy", "pin", out, "--langchain", file)[0] == 0


def test_pin_says_what_changed_and_writes_when_told(terminal: Terminal, tmp_path: Path) -> None:
    tools, out = write(tmp_path / "t.json", json.dumps(TOOLS)), tmp_path / "m.yaml"
    terminal("policy", "draft", tools, "--out", out)
    before = out.read_text()
    code, shown, _ = terminal("policy", "pin", out, "--tools", tools)
    assert (code, "send_mail: not pinned yet" in shown, out.read_text() == before) == (1, True, True)
    assert terminal("policy", "pin", out, "--tools", tools, "--write")[0] == 0
    assert terminal("policy", "pin", out, "--tools", tools)[0] == 0
    changed = write(tmp_path / "n.json", json.dumps(TOOLS).replace('"to"', '"whom"'))
    code, shown, _ = terminal("policy", "pin", out, "--tools", changed, "--before", tools)
    assert code == 1
    assert 'meaning: properties.whom: new, {"type": "string"}' in shown
    found = terminal.json("policy", "pin", out, "--tools", changed)[1]
    assert found[0]["state"] == "changed"
    assert terminal("policy", "pin", out)[0] == 2


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(terminal: Terminal, tmp_path: Path) -> None:
    tools, out = write(tmp_path / "t.json", json.dumps(TOOLS)), tmp_path / "m.yaml"
    terminal("policy", "draft", tools, "--out", out)
    assert out.stat().st_mode & 0o777 == write(tmp_path / "other", "").stat().st_mode & 0o777
    out.chmod(0o640)
    terminal("policy", "draft", tools, "--out", out, "--force")
    assert out.stat().st_mode & 0o777 == 0o640


def test_what_is_true_of_every_tool_is_said_once(terminal: Terminal, tmp_path: Path) -> None:
    tools = [{"name": name, "inputSchema": TOOLS["tools"][0]["inputSchema"]} for name in ("send_mail", "send_note")]
    schemas, out = write(tmp_path / "m.tools.json", json.dumps({"tools": tools})), tmp_path / "m.yaml"
    shown = terminal("policy", "draft", schemas, "--out", out)[1]
    assert f"checkvalve policy lint {out} --tools {schemas}" in shown
    assert [item["code"] for item in terminal.json("policy", "lint", out)[1]] == []  # m.tools.json stands beside it
    schemas.rename(tmp_path / "elsewhere.json")
    (loose,) = terminal.json("policy", "lint", out)[1]
    assert (loose["code"], loose["message"][:7]) == ("not-pinned", "2 tools")


def test_two_policies_are_compared_without_a_manifest(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/own.db"  # and not the one of whoever runs the tests
    Store.open(url, create=True).close()
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", url)
    file = write(tmp_path / "p.cedar", '@id("all")\n@decision("allow")\npermit (principal, action, resource);\n')
    code, out, err = terminal("policy", "diff", file)
    assert (code, err) == (1, "")
    assert "no calls are recorded" in out
    assert "composed_link" not in "".join(line for line in out.splitlines() if line.startswith("send:"))
