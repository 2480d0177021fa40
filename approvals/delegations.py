"""An approver hands over to a colleague for a limited time.

1. The giver gives away only what is theirs: somebody who is no approver has nothing to hand over, so what was received
   is never passed on. 2. Giver and taker are two people, and both are enabled reviewers, now and whenever it counts.
3. It has a reason, a start and an end, at most thirty days apart; one giver has one taker at a time.
4. Giver, taker or an administrator may end it at any moment; once ended it stays so, whatever the clock says later.

Guarantees: giving and ending commits with its event; one that is not what its events say counts for nothing and stops
the vote that would have rested on it. Whether it counts for a call is decided where the vote is cast.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import Clock, micros, rfc3339
from checkvalve.approvals.errors import NotAllowedError, NotFoundError, QueueError, RoleNeededError
from checkvalve.approvals.matching import one_named
from checkvalve.approvals.people import folded, same_person
from checkvalve.approvals.program_rule import require_person
from checkvalve.approvals.refusals import DoneAlreadyError, EndedError, NotYoursError
from checkvalve.approvals.review_tables import delegations
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Account, Role, account_of, accounts
from checkvalve.approvals.spoken import kept, says_something
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

LONGEST: Final = timedelta(days=30)
"""How long one may last: longer than a holiday, shorter than anybody's memory of it."""
AHEAD: Final = timedelta(days=90)
"""How far ahead one may begin."""
MIN_REASON: Final = 5
MAX_REASON: Final = 500
"""Characters of a reason."""
_LIST: Final = "checkvalve approvals delegate list --all"
_row = delegations.c


@dataclass(frozen=True, slots=True)
class Delegation:
    """One hand-over, as it stands. Times are in microseconds; ``void`` says that a party is no reviewer any more."""

    id: str
    giver: str
    taker: str
    reason: str
    starts_at: int
    expires_at: int
    given_at: int
    ended_at: int | None
    ended_by: str
    void: bool = False

    def holds(self, at: int) -> bool:
        """Say whether the taker stands in for the giver at this moment."""
        return self.ended_at is None and not self.void and self.starts_at <= at < self.expires_at

    def state(self, at: int) -> str:
        """Return ``in force``, ``to come``, ``over``, ``ended``, or ``void`` where a party was disabled."""
        if self.ended_at is not None:
            return "ended"
        if at >= self.expires_at:
            return "over"
        if self.void:
            return "void"
        return "in force" if self.starts_at <= at else "to come"

    def to_json(self, at: int) -> dict[str, JSON]:
        """Return the published form."""
        return {
            "id": self.id,
            "state": self.state(at),
            "giver": self.giver,
            "taker": self.taker,
            "reason": self.reason,
            "starts_at": rfc3339(self.starts_at),
            "expires_at": rfc3339(self.expires_at),
            "given_at": rfc3339(self.given_at),
            "ended_at": None if self.ended_at is None else rfc3339(self.ended_at),
            "ended_by": self.ended_by,
        }


Found = list[Delegation]


class Delegations:
    """The hand-overs in one store. Safe to use from several threads and processes at once."""

    def __init__(self, store: Store, clock: Clock, people: Reviewers) -> None:
        """Read nothing yet; ``people`` checks that whoever gives or ends one still is a reviewer."""
        self._store = store
        self._clock = clock
        self._people = people

    def give(
        self, giver: Reviewer, taker: str, *, reason: str, expires_at: int, starts_at: int | None = None
    ) -> Delegation:
        """Let ``taker`` stand in for ``giver`` from ``starts_at`` (now where it is None) until ``expires_at``.

        Raises:
            CredentialError: the giver is no reviewer any more.
            NotAllowedError: the giver is no approver, or hands over to themselves.
            NotFoundError: no enabled reviewer has the taker's name.
            QueueError: reason or span cannot be taken.
            ConflictError: the giver has handed over for a part of this span already.
        """
        said = _reason(reason)
        with self._store.write() as connection:
            now = self._clock()
            self._people.require(connection, giver)
            mine = account_of(connection, giver.name)
            if not mine.has(Role.APPROVER):
                raise RoleNeededError(
                    "only an approver has something to hand over", remedy="let the approver hand over"
                )
            other = _enabled(connection, taker)
            require_person(other)
            if _is_same(mine, other):
                raise NotAllowedError("one cannot stand in for oneself", remedy="name a colleague")
            start = _span(now, starts_at, expires_at)
            if any(_overlaps(item, start, expires_at) for item in _entries(connection, _row.giver == giver.name)):
                raise DoneAlreadyError(
                    f"{giver.name} has handed over in this time already",
                    remedy="end that one first: checkvalve approvals delegate list",
                )
            values = {"id": str(uuid.uuid4()), "giver": giver.name, "taker": other.name, "reason": said}
            times = {"starts_at": start, "expires_at": expires_at, "given_at": now}
            connection.execute(sa.insert(delegations).values(**values, **times, ended_at=None, ended_by=""))
            body: dict[str, JSON] = {"by": f"reviewer:{giver.name}", "taker": other.name, "reason": said}
            body |= {"starts_at": rfc3339(start), "expires_at": rfc3339(expires_at)}
            audit.append(connection, at=now, kind="delegation.given", subject=values["id"], body=body)
            return _load(connection, values["id"])

    def end(self, name: str, by: Reviewer) -> Delegation:
        """End one; a yes that was said because of it counts for nothing that has not begun (see ``counting``).

        Raises:
            CredentialError, NotFoundError: ``by`` is no reviewer any more; there is none with this id.
            NotAllowedError: ``by`` is neither giver nor taker nor administrator.
            ConflictError: it has ended.
        """
        with self._store.write() as connection:
            now = self._clock()
            self._people.require(connection, by)
            found = _load(connection, name)
            who = account_of(connection, by.name)
            parties = [account_of(connection, name) for name in (found.giver, found.taker)]
            if not any(_is_same(who, party) for party in parties) and not who.has(Role.ADMINISTRATOR):
                raise NotYoursError("only giver, taker or an administrator can end this", remedy=f"ask {found.giver}")
            if found.ended_at is not None or now >= found.expires_at:
                raise EndedError(f"this is {found.state(now)} already", remedy="nothing was changed")
            ended_by = f"reviewer:{by.name}"
            open_ = sa.update(delegations).where(_row.id == found.id, _row.ended_at.is_(None))
            if connection.execute(open_.values(ended_at=now, ended_by=ended_by)).rowcount != 1:
                raise EndedError("this has ended already", remedy="nothing was changed")
            audit.append(connection, at=now, kind="delegation.ended", subject=found.id, body={"by": ended_by})
            return _load(connection, found.id)

    def list(self, *, everything: bool = False) -> Found:
        """Return those in force or to come, or all that there ever were, in the order of their starts."""
        with self._store.read() as connection:
            now = self._clock()
            found = _entries(connection)
        return [item for item in found if everything or item.state(now) in {"in force", "to come"}]

    def find(self, prefix: str) -> Delegation:
        """Return the one whose id starts like this.

        Raises:
            NotFoundError, ConflictError: none does, or several do.
        """
        return one_named(self.list(everything=True), prefix, "hand-over", _LIST)


