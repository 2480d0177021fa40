"""``checkvalve undo``: see which effects can be taken back, ask for it, and run what was approved.

Exit codes: 0 done; 1 refused, with the reason; 2 nothing was done. Asking takes a reviewer's credential; another person
decides, with ``checkvalve approvals`` or on the review pages, and running takes none, since the permit is there then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkvalve.approvals import undos
from checkvalve.approvals.card import SHORT_ID, digest_hex, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.render import block, neutralise
from checkvalve.approvals.terminal import NO_DECISION, REFUSED, AsJson, Token, TokenFile, console, opened, prove, stop
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.settings import LoadedSettings

if TYPE_CHECKING:
    from checkvalve.graphs.undo_standing import Standing

Id = Annotated[str, typer.Argument(help="The call whose effect is to be undone, or its undoing; its first characters.")]
Tools = Annotated[str, typer.Option(help="The agent's tools: MODULE[:NAME] or ./FILE.py[:NAME]; else of the settings.")]


def undo_app(loaded: Callable[[], LoadedSettings], open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands; ``loaded`` reads the settings, ``open_queue`` opens the queue alone."""
    app = typer.Typer(help="Take an effect back: a new call that a person decides.", no_args_is_help=True)
    _add_looking(app, loaded, open_queue)
    _add_doing(app, loaded)
    return app


