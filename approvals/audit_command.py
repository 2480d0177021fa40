"""``checkvalve audit``: read the log, keep its head elsewhere, and verify it.

Exit codes of ``verify``: 0 everything agrees; 1 it was tampered with; 2 it cannot be told (no database, no head file).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import sqlalchemy as sa
import typer
from rich.text import Text

from checkvalve.approvals import audit
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.lists import events_table
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events as events_of
from checkvalve.approvals.terminal import REFUSED, AsJson, console, stop
from checkvalve.approvals.verify import VerifyReport, format_head, parse_head, verify

TAMPERED: Final = 1
CANNOT_TELL: Final = 2
_SHOWN: Final = 50


@contextmanager
def _opened(open_store: Callable[[], Store]) -> Iterator[Store]:
    try:
        with open_store() as store:
            yield store
    except ApprovalError as error:
        stop(f"error: {error}", CANNOT_TELL)


def audit_app(open_store: Callable[[], Store]) -> typer.Typer:
    """Return the commands over the store that ``open_store`` opens; they close it again."""
    app = typer.Typer(help="Read and verify the log of decisions and effects.", no_args_is_help=True)

    @app.command("verify")
    def verify_(
        *,
        head: Annotated[Path | None, typer.Option(help="A file with a head that `audit head` printed earlier.")] = None,
        as_json: AsJson = False,
    ) -> None:
        """Check the chain of events, the tables against it, and both against a saved head."""
        saved = None
        if head is not None:
            try:
                saved = parse_head(head.read_text(encoding="utf-8"))
            except OSError as error:
                stop(f"cannot tell: the file {head} cannot be read ({error.strerror})", CANNOT_TELL)
            except ValueError as error:
                stop(f"cannot tell: {head} holds no head that `audit head` printed ({error})", CANNOT_TELL)
        with _opened(open_store) as store:
            report = verify(store, saved=saved)
        if as_json:
            typer.echo(json.dumps(report.to_json(), indent=2))
        else:
            _explain(report, saved=saved is not None)
        raise typer.Exit(0 if report.ok else TAMPERED)

    @app.command("head")
    def head_() -> None:
        """Print the head of the log: keep it where the gateway's user cannot write."""
        with _opened(open_store) as store:
            typer.echo(format_head(audit.head(store)))

    @app.command()
    def show(
        *,
        subject: Annotated[str, typer.Option(help="Only events of this proposal: its id or the start of it.")] = "",
        after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
        limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = _SHOWN,
        as_json: AsJson = False,
    ) -> None:
        """Print events in order, one line each; --json has everything that was recorded."""
        with _opened(open_store) as store, store.read() as connection:
            whole = _whole(connection, subject) if subject else ""
            events = list(audit.read_events(connection, subject=whole, after=after, limit=limit + 1))
        shown = events[:limit]
        if as_json:
            typer.echo(json.dumps([event.to_json() for event in shown], indent=2))
        else:
            console().print(events_table(shown))
        if len(events) > limit:
            console(stderr=True).print(f"more events follow; --after {shown[-1].seq} shows them")

    return app


def _whole(connection: sa.Connection, prefix: str) -> str:
    """Return the one subject that starts like this."""
    column = events_of.c.subject
    query = sa.select(column).where(column.startswith(prefix.strip().casefold(), autoescape=True)).distinct().limit(2)
    found = connection.execute(query).scalars().all()
    if not found:
        stop(f"error: no event is about {prefix}", REFUSED)
    if len(found) > 1:
        stop(f"error: several proposals start with {prefix}; give more of the id", REFUSED)
    return str(found[0])


def _explain(report: VerifyReport, *, saved: bool) -> None:
    out = console()
    for finding in report.findings:
        out.print(Text(neutralise(f"{finding.code}: {finding.text}")))
    if report.more:
        out.print(f"and {report.more} more findings")
    if not report.ok:
        out.print("TAMPERED: the log or the tables are not what was written")
        return
    out.print(f"ok: {report.events} events agree with each other and with the tables")
    typer.echo(format_head(report.head))
    if not saved:
        out.print("a cut at the end is found only against a saved head: `audit head`, `audit verify --head FILE`")
