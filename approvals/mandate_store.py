"""Mandates in the store: granted for one thread and one requester, used up call by call, taken back by anybody who may.

Guarantees: granting, using and ending one commits with its event; what is used up is compared and set in the
transaction that issues the permit, so two calls cannot both use the last of it; one that has ended, by its deadline or
by a person, is as good as none. A mandate that is supplied again is the same one: once taken back it stays so.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import canonical, digest
from checkvalve.approvals.clock import Clock, micros, rfc3339
from checkvalve.approvals.errors import MandateError, NotFoundError, StoreCorruptError
from checkvalve.approvals.givers import granted
from checkvalve.approvals.mandate_entry import CLOCK, MandateEntry
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.matching import one_named
from checkvalve.approvals.records import USED
from checkvalve.approvals.refusals import EndedError, StaleError
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import mandates, proposals, uses
from checkvalve.filters.strictjson import JSON

LASTS: Final = timedelta(hours=24)
"""How long a mandate is good that names no deadline: a task of today, not of next month."""
LONGEST: Final = timedelta(days=30)
"""The furthest deadline: a lasting permission is a standing rule, which is policy."""
MOST: Final = 100
"""Mandates of one thread that may be in force: a person cannot keep more in mind."""
_LIST: Final = "checkvalve mandates list"
_IDS: Final = uuid.UUID("6f3f2f0c-5c0b-5a8e-9f7d-3b8d7a1c2e55")

Entries = list[MandateEntry]


class Mandates:
    """The mandates of one tenant in one store. Safe to use from several threads and processes at once."""

    def __init__(self, store: Store, clock: Clock, *, tenant: str = "", without: str = "") -> None:
        """Use ``tenant`` to tell apart the gateways that share a store; one never sees another's mandates.

        What the proposal ``without`` has used never counts.
        """
        self._without = without
        self._store = store
        self._clock = clock
        self._tenant = tenant

    @property
    def tenant(self) -> str:
        """Whose mandates these are, where gateways share a store."""
        return self._tenant

    def as_of(self, moment: int, without: str) -> Mandates:
        """Return the same mandates as they stood when a call was recorded, to decide it again."""
        return Mandates(self._store, lambda: moment, tenant=self._tenant, without=without)

    def grant(self, given: Iterable[Mandate], *, thread: str, requester: str, by: str, key: str = "") -> Entries:
        """Grant mandates for ``thread`` and ``requester``, and return how each of them stands.

        Args:
            given: from a typed field that the host or a person filled.
            thread: the one task they are for.
            requester: on whose behalf the task runs; nobody else's calls may use them.
            by: who gives them: ``host:...``, ``client:...`` or ``reviewer:...``.
            key: tells apart two grants of the same mandate; without it the second one is the first one.

        Raises:
            MandateError: the deadline is over or too far, there is no thread, or there are too many.
        """
        with self._store.write() as connection:
            return [self._grant(connection, item, thread, requester, by, key) for item in given]

    def grant_in(
        self, connection: sa.Connection, item: Mandate, *, thread: str, requester: str, by: str
    ) -> MandateEntry:
        """Do what :meth:`grant` does inside the caller's transaction, for a new mandate."""
        return self._grant(connection, item, thread, requester, by, uuid.uuid4().hex)

    def _grant(
        self, connection: sa.Connection, item: Mandate, thread: str, requester: str, by: str, key: str
    ) -> MandateEntry:
        now = self._clock()
        if not thread:
            raise MandateError("thread: a mandate is for one task", remedy="name its thread")
        body = canonical(item.to_json()).decode()
        name = str(uuid.uuid5(_IDS, canonical([self._tenant, thread, requester, body, key]).decode()))
        if (known := _load(connection, name)) is not None:
            return known
        until = now + micros(LASTS) if item.expires_at is None else item.expires_at
        if not now < until <= now + micros(LONGEST):
            raise MandateError(
                "expires_at: this deadline is over, or more than 30 days away", remedy="give one that is not"
            )
        if sum(entry.holds(now) for entry in _entries(connection, self._tenant, thread)) >= MOST:
            raise MandateError(f"a task has at most {MOST} mandates", remedy="revoke some: checkvalve mandates list")
        values: dict[str, Any] = {
            "id": name,
            "tenant": self._tenant,
            "thread": thread,
            "requester": requester,
            "body": body,
            "granted_by": by,
            "granted_at": now,
            "expires_at": until,
            "version": 1,
            "ended_at": None,
            "ended_by": "",
        }
        connection.execute(sa.insert(mandates).values(values))
        audit.append(connection, at=now, kind="mandate.granted", subject=name, body=_told(item, values))
        found = _load(connection, name)
        if found is None:
            raise StoreCorruptError("a mandate that was written is gone", remedy="verify the audit log")
        return found

    def list(self, *, thread: str = "") -> Entries:
        """Return every mandate, oldest first, after noting which have expired."""
        self.sweep()
        with self._store.read() as connection:
            return _entries(connection, self._tenant, thread)

    def find(self, prefix: str, *, thread: str = "") -> MandateEntry:
        """Return the one mandate whose id starts like this.

        Raises:
            NotFoundError, ConflictError: none does, or several do.
        """
        return one_named(self.list(thread=thread), prefix, "mandate", _LIST)

    def in_force(self, thread: str, requester: str, *, without: str = "", only_used: bool = False) -> Entries:
        """Return the mandates that calls of this thread and requester may rely on now, oldest first.

        Args:
            thread: the task.
            requester: on whose behalf it runs.
            without: the id of a proposal whose own use does not count, since it is being looked at again.
            only_used: leave out those that this proposal has not used up anything of.

        Raises:
            StoreCorruptError: one of them is not what its events say: nobody gave it so.
        """
        now = self._clock()
        with self._store.read() as connection:
            found = _entries(connection, self._tenant, thread, without=without or self._without, at=now)
            good = [one for one in found if one.requester == requester and one.granted_at <= now and one.holds(now)]
            for item in good:
                require_recorded(connection, item.id)
            good = good if self._without else granted(connection, good)  # of the past it is not asked who still may
        return [item for item in good if item.used_here or not only_used]

    def revoke(self, connection: sa.Connection, name: str, *, by: str) -> MandateEntry:
        """Take a mandate back, inside the caller's transaction: calls that rely on it and have not run will not.

        Raises:
            NotFoundError, ConflictError: there is none with this id, or it has ended.
        """
        now = self._clock()
        found = next((item for item in _entries(connection, self._tenant) if item.id == name), None)
        if found is None:
            raise _unknown()
        if not found.holds(now):
            raise EndedError(f"this mandate is {found.state(now)}", remedy="nothing was changed")
        return end(connection, found, by=by, at=now)

    def take_back(self, name: str, *, by: str) -> MandateEntry:
        """Do what :meth:`revoke` does, in a transaction of its own."""
        with self._store.write() as connection:
            return self.revoke(connection, name, by=by)

    def sweep(self) -> int:
        """Note the end of every mandate whose time is over; returns how many that were."""
        now, row = self._clock(), mandates.c
        late = sa.and_(row.ended_at.is_(None), row.expires_at <= now)
        with self._store.read() as connection:
            if not connection.execute(sa.select(sa.exists().where(late))).scalar():
                return 0
        with self._store.write() as connection:
            names = connection.execute(sa.select(row.id).where(late)).scalars().all()
            over = [item for item in (_load(connection, name) for name in names) if item is not None]
            for item in over:
                end(connection, item, by=CLOCK, at=now)
        return len(over)


