"""What of a log can still be relied on: the largest checkpoint that its events or its tiles still lead to.

1. Every checkpoint that is known, of the database and of what was kept outside, counts if it is signed by keys that may
   sign one of its size.
2. The log is walked twice: over the events as they are stored, and over the kept hashes of the leaves. In each walk the
   checkpoints are compared by size; the first one that does not fit ends it.
3. The last good checkpoint is the largest that one of the walks has reached, below the event that somebody named.
4. Good is an event up to there whose leaf is the one of that walk, and whose body is there or was erased by an event
   that is good. Anything else that is stored is in doubt.

Guarantees: it only reads. A checkpoint with a bad signature takes nothing away, and one that is signed and contradicts
ends what is good: so what somebody signed with a stolen key cannot make more of a log good than an anchor leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event
from checkvalve.approvals.checkpoints import Opened
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import PRUNED, Gone, Outside
from checkvalve.approvals.lastsigned import opened
from checkvalve.approvals.logkeys import Follows
from checkvalve.approvals.merkle import EMPTY, Frontier
from checkvalve.approvals.tables import audit_head, events
from checkvalve.approvals.tiles import Tiles
from checkvalve.approvals.walk import leaf_of

_STREAM: Final = {"yield_per": 1_000}


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found. ``size`` events are covered by the last good checkpoint, ``text``; 0 where there is none."""

    base: int
    size: int = 0
    text: str = ""
    root: bytes = EMPTY
    doubtful: tuple[sa.RowMapping, ...] = ()  # events that are stored and not good
    changed: tuple[tuple[int, int], ...] = ()  # ranges of signed events that are not as signed, or not there
    signed: int = 0  # the size of the largest checkpoint that is known to be signed
    rows: int = 0  # events that are stored, good or not
    leaves: tuple[bytes, ...] = ()  # the hashes of the signed events
    is_whole: bool = False  # nothing is in doubt: all is signed, and nothing more was signed than there is

    @property
    def last(self) -> int:
        """The number of the last event that was signed."""
        return self.base + self.size

    @property
    def doubted_from(self) -> int | None:
        """The first event that is in doubt; None where nothing is."""
        if self.is_whole:
            return None
        return min(self.last + 1, *(first for first, _ in self.changed), self.last + 1)


@dataclass(slots=True)
class _Walk:
    """One walk over the leaves of a log, as far as checkpoints agree with it."""

    wanted: dict[int, list[Opened]]
    leaves: list[bytes] = field(default_factory=list)
    good: Opened | None = None
    ended: bool = False
    _frontier: Frontier = field(default_factory=Frontier)

    def take(self, leaf: bytes) -> None:
        """Take in the next leaf, unless a checkpoint has ended this walk."""
        if self.ended:
            return
        self.leaves.append(leaf)
        self._frontier.add(leaf)
        for found in self.wanted.get(len(self.leaves), ()):
            if found.checkpoint.root != self._frontier.root():
                self.ended = True
                return
        if found_here := self.wanted.get(len(self.leaves)):
            self.good = found_here[0]


@dataclass(slots=True)
class _Stored:
    """What examining keeps of the stored events: hashes and numbers, since there may be very many."""

    leaves: dict[int, bytes] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)  # whose hash or commitment is not that of what they hold
    emptied: set[int] = field(default_factory=set)
    told: dict[int, Event] = field(default_factory=dict)  # which say what was removed or erased
    last: dict[int, str] = field(default_factory=dict)  # the hash of the newest one
    rows: int = 0

    @classmethod
    def of(cls, connection: sa.Connection, base: int) -> _Stored:
        """Read the events after ``base``."""
        found = cls()
        query = sa.select(events).where(events.c.seq > base).order_by(events.c.seq)
        for row in connection.execute(query, execution_options=_STREAM).mappings():
            found.rows += 1
            event = Event(**row)
            if type(event.seq) is int:  # an edited one may be anything
                found._take(event)
        return found

    def _take(self, event: Event) -> None:
        self.leaves[event.seq] = leaf_of(event)
        self.last = {event.seq: event.hash}
        if not event.is_whole:
            self.broken.add(event.seq)
        if event.is_erased:
            self.emptied.add(event.seq)
        if event.kind in {PRUNED, ERASED}:
            self.told[event.seq] = event

    def gone(self, good: Collection[int]) -> Gone:
        """Return what is gone by the events that are good."""
        return Gone(event for seq, event in sorted(self.told.items()) if seq in good)


