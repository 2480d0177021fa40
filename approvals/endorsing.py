"""Endorsements in the store: what a yes accepts beside the one call, and what was accepted in a thread before.

Guarantees: each is for one thread, ends at its deadline or when it is taken back, and then counts as if it had never
been given; so it does while whoever gave it may not give it any more (:mod:`givers`). Giving, using and ending one
commits with its event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, givers
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.clock import Clock, rfc3339
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.matching import one_named
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import EndedError
from checkvalve.approvals.roles import Roster
from checkvalve.approvals.said import ENDORSEMENT
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import endorsements, uses
from checkvalve.filters.strictjson import JSON

MAX_SOURCE: Final = 900
"""Bytes of a source's name: its path follows keys in untrusted data, and an index has limits."""
CLOCK: Final = "clock"
"""Who ends what nobody has taken back in time."""
_KEY: Final = ENDORSEMENT
_ID: Final = 16  # hexadecimal characters
_FEW: Final = 200  # names that one statement asks for


@dataclass(frozen=True, slots=True)
class Endorsed:
    """One accepted value, as it stands. ``expires_at`` is None where it was given before there were deadlines.

    ``counts`` is false where whoever gave it may not give it now; :mod:`still_given` looks.
    """

    endorsement: Endorsement
    thread: str
    proposal_id: str
    by: str
    at: int
    expires_at: int | None
    ended_at: int | None
    ended_by: str
    used: int = 0
    counts: bool = True

    @property
    def id(self) -> str:
        """The name of this acceptance; accepting the same data anew has another one."""
        return self.endorsement.id

    def holds(self, at: int) -> bool:
        """Say whether it counts at this moment."""
        return (self.ended_at is None or self.ended_at > at) and (self.expires_at is None or at < self.expires_at)

    def state(self, at: int) -> str:
        """Return ``in force``, ``void``, ``revoked`` or ``expired``."""
        if self.holds(at):
            return "in force" if self.counts else "void"
        return "revoked" if self.ended_by not in {"", CLOCK} else "expired"

    def to_json(self, at: int) -> dict[str, JSON]:
        """Return the published form."""
        return {
            "id": self.id,
            "state": self.state(at),
            **self.endorsement.to_json(),
            "thread": self.thread,
            "approval": self.proposal_id,
            "granted_by": self.by,
            "granted_at": rfc3339(self.at),
            "expires_at": None if self.expires_at is None else rfc3339(self.expires_at),
            "ended_at": None if self.ended_at is None else rfc3339(self.ended_at),
            "ended_by": self.ended_by,
            "used": self.used,
        }


class Endorsements:
    """The endorsements in one store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Read nothing yet."""
        self._store = store
        self._clock = clock

    def list(self, *, thread: str = "") -> list[Endorsed]:
        """Return what was ever accepted, oldest first, after noting what has expired."""
        self.sweep()
        with self._store.read() as connection:
            return _entries(connection, thread=thread)

    def find(self, prefix: str, *, thread: str = "") -> Endorsed:
        """Return the one endorsement whose id starts like this.

        Raises:
            NotFoundError, ConflictError: none does, or several do.
        """
        return one_named(self.list(thread=thread), prefix, "endorsement", "checkvalve endorsements list")

    def revoke(self, connection: sa.Connection, name: str, *, by: str) -> Endorsed:
        """Take one back, inside the caller's transaction: calls that rely on it and have not run yet will not.

        Raises:
            NotFoundError, ConflictError: there is none with this id, or it has ended.
        """
        now = self._clock()
        item = next((found for found in _entries(connection) if found.id == name), None)
        if item is None:
            raise NotFoundError("there is no such endorsement", remedy="list them: checkvalve endorsements list")
        if not item.holds(now):
            raise EndedError(f"this endorsement has ended: {item.state(now)}", remedy="nothing was changed")
        end(connection, item, by=by, at=now)
        return next(found for found in _entries(connection, thread=item.thread) if found.id == name)

    def take_back(self, prefix: str, *, thread: str, by: str) -> Endorsed:
        """Do what :meth:`revoke` does for one of a thread, in a transaction of its own."""
        found = self.find(prefix, thread=thread)
        with self._store.write() as connection:
            return self.revoke(connection, found.id, by=by)

    def sweep(self) -> int:
        """Note the end of everything whose time is over; returns how many that were."""
        now, row = self._clock(), endorsements.c
        late = sa.and_(row.ended_at.is_(None), row.expires_at <= now)
        with self._store.read() as connection:
            if not connection.execute(sa.select(sa.exists().where(late))).scalar():
                return 0
        with self._store.write() as connection:
            over = [item for item in _entries(connection) if item.ended_at is None and not item.holds(now)]
            for item in over:
                end(connection, item, by=CLOCK, at=now)
        return len(over)


def offered(decision: Decision) -> list[dict[str, str]]:
    """Return what a yes to this decision would accept, as it is stored beside the proposal.

    What has a longer name than :data:`MAX_SOURCE` is not offered: a yes is for the one call then. Nor is anything of a
    call that is pinned: a person accepts its data as they point at one version, and the next call may meet another.
    """
    if decision.pins:
        return []
    return [item.to_json() for item in decision.endorsable if _fits(item.source)]


def _fits(source: str) -> bool:
    plain = source.encode("utf-8", "surrogatepass")
    return len(plain) <= MAX_SOURCE and plain.decode("utf-8", "ignore") == source


