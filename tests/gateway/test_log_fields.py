"""Each word that the gateway logs beside an event reaches whoever reads the log; what is no word of ours does not."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkvalve.gateway.logs as module
from checkvalve.approvals.store import Store
from checkvalve.gateway.logs import FIELDS, configure_logs, get_logger
from checkvalve.gateway.rules_said import say_rules
from checkvalve.gateway.settings import Settings
from tests.approvals.emergency import busy
from tests.approvals.made import HandClock

LEVELS = {"debug", "info", "warning", "error"}
NAMES = {"log", "tell"}
"""What a logger, or one of its methods, is called where it has a name."""


def is_logger(found: ast.expr) -> bool:
    if isinstance(found, ast.Name):
        return found.id in NAMES
    if isinstance(found, ast.Call):
        return isinstance(found.func, ast.Name) and found.func.id == "get_logger"
    return isinstance(found, ast.Attribute) and found.attr in LEVELS and is_logger(found.value)


def logged() -> Iterator[tuple[str, str]]:
    assert module.__file__
    for file in sorted(Path(module.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and is_logger(node.func):
                yield from ((f"{file.name}:{node.lineno}", word.arg) for word in node.keywords if word.arg)


def test_no_word_that_we_log_ourselves_is_withheld() -> None:
    found = list(logged())
    assert len(found) > 40
    assert [(where, name) for where, name in found if name not in FIELDS] == []


def test_a_broken_quorum_is_named_in_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="json"))
    with Store.open(f"sqlite:///{tmp_path / 'log.db'}", create=True) as store:
        desk = busy(store, HandClock(), rules="everywhere: {approve: [{approver: 7}]}")
        say_rules(desk.queue)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    told = [line for line in lines if line["event"] == "review rules" and line["level"] == "error"]
    assert told
    assert all(line["where"] and "approver" in line["problem"] and "withheld" not in line for line in told)


def test_content_is_still_withheld(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="json"))
    get_logger().info("channel.told", channel="ops", kind="asked", tries=1, body="a value")
    line = json.loads(capsys.readouterr().err)
    assert (line["channel"], line["kind"], line["tries"], line["withheld"]) == ("ops", "asked", 1, ["body"])
