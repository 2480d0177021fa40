"""``checkvalve approvals reviewer``: who may decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.terminal import NOBODY, AsJson, Token, TokenFile, console, opened, prove


def reviewer_app(open_queue: Callable[[], Queue], make_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over the reviewers of the queue that ``open_queue`` opens; ``make_queue`` creates it too."""
    app = typer.Typer(help="Who may decide.", no_args_is_help=True)

    @app.command()
    def add(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The person's name or address.")],
        *,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Add a reviewer and print the token, once. From the second reviewer on, an existing one's token is needed."""
        with opened(make_queue) as queue:
            by = prove(context, queue, token, token_file) if queue.reviewers.list() else None
            new = queue.reviewers.add(name, by=by)
            console(stderr=True).print("This token is shown once. Keep it where no agent can read it:")
            typer.echo(new)

    @app.command()
    def disable(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The reviewer to disable.")],
        *,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Take a reviewer's right to decide."""
        with opened(open_queue) as queue:
            queue.reviewers.disable(name, by=prove(context, queue, token, token_file))
            console().print("disabled")

    @app.command("list")
    def list_(*, as_json: AsJson = False) -> None:
        """List everybody who ever was a reviewer."""
        with opened(open_queue) as queue:
            entries, where = queue.reviewers.list(), queue.store.address
        rows = [
            {
                "name": entry.name,
                "added_by": entry.added_by,
                "added_at": rfc3339(entry.added_at),
                "disabled": entry.disabled_at is not None,
            }
            for entry in entries
        ]
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif not rows:
            console().print(Text(neutralise(f"{NOBODY} (in {where})")), soft_wrap=True)
        for row in [] if as_json else rows:
            console().print(
                Text(neutralise(f"{row['name']}  since {row['added_at']}  {'disabled' if row['disabled'] else ''}"))
            )

    return app
