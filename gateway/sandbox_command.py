"""``checkvalve sandbox``: prove what holds here, run a program by hand, see which shape a command has.

Exit codes: ``check`` 0 when everything holds, 1 when something does not, 2 when there is no sandbox; ``run`` that of
the program; ``match`` 0 for a declared shape, 1 for none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TextIO

import typer

from checkvalve.approvals.commandline import CommandLineError, join, split
from checkvalve.approvals.commands import match
from checkvalve.approvals.manifest import load_manifest
from checkvalve.gateway.bubblewrap import Bubblewrap
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.logs import printable
from checkvalve.gateway.sandbox_proof import prove
from checkvalve.gateway.sandboxes import sandbox_of
from checkvalve.gateway.settings import LoadedSettings

_WORDS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def sandbox_app(loaded: Callable[[], LoadedSettings]) -> typer.Typer:
    """Return the group of commands; ``loaded`` reads the settings."""
    app = typer.Typer(help="Try the sandbox for code, and look at commands.", no_args_is_help=True)
    _add_check(app, loaded)
    _add_run(app, loaded)
    _add_match(app)
    return app


def _add_check(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("check")
    def check(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
        """Say what the sandbox holds here, by trying it; also before one is configured."""
        proofs = list(prove(_sandbox(loaded())))
        if as_json:
            typer.echo(json.dumps({proof.name: proof.holds for proof in proofs}, indent=2))
        else:
            for proof in proofs:
                typer.echo(f"{'ok  ' if proof.holds else 'NOT '} {proof.name}")
        if not all(proof.holds for proof in proofs):
            raise typer.Exit(1)


def _add_run(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("run", context_settings=_WORDS)
    def run(
        argv: Annotated[list[str], typer.Argument(help="The program and its words, behind `--`.")],
        *,
        work: Annotated[Path, typer.Option(help="The folder that it may write.")],
        network: Annotated[bool, typer.Option("--network", help="With the network.")] = False,
    ) -> None:
        """Run a program in the sandbox, by hand: no policy is asked."""
        done = _sandbox(loaded()).run(argv, work.expanduser().absolute(), network=network)
        _print(sys.stdout, done.output)
        _print(sys.stderr, done.errors)
        if done.stopped or done.truncated:
            said = f"stopped: over the limit of {done.stopped}" if done.stopped else "there was more output"
            typer.echo(f"[sandbox] {said}", err=True)
        raise typer.Exit(done.code)


def _add_match(app: typer.Typer) -> None:
    @app.command("match")
    def match_(
        command: Annotated[str, typer.Argument(help="The command, as one text.")],
        *,
        manifest: Annotated[Path, typer.Option(help="The YAML file that declares the tool.")],
        tool: Annotated[str, typer.Option(help="The tool's key in it.")] = "shell",
    ) -> None:
        """Say which declared shape a command has, and which of its words were chosen for it."""
        spec = load_manifest(manifest).tools.get(tool)
        if spec is None:
            raise SandboxError(f"the manifest declares no tool {printable(tool)}", "give its key with --tool")
        try:
            words = split(command)
        except CommandLineError as error:
            typer.echo(f"refused: {error.message}")
            raise typer.Exit(1) from None
        found = match(words, spec.commands)
        typer.echo(f"words: {json.dumps(words, ensure_ascii=False)}")
        if found is None:
            typer.echo("no declared shape fits, so it is denied")
            raise typer.Exit(1)
        chosen = join([words[place] for place in found.chosen]) if found.chosen else "none"
        reads = " (reads only)" if found.shape.reads_only else ""
        typer.echo(f"shape: {found.shape.run}{reads}; chosen words: {chosen}")


def _print(stream: TextIO, written: bytes) -> None:
    """Hand on what a program wrote; to a terminal only what cannot steer it."""
    if stream.isatty():
        lines = written.decode("utf-8", "replace").splitlines()
        stream.write("".join(f"{printable(line, len(line))}\n" for line in lines))
    else:
        stream.buffer.write(written)
    stream.flush()


def _sandbox(found: LoadedSettings) -> Bubblewrap:
    """Return the configured sandbox, or the one that could be."""
    settings = found.settings
    if settings.sandbox == "off":
        settings = settings.model_copy(update={"sandbox": "bubblewrap"})
    return sandbox_of(settings, found.file)
