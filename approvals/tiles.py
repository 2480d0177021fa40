"""The hashes of the tree, kept in the database as tiles of 256 (C2SP ``tlog-tiles``): all that proofs are made of.

Tile ``(0, n)`` has the hashes of the leaves ``256 n`` onwards, tile ``(1, n)`` those of full tiles of level 0, and so
on. The last tile of each level may be partial. Tiles are a cache of what the events say: verifying computes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.closed_tables import closed_tiles
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.merkle import SIZE, fold, tree_hash
from checkvalve.approvals.tables import tiles

WIDTH: Final = 256
_BITS: Final = 8


class Tiles:
    """The tiles that one connection sees, read when they are needed; :meth:`save` writes those that changed."""

    def __init__(self, connection: sa.Connection, closed: int = 0) -> None:
        """Read through ``connection``, which stays the caller's; ``closed`` is the number of a log that was closed."""
        self._connection = connection
        self._closed = closed
        self._known: dict[tuple[int, int], bytes] = {}
        self._changed: set[tuple[int, int]] = set()

    def leaf(self, index: int) -> bytes:
        """Return the hash of a leaf.

        Raises:
            LogTamperedError: it is not there.
        """
        return self.subtree(0, index)

    def subtree(self, level: int, position: int) -> bytes:
        """Return the hash of a complete subtree; see :mod:`merkle`.

        Raises:
            LogTamperedError: a tile is missing or too short.
        """
        high, low = divmod(level, _BITS)
        first, count = position << low, 1 << low
        tile, offset = divmod(first, WIDTH)
        hashes = self._tile(high, tile)[offset * SIZE : (offset + count) * SIZE]
        if len(hashes) != count * SIZE:
            raise LogTamperedError(
                "hashes of the log's tree are missing", remedy="verify the audit log: checkvalve audit verify"
            )
        return fold([hashes[at : at + SIZE] for at in range(0, len(hashes), SIZE)])

    def root(self, size: int) -> bytes:
        """Return the root over the first ``size`` leaves."""
        return tree_hash(0, size, self.subtree)

    def extend(self, size: int, leaves: Iterable[bytes]) -> int:
        """Add leaves to a tree of ``size`` leaves and return its new size; nothing is written yet.

        1. What a tile holds beyond ``size`` belongs to no checkpoint and is replaced.
        2. A tile that becomes full is one hash of the level above.
        """
        for leaf in leaves:
            self._put(0, size, leaf)
            size += 1
        return size

    def _put(self, level: int, at: int, hashed: bytes) -> None:
        tile, offset = divmod(at, WIDTH)
        kept = self._tile(level, tile)[: offset * SIZE]  # 1.
        if len(kept) != offset * SIZE:
            raise LogTamperedError(
                "hashes of the log's tree are missing", remedy="verify the audit log: checkvalve audit verify"
            )
        whole = kept + hashed
        self._known[level, tile] = whole
        self._changed.add((level, tile))
        if offset == WIDTH - 1:  # 2.
            self._put(level + 1, tile, fold([whole[n : n + SIZE] for n in range(0, len(whole), SIZE)]))

    def save(self, connection: sa.Connection) -> None:
        """Write what :meth:`extend` changed, in the caller's transaction; those of a closed log are written once."""
        for level, position in sorted(self._changed):
            hashes = self._known[level, position]
            if self._closed:
                row = {"log": self._closed, "level": level, "position": position, "hashes": hashes}
                connection.execute(sa.insert(closed_tiles).values(row))
                continue
            where = (tiles.c.level == level, tiles.c.position == position)
            if connection.execute(sa.update(tiles).where(*where).values(hashes=hashes)).rowcount == 0:
                connection.execute(sa.insert(tiles).values(level=level, position=position, hashes=hashes))

    def _tile(self, level: int, position: int) -> bytes:
        key = (level, position)
        if key not in self._known:
            table = closed_tiles if self._closed else tiles
            query = sa.select(table.c.hashes).where(table.c.level == level, table.c.position == position)
            if self._closed:
                query = query.where(closed_tiles.c.log == self._closed)
            found = self._connection.execute(query).scalar()
            self._known[key] = bytes(found) if isinstance(found, bytes | memoryview) else b""
        return self._known[key]
