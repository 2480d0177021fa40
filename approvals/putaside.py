"""What is put aside when a log is closed in doubt: rows and events that nothing relies on any more, kept as evidence.

Guarantees: nothing is lost by it, but what erasing takes; the first event of the log that follows has the number of
rows and a digest over them, so a later change of the evidence is found, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED
from checkvalve.approvals.canonical import digest, digest_bytes
from checkvalve.approvals.closed_tables import put_aside
from checkvalve.approvals.tables import events

_row = put_aside.c
_MAX_SOURCE: Final = 24


def aside(
    connection: sa.Connection, log: int, source: str, subject: str, row: Mapping[str, Any] | sa.RowMapping
) -> None:
    """Keep one row of the table ``source``; an edited one may hold anything."""
    body = json.dumps({name: _plain(value) for name, value in dict(row).items()}, sort_keys=True)
    values = {"log": log, "source": source[:_MAX_SOURCE], "subject": subject, "body": body}
    connection.execute(sa.insert(put_aside).values(digest=digest_bytes(body.encode()), **values))


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"hex": value.hex()} if isinstance(value, bytes) else {"other": repr(value)}


def told_of(connection: sa.Connection, log: int) -> tuple[int, str]:
    """Return how much was put aside of one log, and the digest over it."""
    found = connection.execute(sa.select(_row.digest).where(_row.log == log).order_by(_row.id)).scalars().all()
    return len(found), digest([*found])


def erase_aside(connection: sa.Connection, subject: str) -> int:
    """Empty what was put aside of one subject; returns how many rows that were."""
    mine = sa.and_(_row.subject == subject, _row.body != "")
    return connection.execute(sa.update(put_aside).where(mine).values(body="")).rowcount


def changed_aside(connection: sa.Connection, log: int, told: tuple[int, str]) -> Iterator[str]:
    """Yield a sentence for what was put aside of one log and is not what it was."""
    if told_of(connection, log) != told:
        yield "what was put aside when it was closed is not what it was"
    erased = sa.select(events.c.subject).where(events.c.kind == ERASED)
    for row in connection.execute(sa.select(put_aside).where(_row.log == log).order_by(_row.id)).mappings():
        if row["body"] and digest_bytes(row["body"].encode()) != row["digest"]:
            yield f"row {row['id']} of what was put aside was changed"
    emptied = sa.select(_row.id).where(_row.log == log, _row.body == "", _row.subject.not_in(erased))
    for name in connection.execute(emptied).scalars().all():
        yield f"row {name} of what was put aside is empty, and no event says why"


__all__ = ["aside", "changed_aside", "erase_aside", "told_of"]
