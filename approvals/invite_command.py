"""``checkvalve approvals reviewer invite``: a one-time link for somebody new, or for who has lost every way in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.terminal import Token, TokenFile, console, opened, prove


def add_invite(app: typer.Typer, open_queue: Callable[[], Queue], pages: Callable[[], str]) -> None:
    """Add the command to ``app``; ``pages`` gives the address of the review pages."""

    @app.command()
    def invite(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The person's name or address.")],
        *,
        role: Annotated[
            list[Role] | None, typer.Option(help="What somebody new may do; may be given several times.")
        ] = None,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Print a link with which this person sets a password or adds a passkey. It works once, for two days."""
        with opened(open_queue) as queue:
            by = prove(context, queue, token, token_file)
            links = Invitations(queue.reviewers, Checks.of(queue.reviewers).passwords)
            code = links.invite(name, by=by, roles=role or None)
            console(stderr=True).print("Whoever opens this link has the account. Hand it over where no agent reads it:")
            typer.echo(f"{pages()}/join/{code}")


__all__ = ["add_invite"]
