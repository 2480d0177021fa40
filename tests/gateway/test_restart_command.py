"""``checkvalve audit restart`` as people see it: a gateway that refuses, the command, and what both say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.terminal import TOKEN_VARIABLE
from checkvalve.gateway.app import build
from checkvalve.gateway.cli import app
from checkvalve.gateway.settings import Settings

pytestmark = pytest.mark.claim("C5")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", f"sqlite:///{tmp_path}/gate.db")
    monkeypatch.setenv("COLUMNS", "220")
    token = CliRunner().invoke(app, ["approvals", "reviewer", "add", "ann"]).stdout.strip().splitlines()[-1]
    (tmp_path / "token").write_text(token)
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert CliRunner().invoke(app, ["audit", "key", "create", "--origin", "log.example/a"]).exit_code == 0
    assert CliRunner().invoke(app, ["audit", "seal"]).exit_code == 0
    return lambda *words: CliRunner().invoke(app, list(words))


def gateway(folder: Path) -> Any:
    return build(Settings(manifest=EXAMPLES / "tools.yaml", database_url=f"sqlite:///{folder}/gate.db"))


def test_a_gateway_that_refuses_goes_on_after_the_log_was_closed(run: Run, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "gate.db") as connection:
        connection.execute("UPDATE audit_head SET seq = seq + 5")
    with pytest.raises(LogTamperedError), gateway(tmp_path):
        pass
    found = run("audit", "verify")
    assert found.exit_code == 1
    assert "checkvalve audit restart --note TEXT" in found.output
    who = ("--token-file", str(tmp_path / "token"))
    done = run("audit", "restart", "--note", "somebody moved the head", "--origin", "log.example/b", *who)
    assert done.exit_code == 0, done.output
    for words in ("log.example/a was closed by reviewer:ann", "somebody moved the head", "in doubt of log.example/a"):
        assert words in done.output
    assert "audit-key.json.pub" in done.output
    assert "log.example/b+" in (tmp_path / "audit-key.json.pub").read_text()
    with gateway(tmp_path):
        pass
    after = run("audit", "verify")
    assert after.exit_code == 0, after.output
    assert "log.example/b follows" in after.output
    bundle, old = tmp_path / "old.jsonl", tmp_path / "audit-key.json.pub.closed-1"
    assert run("audit", "export", str(bundle), "--log", "log.example/a").exit_code == 0
    assert run("audit", "verify", "--bundle", str(bundle), "--key", str(old)).exit_code == 0
    wrong = run("audit", "verify", "--key", str(old))
    assert (wrong.exit_code, "which was closed" in wrong.output) == (2, True)


def test_without_a_reason_or_a_credential_nothing_is_closed(run: Run, tmp_path: Path) -> None:
    who = ("--token-file", str(tmp_path / "token"))
    assert run("audit", "restart", *who).exit_code == 2
    assert "takes a reason" in run("audit", "restart", "--note", " ", *who).output
    assert "no decision" in run("audit", "restart", "--note", "because").output
    assert run("audit", "export", str(tmp_path / "x"), "--log", "log.example/z").exit_code == 2
    (tmp_path / "token").write_text("cvr_0000000000000000_nobody")
    refused = run("audit", "restart", "--note", "because", *who)
    assert (refused.exit_code, "not accepted" in refused.output) == (2, True)
    assert run("audit", "verify").exit_code == 0
