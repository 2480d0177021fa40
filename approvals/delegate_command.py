"""``checkvalve approvals delegate``: handing over to a colleague for a limited time, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.text import Text

from checkvalve.approvals.card import SHORT_ID, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.delegations import LONGEST, Delegation, Delegations
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.spans import moment_of, span_of
from checkvalve.approvals.terminal import AsJson, Token, TokenFile, console, opened, prove

_STYLES: Final = {"in force": "bold green", "to come": "yellow", "ended": "dim", "over": "dim", "void": "bold red"}
_ENDED: Final = frozenset({"ended", "over"})


def handing(queue: Queue) -> Delegations:
    """Return the hand-overs of a queue."""
    return Delegations(queue.store, queue.clock, queue.reviewers)


def delegate_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over the queue that ``open_queue`` opens; they close it again."""
    app = typer.Typer(help="Hand over to a colleague for a limited time.", no_args_is_help=True)
    _add_giving(app, open_queue)
    _add_looking(app, open_queue)
    return app


def _add_giving(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("give")
    def give(
        context: typer.Context,
        taker: Annotated[str, typer.Argument(help="The reviewer who stands in for you.")],
        *,
        note: Annotated[str, typer.Option(help="Why, in your own words; kept with it.")],
        until: Annotated[str, typer.Option(help="The end: 2026-12-24, or 2026-12-24T08:00:00Z.")] = "",
        lasts: Annotated[
            str, typer.Option(help=f"How long instead: 12h or 7d, at most {LONGEST.days}d from the start.")
        ] = "",
        start: Annotated[str, typer.Option("--from", help="The start, written like --until; default: now.")] = "",
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Let a colleague say yes and no for you, with your roles, until a moment that you name."""
        with opened(open_queue) as queue:
            if bool(until) == bool(lasts):
                raise QueueError("say how long: either --until or --lasts", remedy="for example: --lasts 7d")
            starts_at = moment_of(start) if start else None
            begin = queue.clock() if starts_at is None else starts_at
            expires_at = moment_of(until) if until else begin + span_of(lasts)
            giver = prove(context, queue, token, token_file)
            given = handing(queue).give(giver, taker, reason=note, starts_at=starts_at, expires_at=expires_at)
            _tell([given], queue.clock(), as_json=as_json, one=True)

    @app.command("end")
    def end(
        context: typer.Context,
        delegation: Annotated[str, typer.Argument(help="Its id, or the first characters.")],
        *,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """End it at once: giver, taker and administrators may. A yes under it counts for no call that has not begun."""
        with opened(open_queue) as queue:
            found = handing(queue).find(delegation)
            by = prove(context, queue, token, token_file)
            _tell([handing(queue).end(found.id, by)], queue.clock(), as_json=as_json, one=True)


def _add_looking(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("list")
    def list_(
        *,
        everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List who stands in for whom, now and from when on."""
        with opened(open_queue) as queue:
            found = handing(queue).list(everything=everything)
            if not found and not as_json:
                console().print(
                    Text(neutralise(f"nobody stands in for anybody in {queue.store.address}")), soft_wrap=True
                )
            _tell(found, queue.clock(), as_json=as_json)


def _tell(found: list[Delegation], now: int, *, as_json: bool, one: bool = False) -> None:
    if as_json:
        told = [item.to_json(now) for item in found]
        typer.echo(json.dumps(told[0] if one else told, indent=2))
        return
    for item in found:
        state = item.state(now)
        span = f"{to_the_second(item.starts_at)} to {to_the_second(item.expires_at)}"
        head = Text.assemble((item.id[:SHORT_ID], "bold"), "  ", (state, _STYLES[state]), "  ")
        head.append_text(safe(f"{item.taker} for {item.giver}, {span}"))
        console().print(head, soft_wrap=True)
        console().print(Text("    ").append_text(safe(item.reason, "dim")), soft_wrap=True)
        if item.ended_at is not None:
            console().print(Text(neutralise(f"    {to_the_second(item.ended_at)} by {item.ended_by}")), soft_wrap=True)
        elif state == "void":
            console().print("    one of the two is no reviewer any more")


__all__ = ["delegate_app", "handing"]
