"""The shell tool in the two-agent pipeline: decided by the gate, run in the folder of the run's thread."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.gateway.app import build
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandboxes import work_folders
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.shell_tool import SNIPPET, sandboxed_shell
from checkvalve.graphs import build_pipeline
from checkvalve.graphs.checkpoint import StrictSerializer
from tests.fakes import calls
from tests.graphs.pipeline_world import reading, scripted

pytestmark = [pytest.mark.claim("C2"), pytest.mark.sandbox]


def test_a_command_of_the_actor_runs_in_the_folder_of_its_thread() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="checkvalve-pipeline-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        more = "      - {run: touch, operands: [{kind: path}]}\n"
        (folder / "tools.yaml").write_text(f"name: t\ntools:\n{SNIPPET}{more}")
        settings = Settings(
            manifest=folder / "tools.yaml",
            database_url=f"sqlite:///{folder}/c.db",
            sandbox="bubblewrap",
            log_level="error",
        )
        try:
            gateway = build(settings)
        except SandboxError as error:
            pytest.skip(f"tried, and there is no sandbox here: {error}; {error.remedy}")
        with gateway:
            actor = scripted(
                calls(("shell", {"argv": ["touch", "notes.txt"]}), prefix="a"),
                calls(("shell", {"argv": ["sh", "-c", "touch bad.txt"]}), prefix="b"),
                AIMessage("Done."),
            )
            pipeline = build_pipeline(
                gateway.services,
                actor=actor,
                reader=reading("{}"),
                tools=[sandboxed_shell(gateway)],
                checkpointer=InMemorySaver(serde=StrictSerializer()),
                requester="me",
            )
            pipeline.start("Run touch notes.txt", thread="the-thread")
            work = work_folders(gateway.settings).of("the-thread")
            assert [path.name for path in work.iterdir()] == ["notes.txt"]
            verdicts = {row.rule for row in gateway.queue.list(thread="the-thread")}
            assert {"sandboxed-command", "command"} <= verdicts
