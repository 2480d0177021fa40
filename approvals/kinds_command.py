"""``checkvalve approvals reviewer program`` and ``same``: which accounts programs hold, and which are one person's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from checkvalve.approvals.kinds import join, make_program
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.roles import Account
from checkvalve.approvals.terminal import Token, TokenFile, console, opened, prove

Owner = Annotated[str, typer.Option(help="Who answers for the program; what it asks for, this person asked for.")]


def add_kinds(app: typer.Typer, open_queue: Callable[[], Queue], rights: Callable[[Account], str]) -> None:
    """Add the commands to ``app``; ``rights`` says an account in one line."""

    @app.command()
    def program(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The reviewer whose credential a program holds.")],
        *,
        owner: Owner = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Say that an account is a program's: it looks at calls from now on, and decides nothing. For good."""
        with opened(open_queue) as queue:
            found = make_program(queue.reviewers, name, owner=owner, by=prove(context, queue, token, token_file))
            console().print(Text(neutralise(rights(found))))

    @app.command()
    def same(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The account.")],
        *,
        person: Annotated[str, typer.Option(help="Whose it is: one of this person's accounts.")],
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Say that two accounts are one person's: they have one voice from now on. For good."""
        with opened(open_queue) as queue:
            found = join(queue.reviewers, name, person=person, by=prove(context, queue, token, token_file))
            console().print(Text(neutralise(rights(found))))


__all__ = ["Owner", "add_kinds"]
