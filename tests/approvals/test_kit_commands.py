"""The kit names shapes that are wider than they look, and tools whose every call is denied."""

from __future__ import annotations

import pytest

from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.gateway.shell_tool import SNIPPET

HEAD = "name: t\ntools:\n  run_it:\n    effect: execute\n    asks: [run]\n    args:\n      argv: {role: command}\n"
BOX = "    sandbox: {network: false}\n"


def found(text: str) -> list[tuple[str, str, int]]:
    return [(item.code, item.level, item.line) for item in lint_manifest(text, "m.yaml") if item.code in CODES]


CODES = {
    "no-sandbox",
    "no-commands",
    "sandbox-network",
    "sandbox-unused",
    "runs-anything",
    "runs-others",
    "empty-evidence",
}


def shape(text: str) -> str:
    return f"{HEAD}{BOX}    commands:\n      - {text}\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (HEAD, [("no-commands", "warning", 4), ("no-sandbox", "warning", 4)]),
        (HEAD + BOX, [("no-commands", "warning", 4)]),
        (HEAD + "    sandbox: {network: true}\n    commands: [{run: ls}]\n", [("sandbox-network", "warning", 8)]),
        (HEAD.replace("execute", "write") + BOX, [("sandbox-unused", "error", 8)]),
        (shape("{run: git status}"), [("runs-others", "warning", 10)]),
        (shape("{run: sh, operands: [{kind: path}]}"), [("runs-anything", "error", 10)]),
        (shape("{run: python3 -c, operands: [{kind: text}]}"), [("runs-anything", "error", 10)]),
        (shape("{run: /usr/bin/python3 check.py}"), [("runs-others", "warning", 10)]),
        (shape("{run: sed -n, operands: [{kind: text}, {kind: path}]}"), [("runs-anything", "error", 10)]),
        (shape("{run: env, operands: [{kind: text, many: true}]}"), [("runs-anything", "error", 10)]),
        (shape("{run: tar, options: {--to-command=: text}}"), [("runs-anything", "error", 10)]),
        (shape("{run: make, operands: [{one_of: [test]}]}"), [("runs-others", "warning", 10)]),
        (shape("{run: curl, operands: [{kind: text}]}"), [("sandbox-network", "warning", 10)]),
        (shape("{run: cat, reads_only: true, evidence: sure}"), [("empty-evidence", "error", 10)]),
        (shape("{run: cat, operands: [{kind: path}], reads_only: true, evidence: it prints files only}"), []),
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found_on_its_line(text: str, wanted: list[tuple[str, str, int]]) -> None:
    assert found(text) == wanted


def test_shapes_without_a_command_argument_are_named() -> None:
    text = shape("{run: cat}").replace("argv: {role: command}", "where: {role: target, kind: path}")
    assert ("no-commands", "error") in [(code, level) for code, level, _ in found(text)]


def test_the_snippet_of_the_shell_tool_has_no_finding() -> None:
    assert [str(item) for item in lint_manifest(f"name: t\ntools:\n{SNIPPET}", "m.yaml") if item.level == "error"] == []
