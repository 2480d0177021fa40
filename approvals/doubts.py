"""What is in doubt since its log was closed: its rows are kept as they are, and nothing relies on them.

Guarantees: an event of the log that follows has a digest of the rows, so a later edit is found; whatever would rely on
such a call is refused, but for a person who settles how an unknown one ended, and for erasing.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.erased_rows import rows_digest
from checkvalve.approvals.tables import events
from checkvalve.filters.strictjson import JSON

DOUBTED: Final = "log.doubted"
"""The kind of the event that says so of its subject; what earlier events say of it does not count any more."""


def doubt(connection: sa.Connection, subject: str, *, at: int, body: dict[str, JSON], rows: bool = True) -> None:
    """Say in the caller's transaction that a subject is in doubt; ``rows``: it has some, which stay as they are."""
    told: dict[str, JSON] = {"rows_digest": rows_digest(connection, subject)} if rows else {}
    audit.append(connection, at=at, kind=DOUBTED, subject=subject, body={**body, **told})


def is_doubted(connection: sa.Connection, subject: str) -> bool:
    """Say whether a subject is in doubt."""
    query = sa.select(sa.exists().where(events.c.subject == subject, events.c.kind == DOUBTED))
    return bool(connection.execute(query).scalar())


def renew(connection: sa.Connection, subject: str, *, at: int) -> None:
    """Note how the rows of a subject are now, if it is in doubt: a person has settled it, or its end came late."""
    if is_doubted(connection, subject):
        doubt(connection, subject, at=at, body={"code": "moved"})


__all__ = ["DOUBTED", "doubt", "is_doubted", "renew"]
