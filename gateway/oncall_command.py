"""``checkvalve oncall``: who is on call now, as a step of escalation would be told; and whether they could decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

import typer

from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.ladder_words import reason
from checkvalve.approvals.oncall import OnDuty
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.terminal import opened
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.errors import OnCallError
from checkvalve.gateway.oncall_view import Duty, duties
from checkvalve.gateway.settings import LoadedSettings

_REFUSED: Final = 1


def oncall_app(loaded: Callable[[], LoadedSettings]) -> typer.Typer:
    """Return the commands; ``loaded`` reads the settings."""
    app = typer.Typer(help="Who is on call, where review rules ask for it.", no_args_is_help=True)

    @app.command("now")
    def now(
        name: Annotated[str, typer.Argument(help="One schedule, service or program; default: all.")] = "",
        *,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Ask who is on call now, as a step of escalation does, and say who of them could say yes to anything."""
        found = loaded().settings
        with opened(lambda: open_queue(found, create=False)) as queue:
            listed = _asked(queue, name)
        if as_json:
            typer.echo(json.dumps([one.to_json() for one in listed], indent=2))
        for one in [] if as_json else listed:
            _print(one)
        if any(one.duty.failed for one in listed):
            raise typer.Exit(_REFUSED)

    return app


def _asked(queue: Queue, name: str) -> list[Duty]:
    queue.oncall.load()
    known = sorted(queue.oncall.names())
    if not known:
        raise OnCallError("there is no on-call schedule", "name a file of them: oncall = ...; see docs/escalation.md")
    if name and name not in known:
        raise OnCallError(f"there is no {name!r}", f"known are {', '.join(known)}")
    return duties(queue, [name] if name else known)


def _print(one: Duty) -> None:
    typer.echo(neutralise(f"{one.name}  {_said(one.duty)}"))
    for person, code in one.cannot.items():
        typer.echo(neutralise(f"    CANNOT APPROVE  {person}: {reason(code)}"))


def _said(duty: OnDuty) -> str:
    if duty.failed:
        return f"not known: {reason(duty.failed)}"
    until = "" if duty.until is None else f", until {to_the_second(duty.until)}"
    return ", ".join(duty.people) + until


__all__ = ["oncall_app"]
