"""``checkvalve approvals reveal``: look at what a card does not show; it takes a credential, and is recorded first."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer

from checkvalve.approvals.pins_shown import seen_pinned
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reveals import reveal
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.showing import print_bytes, print_card
from checkvalve.approvals.story import story_of
from checkvalve.approvals.terminal import AsJson, Id, Token, TokenFile, console, opened, prove
from checkvalve.filters.strictjson import JSON

Full = Annotated[bool, typer.Option("--full", help="Show long values from end to end.")]
Raw = Annotated[bool, typer.Option("--bytes", help="Show the canonical bytes that were decided.")]


def revealed(context: typer.Context, queue: Queue, proposal_id: str, token: str | None, token_file: TokenFile) -> Seen:
    """Record that the person whose credential is given looks, and return the call with nothing left out."""
    proposal = queue.find(proposal_id)
    reviewer = prove(context, queue, token, token_file)
    found = reveal(queue, proposal.id, reviewer, channel="cli")
    console(stderr=True).print(f"recorded: {reviewer.name} looked at what is redacted of {proposal.id}")
    return found


def print_seen(queue: Queue, row: Seen, unpack: Callable[[JSON], str], *, full: bool, raw: bool, as_json: bool) -> None:
    """Print a call as a card, as its bytes, or as JSON."""
    if as_json:
        told = row.to_json() | row.said(queue.standing(row.id)).to_json()
        beside = {"preview": seen_preview(queue, row), "pinned": seen_pinned(queue, row)}
        shown = {name: None if found is None else found.to_json() for name, found in beside.items()}
        typer.echo(json.dumps(told | shown | story_of(queue, row).to_json(row), indent=2))
    elif raw:
        print_bytes(row)
    else:
        print_card(queue, row, unpack, full=full)


def add_reveal(app: typer.Typer, open_queue: Callable[[], Queue], unpack: Callable[[JSON], str]) -> None:
    """Add the command to ``approvals``."""

    @app.command("reveal")
    def reveal_(
        context: typer.Context,
        proposal_id: Id,
        *,
        full: Full = False,
        raw: Raw = False,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Show one call with what is redacted in it. Takes the role revealer, and the log says that you looked."""
        with opened(open_queue) as queue:
            found = revealed(context, queue, proposal_id, token, token_file)
            print_seen(queue, found, unpack, full=full, raw=raw, as_json=as_json)


__all__ = ["Full", "Raw", "add_reveal", "print_seen", "revealed"]
