"""``checkvalve endorsements``: the data that people accepted, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.text import Text

from checkvalve.approvals.card import SHORT_ID, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.endorsing import Endorsed
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import block, neutralise
from checkvalve.approvals.still_given import accepted
from checkvalve.approvals.terminal import AsJson, Token, TokenFile, console, opened, prove

_STYLES: Final = {"in force": "bold green", "void": "bold red", "revoked": "bold red", "expired": "dim"}

Id = Annotated[str, typer.Argument(help="The endorsement's id, or its first characters.")]


def endorsements_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over the queue that ``open_queue`` opens; they close it again."""
    app = typer.Typer(help="See and revoke the data that people accepted.", no_args_is_help=True)

    @app.command("list")
    def list_(
        *,
        thread: Annotated[str, typer.Option(help="Only this thread.")] = "",
        everything: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the data that counts as accepted, and what is void while its giver may not give it."""
        with opened(open_queue) as queue:
            now = queue.clock()
            listed = queue.veiling.accepted(accepted(queue, thread=thread))
            found = [item for item in listed if everything or item.holds(now)]
            if as_json:
                typer.echo(json.dumps([item.to_json(now) for item in found], indent=2))
            elif not found:
                where = f"no accepted data is in force in {queue.store.address}"
                console().print(Text(neutralise(where)), soft_wrap=True)
            for item in [] if as_json else found:
                _line(item, now)

    @app.command()
    def revoke(
        context: typer.Context, endorsement_id: Id, *, token: Token = None, token_file: TokenFile = None
    ) -> None:
        """Take accepted data back: it is asked about again, and calls that rely on it and have not run will not."""
        with opened(open_queue) as queue:
            found = queue.endorsed.find(endorsement_id)
            reviewer = prove(context, queue, token, token_file)
            (ended,) = queue.veiling.accepted([queue.revoke_endorsement(found.id, reviewer)])
            _line(ended, queue.clock())

    return app


def _line(item: Endorsed, now: int) -> None:
    """Print one endorsement: its state, the value, where it came from and what it may be."""
    state, given = item.state(now), item.endorsement
    if item.holds(now) and not item.counts:
        when = ": whoever gave it may not give it now"
    elif item.holds(now):
        when = "" if item.expires_at is None else f" until {to_the_second(item.expires_at)}"
    else:
        when = f" since {to_the_second(item.ended_at or item.expires_at or now)}"
    head = Text.assemble((item.id[:SHORT_ID], "bold"), "  ", (state, _STYLES[state]), safe(f"{when}, in {item.thread}"))
    console().print(head, soft_wrap=True)
    console().print(Text("    ").append_text(Text(block(given.value, full=False))), soft_wrap=True)
    place = place_of(given.source).in_words()
    what = Text.assemble("    ", safe(f"as {given.role} of {given.tool}, from "), safe(place, "bold red"))
    console().print(what, soft_wrap=True)
    used = f"used {item.used} times" if item.used != 1 else "used once"
    console().print(Text("    ").append_text(safe(f"{used}; accepted by {item.by}", "dim")), soft_wrap=True)


__all__ = ["endorsements_app"]
