"""The shell tool end to end: decided by the gate, run in bubblewrap, in the task's folder, and nothing else."""

from __future__ import annotations

import json
import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.sandboxes import work_folders
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.shell_tool import SNIPPET, SandboxedShell, sandboxed_shell
from checkvalve.graphs.detached import keyed
from tests.fakes import ScriptedModel, calls

pytestmark = [pytest.mark.claim("C9"), pytest.mark.sandbox]

MORE = """\
      - {run: touch, operands: [{kind: path}]}
      - {run: rm, options: {-r: flag}, operands: [{kind: path}]}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="checkvalve-shell-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def gateway(folder: Path) -> Iterator[Gateway]:
    (folder / "tools.yaml").write_text(f"name: t\ntools:\n{SNIPPET}{MORE}")
    found = Settings(
        manifest=folder / "tools.yaml",
        database_url=f"sqlite:///{folder}/c.db",
        sandbox="bubblewrap",
        log_level="error",
        sandbox_seconds=20,
    )
    try:
        opened = build(found)
    except SandboxError as error:
        pytest.skip(f"tried, and there is no sandbox here: {error}; {error.remedy}")
    with opened:
        yield opened


def ask(gateway: Gateway, shell: Any, said: str, *commands: list[str], thread: str = "t1") -> list[ToolMessage]:
    script = [calls(("shell", {"argv": argv}), prefix=f"c{number}-") for number, argv in enumerate(commands)]
    model = ScriptedModel(script=script)
    guard = CheckvalveMiddleware(gateway, requester="me@corp.example", on_review="return")
    agent: Any = create_agent(model, [shell], middleware=[guard])
    state = agent.invoke({"messages": [user_message(said)]}, {"configurable": {"thread_id": thread}})
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_a_command_is_decided_run_and_recorded(gateway: Gateway) -> None:
    made, listed = ask(gateway, sandboxed_shell(gateway), "Run touch notes.txt", ["touch", "notes.txt"], ["ls", "-a"])
    assert json.loads(made.text)["code"] == 0
    assert "notes.txt" in json.loads(listed.text)["output"]
    assert [row.verdict_name for row in gateway.queue.list(thread="t1")] == ["allow", "allow"]


def test_the_example_does_what_the_documentation_says(folder: Path, gateway: Gateway) -> None:
    gateway.close()
    (folder / "example").mkdir()
    program = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "sandboxed_agent.py"))
    ran, shell, outside, asked = program["main"](folder / "example")
    assert json.loads(ran)["code"] == 0
    assert "refused [command" in shell
    assert "refused [command" in outside
    assert "[pending" in asked


def test_tasks_have_folders_of_their_own(gateway: Gateway) -> None:
    shell = sandboxed_shell(gateway)
    ask(gateway, shell, "Run touch secret.txt", ["touch", "secret.txt"], thread="one")
    (listed,) = ask(gateway, shell, "What is there?", ["ls", "-a"], thread="two")
    assert "secret.txt" not in json.loads(listed.text)["output"]


def test_what_has_no_shape_or_no_word_does_not_run(gateway: Gateway, folder: Path) -> None:
    shell = sandboxed_shell(gateway)
    ask(gateway, shell, "Run touch kept", ["touch", "kept"])
    denied, asked = ask(gateway, shell, "Have a look", ["sh", "-c", "rm -r kept"], ["rm", "-r", "kept"])
    assert "command" in denied.text
    assert "untrusted-command" in asked.text or "pending" in asked.text
    work = work_folders(gateway.settings).of("t1")
    assert (work / "kept").exists()


def test_a_tool_that_only_says_that_it_is_sandboxed_is_refused(gateway: Gateway) -> None:
    ran = []

    @tool
    def shell(argv: list[str]) -> str:
        """Run it."""
        ran.append(argv)
        return "ran"

    (answer,) = ask(gateway, shell, "What is there?", ["ls"])
    assert "no-sandbox" in answer.text
    assert not ran


def test_the_tool_holds_to_its_shapes_where_no_gate_stands_before_it(gateway: Gateway) -> None:
    shell = sandboxed_shell(gateway)
    assert isinstance(shell, SandboxedShell)
    with keyed("k", "t1"):
        with pytest.raises(SandboxError, match="none of the shapes"):
            shell.invoke({"argv": ["id"]})
        with pytest.raises(SandboxError, match="cannot be run"):
            shell.invoke({"argv": ["ls", "\x1b"]})
    with pytest.raises(SandboxError, match="belongs to no task"):
        shell.invoke({"argv": ["ls"]})


def test_one_folder_for_all_tasks_may_be_named(gateway: Gateway) -> None:
    project = work_folders(gateway.settings, sandboxed_shell(gateway).sandbox.outsider).of("project")  # type: ignore[attr-defined]
    (project / "README.md").write_text("read me")
    (project / "README.md").chmod(0o644)
    (answer,) = ask(gateway, sandboxed_shell(gateway, work=project), "Explain it", ["cat", "README.md"])
    assert json.loads(answer.text) == {
        "code": 0,
        "output": "read me",
        "errors": "",
        "stopped": "",
        "truncated": False,
    }
