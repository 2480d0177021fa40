"""``checkvalve run``: a task from the terminal through reader, gate and actor, with the example's tools and scripts."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from checkvalve.approvals.records import State
from checkvalve.gateway import cli
from checkvalve.gateway.app import open_gateway
from checkvalve.gateway.errors import ToolsError
from checkvalve.gateway.run_view import RunView, printable_answer
from checkvalve.gateway.tool_modules import load_tools
from checkvalve.graphs import events

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASK = "Mail Ann whether anything in my inbox is urgent, and reply to that sender"
TOOLS = ("--tools", str(EXAMPLES / "run_tools.py"), "--tools", str(EXAMPLES / "run_tools.yaml"))
MODELS = (
    "--reader",
    f"scripted:{EXAMPLES / 'run_reader.jsonl'}",
    "--actor",
    f"scripted:{EXAMPLES / 'run_actor.jsonl'}",
)
ME = ("--requester", "me@corp.example")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("CHECKVALVE_LOG_LEVEL", "warning")
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["checkvalve", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        code = cli.run(cli.app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def decide(monkeypatch: pytest.MonkeyPatch, *, yes: bool = True) -> None:
    """Be the reviewer, in another process's shoes."""
    monkeypatch.setenv("CHECKVALVE_MANIFEST", str(EXAMPLES / "run_tools.yaml"))
    with open_gateway() as gateway:
        queue = gateway.queue
        boss = queue.reviewers.authenticate(queue.reviewers.add("boss"))
        (waiting,) = queue.list([State.PENDING])
        queue.approve(waiting.id, boss, waiting.digest[7:19]) if yes else queue.reject(waiting.id, boss)
    monkeypatch.delenv("CHECKVALVE_MANIFEST")


def test_a_run_pauses_with_the_commands_to_decide_and_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("run", TASK, *TOOLS, *MODELS, *ME, "--thread", "t1")
    assert (code, out) == (3, "")
    lines = err.splitlines()
    assert "decided    send_mail          review: untrusted-target" in lines
    (approve,) = [line for line in lines if " approve " in line]
    assert approve.startswith("    checkvalve approvals approve ")
    (again,) = [line for line in lines if "--resume" in line]
    assert again.split()[:5] == ["checkvalve", "run", "--resume", "--thread", "t1"]
    assert run(*again.split()[1:])[0] == 3  # nobody has decided yet, so nothing happens
    decide(monkeypatch)
    code, out, err = run(*again.split()[1:])
    assert code == 0
    assert out.startswith("Ann knows, and the sender of the urgent mail has a reply.")
    assert "executed   send_mail          succeeded" in err.splitlines()
    assert "Server down" not in err  # content stays in the answer


