"""``checkvalve approvals escalate``: call others to a question before the clock does."""

from __future__ import annotations

from collections.abc import Callable

import typer
from rich.text import Text

from checkvalve.approvals.calling import call_others
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.terminal import Id, Token, TokenFile, console, opened, prove


def add_calling(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    """Add the command to ``approvals``."""

    @app.command("escalate")
    def escalate(context: typer.Context, proposal_id: Id, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Call others to an open question now; it goes on waiting, and the clock's own escalation still comes."""
        with opened(open_queue) as queue:
            row = queue.find(proposal_id)
            reviewer = prove(context, queue, token, token_file)
            who = call_others(queue, row.id, reviewer, channel="cli")
            console().print(Text(neutralise(f"others were told: {', '.join(who) or 'a channel'}")), soft_wrap=True)


__all__ = ["add_calling"]
