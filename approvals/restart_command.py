"""``checkvalve audit restart``: close a log whose key was stolen or that was tampered with, and begin a new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Final

import typer

from checkvalve.approvals.audit_words import explain_sealed, say
from checkvalve.approvals.closedlogs import in_words
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.restart import Order, Restarted, restart
from checkvalve.approvals.store import Store
from checkvalve.approvals.terminal import SignerKey, Token, TokenFile, prove

_CLOSED: Final = (
    ("calls", "open calls: what waited is cancelled, what was permitted is invalid, what was running is unknown"),
    ("mandates", "mandates"),
    ("standing_rules", "standing rules"),
    ("endorsements", "endorsements"),
    ("hand_overs", "hand-overs"),
    ("tasks", "tasks; look at each, then let it go on: checkvalve approvals resume THREAD"),
    ("people", "accounts; look at their roles, then let people in again: checkvalve approvals reviewer invite NAME"),
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
        signer_key: SignerKey = "",
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
            _explain(restart(store, here, queue.reviewers, Order(by, note, origin, from_event, signer_key)))
            say(f"the new public keys are in {Path(os.path.normpath(here.public_file))}")
            say("give them to verifiers and witnesses over a way you trust")
            say("start again whatever signs, decides or runs: it still has the old key")


def _explain(done: Restarted) -> None:
    for line in in_words(done.closed):
        say(line)
    for name, words in _CLOSED:
        if count := done.counts.get(name):
            say(f"closed: {count} {words}")
    for text in done.left:
        say(f"not closed, and still not what the log says: {text}")
    if not done.counts and done.closed.doubted_from is None:
        say("nothing is in doubt: calls, permits and accounts stay as they are")
    if done.sealed is not None:
        explain_sealed(done.sealed)


__all__ = ["register"]
