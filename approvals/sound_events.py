"""The events that something is about to rely on: one rule, in one place, for every reader that is not verifying.

1. Each is whole: body, salt and hash are those that belong together.
2. Where the body is gone, a whole event of the same subject says that it was erased.
3. The event behind it is bound to its hash; of the last event, the head is.
4. Where the log is signed, its leaf is the one that is kept in the tree's tiles. What lies below the size of the newest
   checkpoint has a leaf. Events of a closed log are compared with the tiles that were kept of that log.

5. For whoever decides or runs a call (:func:`complete_events`): of the newest :data:`RECENT` events of the log none is
   missing, but what retention says it removed (:mod:`gaps`). So no event that is not older was taken away with its row.
   Who somebody is can be told all the same: an administrator closes a log in which there is a hole.

Leaf, binding and the count come with the event, in the same statement; only events of a closed log, and holes, cost
more.

What this does not find: an older event that was removed, or any that was moved to another subject; and one that was
changed together with everything that is bound to it, up to the head, and with its leaf. A gateway looks at the whole
log again a piece at a time (:mod:`logwatch`); verifying finds them at once, with the public key alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.audit import ERASED, Event
from checkvalve.approvals.chainend import HEAD_ROW
from checkvalve.approvals.closedlogs import Closed, base_query, closed_logs
from checkvalve.approvals.errors import LogTamperedError, StoreCorruptError
from checkvalve.approvals.gaps import untold_gap
from checkvalve.approvals.judge import Gone
from checkvalve.approvals.merkle import SIZE, leaf_hash
from checkvalve.approvals.tables import audit_head, checkpoints, events, tiles
from checkvalve.approvals.tiles import WIDTH, Tiles

_REMEDY: Final = "nothing was done; verify the audit log: checkvalve audit verify"
_COLUMNS: Final = len(events.c)
_AT_ONCE: Final = 500
"""Subjects in one statement: fewer than any database takes."""
RECENT: Final = 1_024
"""How many of the newest numbers are counted with each look: what an index gives in a fraction of a millisecond."""


def _with_leaves(*, counted: bool) -> sa.Select[Any]:
    """Select events, each with its leaf and what is bound to it, where its log begins, how much was signed."""
    size = sa.select(sa.func.max(checkpoints.c.size)).scalar_subquery()
    head = sa.select(audit_head.c.seq).where(audit_head.c.id == HEAD_ROW)
    newest = events.alias("newest")
    within = (newest.c.seq > head.scalar_subquery() - RECENT, newest.c.seq <= head.scalar_subquery())
    there = sa.select(sa.func.count()).select_from(newest).where(*within).scalar_subquery()
    log = sa.select(
        base_query().scalar_subquery().label("base"),
        size.label("signed"),
        head.scalar_subquery().label("last"),
        (there if counted else sa.null()).label("there"),
        sa.select(audit_head.c.hash).where(audit_head.c.id == HEAD_ROW).scalar_subquery().label("head"),
    ).subquery("log")
    behind = events.alias("behind")
    bound = sa.case((events.c.seq == log.c.last, log.c.head), else_=behind.c.prev)
    index = events.c.seq - 1 - log.c.base
    own = sa.and_(tiles.c.level == 0, tiles.c.position == index // WIDTH, index >= 0)
    leaf = sa.func.substr(tiles.c.hashes, sa.cast(index % WIDTH * SIZE + 1, sa.Integer), SIZE, type_=sa.LargeBinary)
    source = events.join(log, sa.true()).outerjoin(tiles, own).outerjoin(behind, behind.c.seq == events.c.seq + 1)
    told = (leaf.label("leaf"), bound.label("bound"), log.c.base, log.c.signed, log.c.last, log.c.there)
    found = sa.select(*events.c, *told).select_from(source)
    return found.order_by(events.c.seq)


_ONE: Final = events.c.subject == sa.bindparam("subject")
_OF_SUBJECT: Final = _with_leaves(counted=False).where(_ONE)
_COUNTED: Final = _with_leaves(counted=True).where(_ONE)
_OF_SUBJECTS: Final = _with_leaves(counted=False).where(events.c.subject.in_(sa.bindparam("subjects", expanding=True)))


def sound_events(connection: sa.Connection, subject: str) -> list[Event]:
    """Return the events about one subject, oldest first, each of them as it was written.

    Raises:
        StoreCorruptError: one is not.
    """
    return _sound(connection, connection.execute(_OF_SUBJECT, {"subject": subject}).all())


def sound_of_subjects(connection: sa.Connection, subjects: Iterable[str]) -> dict[str, list[Event]]:
    """Return those about each of some subjects, in one statement, empty where there are none; raises as the former."""
    wanted = sorted(set(subjects))
    found: dict[str, list[sa.Row[Any]]] = {subject: [] for subject in wanted}
    for first in range(0, len(wanted), _AT_ONCE):
        some = {"subjects": wanted[first : first + _AT_ONCE]}
        for row in connection.execute(_OF_SUBJECTS, some).all():
            found[row.subject].append(row)
    return {subject: _sound(connection, rows) for subject, rows in found.items()}


def complete_events(connection: sa.Connection, subject: str) -> list[Event]:
    """Return the same as :func:`sound_events`, after making sure that none of the newest events was removed (5)."""
    return _sound(connection, connection.execute(_COUNTED, {"subject": subject}).all())


def sound_of_kinds(connection: sa.Connection, subject: str, kinds: Sequence[str]) -> list[Event]:
    """Return those of some kinds; raises as :func:`sound_events`."""
    query = _OF_SUBJECT.where(events.c.kind.in_(kinds))
    return _sound(connection, connection.execute(query, {"subject": subject}).all())


def _sound(connection: sa.Connection, rows: Sequence[sa.Row[Any]]) -> list[Event]:
    found = [Event(*row[:_COLUMNS]) for row in rows]
    for row in rows[:1]:  # they are the same in all
        if not all(value is None or _is_count(value) for value in (row.base, row.signed, row.last)):
            raise StoreCorruptError("a number that the log is read by is none", remedy=_REMEDY)
    for event in found:
        if not event.is_whole:  # 1.
            raise _changed(event)
    _require_said(found)  # 2.
    if rows and rows[0].there is not None and rows[0].there != min(RECENT, rows[0].last or 0):
        _require_no_hole(connection, int(rows[0].base), int(rows[0].last or 0))  # 5.
    closed: _ClosedLeaves | None = None
    for event, row in zip(found, rows, strict=True):
        if event.seq > row.base:
            if row.bound is not None and row.bound != event.hash:  # 3.
                raise _changed(event)
            _require_leaf(event, row.leaf, signed=event.seq - row.base <= (row.signed or 0))  # 4.
        else:
            closed = closed or _ClosedLeaves(connection)
            _require_leaf(event, closed.of(event), signed=True)
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _require_no_hole(connection: sa.Connection, base: int, last: int) -> None:
    """Make sure that an event says why one of the newest is missing; those of a closed log were put aside."""
    gap = untold_gap(connection, max(base, last - RECENT) + 1, last)
    if gap is not None:
        raise StoreCorruptError(f"the events {gap[0]} to {gap[1]} were removed from the log", remedy=_REMEDY)


def _require_said(found: Iterable[Event]) -> None:
    emptied = [event for event in found if event.is_erased]
    if not emptied:
        return
    said = Gone(event for event in found if event.kind == ERASED)
    for event in emptied:
        if not said.is_erased(event.seq):
            raise _changed(event)


def _require_leaf(event: Event, leaf: object, *, signed: bool) -> None:
    kept = bytes(leaf) if isinstance(leaf, bytes | memoryview) else b""
    if (signed or kept) and kept != leaf_hash(event.form):
        raise _changed(event)


@dataclass(slots=True)
class _ClosedLeaves:
    """The leaves of logs that were closed; their events are few, and read again only where a log was closed."""

    connection: sa.Connection
    logs: Sequence[tuple[Closed, Tiles]] = ()

    def of(self, event: Event) -> bytes:
        """Return the kept leaf of an event; empty where its log has none for it: it was put there later."""
        if not self.logs:
            self.logs = [(one, Tiles(self.connection, one.number)) for one in closed_logs(self.connection)]
        for one, kept in self.logs:
            if one.base < event.seq <= one.last:
                try:
                    return kept.leaf(event.seq - one.base - 1)
                except LogTamperedError:
                    return b""
        return b""


def _changed(event: Event) -> StoreCorruptError:
    return StoreCorruptError(f"event {event.seq} is not what was written", remedy=_REMEDY)


__all__ = ["RECENT", "complete_events", "sound_events", "sound_of_kinds", "sound_of_subjects"]