def end(connection: sa.Connection, item: MandateEntry, *, by: str, at: int) -> MandateEntry:
    """End a mandate, with its event.

    Raises:
        ConflictError: somebody else was faster.
    """
    advance(connection, item, ended_at=at, ended_by=by)
    kind = "mandate.expired" if by == CLOCK else "mandate.revoked"
    body: dict[str, JSON] = {"by": by, "version": item.version + 1}
    audit.append(connection, at=at, kind=kind, subject=item.id, body=body)
    found = _load(connection, item.id)
    return item if found is None else found


def advance(connection: sa.Connection, item: MandateEntry, **values: Any) -> None:
    """Compare and set: move the mandate on, if it still is what it was when it was read.

    Raises:
        ConflictError: it is not.
    """
    row = mandates.c
    mine = sa.update(mandates).where(row.id == item.id, row.version == item.version, row.ended_at.is_(None))
    if connection.execute(mine.values(version=item.version + 1, **values)).rowcount != 1:
        raise StaleError("this mandate has moved on", remedy="nothing was changed")


def load(connection: sa.Connection, name: str) -> MandateEntry | None:
    """Return a mandate as it stands, compared with its events.

    Raises:
        StoreCorruptError: it is not what they say.
    """
    found = _load(connection, name)
    if found is not None:
        require_recorded(connection, name)
    return found


