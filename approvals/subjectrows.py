"""What the tables hold of one subject, read at once: before a yes, before an effect, before a result is handed out.

Most tables hold at most one row of a call, and many hold none. The first are joined; of the others is asked whether
they hold any, and only then are they read. So what used to be fifteen statements is one, two for a question with votes.

Guarantees: the rows are those of one statement's snapshot, whole and as they are stored; nothing is left out, whatever
was written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals.columns import Name
from checkvalve.approvals.review_tables import (
    afterlooks,
    delegations,
    plans,
    remarks,
    snoozes,
    standing_rules,
    undos,
    votes,
)
from checkvalve.approvals.tables import attempts, endorsements, grants, mandates, proposals, uses

Row: TypeAlias = Mapping[str, Any] | sa.RowMapping
Rows: TypeAlias = Callable[[sa.Connection, sa.Column[Any], str], Iterable[Row]]
"""Gives the rows of the column's table: those where the column is the text, or all where that is empty."""

_JOINED: Final = (proposals.c.id, grants.c.proposal_id, attempts.c.proposal_id, plans.c.proposal_id)
"""Primary keys: of these tables there is one row at most."""
_RARE: Final = (
    votes.c.proposal_id,
    endorsements.c.proposal_id,
    remarks.c.proposal_id,
    snoozes.c.proposal_id,
    afterlooks.c.proposal_id,
    undos.c.proposal_id,
    uses.c.proposal_id,
    mandates.c.id,
    standing_rules.c.id,
    delegations.c.id,
)


def _at_once() -> sa.Select[Any]:
    asked = sa.select(sa.bindparam("only", type_=Name(36)).label("subject")).subquery("asked")
    source: sa.FromClause = asked
    for column in _JOINED:
        source = source.outerjoin(column.table, column == asked.c.subject)
    flags = [sa.exists(sa.select(1).where(column == asked.c.subject)).label(str(column)) for column in _RARE]
    return sa.select(*(item for column in _JOINED for item in column.table.c), *flags).select_from(source)


_AT_ONCE: Final = _at_once()


@lru_cache  # making the statement costs more than running it
def _chosen(column: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(column.table).where(column == sa.bindparam("only"))


@lru_cache
def _every(column: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(column.table)


def stored(connection: sa.Connection, column: sa.Column[Any], only: str) -> Iterable[Row]:
    """Read rows; see :data:`Rows`."""
    if only:
        return connection.execute(_chosen(column), {"only": only}).mappings()
    return connection.execute(_every(column)).mappings()


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of ``subject``; calling it is as :func:`stored`, without reading again what was read."""

    subject: str
    rows: Mapping[str, Sequence[Row]]

    def __call__(self, connection: sa.Connection, column: sa.Column[Any], only: str) -> Iterable[Row]:
        """Give the rows of a table."""
        known = self.rows.get(str(column)) if only == self.subject else None
        return stored(connection, column, only) if known is None else known

    def keeping(self, connection: sa.Connection, column: sa.Column[Any]) -> Held:
        """Return the same with the rows of one more table, read now unless it is known that there are none."""
        if str(column) in self.rows:
            return self
        found = tuple(stored(connection, column, self.subject))
        return Held(self.subject, {**self.rows, str(column): found})

    def one(self, column: sa.Column[Any]) -> Row | None:
        """Return the row of a table that was joined; None where there is none."""
        return next(iter(self.rows[str(column)]), None)

    def is_empty(self, column: sa.Column[Any]) -> bool:
        """Say whether a table that was read, or asked for, has no row of the subject."""
        return self.rows.get(str(column)) == ()


def read(connection: sa.Connection, subject: str) -> Held:
    """Read everything of one subject."""
    found = tuple(connection.execute(_AT_ONCE, {"only": subject}).one())
    rows: dict[str, Sequence[Row]] = {}
    start = 0
    for column, names, key in _PARTS:
        values = found[start : start + len(names)]
        start += len(names)
        rows[key] = () if values[column] is None else (dict(zip(names, values, strict=True)),)
    for key, there in zip(_FLAGS, found[start:], strict=True):
        if not there:
            rows[key] = ()
    return Held(subject, rows)


_PARTS: Final = tuple(
    ([*column.table.c].index(column), tuple(item.name for item in column.table.c), str(column)) for column in _JOINED
)
_FLAGS: Final = tuple(map(str, _RARE))

__all__ = ["Held", "Row", "Rows", "read", "stored"]
