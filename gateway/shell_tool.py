"""A shell tool for agents that is none: a program and its words, in the sandbox, in the task's own folder.

Declare it with ``effect: execute``, ``sandbox:`` and the shapes of ``commands:`` that it may run; :data:`SNIPPET` is a
start. The gate decides; and the tool looks at the shape once more itself, so that it runs nothing else even where
somebody has left the gate out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from checkvalve.approvals.commandline import CommandLineError
from checkvalve.approvals.commands import match
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandbox import Finished, Sandbox
from checkvalve.gateway.sandboxes import WorkFolders, sandbox_of, work_folders
from checkvalve.graphs.detached import task_name

SNIPPET: Final = """\
  shell:
    effect: execute
    description: Runs a program in the task's own folder, without a network.
    sandbox: {network: false}
    asks: [run, execute]
    args:
      argv: {role: command}
    commands:
      - run: ls
        options: {-l: flag, -a: flag}
        operands: [{kind: folder, many: true, optional: true}]
        reads_only: true
        evidence: lists names in the work folder and changes nothing
      - run: cat
        operands: [{kind: path, many: true}]
        reads_only: true
        evidence: prints files of the work folder and opens none for writing
"""
"""What a manifest says of such a tool; it goes below ``tools:``."""

_TEXT: Final = "replace"  # output need not be text


class _Words(BaseModel):
    """What a model may give."""

    model_config = ConfigDict(extra="forbid")
    argv: list[str] = Field(min_length=1, description="the program and its words, each by itself; no shell reads them")


class SandboxedShell(BaseTool):
    """Runs one program with its words. Made by :func:`sandboxed_shell`."""

    runs_in_sandbox: ClassVar[bool] = True

    args_schema: Any = _Words
    sandbox: Any  # a Sandbox
    spec: ToolSpec
    work: WorkFolders | Path

    def _run(self, argv: list[str]) -> dict[str, Any]:
        """Run it, and return how it ended.

        Raises:
            SandboxError: it has no declared shape, or there is no sandbox that can hold it; nothing was run.
        """
        try:
            found = match(argv, self.spec.commands)
        except CommandLineError as error:
            raise SandboxError(f"the command cannot be run: {error.message}", error.remedy) from error
        if found is None:
            raise SandboxError("the command has none of the shapes that the manifest declares", "use one of those")
        folder = self.work if isinstance(self.work, Path) else self.work.of(task_name())
        runner: Sandbox = self.sandbox
        network = self.spec.sandbox is not None and self.spec.sandbox.network
        return _told(runner.run(found.words, folder, network=network))


def sandboxed_shell(gateway: Gateway, name: str = "shell", *, server: str = "", work: Path | None = None) -> BaseTool:
    """Return a tool that runs programs in the gateway's sandbox, for an agent with the middleware or for a pipeline.

    Its result is ``{"code", "output", "errors", "stopped", "truncated"}``: nothing in it is trusted unless the
    manifest says so.

    Args:
        gateway: from ``open_gateway`` or ``build``.
        name: the tool's name in the manifest.
        server: the server that it is declared under, where there is one.
        work: the folder that all tasks write, such as a project; without it each task has its own.

    Raises:
        SandboxError: the manifest does not declare such a tool, none is configured, or none can be made here.
    """
    spec = gateway.manifest.find(name, server)
    if spec is None or spec.effect is not Effect.EXECUTE or spec.sandbox is None or not spec.commands:
        raise SandboxError(
            f"the manifest declares no tool {name!r} that runs code in a sandbox",
            "give it `effect: execute`, `sandbox:` and `commands:`",
        )
    sandbox = sandbox_of(gateway.settings, gateway.settings_file)
    sandbox.check()
    return SandboxedShell(
        name=name,
        description=spec.description or "Runs a program in the task's own folder.",
        sandbox=sandbox,
        spec=spec,
        work=work if work is not None else work_folders(gateway.settings, sandbox.outsider),
    )


def _told(done: Finished) -> dict[str, Any]:
    return {
        "code": done.code,
        "output": done.output.decode("utf-8", _TEXT),
        "errors": done.errors.decode("utf-8", _TEXT),
        "stopped": done.stopped,
        "truncated": done.truncated,
    }