def _load(connection: sa.Connection, name: str) -> MandateEntry | None:
    row = connection.execute(sa.select(mandates).where(mandates.c.id == name)).mappings().one_or_none()
    return None if row is None else _entry(row, _uses(connection, [name]).get(name, []), "", None)


def _entries(
    connection: sa.Connection, tenant: str, thread: str = "", *, without: str = "", at: int | None = None
) -> Entries:
    row = mandates.c
    query = sa.select(mandates).where(row.tenant == tenant).order_by(row.granted_at, row.id)
    found = connection.execute(query.where(row.thread == thread) if thread else query).mappings().all()
    used = _uses(connection, [item["id"] for item in found])
    return [_entry(item, used.get(item["id"], []), without, at) for item in found]


def _uses(connection: sa.Connection, names: list[str]) -> dict[str, list[sa.RowMapping]]:
    """Return what counts as used up: a call that will never run gives back what it had taken."""
    if not names:
        return {}
    query = sa.select(uses).join(proposals, proposals.c.id == uses.c.proposal_id)
    query = query.where(uses.c.kind == "mandate", uses.c.item.in_(names), proposals.c.state.in_(sorted(USED)))
    found: dict[str, list[sa.RowMapping]] = {}
    for row in connection.execute(query).mappings():
        found.setdefault(row["item"], []).append(row)
    return found


def _entry(row: sa.RowMapping, used: list[sa.RowMapping], without: str, at: int | None) -> MandateEntry:
    counted = [item for item in used if item["proposal_id"] != without and (at is None or item["used_at"] <= at)]
    try:
        mandate = Mandate.from_json(json.loads(row["body"]))
    except (ValueError, MandateError) as error:
        raise StoreCorruptError("a stored mandate cannot be read", remedy="verify the audit log") from error
    plain = {name: row[name] for name in row if name != "body"}
    amounts = tuple(str(item["amount"]) for item in counted)
    return MandateEntry(mandate, amounts=amounts, used_here=any(u["proposal_id"] == without for u in used), **plain)


def _told(item: Mandate, values: dict[str, Any]) -> dict[str, JSON]:
    """Return what the log keeps of a mandate: what it allows and for whom, and a digest of what it names."""
    body = item.to_json()
    shown: dict[str, JSON] = {
        name: body[name] for name in ("tool", "effect", "roles", "max_amount", "max_total") if name in body
    }
    return {
        "by": values["granted_by"],
        "tenant": values["tenant"],
        "thread": values["thread"],
        "requester": values["requester"],
        "expires_at": rfc3339(values["expires_at"]),
        "max_calls": item.max_calls,
        "mandate_digest": digest(body),
        "version": 1,
        **shown,
    }


def _unknown() -> NotFoundError:
    return NotFoundError("there is no such mandate", remedy=f"list them: {_LIST}")


__all__ = ["Mandates", "advance", "end", "load"]