def examine(
    connection: sa.Connection, closing: Follows, outside: Iterable[Outside], *, base: int, before: int | None = None
) -> Examined:
    """Return what of the log ``closing`` is good; its first event is ``base + 1``.

    Args:
        connection: gives one snapshot, or the transaction in which the log is closed.
        closing: the name of the log and who could sign it.
        outside: the checkpoints that are known, the database's own among them.
        base: the number of the last event before it.
        before: from this event on nothing is to be relied on, whatever is signed.
    """
    known = list(_opened(closing, outside))  # 1.
    limit = None if before is None else max(before - 1 - base, 0)
    wanted: dict[int, list[Opened]] = {}
    for one in known:
        if limit is None or one.checkpoint.size <= limit:
            wanted.setdefault(one.checkpoint.size, []).append(one)
    stored = _Stored.of(connection, base)
    tiles, top = Tiles(connection), max(wanted, default=0)
    by_tiles = _walked(wanted, (_tile(tiles, at) for at in range(top)))  # 2.
    by_events = _walked(wanted, _stored(stored, tiles, base, top))
    best = max((by_events, by_tiles), key=lambda walk: walk.good.checkpoint.size if walk.good else 0)  # 3.
    signed = max((one.checkpoint.size for one in known), default=0)
    found = Examined(base, signed=signed, rows=stored.rows)
    if best.good is not None:
        point = best.good.checkpoint
        found = replace(found, size=point.size, text=str(best.good.note), root=point.root)
    good = _good(found, stored, best.leaves)  # 4.
    query = sa.select(events).where(events.c.seq > base).order_by(events.c.seq)
    doubtful = tuple(
        row for row in connection.execute(query, execution_options=_STREAM).mappings() if row["seq"] not in good
    )
    changed = _ranges(seq for seq in range(base + 1, found.last + 1) if seq not in good)
    gone = stored.gone(good)
    real = tuple(pair for pair in changed if not gone.is_removed(*pair))
    whole = not doubtful and not real and signed <= found.size and _is_head(connection, found, stored)
    parts = {"doubtful": doubtful, "changed": real, "leaves": tuple(best.leaves[: found.size])}
    return replace(found, **parts, is_whole=whole and before is None)  # type: ignore[arg-type]  # fields of these types


def _opened(closing: Follows, outside: Iterable[Outside]) -> Iterator[Opened]:
    for kept in outside:
        try:
            yield opened(kept.text, closing.trust, closing.origin)
        except (LogError, LogTamperedError):
            continue  # proves nothing; a short one, with one signature of two, is left out as well


def _walked(wanted: dict[int, list[Opened]], leaves: Iterable[bytes | None]) -> _Walk:
    walk = _Walk(wanted)
    for leaf in leaves:
        if leaf is None or walk.ended:
            break
        walk.take(leaf)
    return walk


def _tile(tiles: Tiles, index: int) -> bytes | None:
    try:
        return tiles.leaf(index)
    except LogTamperedError:
        return None


def _stored(stored: _Stored, tiles: Tiles, base: int, top: int) -> Iterator[bytes | None]:
    """Yield the leaves of the events as they are stored; of one that is not there, the hash that was kept of it."""
    for index in range(top):
        leaf = stored.leaves.get(base + index + 1)
        yield _tile(tiles, index) if leaf is None else leaf


def _good(found: Examined, stored: _Stored, leaves: Sequence[bytes]) -> set[int]:
    """Do step 4."""
    numbers = range(found.base + 1, found.last + 1)
    good = {seq for seq in numbers if stored.leaves.get(seq) == leaves[seq - found.base - 1]} - stored.broken
    gone = stored.gone(good)
    return {seq for seq in good if seq not in stored.emptied or gone.is_erased(seq)}


def _is_head(connection: sa.Connection, found: Examined, stored: _Stored) -> bool:
    """Say whether the head is the last event that was signed."""
    row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    return row is not None and (row.seq, row.hash) == (found.last, stored.last.get(found.last))


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


__all__ = ["Examined", "examine"]
