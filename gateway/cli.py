"""The command ``checkvalve``: everything a person does with the gateway in a terminal.

Guarantees: an error is one line that says what is wrong and one that says what to do, on standard error, with exit code
2 (1 where the queue said no) and no traceback; a plug-in that cannot be loaded is named when it is used, and never in
the way of another command.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from checkvalve.approvals.answer_command import Others
from checkvalve.approvals.audit_command import audit_app
from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.edits import Decide
from checkvalve.approvals.endorsement_command import endorsements_app
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.mandate_command import mandates_app
from checkvalve.approvals.manifest import load_manifest, manifest_digest, manifest_schema
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.approvals.terminal import exit_code
from checkvalve.filters.errors import FilterError
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import decide_command, doctor_command, policykit_command, run_command, serve_command
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.channels_command import channels_app
from checkvalve.gateway.errors import GatewayError, TokenError
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.logs import configure_logs, get_logger, printable
from checkvalve.gateway.oidc_rules import PAGES, origin_of
from checkvalve.gateway.oncall_command import oncall_app
from checkvalve.gateway.places import tokens_file
from checkvalve.gateway.rules_command import rules_app
from checkvalve.gateway.sandbox_command import sandbox_app
from checkvalve.gateway.settings import LoadedSettings, load_settings, shown
from checkvalve.gateway.settings_problems import plain_problems
from checkvalve.gateway.undo_command import undo_app
from checkvalve.gateway.witness_command import witness_app
from checkvalve.graphs.errors import GraphError

ENTRY_POINTS: Final = "checkvalve.commands"
UNUSABLE: Final = 2  # nothing was done: the request, a file or the database is wrong
_INTERRUPTED: Final = 130
_LINE: Final = 2_000  # characters of an error: a path and a reason fit, a hostile document does not


class PluginError(GatewayError):
    """A command that another package brings cannot be loaded."""


class _Group(TyperGroup):
    """The top-level group: its own commands, then those of installed packages, loaded when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return own + [name for name in _plugins() if name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is None and (point := _plugins().get(cmd_name)) is not None:
            return _load(point)
        return command


app = typer.Typer(
    cls=_Group,
    help="A gateway that lets agents read untrusted content without letting that content command them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_manifest = typer.Typer(help="Check tool manifests.", no_args_is_help=True)
_policy = typer.Typer(help="Draft, check, test and explain manifests and policies.", no_args_is_help=True)
_config = typer.Typer(help="Look at the settings.", no_args_is_help=True)


class _Chosen:
    """The settings file that the command line names; what it says is read only by commands that need it."""

    file: Path | None = None


def _version(value: bool) -> None:  # the signature of an option's callback
    if value:
        typer.echo(f"checkvalve {importlib.metadata.version('checkvalve')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    config: Annotated[Path | None, typer.Option(help="The settings file (TOML).")] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,  # noqa: ARG001
) -> None:
    _Chosen.file = config


@_manifest.command("check")
def manifest_check(file: Annotated[Path, typer.Argument(help="The YAML file.")]) -> None:
    """Say whether a manifest can be used, and its digest."""
    found = load_manifest(file)
    typer.echo(f"ok: {len(found.tools)} tools, {manifest_digest(found)}")


@_manifest.command("schema")
def manifest_schema_() -> None:
    """Print the JSON Schema of the manifest, for editors."""
    typer.echo(json.dumps(manifest_schema(), indent=2))


@_policy.command("check")
def policy_check(
    file: Annotated[Path | None, typer.Argument(help="The Cedar file; default: the packaged one.")] = None,
) -> None:
    """Say whether a policy can be used, and its digest."""
    typer.echo(f"ok: {load_policy(file).digest}")


@_config.command("show")
def config_show(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print every setting and where it comes from: those that were set first; and what cannot work, as far as seen."""
    loaded = _loaded()
    values = shown(loaded.settings)
    if as_json:
        rows = {name: {"value": value, "origin": loaded.origins[name]} for name, value in values.items()}
        typer.echo(json.dumps({"file": str(loaded.file) if loaded.file else None, "settings": rows}, indent=2))
        return
    typer.echo(f"file: {loaded.file or 'none'}")
    for name, value in sorted(values.items(), key=lambda item: loaded.origins[item[0]] == "default"):
        typer.echo(f"{name} = {json.dumps(value)}  ({loaded.origins[name]})")
    for problem in plain_problems(loaded.settings):
        typer.echo(f"problem: {problem}", err=True)


def _loaded() -> LoadedSettings:
    loaded = load_settings(_Chosen.file)
    configure_logs(loaded.settings)
    return loaded


def _queue() -> Queue:
    return open_queue(_loaded().settings)


def _existing() -> Queue:
    return open_queue(_loaded().settings, create=False)


def _pages() -> str:
    return origin_of(_loaded().settings) + PAGES


def _store() -> Store:
    return _existing().store


def _result_text(value: JSON) -> str:
    from checkvalve.gateway.result_text import result_text  # noqa: PLC0415  # slow to load, and few commands need it

    return result_text(value)


def _decide(queue: Queue) -> Decide:
    from checkvalve.gateway.redeciding import deciding_by  # noqa: PLC0415  # slow to load, and few commands need it

    loaded = _loaded()
    return deciding_by(loaded.settings, loaded.file)(queue)


def _client(token: str) -> str:
    """Return in whose name an API token acts.

    Raises:
        TokenError: it is nobody's.
    """
    client = ApiTokens(tokens_file(_loaded().settings)).authenticate(token)
    if "run" not in client.scopes:
        raise TokenError("this token lacks the scope run", "use a token that has it")
    return client.name


def _plugins() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def _load(point: importlib.metadata.EntryPoint) -> Any:
    try:
        plugin = point.load()
        holder = typer.Typer(add_completion=False)
        holder.add_typer(plugin, name=point.name)
        return typer.main.get_group(holder).commands[point.name]
    except Exception as error:  # noqa: BLE001  # another package's code: whatever it does, the other commands work
        return typer.main.get_command(_broken(point.name, point.value, type(error).__name__))


def _broken(name: str, value: str, reason: str) -> typer.Typer:
    stub = typer.Typer(add_completion=False)

    @stub.command(
        name,
        help="(cannot be loaded)",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    )
    def _fail() -> None:
        get_logger().debug("plugin.broken", plugin=name, error=reason)
        raise PluginError(
            f"the command {name!r} of the plug-in {value} cannot be loaded ({reason})",
            "reinstall or remove the package that brings it",
        )

    return stub


def main() -> None:
    """Run the command line, and turn every error of ours into two lines and an exit code."""
    sys.exit(run(app))


def run(command: Callable[[], object]) -> int:
    """Run ``command`` and return the exit code."""
    try:
        command()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # `checkvalve ... | head`
        sys.stderr.close()
        return 1
    except (GatewayError, ApprovalError, FilterError, GraphError) as error:
        text = (getattr(error, "message", "") and str(error)) or str(error)
        remedy = getattr(error, "remedy", "")
        sys.stderr.write(f"error: {printable(text.removesuffix(f' ({remedy})'), 2_000)}\n")
        if remedy:
            sys.stderr.write(f"   do: {printable(remedy, _LINE)}\n")
        return exit_code(error) if isinstance(error, ApprovalError) else UNUSABLE
    return 0


app.add_typer(
    approvals_app(_existing, _queue, unpack=_result_text, others=Others(_decide, _client), pages=_pages),
    name="approvals",
)
app.add_typer(mandates_app(_existing), name="mandates")
app.add_typer(endorsements_app(_existing), name="endorsements")
app.add_typer(undo_app(_loaded, _existing), name="undo")
app.add_typer(audit_app(_store, lambda: log_place(_loaded().settings)), name="audit")
app.add_typer(witness_app(), name="witness")
decide_command.register(app)
policykit_command.register(_policy, _loaded)
run_command.register(app, _loaded, lambda: _Chosen.file)
serve_command.register(app, _loaded)
doctor_command.register(app, _loaded)
app.add_typer(channels_app(_loaded), name="channels")
app.add_typer(oncall_app(_loaded), name="oncall")
app.add_typer(sandbox_app(_loaded), name="sandbox")
app.add_typer(_manifest, name="manifest")
app.add_typer(_policy, name="policy")
app.add_typer(rules_app(_loaded), name="rules")
app.add_typer(_config, name="config")
