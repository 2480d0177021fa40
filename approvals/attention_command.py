"""``checkvalve approvals attention``: seeded items, which show whether people look: consent, one's own figures, marks.

An item itself is shown where it is known who looks: on the pages, and over HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import typer
from rich.text import Text

from checkvalve.approvals import seed_figures, seeds
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.terminal import AsJson, Token, TokenFile, console, opened, prove


def attention_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands."""
    app = typer.Typer(help="Made-up questions that show whether people look.", no_args_is_help=True)
    _add_consent(app, open_queue)
    _add_looking(app, open_queue)
    return app


def _add_consent(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("agree")
    def agree(context: typer.Context, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Agree to be shown made-up questions now and then; you are told at once after each answer."""
        with opened(open_queue) as queue:
            reviewer = prove(context, queue, token, token_file)
            seeds.agree(queue, reviewer)
            _say(f"{reviewer.name} agreed; take it back: checkvalve approvals attention withdraw")

    @app.command("withdraw")
    def withdraw(context: typer.Context, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Take that back; what is open is closed."""
        with opened(open_queue) as queue:
            reviewer = prove(context, queue, token, token_file)
            seeds.withdraw(queue, reviewer)
            _say(f"{reviewer.name} is shown none any more")

    @app.command("list")
    def list_(*, as_json: AsJson = False) -> None:
        """List who has agreed, and since when."""
        with opened(open_queue) as queue:
            found = [item for item in seeds.consents(queue) if item.holds]
        if as_json:
            typer.echo(json.dumps([{"reviewer": one.reviewer, "since": rfc3339(one.agreed_at)} for one in found]))
        elif not found:
            _say("nobody has agreed")
        for one in [] if as_json else found:
            _say(f"{one.reviewer}  since {to_the_second(one.agreed_at)}")


def _add_looking(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    @app.command("mine")
    def mine(
        context: typer.Context, *, as_json: AsJson = False, token: Token = None, token_file: TokenFile = None
    ) -> None:
        """Show your own figures; nobody else is told them."""
        with opened(open_queue) as queue:
            found = seed_figures.own(queue.store, prove(context, queue, token, token_file))
        if as_json:
            typer.echo(json.dumps(found.to_json()))
        else:
            _say(f"{found.caught} of {found.answered} seen" if found.answered else "none answered yet")

    @app.command("items")
    def items(
        context: typer.Context, *, as_json: AsJson = False, token: Token = None, token_file: TokenFile = None
    ) -> None:
        """List which ids are made up and how they ended, for an auditor; never whose they were."""
        with opened(open_queue) as queue:
            found = seeds.listed(queue, prove(context, queue, token, token_file))
        if as_json:
            typer.echo(json.dumps(found))
        elif not found:
            _say("there is none")
        for one in [] if as_json else found:
            _say(f"{one['id']}  seeded  {one['state']}")


def _say(text: str) -> None:
    console().print(Text(neutralise(text)), soft_wrap=True)


__all__ = ["attention_app"]
