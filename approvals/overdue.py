"""Closing what nobody answered or ran in time, over a whole store; one damaged row holds up no other one.

Guarantees: each row that can be read is closed with its event; one that cannot is left as it is and named, and
stays shut: nothing can decide or run a call that cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from checkvalve.approvals import moves
from checkvalve.approvals.clock import Clock
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals

_row = proposals.c


@dataclass(frozen=True, slots=True)
class Closed:
    """How many were closed, and the ids of those that cannot be read."""

    count: int = 0
    damaged: tuple[str, ...] = ()


def close_overdue(store: Store, clock: Clock) -> Closed:
    """Close everything whose time is over, in one transaction; none is opened where nothing is due."""
    now = clock()
    late = sa.or_(
        sa.and_(_row.state == State.PENDING.value, _row.decide_by <= now),
        sa.and_(_row.state == State.APPROVED.value, _row.execute_by <= now),
    )
    with store.read() as connection:
        waiting = [readable(row) or str(row["id"]) for row in connection.execute(_rows(late)).mappings()]
    if all(isinstance(found, str) for found in waiting):  # a damaged row must not take the write lock at every look
        return Closed(damaged=tuple(str(name) for name in waiting))
    count, damaged = 0, []
    with store.write() as connection:
        for row in connection.execute(_rows(late)).mappings().all():
            proposal = readable(row)
            if proposal is None:
                damaged.append(str(row["id"]))
            else:
                moves.close_overdue(connection, proposal, now)
                count += 1
    return Closed(count, tuple(damaged))


def readable(row: sa.RowMapping) -> Proposal | None:
    """Return the call in a row, None where the row holds what this program never writes."""
    try:
        return from_row(row)
    except StoreCorruptError:
        return None


def _rows(which: sa.ColumnElement[bool]) -> sa.Select[tuple[object, ...]]:
    return sa.select(proposals).where(which).order_by(_row.created_at, _row.id)


__all__ = ["Closed", "close_overdue", "readable"]