def test_a_rejected_call_is_told_to_the_actor_and_the_run_ends(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("run", TASK, *TOOLS, *MODELS, *ME, "--thread", "t1")
    decide(monkeypatch, yes=False)
    code, out, err = run("run", "--resume", "--thread", "t1", *TOOLS, *MODELS, *ME)
    assert code == 0
    assert "executed" not in err
    assert out


def test_events_and_the_end_come_as_json_lines(run: Run) -> None:
    code, out, err = run("run", TASK, *TOOLS, *MODELS, *ME, "--thread", "t1", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (3, "")
    assert [line["kind"] for line in lines][:2] == ["task_started", "proposed"]
    assert lines[-1]["kind"] == "result"
    assert lines[-1]["status"] == "waiting"
    assert lines[-1]["waiting"]
    assert "evil.example" not in out


def test_a_recorded_run_is_replayed_without_the_models(run: Run, tmp_path: Path) -> None:
    first = run("run", TASK, *TOOLS, *MODELS, *ME, "--thread", "t1", "--record", "rec")
    assert first[0] == 3
    assert oct((tmp_path / "rec").stat().st_mode & 0o777) == "0o700"
    replayed = ("--reader", "recorded:rec/reader.jsonl", "--actor", "recorded:rec/actor.jsonl")
    code, _, err = run("run", TASK, *TOOLS, *replayed, *ME, "--thread", "t2")
    assert code == 3
    assert "review: untrusted-target" in err
    code, _, err = run("run", "Another task", *TOOLS, *replayed, *ME, "--thread", "t3")
    assert code == 2
    assert "has no answer to the input" in err
    assert "record the run again" in err


def test_a_mistyped_name_of_a_run_is_named_and_nothing_is_begun(run: Run) -> None:
    for _ in range(2):
        code, out, err = run("run", "--resume", "--thread", "t1x", *TOOLS, *MODELS, *ME)
        assert (code, out) == (2, "")
        assert "error: there is no run 't1x'\n   do: check its name, or start it with a task\n" in err


def test_the_file_of_paused_runs_is_private(run: Run, tmp_path: Path) -> None:
    assert run("run", TASK, *TOOLS, *MODELS, *ME, "--thread", "t1")[0] == 3
    (runs,) = tmp_path.rglob("runs.db")
    assert oct(runs.stat().st_mode & 0o777) == "0o600"


def test_the_run_waits_as_long_as_the_settings_say(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.gateway import run_errand

    monkeypatch.setenv("CHECKVALVE_WAIT_FOR_REVIEW", "60")
    monkeypatch.setattr(run_errand, "_POLL", 0.0)
    slept: list[float] = []

    def decide_instead_of_sleeping(seconds: float) -> None:
        slept.append(seconds)
        decide(monkeypatch)

    monkeypatch.setattr(time, "sleep", decide_instead_of_sleeping)
    code, out, _ = run("run", TASK, *TOOLS, *MODELS, *ME)
    assert (code, len(slept)) == (0, 1)
    assert out.startswith("Ann knows")


def test_a_run_that_uses_up_its_turns_stops_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKVALVE_MAX_TURNS", "1")
    code, out, err = run("run", TASK, *TOOLS, *MODELS, *ME)
    assert (code, out) == (1, "")
    assert "stopped without an answer: max_turns" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run",), "there is no task"),
        (("run", "--resume"), "--resume goes on with a run"),
        (("run", "x", "--resume", "--thread", "t"), "--resume goes on with a run"),
        (("run", "x"), "--tools FILE.yaml, or manifest = ... in the settings"),
        (("run", "x", "--tools", "a.yaml"), "declares tools and does not bring them"),
        (("run", "x", "--tools", "a", "--tools", "b"), "more than one module"),
        (("run", "x", *TOOLS), "no reader is set"),
        (("run", "x", *TOOLS, "--reader", "gpt", "--actor", "gpt"), "names no model"),
        (("run", "x", *TOOLS[2:], *MODELS, "--tools", "no_such_module_here"), "cannot be loaded"),
        (("run", "x", *TOOLS, *MODELS, "--record", f"{__file__}/rec"), "cannot be written"),
    ],
)
def test_what_is_wrong_is_two_lines_and_exit_code_2(args: tuple[str, ...], said: str, run: Run) -> None:
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert said in err
    assert "\n   do: " in err


def test_what_the_command_names_may_not_lie_where_the_agent_writes(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "mine.py").write_text("raise SystemExit('the code of the agent ran')\n")
    monkeypatch.setenv("CHECKVALVE_AGENT_WORKDIR", str(desk))
    monkeypatch.chdir(desk)
    for named in (
        ("--tools", "./mine.py", *TOOLS[2:], *MODELS),
        (*TOOLS[:2], "--tools", "m.yaml", *MODELS),
        (*TOOLS, *MODELS[:2], "--actor", "scripted:a.jsonl"),
    ):
        code, out, err = run("run", TASK, *named)
        assert (code, out) == (2, "")
        assert "working folder" in err


def test_an_actor_that_takes_no_tools_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.language_models import BaseChatModel

    from checkvalve.graphs.scripted import ScriptedModel

    monkeypatch.setattr(ScriptedModel, "bind_tools", BaseChatModel.bind_tools)
    code, _, err = run("run", TASK, *TOOLS, *MODELS, *ME)
    assert code == 2
    assert "takes no tools" in err


def test_what_a_provider_raises_is_named_and_not_repeated(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.graphs.scripted import ScriptedModel

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError("key sk-secret was refused")

    monkeypatch.setattr(ScriptedModel, "_generate", fail)
    code, _, err = run("run", TASK, *TOOLS, *MODELS, *ME)
    assert code == 2
    assert "a model failed (ConnectionError)" in err
    assert "sk-secret" not in err


def test_a_module_is_never_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent_wrote_this.py").write_text("raise SystemExit('its code ran')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with pytest.raises(ToolsError, match="no module agent_wrote_this"):
        load_tools("agent_wrote_this")


@pytest.mark.parametrize("path", [None, ":"])
def test_python_m_imports_nothing_from_the_working_folder(tmp_path: Path, path: str | None) -> None:
    for name in ("typer", "yaml", "tomllib", "sqlalchemy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the code of the agent ran')\n")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **({"PYTHONPATH": path} if path else {})}
    command = [sys.executable, "-m", "checkvalve.gateway", "config", "show"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tools_come_from_a_file_a_module_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [tool.name for tool in load_tools(str(EXAMPLES / "run_tools.py"))]
    assert names == ["read_mail", "contacts", "send_mail"]
    assert [tool.name for tool in load_tools(f"{EXAMPLES / 'run_tools.py'}:send_mail")] == ["send_mail"]
    (tmp_path / "installed_tools.py").write_text(
        "from langchain_core.tools import tool\n@tool\ndef one() -> str:\n    'One.'\n    return ''\nOTHER = [1]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [tool.name for tool in load_tools("installed_tools")] == ["one"]
    for wrong in ("installed_tools:missing", "installed_tools:OTHER", "json", "a b", "", "x.yaml", "./missing.py"):
        with pytest.raises(ToolsError):
            load_tools(wrong)


def test_a_module_whose_code_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(ToolsError, match="ZeroDivisionError"):
        load_tools(str(tmp_path / "bad.py"))


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("terminal", [True, False])
def test_every_line_fits_the_terminal_and_says_nothing_of_its_own(width: int, terminal: bool) -> None:
    out = io.StringIO()
    view = RunView(Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False))
    view.head("t", "openai:" + "x" * 120, "anthropic:y", 64.0)
    hostile = "pay\x1b[2J\u202e[red]"
    shown = [
        events.TaskStarted("t"),
        events.Proposed("t", "c1x1", hostile, "c1x1", 2),
        events.Decided("t", "", "pay", "c1x1", "deny", "a-rule-with-a-long-name-" * 5, "abcdef"),
        events.Waiting("t", "", "0123456789abcdef"),
        events.Executed("t", "", "pay", "c1", "a", "failed"),
        events.ItemIngested("t", "", "pay", "c1", 1),
        events.ReaderAsked("t", "", "c1", "join"),
        events.Extracted("t", "", "c1", "mail", "bits_spent", 2, 10.0, 70.0),
        events.Extracted("t", "", "c1", "", "bad_request"),
        events.Answered("t", "", "0123456789"),
        events.Stopped("t", "", "max_turns"),
    ]
    with view.working():
        for event in shown:
            view.step(event)
    text = out.getvalue()
    assert "\x1b[2J\u202e" not in text
    assert "\u27e8U+001B\u27e9" in text
    assert "[red]" in text
    if not terminal:
        assert "\x1b" not in text
        assert all(len(line) <= width for line in text.splitlines())


def test_an_answer_cannot_steer_the_terminal() -> None:
    assert printable_answer("one\ntwo\x1b]0;x\x07") == "one\ntwo\u27e8U+001B\u27e9]0;x\u27e8U+0007\u27e9"
