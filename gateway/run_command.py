"""``checkvalve run``: one task through the two-agent pipeline, with a line for each step as it happens.

Exit codes: 0 answered; 3 a person has to decide something first; 1 stopped without an answer; 2 nothing was done,
because the command, a file or a model is wrong. The answer alone goes to standard output.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from checkvalve.approvals.mandate_file import read_mandates
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.people import RULE, is_usable
from checkvalve.gateway.app import build
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.places import is_manifest
from checkvalve.gateway.settings import LoadedSettings, Settings


def register(app: typer.Typer, loaded: Callable[[], LoadedSettings], chosen: Callable[[], Path | None]) -> None:
    """Add the command to ``app``; ``loaded`` reads the settings of the file that ``chosen`` names."""

    @app.command("run")
    def run_(
        task: Annotated[str, typer.Argument(help="What to do, in your own words.")] = "",
        *,
        tools: Annotated[
            list[str] | None,
            typer.Option(
                help="The tools: MODULE[:NAME] or ./FILE.py[:NAME]; and a manifest FILE.yaml. May be repeated."
            ),
        ] = None,
        reader: Annotated[str, typer.Option(help="The model that sees content, as provider:model.")] = "",
        actor: Annotated[str, typer.Option(help="The model that has tools and sees references.")] = "",
        thread: Annotated[str, typer.Option(help="The name of the run; drawn when not given.")] = "",
        resume: Annotated[bool, typer.Option("--resume", help="Go on with the run of --thread.")] = False,
        requester: Annotated[str, typer.Option(help="On whose behalf; default: your user name.")] = "",
        mandate: Annotated[
            list[Path] | None, typer.Option(help="A JSON file with what sources may do in this run. May be repeated.")
        ] = None,
        record: Annotated[
            Path | None, typer.Option(help="A folder to record both models in, for recorded:FILE later.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print events and the end as JSON lines.")] = False,
    ) -> None:
        """Run one task through the pipeline: a reader that sees content, an actor that has the tools.

        Exit code 0: answered. 3: a person has to decide first. 1: stopped. 2: nothing was done.
        """
        from checkvalve.gateway.run_errand import Errand, run_errand  # noqa: PLC0415  # slow to load; only this needs it

        if resume and (task or not thread):
            raise SettingsError("--resume goes on with a run", "give --thread and no task")
        if not resume and not task.strip():
            raise SettingsError("there is no task", "say what to do: checkvalve run 'summarise my mail' ...")
        if requester and not is_usable(requester):
            raise SettingsError("--requester is no name of a person", f"give {RULE}: nobody could approve otherwise")
        found = loaded()
        mandates = _mandates(mandate or [], found.settings)
        settings = _with_options(found.settings, tools or [], reader, actor)
        program = ["checkvalve", *(["--config", str(file)] if (file := chosen()) else [])]
        named = [part for name in tools or [] for part in ("--tools", name)]
        named += [part for name, value in (("--reader", reader), ("--actor", actor)) if value for part in (name, value)]
        name = thread or uuid4().hex[:12]
        if requester:
            named += ["--requester", requester]
        errand = Errand(
            task=None if resume else task,
            thread=name,
            requester=requester or getpass.getuser(),
            record=record,
            as_json=as_json,
            mandates=mandates,
            again=(*program, "run", "--resume", "--thread", name, *named),
            approvals=(*program, "approvals"),
        )
        with build(settings, settings_file=found.file) as gateway:
            code = run_errand(gateway, errand)
        raise typer.Exit(code)


def _mandates(files: Sequence[Path], settings: Settings) -> tuple[Mandate, ...]:
    """Return the mandates in files that the agent cannot write."""
    work = settings.agent_workdir
    for file in files:
        if work is not None and file.resolve().is_relative_to(work.resolve()):
            raise SettingsError(f"--mandate {file} lies where the agent can write", "keep it outside agent_workdir")
    return tuple(item for file in files for item in read_mandates(file))


def _with_options(settings: Settings, tools: Sequence[str], reader: str, actor: str) -> Settings:
    """Return the settings with what the command line says instead."""
    modules = [name for name in tools if not is_manifest(name)]
    manifests = [name for name in tools if is_manifest(name)]
    if len(modules) > 1 or len(manifests) > 1:
        raise SettingsError("--tools names more than one module or manifest", "give one of each at most")
    changed: dict[str, Any] = {}
    if manifests:
        changed["manifest"] = Path(manifests[0]).expanduser().absolute()
    if modules:
        changed["tools"] = modules[0]
    if reader:
        changed["reader"] = reader
    if actor:
        changed["actor"] = actor
    if manifests and not modules and not settings.tools:
        raise SettingsError(
            f"{manifests[0]} declares tools and does not bring them",
            "name the module with their code as well: --tools MODULE or --tools ./FILE.py",
        )
    if not manifests and settings.manifest is None:
        raise SettingsError(
            "no manifest is set",
            "name the YAML file that declares the agent's tools: --tools FILE.yaml, or manifest = ... in the settings",
        )
    return settings.model_copy(update=changed)


__all__ = ["register"]
