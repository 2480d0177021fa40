"""``checkvalve audit restart``: close a log whose key was stolen or that was tampered with, and begin a new one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Final

import typer

from checkvalve.approvals.audit_words import explain_sealed, say
from checkvalve.approvals.closedlogs import in_words
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.restart import Order, Restarted, restart
from checkvalve.approvals.store import Store
from checkvalve.approvals.terminal import Token, TokenFile, prove

_CLOSED: Final = (
    ("calls", "open calls: what waited is cancelled, what was permitted is invalid, what was running is unknown"),
    ("mandates", "mandates"),
    ("standing_rules", "standing rules"),
    ("endorsements", "endorsements"),
    ("hand_overs", "hand-overs"),
    ("tasks", "tasks that are paused until somebody lets them go on: checkvalve approvals resume"),
    ("people", "accounts that nobody comes into before: checkvalve approvals reviewer invite NAME"),
)


def register(
    app: typer.Typer,
    open_store: Callable[[], Store],
    place: Callable[[], LogPlace],
    told: Callable[[], AbstractContextManager[None]],
) -> None:
    """Add the command; ``told`` turns errors into messages and exit codes."""

    @app.command("restart")
    def restart_(
        context: typer.Context,
        *,
        note: Annotated[str, typer.Option(help="Why; kept in the log.")],
        origin: Annotated[str, typer.Option(help="The new log's name; else one is drawn.")] = "",
        from_event: Annotated[
            int | None,
            typer.Option(min=1, help="From this event on nothing is to be relied on, even if it is signed."),
        ] = None,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Close the log after its key was stolen or it was tampered with, and begin a new one under a new key.

        The old log stays, and stays verifiable up to its last good checkpoint. Where something is in doubt, nothing
        that was approved or given ahead counts any more, tasks are paused, and people need a new link.
        """
        with told(), open_store() as store:
            queue = Queue(store)
            by = prove(context, queue, token, token_file)
            here = place()
            _explain(restart(store, here, queue.reviewers, Order(by, note, origin, from_event)))
            for one in here.public_keys():
                typer.echo(str(one))
            typer.echo("give these lines to verifiers and witnesses over a way you trust", err=True)
            typer.echo("start again whatever signs, decides or runs: it still has the old key", err=True)


def _explain(done: Restarted) -> None:
    for line in in_words(done.closed):
        say(line)
    for name, words in _CLOSED:
        if count := done.counts.get(name):
            say(f"closed: {count} {words}")
    if not done.counts and done.closed.doubted_from is None:
        say("nothing is in doubt: calls, permits and accounts stay as they are")
    if done.sealed is not None:
        explain_sealed(done.sealed)


__all__ = ["register"]