def standing_in(connection: sa.Connection, person: str, at: int) -> Found:
    """Return who handed over to ``person`` (a reviewer's name, or the person whose account it is) and counts now.

    Raises:
        StoreCorruptError: one of them is not what its events say: nobody gave it so.
    """
    takers = [one.name for one in accounts(connection) if person in {one.name, one.person}]
    now = (_row.ended_at.is_(None), _row.starts_at <= at, _row.expires_at > at)
    found = [item for item in _entries(connection, _row.taker.in_(takers), *now) if item.holds(at)]
    for item in found:
        require_recorded(connection, item.id)
    return found


def in_force(connection: sa.Connection, at: int) -> Found:
    """Return every hand-over that holds at a moment, for telling people who stands in; no vote rests on it."""
    now = (_row.ended_at.is_(None), _row.starts_at <= at, _row.expires_at > at)
    return [item for item in _entries(connection, *now) if item.holds(at)]


def _is_same(one: Account, other: Account) -> bool:
    """Say whether two accounts are one person's."""
    return same_person(one.name, other.name) or same_person(one.person, other.person)


def _enabled(connection: sa.Connection, name: str) -> Account:
    found = next((one for one in accounts(connection) if folded(one.name) == folded(name)), None)
    if found is None:
        raise NotFoundError(
            "there is no enabled reviewer of this name", remedy="list them: checkvalve approvals reviewer list"
        )
    return found


def _reason(text: str) -> str:
    said = " ".join(kept(text).split())
    if not MIN_REASON <= len(said) <= MAX_REASON or not says_something(said):
        raise QueueError(
            f"handing over takes a reason in words, {MIN_REASON} to {MAX_REASON} characters", remedy="say why"
        )
    return said


def _span(now: int, starts_at: int | None, expires_at: int) -> int:
    """Return the start.

    Raises:
        QueueError: the span is over, has no length, is too long, or begins too far ahead.
    """
    start = now if starts_at is None else max(starts_at, now)
    if expires_at <= start:
        raise QueueError("this time is over before it begins", remedy="give an end that lies behind start and now")
    if expires_at - start > micros(LONGEST):
        raise QueueError(f"one hands over for at most {LONGEST.days} days", remedy="give an earlier end")
    if start - now > micros(AHEAD):
        raise QueueError(f"this begins more than {AHEAD.days} days ahead", remedy="hand over when it is nearer")
    return start


def _overlaps(item: Delegation, start: int, end: int) -> bool:
    return item.ended_at is None and not item.void and item.starts_at < end and start < item.expires_at


def _load(connection: sa.Connection, name: str) -> Delegation:
    found = _entries(connection, _row.id == name)
    if not found:
        raise _unknown()
    return found[0]


def _entries(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Found:
    enabled = {one.name for one in accounts(connection)}
    query = sa.select(delegations).where(*where).order_by(_row.starts_at, _row.id)
    rows: list[Any] = list(connection.execute(query).mappings())
    found = [Delegation(**item) for item in rows]
    return [item if {item.giver, item.taker} <= enabled else replace(item, void=True) for item in found]


def _unknown() -> NotFoundError:
    return NotFoundError("there is no such hand-over", remedy=f"list them: {_LIST}")


__all__ = ["AHEAD", "LONGEST", "MAX_REASON", "MIN_REASON", "Delegation", "Delegations", "in_force", "standing_in"]
