"""``checkvalve approvals reviewer``: who may decide."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from rich.text import Text

from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.invite_command import add_invite
from checkvalve.approvals.kinds import owner_named
from checkvalve.approvals.kinds_command import Owner, add_kinds
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Account, Role, Scope
from checkvalve.approvals.terminal import NOBODY, AsJson, Token, TokenFile, console, opened, prove

Roles = Annotated[list[Role] | None, typer.Option(help="What they may do; may be given several times.")]
Tools = Annotated[list[str] | None, typer.Option(help="Only calls of this tool (or server/tool); several times.")]
Tenants = Annotated[list[str] | None, typer.Option(help="Only calls of this tenant; several times.")]
Tiers = Annotated[list[Tier] | None, typer.Option(help="Only calls of this tier; several times.")]
MaxAmount = Annotated[str, typer.Option(help="A yes only up to this amount, in the tool's own unit.")]


def scope_of(
    tools: Sequence[str] | None, tenants: Sequence[str] | None, tiers: Sequence[Tier] | None, max_amount: str
) -> Scope:
    """Return the scope that somebody typed.

    Raises:
        QueueError: the amount is none.
    """
    body = {"tools": tools or (), "tenants": tenants or (), "tiers": tiers or (), "max_amount": max_amount or None}
    return Scope.from_json(body)


def _owner(owner: str, *, program: bool) -> str | None:
    """Return the owner of a program that somebody typed, None of a person.

    Raises:
        QueueError: a person was given an owner.
    """
    if owner and not program:
        raise QueueError("a person owns their own account", remedy="an owner is that of a program: --program")
    return owner_named(owner) if program else None


def _rights(found: Account) -> str:
    """Return one line: whose account it is, roles and scope."""
    roles = ", ".join(role.value for role in Role if role in found.roles) or "nothing"
    scope = f" ({found.scope.in_words()})" if found.scope.in_words() else ""
    whose = f", an account of {found.person}" if found.person != found.name else ""
    if found.program:
        whose += f", a program of {found.owner}" if found.owner else ", a program that nobody owns"
    return f"{found.name}: {roles}{scope}{whose}"


def reviewer_app(
    open_queue: Callable[[], Queue], make_queue: Callable[[], Queue], pages: Callable[[], str] = str
) -> typer.Typer:
    """Return the commands over the reviewers of the queue that ``open_queue`` opens; ``make_queue`` creates it too.

    ``pages`` gives the address of the review pages.
    """
    app = typer.Typer(help="Who may decide.", no_args_is_help=True)
    add_invite(app, open_queue, pages)
    add_kinds(app, open_queue, _rights)

    @app.command()
    def add(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The person's name or address.")],
        *,
        role: Roles = None,
        person: Annotated[
            str, typer.Option(help="Whose further account this is: one person has one voice, whatever the accounts.")
        ] = "",
        program: Annotated[
            bool, typer.Option("--program", help="A program holds the token: it looks at calls, and decides nothing.")
        ] = False,
        owner: Owner = "",
        tool: Tools = None,
        tenant: Tenants = None,
        tier: Tiers = None,
        max_amount: MaxAmount = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Add a reviewer and print the token, once. From the second reviewer on, an administrator's token is needed.

        Without --role they may do everything but break the glass.
        """
        with opened(make_queue) as queue:
            scope = scope_of(tool, tenant, tier, max_amount)
            roles = frozenset(role) if role else None
            if roles is None and scope != Scope():
                raise QueueError("a scope is that of roles", remedy="say which: --role approver")
            whose = _owner(owner, program=program)
            by = prove(context, queue, token, token_file) if queue.reviewers.list() else None
            new = queue.reviewers.add(name, by=by, roles=roles, scope=scope, person=person, owner=whose)
            console(stderr=True).print("This token is shown once. Keep it where no agent can read it:")
            typer.echo(new)

    @app.command()
    def roles(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="The reviewer.")],
        *,
        role: Roles = None,
        tool: Tools = None,
        tenant: Tenants = None,
        tier: Tiers = None,
        max_amount: MaxAmount = "",
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Say what a reviewer may do from now on, in place of what they could; without --role, show it."""
        with opened(open_queue) as queue:
            if role:
                by = prove(context, queue, token, token_file)
                found = queue.reviewers.set_roles(name, role, by=by, scope=scope_of(tool, tenant, tier, max_amount))
            else:
                found = queue.reviewers.account(name)
            console().print(Text(neutralise(_rights(found))))

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
            known = {one.name: one for one in queue.reviewers.accounts()}
        rows = [
            {
                "name": entry.name,
                "added_by": entry.added_by,
                "added_at": rfc3339(entry.added_at),
                "disabled": entry.disabled_at is not None,
                "person": known[entry.name].person,
                "kind": "program" if known[entry.name].program else "person",
                "owner": known[entry.name].owner,
                "roles": sorted(known[entry.name].roles),
                "scope": known[entry.name].scope.to_json(),
            }
            for entry in entries
        ]
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif not rows:
            console().print(Text(neutralise(f"{NOBODY} (in {where})")), soft_wrap=True)
        for row in [] if as_json else rows:
            rights = "disabled" if row["disabled"] else _rights(known[str(row["name"])]).partition(": ")[2]
            console().print(Text(neutralise(f"{row['name']}  since {row['added_at']}  {rights}")), soft_wrap=True)

    return app
