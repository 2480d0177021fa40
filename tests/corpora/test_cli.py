"""``checkvalve corpus``: what is wrong with a request is said before the run, and the exit code tells the result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from checkvalve.corpora import cli
from checkvalve.corpora.agentdojo.run import SUITES


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def test_list_names_the_corpora_and_their_groups() -> None:
    result = invoke("list")
    assert result.exit_code == 0
    for word in ("builtin", "payments", "incidents", "agentdojo", *SUITES):
        assert word in result.stdout


def test_run_writes_the_report_and_shows_the_table(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = invoke("run", "builtin", "--guard", "allow-all", "--json", str(target))
    assert result.exit_code == 0
    assert "payments" in result.stdout
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["corpus"] == "builtin"
    assert document["guard"] == "allow-all"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_missed_threshold_is_exit_code_1_and_says_which() -> None:
    result = invoke(
        "run", "builtin", "--guard", "allow-all", "--suite", "memory", "--max-executed", "0", "--min-free", "9"
    )
    assert result.exit_code == 1
    assert "1 attacks had an effect, at most 0 may" in result.stderr
    assert "1 tasks were free, at least 9 must be" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "bulitin"), "there is no corpus 'bulitin'; choose from: builtin, incidents, agentdojo"),
        (("run", "builtin", "--suite", "banking"), "there is no group 'banking'; choose from: mail"),
        (("run", "builtin", "--guard", "none"), "there is no guard 'none'"),
        (("run", "builtin", "--mode", "pipeline"), "there is no mode for this corpus 'pipeline'; choose from: guard"),
        (("run", "incidents", "--mode", "both"), "there is no mode for this corpus 'both'"),
        (("run", "builtin", "--json", "/nowhere/at/all.json"), "--json /nowhere/at/all.json cannot be written"),
    ],
)
def test_a_wrong_request_runs_nothing(arguments: tuple[str, ...], said: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == cli.UNUSABLE
    assert said in result.stderr
    assert result.stdout == ""


def test_the_json_path_is_checked_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: cli.Request) -> None:
        raise AssertionError("the run started")

    monkeypatch.setitem(cli.CORPORA, "builtin", cli.Corpus("", list, never))  # type: ignore[arg-type]
    assert invoke("run", "builtin", "--json", "/nowhere/at/all.json").exit_code == cli.UNUSABLE


def test_a_failed_run_leaves_an_existing_report_alone(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("kept", encoding="utf-8")
    assert invoke("run", "builtin", "--suite", "nothing", "--json", str(target)).exit_code == cli.UNUSABLE
    assert target.read_text(encoding="utf-8") == "kept"


def test_a_missing_extra_is_named_and_leaves_the_rest_usable() -> None:
    """In a process of its own: here another test may have loaded the package, and what it loaded is kept."""
    program = "import sys; sys.modules['agentdojo'] = None; from checkvalve.corpora.cli import app; app()"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=300
        )

    refused = run("run", "agentdojo")
    assert refused.returncode == cli.UNUSABLE
    assert "pip install 'checkvalve[agentdojo]'" in refused.stderr
    assert run("list").returncode == 0
