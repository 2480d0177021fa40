"""Numbers of events that are missing, and whether an event says why: an event that was removed leaves a hole.

Events are numbered without a gap, so whoever removes one, together with the row that it speaks of, leaves a number out.
Only retention may do that, and says so in an event (``log.pruned``), which is signed like any other.

Guarantees: a hole that no whole event tells of is found, whatever the tables say. A hole cannot be closed again without
computing every later event anew, which the signed tree shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from checkvalve.approvals.audit import Event
from checkvalve.approvals.judge import PRUNED, Gone
from checkvalve.approvals.tables import events

_told: WeakKeyDictionary[sa.Engine, Gone] = WeakKeyDictionary()  # what was said of each database when last asked
_OF_PRUNING: Final = sa.select(events).where(events.c.subject == "", events.c.kind == PRUNED).order_by(events.c.seq)


def count_between(connection: sa.Connection, first: int, last: int) -> int:
    """Return how many events have the numbers ``first`` to ``last``; read from an index."""
    query = sa.select(sa.func.count()).select_from(events).where(events.c.seq >= first, events.c.seq <= last)
    return int(connection.execute(query).scalar_one())


def untold_gap(connection: sa.Connection, first: int, last: int) -> tuple[int, int] | None:
    """Return the first range of missing numbers from ``first`` to ``last`` that no event tells of; None if all do."""
    gone = _told.get(connection.engine)
    for gap in _missing(connection, first, last):
        if gone is not None and gone.is_removed(*gap):
            continue
        gone = Gone(Event(**row) for row in connection.execute(_OF_PRUNING).mappings())
        _told[connection.engine] = gone
        if not gone.is_removed(*gap):
            return gap
    return None


def _missing(connection: sa.Connection, first: int, last: int) -> Iterator[tuple[int, int]]:
    query = sa.select(events.c.seq).where(events.c.seq >= first, events.c.seq <= last).order_by(events.c.seq)
    expected = first
    for seq in [*connection.execute(query).scalars(), last + 1]:
        if seq > expected:
            yield expected, seq - 1
        expected = seq + 1


__all__ = ["count_between", "untold_gap"]
