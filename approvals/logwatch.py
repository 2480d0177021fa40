"""Looking at the signed log again, a piece at a time, without a key: what was changed in it long ago is found soon.

Each step, which a gateway does every second, is a few short statements:

1. Count the numbers of the next :data:`COUNTED` events: a hole that no event tells of is an event that was removed.
2. Read one tile of :data:`~checkvalve.approvals.tiles.WIDTH` signed events: each is whole, its leaf is the one that is
   kept, what is not there any more was removed by retention, and what is empty was erased by somebody who said so.
3. A full tile has the hash that the level above keeps of it; from there up, sealing compares the root that was signed.

When the end is reached, it begins again. So every signed event is counted again within as many seconds as the log has
times :data:`COUNTED` events, and read again within as many as it has tiles.

Guarantees: reads only, in one snapshot; it judges the log that is signed now. Rows are compared with their events where
something relies on them (:mod:`tablecheck`), all of them only by verifying.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event
from checkvalve.approvals.closedlogs import base_query
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.gaps import count_between, untold_gap
from checkvalve.approvals.judge import Gone
from checkvalve.approvals.lastsigned import whole
from checkvalve.approvals.merkle import fold, leaf_hash
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, checkpoints, events
from checkvalve.approvals.tiles import WIDTH, Tiles

COUNTED: Final = 20_000
"""Numbers that one step counts; some milliseconds, of an index."""
_REMEDY: Final = "nothing more is signed or run; verify the audit log: checkvalve audit verify"
_UP: Final = 8  # levels of the tree in one tile
_WHERE: Final = sa.select(
    base_query().scalar_subquery().label("base"),
    sa.select(audit_head.c.seq).scalar_subquery().label("last"),
    sa.select(sa.func.max(checkpoints.c.size)).scalar_subquery().label("signed"),
)


class LogWatch:
    """Looks at the log of one store, step by step. One process may have several; none knows of the others."""

    def __init__(self, store: Store) -> None:
        """Begin with the first event."""
        self._store = store
        self._counted = 0  # events of this log that were counted in this round
        self._tile = 0

    def step(self) -> None:
        """Look at the next piece.

        Raises:
            LogTamperedError: it is not what was written.
        """
        with self._store.read() as connection:
            where = connection.execute(_WHERE).one()
            base = whole(where.base, "where the log begins")
            last = whole(where.last or 0, "the end of the log")
            signed = whole(where.signed or 0, "the size beside the newest checkpoint")
            self._count(connection, base, last)
            self._read(connection, base, min(signed, last - base))

    def _count(self, connection: sa.Connection, base: int, last: int) -> None:
        """Do step 1."""
        if base + self._counted >= last:
            self._counted = 0
        first = base + self._counted + 1
        end = min(first + COUNTED - 1, last)
        if first > end:
            return
        if count_between(connection, first, end) != end - first + 1:
            _require_told(connection, first, end)
        self._counted = end - base

    def _read(self, connection: sa.Connection, base: int, signed: int) -> None:
        """Do steps 2 and 3."""
        if self._tile * WIDTH >= signed:
            self._tile = 0
        first = self._tile * WIDTH
        count = min(WIDTH, signed - first)
        if count <= 0:
            return
        tiles = Tiles(connection)
        leaves = [tiles.leaf(first + number) for number in range(count)]
        _compare(connection, leaves, base + first + 1)
        if count == WIDTH and fold(leaves) != tiles.subtree(_UP, self._tile):
            raise LogTamperedError("the tree in the database is not the one that was signed", remedy=_REMEDY)
        self._tile += 1


def _compare(connection: sa.Connection, leaves: Sequence[bytes], first: int) -> None:
    """Do step 2 for the events whose leaves these are; the first has the number ``first``."""
    last = first + len(leaves) - 1
    query = sa.select(events).where(events.c.seq >= first, events.c.seq <= last).order_by(events.c.seq)
    found = [Event(**row) for row in connection.execute(query).mappings()]
    for event in found:
        if not event.is_whole or leaves[event.seq - first] != leaf_hash(event.form):
            raise _changed(event.seq)
    if len(found) != len(leaves):
        _require_told(connection, first, last)
    for event in found:
        if event.is_erased and not _told_of(connection, event.subject).is_erased(event.seq):
            raise _changed(event.seq)


def _require_told(connection: sa.Connection, first: int, last: int) -> None:
    gap = untold_gap(connection, first, last)
    if gap is not None:
        raise LogTamperedError(f"the events {gap[0]} to {gap[1]} were removed from the log", remedy=_REMEDY)


def _told_of(connection: sa.Connection, subject: str) -> Gone:
    """Return what the events of a subject say of those among them that were erased."""
    query = sa.select(events).where(events.c.subject == subject, events.c.kind == ERASED)
    return Gone(Event(**row) for row in connection.execute(query).mappings())


def _changed(seq: int) -> LogTamperedError:
    return LogTamperedError(f"event {seq} is not what was written", remedy=_REMEDY)


__all__ = ["COUNTED", "LogWatch"]
