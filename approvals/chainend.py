"""The end of the event chain inside one write transaction: read once, moved on by each event, stored once.

Guarantees: whoever appends holds the write lock (in SQLite that of the transaction, on a server that of the head row),
so what was read stays so until the commit; the new end is stored in the same transaction as the events, and only where
the old one still is what was read, or the transaction fails.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.tables import audit_head

HEAD_ROW: Final = 1
"""The one row of the chain's head."""
OPTION: Final = "checkvalve_end"
"""The execution option of a write transaction that holds its end of the chain."""

_READ: Final = sa.select(audit_head.c.seq, audit_head.c.hash).where(audit_head.c.id == HEAD_ROW).with_for_update()
_STORE: Final = sa.update(audit_head).where(
    audit_head.c.id == HEAD_ROW,
    audit_head.c.seq == sa.bindparam("old_seq"),
    audit_head.c.hash == sa.bindparam("old_hash"),
)


class ChainEnd:
    """Where the next event of a transaction is appended."""

    __slots__ = ("_hash", "_old", "_seq")

    def __init__(self) -> None:
        """Read nothing yet: most transactions of a gateway do not append."""
        self._old: tuple[int, str] | None = None
        self._seq, self._hash = 0, ""

    def place(self, connection: sa.Connection) -> tuple[int, str]:
        """Return the number of the next event, and the hash that it follows.

        Raises:
            StoreCorruptError: the head is gone, or is none.
        """
        if self._old is None:
            row = connection.execute(_READ).one_or_none()
            if row is None or not isinstance(row.seq, int) or not isinstance(row.hash, str):
                raise _lost()
            self._seq, self._hash = self._old = (row.seq, row.hash)
        return self._seq + 1, self._hash

    def move(self, seq: int, new: str) -> None:
        """Note that event ``seq`` with the hash ``new`` was written."""
        self._seq, self._hash = seq, new

    def store(self, connection: sa.Connection) -> None:
        """Write the new end, where something was appended since it was read or stored.

        Raises:
            StoreCorruptError: the head is not what was read: something else wrote it.
        """
        if self._old is None or self._old == (self._seq, self._hash):
            return
        old = {"old_seq": self._old[0], "old_hash": self._old[1]}
        if connection.execute(_STORE, {"seq": self._seq, "hash": self._hash, **old}).rowcount != 1:
            raise _lost()
        self._old = (self._seq, self._hash)


def end_of(connection: sa.Connection) -> ChainEnd | None:
    """Return the end of the chain that a transaction of the store holds; None outside of one."""
    found = connection.get_execution_options().get(OPTION)
    return found if isinstance(found, ChainEnd) else None


def _lost() -> StoreCorruptError:
    return StoreCorruptError("the audit chain has lost its head", remedy="restore a backup; nothing was changed")
