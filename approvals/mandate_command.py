"""``checkvalve mandates``: what sources may do ahead of time. Looking is free, the rest takes a credential."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from checkvalve.approvals import audit
from checkvalve.approvals.bounds_shown import mandate_shown
from checkvalve.approvals.card import plain_table, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import MandateError, QueueError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.lists import events_table
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_file import read_mandates
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.spans import span_of
from checkvalve.approvals.still_given import granted
from checkvalve.approvals.terminal import AsJson, Token, TokenFile, console, opened, prove, stop

SHORT_ID: Final = 8
_STYLES: Final = {
    "in force": "bold green",
    "void": "bold red",
    "used up": "yellow",
    "revoked": "bold red",
    "expired": "dim",
}

Id = Annotated[str, typer.Argument(help="The mandate's id, or its first characters.")]


def mandates_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over the queue that ``open_queue`` opens; they close it again."""
    app = typer.Typer(help="See, grant and revoke what sources may do ahead of time.", no_args_is_help=True)
    _add_looking(app, open_queue)
    _add_granting(app, open_queue)
    _add_revoking(app, open_queue)
    return app


def _add_looking(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("list")
    def list_(
        *,
        thread: Annotated[str, typer.Option(help="Only this thread.")] = "",
        everything: Annotated[bool, typer.Option("--all", help="Also those that have ended or are used up.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the mandates that are in force, and what is void while its giver may not give it."""
        with opened(open_queue) as queue:
            now = queue.clock()
            listed = granted(queue, thread=thread)
            found = [item for item in listed if everything or item.state(now) in {"in force", "void"}]
            if as_json:
                told = [mandate_shown(item.to_json(now), queue.veiling.veil(item.thread)) for item in found]
                typer.echo(json.dumps(told, indent=2))
            elif not found:
                console().print(Text(neutralise(f"no mandate is in force in {queue.store.address}")), soft_wrap=True)
            for item in [] if as_json else found:
                _line(item, now, queue.veiling.veil(item.thread))

    @app.command()
    def show(mandate_id: Id, *, as_json: AsJson = False) -> None:
        """Show one mandate, and what has used it."""
        with opened(open_queue) as queue:
            name, now = queue.mandates.find(mandate_id).id, queue.clock()
            (found,) = (item for item in granted(queue) if item.id == name)
            if as_json:
                typer.echo(json.dumps(mandate_shown(found.to_json(now), queue.veiling.veil(found.thread)), indent=2))
                return
            with queue.store.read() as connection:
                events = list(audit.read_events(connection, subject=found.id))
            _card(found, now, queue.veiling.veil(found.thread))
            console().print(events_table(events))


def _add_granting(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def grant(
        context: typer.Context,
        *,
        thread: Annotated[str, typer.Option(help="The one task it is for; default: that of --offered.")] = "",
        requester: Annotated[str, typer.Option(help="On whose behalf the task runs; default: as its calls say.")] = "",
        file: Annotated[Path | None, typer.Option(help="A JSON file with the mandate, instead of the options.")] = None,
        offered: Annotated[str, typer.Option(help="The id of a waiting call: grant the mandate it offers.")] = "",
        source: Annotated[str, typer.Option(help="Whose results: read_file, or 'read_file(path=bill.txt)'.")] = "",
        tool: Annotated[str, typer.Option(help="The tool that may be filled.")] = "",
        effect: Annotated[Effect | None, typer.Option(help="The effect it has to have.")] = None,
        role: Annotated[list[Role] | None, typer.Option(help="A role that may be filled. May be repeated.")] = None,
        max_amount: Annotated[str, typer.Option(help="The most that one call may move.")] = "",
        max_total: Annotated[str, typer.Option(help="The most that all calls may move; default: --max-amount.")] = "",
        max_calls: Annotated[int, typer.Option(help="How many calls may use it.")] = 1,
        only: Annotated[list[str] | None, typer.Option(help="ARGUMENT=VALUE it must have. May be repeated.")] = None,
        host: Annotated[list[str] | None, typer.Option(help="A host for destinations. May be repeated.")] = None,
        delegates: Annotated[str, typer.Option(help="An effect the source may ask for, in your words.")] = "",
        lasts: Annotated[str, typer.Option(help="How long: 90m, 12h or 7d; default: 24h.")] = "",
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Let a source fill roles of a tool in one task, within limits."""
        with opened(open_queue) as queue:
            if offered:
                waiting = queue.find(offered)
                thread, requester = thread or waiting.thread, requester or waiting.requester
                mandate = _offer(waiting.decision.get("mandate"))
            elif file is not None:
                mandate = _only_one(read_mandates(file))
            else:
                mandate = Mandate(
                    source=source,
                    tool=tool,
                    effect=effect.value if effect else "",
                    roles=tuple(role or ()),
                    max_amount=max_amount or None,
                    max_total=max_total or None,
                    max_calls=max_calls,
                    values=_values(only or []),
                    hosts=tuple(host or ()),
                    delegates=delegates,
                    expires_at=queue.clock() + _span(lasts) if lasts else None,
                )
            requester = requester or _requester(queue, thread)
            reviewer = prove(context, queue, token, token_file)
            granted = queue.grant_mandate(mandate, reviewer, thread=thread, requester=requester)
            if as_json:
                typer.echo(json.dumps(granted.to_json(queue.clock()), indent=2))
            else:
                _line(granted, queue.clock(), queue.veiling.veil(granted.thread))


def _add_revoking(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command()
    def revoke(context: typer.Context, mandate_id: Id, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Take a mandate back. Calls that rely on it and have not run yet will not."""
        with opened(open_queue) as queue:
            found = queue.mandates.find(mandate_id)
            reviewer = prove(context, queue, token, token_file)
            ended = queue.revoke_mandate(found.id, reviewer)
            _line(ended, queue.clock(), queue.veiling.veil(ended.thread))


def _offer(body: object) -> Mandate:
    if body is None:
        raise MandateError("this call offers no mandate", remedy="say it yourself: --source, --tool, --role")
    return Mandate.from_json(body)


def _only_one(found: Sequence[Mandate]) -> Mandate:
    if len(found) != 1:
        raise MandateError("grant one mandate at a time", remedy="give a file with one JSON object")
    return found[0]


def _values(pairs: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise MandateError("--only: this is no pair", remedy="write --only currency=EUR")
        found.setdefault(name, []).append(value)
    return tuple((name, tuple(allowed)) for name, allowed in sorted(found.items()))


def _span(text: str) -> int:
    try:
        return span_of(text)
    except QueueError as error:
        raise MandateError(f"--lasts: {error.message}", remedy=error.remedy) from None


def _requester(queue: Queue, thread: str) -> str:
    """Return on whose behalf the calls of a thread were made; who has called nothing yet has to be named."""
    people = {row.requester for row in queue.list(thread=thread)} if thread else set()
    if len(people) != 1:
        why = "nothing was proposed in this thread yet" if not people else "several people's calls are in this thread"
        stop(f"error: {why} (name the person: --requester)", 2)
    return people.pop()


def _line(item: MandateEntry, now: int, veil: Veil) -> None:
    """Print one mandate in three lines: who and until when, what, and how much of it is left."""
    state = item.state(now)
    until = f"until {to_the_second(item.expires_at)}"
    until = "while whoever granted it may not grant it" if state == "void" else until
    when = until if item.holds(now) else f"since {to_the_second(item.ended_at or item.expires_at)}"
    head = Text.assemble(
        (item.id[:SHORT_ID], "bold"),
        "  ",
        (state, _STYLES[state]),
        safe(f" {when}, for {item.requester or 'nobody by name'} in thread {item.thread}"),
    )
    console().print(head, soft_wrap=True)
    console().print(Text("    ").append_text(safe(veil.judged(item.mandate.in_words()))), soft_wrap=True)
    console().print(
        Text("    ").append_text(safe(f"{_used(item)}; granted by {item.granted_by}", "dim")), soft_wrap=True
    )


def _used(item: MandateEntry) -> str:
    calls = f"used: {len(item.amounts)} of {item.mandate.max_calls} calls"
    return calls if item.mandate.total is None else f"{calls}, {item.spent:f} of {item.mandate.total:f}"


def _card(item: MandateEntry, now: int, veil: Veil) -> None:
    table = plain_table(header=False)
    rows = [
        ("mandate", veil.judged(item.mandate.in_words())),
        ("state", item.state(now)),
        ("used", _used(item).removeprefix("used: ")),
        ("thread", item.thread),
        ("requester", item.requester or "not known"),
        ("granted by", f"{item.granted_by} at {to_the_second(item.granted_at)}"),
        ("deadline", to_the_second(item.expires_at)),
        ("ended", f"{to_the_second(item.ended_at)} by {item.ended_by}" if item.ended_at is not None else ""),
        ("tenant", item.tenant),
        ("id", item.id),
    ]
    for name, value in rows:
        if value:
            table.add_row(Text(name, style="dim"), safe(value))
    console().print(table)


__all__ = ["mandates_app"]