def store(connection: sa.Connection, proposal: Proposal, *, by: str, at: int, expires_at: int) -> None:
    """Store what the approved proposal offered, for its thread; data whose acceptance is in force stays as it was.

    The caller has made sure that the proposal is what was recorded.
    """
    if not proposal.endorsable:
        return
    offers, people = [Endorsement(**offer) for offer in proposal.endorsable], Roster(connection)
    same = [one for one in _entries(connection, thread=proposal.thread) if one.endorsement in offers and one.holds(at)]
    known = {one.endorsement for one in same if givers.still_accept(people, one.proposal_id, at=at)}
    for item in offers:
        if item in known:
            continue
        known.add(item)
        values = {**item.to_json(), "thread": proposal.thread, "value_digest": digest(item.value)}
        row = {**values, "proposal_id": proposal.id, "endorsed_by": by, "endorsed_at": at, "expires_at": expires_at}
        connection.execute(sa.insert(endorsements).values(ended_at=None, ended_by="", **row))
        body: dict[str, JSON] = {"by": by, **{name: values[name] for name in _KEY}, "expires_at": rfc3339(expires_at)}
        audit.append(connection, at=at, kind="endorsement.stored", subject=proposal.id, body=body)


def read(connection: sa.Connection, thread: str, at: int, *, past: bool = False) -> list[Endorsement]:
    """Return the endorsements of a thread that are in force, oldest first: those whose givers still may give them.

    ``past`` says that ``at`` is over: who gave one could then, and whether they could today is not asked.

    Raises:
        StoreCorruptError: one of them is not what its events say: nobody gave it.
    """
    found, people = _entries(connection, thread=thread), givers.Rows(connection)
    good = [item for item in found if item.at <= at and item.holds(at)]
    asked = frozenset() if past else frozenset(item.proposal_id for item in good)
    for proposal_id in {item.proposal_id for item in found} - asked:
        require_recorded(connection, proposal_id)
    counting = {proposal_id for proposal_id in asked if givers.still_accept(people, proposal_id, at=at)}
    return [item.endorsement for item in good if past or item.proposal_id in counting]


def holds(connection: sa.Connection, thread: str, name: str, at: int) -> Endorsed | None:
    """Return the endorsement of a thread with this id, if it is in force."""
    return next((item for item in _entries(connection, thread=thread) if item.id == name and item.holds(at)), None)


def given_with(connection: sa.Connection, proposal_id: str) -> list[str]:
    """Return the ids of the endorsements that were given with a call."""
    return [item.id for item in _entries(connection) if item.proposal_id == proposal_id]


def end(connection: sa.Connection, item: Endorsed, *, by: str, at: int) -> None:
    """End an endorsement, with its event.

    Raises:
        ConflictError: somebody else was faster.
    """
    row = endorsements.c
    key = {**item.endorsement.to_json(), "thread": item.thread, "proposal_id": item.proposal_id}
    mine = sa.update(endorsements).where(row.ended_at.is_(None), *(row[name] == value for name, value in key.items()))
    if connection.execute(mine.values(ended_at=at, ended_by=by)).rowcount != 1:
        raise EndedError("this endorsement has ended", remedy="nothing was changed")
    told = {**key, "value_digest": digest(item.endorsement.value)}
    body: dict[str, JSON] = {"by": by, "endorsement": item.id, **{name: told[name] for name in _KEY}}
    kind = "endorsement.expired" if by == CLOCK else "endorsement.revoked"
    audit.append(connection, at=at, kind=kind, subject=item.proposal_id, body=body)


def end_given_with(connection: sa.Connection, proposal: Proposal, *, by: str, at: int) -> None:
    """End what was accepted together with a call and holds: whoever takes that yes back means all of it."""
    for item in _entries(connection, thread=proposal.thread):
        if item.proposal_id == proposal.id and item.holds(at):
            end(connection, item, by=by, at=at)


def not_ended(connection: sa.Connection) -> list[Endorsed]:
    """Return what was accepted, in any thread, and has no end yet."""
    return [item for item in _entries(connection) if item.ended_at is None]


def _entries(connection: sa.Connection, *, thread: str = "") -> list[Endorsed]:
    row = endorsements.c
    query = sa.select(endorsements).order_by(row.id)
    found = connection.execute(query.where(row.thread == thread) if thread else query).mappings().all()
    named = [(_name(item), item) for item in found]
    counted = sa.select(uses.c.item, sa.func.count()).where(uses.c.kind == "endorsement").group_by(uses.c.item)
    if len(named) <= _FEW:
        counted = counted.where(uses.c.item.in_([name for name, _ in named]))  # the index knows them
    used = {name: int(count) for name, count in connection.execute(counted)} if named else {}
    return [_entry(name, item, used) for name, item in named]


def _name(row: sa.RowMapping) -> str:
    told = [row[name] for name in (*_KEY, "proposal_id")]
    return digest([str(part) for part in told]).removeprefix("sha256:")[:_ID]


def _entry(name: str, row: sa.RowMapping, used: dict[str, int]) -> Endorsed:
    return Endorsed(
        Endorsement(row["value"], row["source"], row["role"], row["tool"], row["kind"], id=name),
        row["thread"],
        row["proposal_id"],
        row["endorsed_by"],
        row["endorsed_at"],
        row["expires_at"],
        row["ended_at"],
        row["ended_by"],
        used.get(name, 0),
    )