def _add_looking(app: typer.Typer, loaded: Callable[[], LoadedSettings], open_queue: Callable[[], Queue]) -> None:
    @app.command("list")
    def list_(
        *,
        everything: Annotated[bool, typer.Option("--all", help="Also what cannot be undone, or not any more.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the effects that can be undone, newest first."""
        with opened(open_queue) as queue:
            rows = _rows(queue, everything=everything)
            if as_json:
                typer.echo(json.dumps(rows, indent=2))
            elif rows:
                console().print(_table(rows))
            else:
                where = f"no effect in {queue.store.address} can be undone"
                console().print(Text(neutralise(where)), soft_wrap=True)

    @app.command()
    def show(proposal_id: Id, *, as_json: AsJson = False) -> None:
        """Show what would undo an effect, where each value is from, and whether the state has changed since."""
        with _gateway(loaded) as gateway:
            found = _undoing(gateway).standing(gateway.queue.find(proposal_id).id)
            _print(_shown(gateway, found), as_json=as_json)


def _add_doing(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("do")
    def do_(
        context: typer.Context,
        proposal_id: Id,
        *,
        tools: Tools = "",
        token: Token = None,
        token_file: TokenFile = None,
        as_json: AsJson = False,
    ) -> None:
        """Ask for the undoing of one effect. With the tools at hand, the present state is read and compared first."""
        with _gateway(loaded) as gateway:
            proposal = gateway.queue.find(proposal_id)
            reviewer = prove(context, gateway.queue, token, token_file)
            undoing = _undoing(gateway)
            asked = undoing.ask_as(proposal.id, reviewer, _loaded_tools(gateway, tools, needed=False))
            _print(_shown(gateway, undoing.standing(asked.id)), as_json=as_json)
            if asked.state is State.DENIED:
                stop(f"refused by rule {asked.rule}: {asked.remedy}", REFUSED)
            if not as_json:
                say = f"now another person decides it: checkvalve approvals approve {asked.id[:SHORT_ID]}"
                console().print(say, soft_wrap=True)
                console().print(f"then, where the tools are: checkvalve undo run {asked.id[:SHORT_ID]}", soft_wrap=True)

    @app.command()
    def run(
        proposal_id: Annotated[str, typer.Argument(help="One undoing; without it, every approved one.")] = "",
        *,
        tools: Tools = "",
        as_json: AsJson = False,
    ) -> None:
        """Run undoings that were approved, each once, with the agent's tools."""
        with _gateway(loaded) as gateway:
            undoing = _undoing(gateway)
            names = [gateway.queue.find(proposal_id).id] if proposal_id else [row.id for row in undoing.due()]
            known = _loaded_tools(gateway, tools, needed=bool(names))
            ended = [(name, undoing.run(name, known)) for name in names]
        if as_json:
            typer.echo(
                json.dumps([{"id": name, "state": out.state.value, "code": out.proposal.code} for name, out in ended])
            )
        for name, out in [] if as_json else ended:
            code = f" ({out.proposal.code})" if out.proposal.code else ""
            console().print(Text(neutralise(f"{name[:SHORT_ID]}  {out.state.value}{code}")), soft_wrap=True)
        if not ended and not as_json:
            console().print("no undoing was approved and waits to be run")
        if any(out.state not in undos.DONE for _, out in ended):
            raise typer.Exit(REFUSED)


def _shown(gateway: Gateway, found: Standing) -> Standing:
    from checkvalve.gateway import undo_views as views  # noqa: PLC0415  # the same

    return views.under(found, gateway.queue.veiling.veil(found.proposal.thread))


@contextmanager
def _gateway(loaded: Callable[[], LoadedSettings]) -> Iterator[Gateway]:
    found = loaded()
    # People read what is printed here: that a gateway was built is news to nobody, unless somebody asked for it.
    quiet = {"log_level": "warning"} if found.origins["log_level"] == "default" else {}
    with build(found.settings.model_copy(update=quiet), settings_file=found.file) as gateway:
        yield gateway


def _undoing(gateway: Gateway) -> Any:
    from checkvalve.graphs.undoing import Undoing  # noqa: PLC0415  # slow to load; few commands need it

    return Undoing(gateway.services)


def _loaded_tools(gateway: Gateway, spec: str, *, needed: bool) -> Sequence[Any]:
    from checkvalve.gateway.tool_modules import load_tools  # noqa: PLC0415  # the same

    name = spec or gateway.settings.tools
    if not name and needed:
        stop("nothing was run: the tools are not named; give --tools MODULE, or set `tools`", NO_DECISION)
    return load_tools(name) if name else ()


def _rows(queue: Queue, *, everything: bool) -> list[dict[str, Any]]:
    now = queue.clock()
    with queue.store.read() as connection:
        kept = undos.listed(connection, now=now, everything=everything)
    found = []
    for row in kept:
        proposal = queue.get(row.proposal_id)
        with queue.store.read() as connection:
            why = undos.refusal(connection, proposal, row, now=now)
        if not why or everything:
            until = "" if row.expires_at is None else to_the_second(row.expires_at)
            said = {"id": row.proposal_id, "tool": proposal.tool, "at": to_the_second(row.kept_at), "until": until}
            found.append({**said, "why_not": why, "undo": row.undo_id})
    return found


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("id", "tool", "happened", "can be undone until"):
        table.add_column(name, overflow="fold")
    for row in rows:
        last = row["why_not"] or row["until"] or "for ever"
        table.add_row(row["id"][:SHORT_ID], safe(row["tool"]), row["at"], safe(last, "dim" if row["why_not"] else ""))
    return table


def _print(found: Standing, *, as_json: bool) -> None:
    from checkvalve.gateway import undo_views as views  # noqa: PLC0415  # the same

    if as_json:
        typer.echo(json.dumps(views.to_json(found), indent=2))
        return
    out = console()
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in views.lines(found):
        table.add_row(Text(name, style="dim"), safe(text))
    out.print(table)
    for name, value, where in views.arguments(found):
        out.print(Text.assemble("  ", safe(name, "bold"), safe(f"  {where}", "dim")), soft_wrap=True)
        out.print(Text("      ").append_text(Text(block(value, full=False), overflow="fold")))
    if said := views.compared(found):
        out.print(Text(said, style="bold red" if found.changes else ""), soft_wrap=True)
    _print_changes(out, found)
    if found.undo is not None and found.undo.state is State.PENDING:
        out.print(Text.assemble(("digest  ", "dim"), safe(digest_hex(found.undo), "bold")), soft_wrap=True)


def _print_changes(out: Console, found: Standing) -> None:
    from checkvalve.gateway.undo_views import as_text  # noqa: PLC0415  # the same

    for path, old, new in found.changes:
        out.print(Text.assemble("  ", safe(path, "bold")), soft_wrap=True)
        out.print(Text("    left: ", style="dim").append_text(Text(block(as_text(old), full=False))), soft_wrap=True)
        out.print(Text("    now:  ", style="dim").append_text(Text(block(as_text(new), full=False))), soft_wrap=True)


__all__ = ["undo_app"]
