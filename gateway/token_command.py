"""``checkvalve token``: who may use the HTTP API, whether a person or a program holds the token, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from checkvalve.approvals.clock import to_the_second
from checkvalve.gateway.http_tokens import SCOPES, ApiTokens, Client
from checkvalve.gateway.logs import printable
from checkvalve.gateway.places import tokens_file
from checkvalve.gateway.settings import LoadedSettings

_REFUSED = 1  # the exit code of a clear no


def add_tokens(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    """Add the commands to ``app``; ``loaded`` reads the settings."""

    def tokens() -> ApiTokens:
        return ApiTokens(tokens_file(loaded().settings))

    @app.command("add")
    def add(  # each is a part of the token
        name: Annotated[str, typer.Argument(help="In whose name its runs are made; this person may not approve them.")],
        *,
        scope: Annotated[
            list[str] | None, typer.Option(help=f"What it may: {', '.join(SCOPES)}; default: both.")
        ] = None,
        program: Annotated[
            bool, typer.Option("--program", help="A program holds it, and no person: it gives no mandate either.")
        ] = False,
        owner: Annotated[
            str, typer.Option(help="Who answers for it, and may not approve what it asks for; default: that person.")
        ] = "",
        days: Annotated[int, typer.Option(help="Days for which it is good; 0: until it is taken back.", min=0)] = 0,
    ) -> None:
        """Add a token and print it, once. A name may have several."""
        known = tokens()
        token = known.add(name, scope or SCOPES, days=days, program=program, owner=owner)
        typer.echo("This token is shown once:", err=True)
        found = next(client for client in known.clients() if client.selector == token.split("_")[1])
        same = [client.selector for client in known.clients() if client.name == found.name]
        if len(same) > 1:
            typer.echo(
                f"{found.name} now has {len(same)} tokens; take one back: checkvalve token remove SELECTOR", err=True
            )
        if not found.owner:
            typer.echo(
                "nobody owns it: who wrote the program could approve what it asks for; name somebody: --owner NAME",
                err=True,
            )
        typer.echo(token)

    _add_more(app, tokens)


def _add_more(app: typer.Typer, tokens: Callable[[], ApiTokens]) -> None:
    """Add what is done with tokens that are there."""

    @app.command("owner")
    def owner_(
        selector: Annotated[str, typer.Argument(help="The selector that `token list` shows.")],
        owner: Annotated[str, typer.Argument(help="Who answers for it, and may not approve what it asks for.")],
        *,
        program: Annotated[
            bool, typer.Option("--program", help="Say, too, that a program holds it; this is never taken back.")
        ] = False,
    ) -> None:
        """Say whose a token is, in place of whose it was; what it asked for before keeps the owner of then."""
        known = tokens()
        if not _is_known(known, selector):
            _unknown()
        known.give_to(selector, owner, program=program)
        typer.echo(_line(_row(next(one for one in known.clients() if one.selector == selector))))

    @app.command("list")
    def list_(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
        """List the tokens by their selectors, with who holds and who owns each."""
        known = tokens()
        rows = [_row(client) for client in known.clients()]
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif not rows:
            typer.echo(f"there is no token in {printable(str(known.file))} yet: checkvalve token add NAME")
        else:
            for row in rows:
                typer.echo(_line(row))

    @app.command("remove")
    def remove(selector: Annotated[str, typer.Argument(help="The selector that `token list` shows.")]) -> None:
        """Take a token back; running servers refuse it from now on."""
        known = tokens()
        if not _is_known(known, selector):
            _unknown()
        known.remove(selector)


def _row(client: Client) -> dict[str, Any]:
    return {
        "selector": client.selector,
        "name": client.name,
        "scopes": sorted(client.scopes),
        "kind": "program" if client.program else "person",
        "owner": client.owner,
        "until": to_the_second(client.until * 1_000_000) if client.until else "",
    }


def _line(row: dict[str, Any]) -> str:
    whose = "owned by nobody" if not row["owner"] else "" if row["owner"] == row["name"] else f"owned by {row['owner']}"
    held = "a program's" if row["kind"] == "program" else ""
    until = f"until {row['until']}" if row["until"] else ""
    parts = (row["selector"], row["name"], ", ".join(row["scopes"]), held, whose, until)
    return printable("  ".join(part for part in parts if part), 500)


def _is_known(known: ApiTokens, selector: str) -> bool:
    return selector in {client.selector for client in known.clients()}


def _unknown() -> None:
    typer.echo("error: there is no such token (see: checkvalve token list)", err=True)
    raise typer.Exit(_REFUSED)


__all__ = ["add_tokens"]
