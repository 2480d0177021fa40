"""What is still to be told to each channel: a cursor into the log, and one row for each notice that has not arrived.

1. Collect: look at the events behind the cursor, note those that the channel wants, move the cursor; one transaction.
2. Claim: take the oldest one that is due, and hold it for a while. 3. Arrived: its row goes. Failed: its next time is
noted, or that it is dead.

Guarantees: an event that was committed is collected once by each channel, however many processes do it, since the log
numbers events in the order of their commits; a process that dies while it sends leaves a row that is taken again, so a
notice arrives at least once; nothing that waits is lost, dead ones are kept until somebody looks. A new channel begins
with what happens from now on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.notices import Notice, notice_of
from checkvalve.approvals.overdue import readable
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, deliveries, outbox, proposals

BATCH: Final = 500
"""Events that one look takes in."""
WAITING: Final = "waiting"
DEAD: Final = "dead"
_row = deliveries.c


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notice on its way to one channel; ``tries`` counts this one."""

    channel: str
    seq: int
    state: str
    tries: int
    next_at: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a channel stands."""

    channel: str
    seq: int
    waiting: int = 0
    dead: int = 0


class Outbox:
    """The outbox in one store. Safe to use from several threads and processes at once."""

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        """Keep nothing but the store and the clock."""
        self._store = store
        self._clock = clock

    def collect(self, channel: str, wants: Callable[[Notice], bool], *, limit: int = BATCH) -> int:
        """Do step 1; returns how many events were looked at."""
        with self._store.read() as connection:
            end = int(connection.execute(sa.select(audit_head.c.seq)).scalar() or 0)
            start = connection.execute(sa.select(outbox.c.seq).where(outbox.c.channel == channel)).scalar()
        if start is not None and start >= end:
            return 0
        with self._store.write() as connection:
            start = connection.execute(sa.select(outbox.c.seq).where(outbox.c.channel == channel)).scalar()
            if start is None:
                end = int(connection.execute(sa.select(audit_head.c.seq)).scalar() or 0)
                connection.execute(sa.insert(outbox).values(channel=channel, seq=end))
                return 0
            found = list(audit.read_events(connection, after=start, limit=limit))
            if not found:
                return 0
            wanted = [item for item in _notices(connection, found) if wants(item)]
            now = self._clock()
            rows = [
                {"channel": channel, "seq": item.seq, "state": WAITING, "tries": 0, "next_at": now, "code": ""}
                for item in wanted
            ]
            if rows:
                connection.execute(sa.insert(deliveries), rows)
            connection.execute(sa.update(outbox).where(outbox.c.channel == channel).values(seq=found[-1].seq))
        return len(found)

    def claim(self, channel: str, *, hold: int) -> Delivery | None:
        """Do step 2: return what is due, or None. Nobody else gets it for ``hold`` microseconds."""
        now = self._clock()
        due = sa.select(deliveries).where(_row.channel == channel, _row.state == WAITING, _row.next_at <= now)
        with self._store.read() as connection:
            if connection.execute(due.limit(1)).first() is None:
                return None
        with self._store.write() as connection:
            found = connection.execute(due.order_by(_row.seq).limit(1)).mappings().one_or_none()
            if found is None:
                return None
            taken = Delivery(**{**found, "tries": found["tries"] + 1, "next_at": now + hold})
            connection.execute(_only(taken).values(tries=taken.tries, next_at=taken.next_at))
        return taken

    def notice(self, seq: int) -> Notice | None:
        """Return what event ``seq`` is told as, None where it is not there or says nothing any more."""
        with self._store.read() as connection:
            found = list(audit.read_events(connection, after=seq - 1, limit=1))
            return next((item for item in _notices(connection, found) if item.seq == seq), None)

    def after(self, seq: int, *, limit: int = BATCH) -> tuple[list[Notice], int]:
        """Return what there is to tell of the events behind ``seq``, and how far that goes."""
        with self._store.read() as connection:
            found = list(audit.read_events(connection, after=seq, limit=limit))
            return _notices(connection, found), (found[-1].seq if found else seq)

    def arrived(self, delivery: Delivery) -> None:
        """Do step 3 for a notice that arrived."""
        with self._store.write() as connection:
            connection.execute(sa.delete(deliveries).where(*_same(delivery)))

    def failed(self, delivery: Delivery, code: str, *, wait: int | None) -> None:
        """Do step 3 for one that did not: try again after ``wait`` microseconds, or never by itself (None)."""
        later = {"state": DEAD} if wait is None else {"next_at": self._clock() + wait}
        with self._store.write() as connection:
            changed = sa.update(deliveries).where(*_same(delivery), _row.tries == delivery.tries)
            connection.execute(changed.values(code=code, **later))

    def dead(self, channel: str = "") -> list[Delivery]:
        """Return what is not tried any more, oldest first."""
        query = sa.select(deliveries).where(_row.state == DEAD).order_by(_row.channel, _row.seq)
        with self._store.read() as connection:
            rows = connection.execute(query.where(_row.channel == channel) if channel else query).mappings()
            return [Delivery(**row) for row in rows]

    def revive(self, channel: str, seq: int | None = None) -> int:
        """Let dead ones be tried anew, all of a channel or one; returns how many."""
        dead = sa.update(deliveries).where(_row.channel == channel, _row.state == DEAD)
        chosen = dead if seq is None else dead.where(_row.seq == seq)
        with self._store.write() as connection:
            return connection.execute(chosen.values(state=WAITING, tries=0, next_at=self._clock())).rowcount

    def standing(self) -> list[Standing]:
        """Return how every channel stands that was ever collected for."""
        counted = sa.select(_row.channel, _row.state, sa.func.count()).group_by(_row.channel, _row.state)
        with self._store.read() as connection:
            counts = {(name, state): count for name, state, count in connection.execute(counted)}
            known = connection.execute(sa.select(outbox).order_by(outbox.c.channel)).all()
        return [
            Standing(row.channel, row.seq, counts.get((row.channel, WAITING), 0), counts.get((row.channel, DEAD), 0))
            for row in known
        ]


def _notices(connection: sa.Connection, events: Sequence[audit.Event]) -> list[Notice]:
    named = sorted({event.subject for event in events if event.kind.startswith(("proposal.", "remark."))})
    rows = connection.execute(sa.select(proposals).where(proposals.c.id.in_(named))).mappings() if named else ()
    known = {row["id"]: readable(row) for row in rows}  # a damaged one must not keep a channel from all others
    found = (notice_of(event, known.get(event.subject)) for event in events)
    return [item for item in found if item is not None]


def _same(delivery: Delivery) -> tuple[sa.ColumnElement[bool], ...]:
    return _row.channel == delivery.channel, _row.seq == delivery.seq


def _only(delivery: Delivery) -> sa.Update:
    return sa.update(deliveries).where(*_same(delivery))


__all__ = ["BATCH", "Delivery", "Outbox", "Standing"]
