"""Closing what nobody answered or ran in time, over a whole store; one damaged row holds up no other one.

Guarantees: each row that can be read is closed with its event; one that cannot is left as it is and named, and
stays shut: nothing can decide or run a call that cannot be read. However many there are, no transaction closes more
than :data:`BATCH`, so whoever wants to write waits for a moment and not for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import moves
from checkvalve.approvals.clock import Clock
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals

BATCH: Final = 100
"""Calls that one transaction closes."""
_row = proposals.c


@dataclass(frozen=True, slots=True)
class Closed:
    """How many were closed, and the ids of those that cannot be read."""

    count: int = 0
    damaged: tuple[str, ...] = ()


def close_overdue(store: Store, clock: Clock) -> Closed:
    """Close everything whose time is over, some at a time, each some in a transaction of their own.

    No transaction is opened where nothing that can be read is due; others may write between two of them.
    """
    now, count, damaged = clock(), 0, list[str]()
    behind: sa.ColumnElement[bool] = sa.true()
    while True:
        with store.read() as connection:
            page = connection.execute(_late(now).where(behind).limit(BATCH)).mappings().all()
        good = [str(row["id"]) for row in page if readable(row) is not None]
        damaged += [str(row["id"]) for row in page if readable(row) is None]
        if good:  # a damaged row must not take the write lock at every look
            with store.write() as connection:
                for row in connection.execute(_late(now).where(_row.id.in_(good))).mappings().all():
                    proposal = readable(row)
                    if proposal is None:  # since then
                        damaged.append(str(row["id"]))
                    else:
                        moves.close_overdue(connection, proposal, now)
                        count += 1
        if len(page) < BATCH:
            return Closed(count, tuple(damaged))
        at, last = page[-1]["created_at"], page[-1]["id"]
        behind = sa.or_(_row.created_at > at, sa.and_(_row.created_at == at, _row.id > last))


def readable(row: sa.RowMapping) -> Proposal | None:
    """Return the call in a row, None where the row holds what this program never writes."""
    try:
        return from_row(row)
    except StoreCorruptError:
        return None


def _late(now: int) -> sa.Select[tuple[object, ...]]:
    """Return the query for what is over, oldest first."""
    late = sa.or_(
        sa.and_(_row.state == State.PENDING.value, _row.decide_by <= now),
        sa.and_(_row.state == State.APPROVED.value, _row.execute_by <= now),
    )
    return sa.select(proposals).where(late).order_by(_row.created_at, _row.id)


__all__ = ["BATCH", "Closed", "close_overdue", "readable"]
