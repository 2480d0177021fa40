"""Seeded items: questions that are made up to see whether people look, shown to one person who has agreed to it.

1. A reviewer agrees, and may take that back at any time; without it nobody is shown one. 2. An item is a row of its
own, for one person, made by code of ours with nothing of anybody's in it but the name of who is said to ask. 3. The
person answers it like any other question, is told at once what it was, and it is closed. Where nobody answers, it is
closed in silence.

Guarantees: an item is no proposal, so no permit, no attempt, no task and no budget is ever touched by it, and nothing
runs; a real call with its id always comes first; a row that the log does not have is shown to nobody; its events are
marked, and do not name whose it was.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import ConflictError, NotFoundError, StoreCorruptError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import PROPOSALS
from checkvalve.approvals.refusals import DoneAlreadyError, SeededError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.seed_said import (
    AGREED,
    ANSWERED,
    KINDS,
    MADE,
    SUBJECT,
    WITHDRAWN,
    SeedTold,
    is_recorded,
    made_body,
)
from checkvalve.approvals.seed_tables import seed_consents, seeds
from checkvalve.approvals.tablecheck import body_of
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON

YES: Final = "yes"
NO: Final = "no"
DOUBT: Final = "doubt"
"""Somebody asked back, or answered in another way that lets nothing run."""
EXPIRED: Final = "expired"
CLOSED: Final = "withdrawn"
"""The person took their consent back while it was open."""
CAUGHT: Final = frozenset({NO, DOUBT})
"""Answers of somebody who saw it."""
MAX_BODY: Final = 20_000
"""Characters of an item."""
_row, _consent = seeds.c, seed_consents.c


@dataclass(frozen=True, slots=True)
class Seed:
    """One item. Times are microseconds; ``answer`` is empty while it is open."""

    id: str
    reviewer: str
    made_at: int
    expires_at: int
    answer: str
    answered_at: int | None
    body: Mapping[str, Any] = field(repr=False)

    @property
    def flaw(self) -> str:
        """The word for what was to be seen."""
        return str(self.body["flaw"])

    def revealed(self) -> dict[str, JSON]:
        """Return what a person is told after answering: that it was made up, and what was to be seen."""
        told: dict[str, JSON] = {"seeded": True, "id": self.id, "answer": self.answer, "caught": self.answer in CAUGHT}
        told |= {name: str(self.body[name]) for name in ("flaw", "tool", "path", "good", "bad")}
        return told


@dataclass(frozen=True, slots=True)
class Consent:
    """Who agreed, and since when."""

    reviewer: str
    agreed_at: int
    ended_at: int | None

    @property
    def holds(self) -> bool:
        """Say whether it is in force."""
        return self.ended_at is None


def consents(queue: Queue) -> list[Consent]:
    """Return everybody who has ever agreed, in order of names."""
    query = sa.select(_consent.reviewer, _consent.agreed_at, _consent.ended_at).order_by(_consent.reviewer)
    with queue.store.read() as connection:
        return [Consent(*row) for row in connection.execute(query)]


def agree(queue: Queue, reviewer: Reviewer) -> None:
    """Let somebody be shown seeded items from now on, until they take it back.

    Raises:
        CredentialError: this is no reviewer any more.
        ConflictError: they have agreed already.
    """
    with queue.store.write() as connection:
        queue.reviewers.require(connection, reviewer)
        now = queue.clock()
        mine = _consent.reviewer == reviewer.name
        found = connection.execute(sa.select(_consent.ended_at).where(mine)).one_or_none()
        if found is not None and found.ended_at is None:
            raise DoneAlreadyError("you have agreed to seeded items already", remedy="nothing was changed")
        connection.execute(sa.delete(seed_consents).where(mine))
        values = {"reviewer": reviewer.name, "agreed_at": now, "ended_at": None, "next_at": None}
        connection.execute(sa.insert(seed_consents).values(values))
        body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}"}
        audit.append(connection, at=now, kind=AGREED, subject=SUBJECT + reviewer.name, body=body)


def withdraw(queue: Queue, reviewer: Reviewer) -> None:
    """Take an agreement back: what is open is closed, and no further item is shown.

    Raises:
        CredentialError: this is no reviewer any more.
        ConflictError: they have not agreed.
    """
    with queue.store.write() as connection:
        queue.reviewers.require(connection, reviewer)
        now = queue.clock()
        mine = (_consent.reviewer == reviewer.name, _consent.ended_at.is_(None))
        if connection.execute(sa.update(seed_consents).where(*mine).values(ended_at=now)).rowcount != 1:
            raise DoneAlreadyError("you have not agreed to seeded items", remedy="nothing was changed")
        body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}"}
        audit.append(connection, at=now, kind=WITHDRAWN, subject=SUBJECT + reviewer.name, body=body)
        for name in _open_ids(connection, reviewer.name):
            _close(connection, name, CLOSED, now)


def plant(connection: sa.Connection, reviewer: str, body: Mapping[str, JSON], *, at: int, expires_at: int) -> str:
    """Store an item for somebody who has agreed, in the caller's transaction; returns its id.

    Raises:
        ConflictError: they have not agreed, or the item is too long.
    """
    if not has_agreed(connection, reviewer):
        raise ConflictError("this person has not agreed to seeded items", remedy="nothing was stored")
    text = canonical(dict(body)).decode()
    if len(text) > MAX_BODY:
        raise ConflictError("this item is too long", remedy="nothing was stored")
    name = str(uuid.uuid5(PROPOSALS, secrets.token_hex(32)))  # it looks like the id of any other question
    row: dict[str, Any] = {"id": name, "reviewer": reviewer, "body": text, "made_at": at, "expires_at": expires_at}
    connection.execute(sa.insert(seeds).values(**row, answer="", answered_at=None))
    audit.append(connection, at=at, kind=MADE, subject=name, body=made_body(row))
    return name


def open_for(queue: Queue, reviewer: Reviewer) -> list[Seed]:
    """Return the items that wait for somebody: none without their consent, and none that the log does not have."""
    now = queue.clock()
    mine = (_row.reviewer == reviewer.name, _row.answer == "", _row.expires_at > now)
    with queue.store.read() as connection:
        if not has_agreed(connection, reviewer.name):
            return []
        rows = connection.execute(sa.select(seeds).where(*mine).order_by(_row.made_at, _row.id)).mappings().all()
        return [_seed(row) for row in rows if _is_sound(connection, row)]


def find(queue: Queue, name: str, reviewer: Reviewer) -> Seed | None:
    """Return an item of this person, open or answered by them, None where there is none."""
    with queue.store.read() as connection:
        query = sa.select(seeds).where(_row.id == name, _row.reviewer == reviewer.name)
        row = connection.execute(query).mappings().one_or_none()
        if row is None or not _is_sound(connection, row):
            return None
        seen = row["answer"] in {YES, *CAUGHT} or (
            row["answer"] == "" and row["expires_at"] > queue.clock() and has_agreed(connection, reviewer.name)
        )
        return _seed(row) if seen else None


def answer(queue: Queue, name: str, reviewer: Reviewer, said: str) -> Seed:
    """Take the answer to an item and close it; returns it, so that the person is told what it was.

    Raises:
        CredentialError: this is no reviewer any more.
        NotFoundError: there is no such item of theirs.
        ConflictError: it is closed already.
    """
    found = find(queue, name, reviewer)
    if found is None or said not in {YES, *CAUGHT}:
        raise NotFoundError(f"there is no proposal {name}", remedy="list them: checkvalve approvals list")
    with queue.store.write() as connection:
        queue.reviewers.require(connection, reviewer)
        if not _close(connection, name, said, queue.clock()):
            raise SeededError("this item is closed already", remedy="nothing was changed")
    closed = find(queue, name, reviewer)
    if closed is None:
        raise StoreCorruptError(f"the seeded item {name} is not what its events say", remedy="verify the audit log")
    return closed


def close_over(queue: Queue) -> int:
    """Close every item whose time is over, or whose person may not decide any more; returns how many."""
    now = queue.clock()
    agreed = sa.select(_consent.reviewer).where(_consent.ended_at.is_(None))
    over = sa.select(_row.id).where(_row.answer == "", sa.or_(_row.expires_at <= now, _row.reviewer.not_in(agreed)))
    with queue.store.read() as connection:
        names = list(connection.execute(over).scalars())
    count = 0
    for name in names:
        with queue.store.write() as connection:
            count += _close(connection, name, EXPIRED, now)
    return count


def listed(queue: Queue, reviewer: Reviewer, *, limit: int = 100) -> list[dict[str, JSON]]:
    """Return the newest items for an auditor: which ids are seeded and how they ended, and never whose they were.

    Raises:
        CredentialError, RoleNeededError: this is no auditor.
    """
    with queue.store.read() as connection:
        queue.reviewers.require(connection, reviewer)
        require_role(connection, reviewer, Role.AUDITOR, Role.ADMINISTRATOR)
        query = sa.select(_row.id, _row.answer, _row.made_at).where(_row.reviewer != reviewer.name)
        own = sa.select(_row.id, _row.answer, _row.made_at).where(_row.reviewer == reviewer.name, _row.answer != "")
        both = sa.union_all(query, own).subquery()
        rows = connection.execute(sa.select(both).order_by(both.c.made_at.desc(), both.c.id).limit(limit)).all()
    return [{"id": row.id, "seeded": True, "state": row.answer or "open"} for row in rows]


def has_agreed(connection: sa.Connection, reviewer: str) -> bool:
    """Say whether somebody has agreed, by the row and by the log."""
    query = sa.select(_consent.agreed_at).where(_consent.reviewer == reviewer, _consent.ended_at.is_(None))
    at = connection.execute(query).scalar()
    told = _told(connection, SUBJECT + reviewer)
    return at is not None and (told.agreed_at, told.ended_at) == (at, None)


def _is_sound(connection: sa.Connection, row: sa.RowMapping) -> bool:
    """Say whether the log has an item as it is, and no real call has its id."""
    real = connection.execute(sa.select(proposals.c.id).where(proposals.c.id == row["id"])).first()
    return real is None and is_recorded(row, _told(connection, str(row["id"])))


def _told(connection: sa.Connection, subject: str) -> SeedTold:
    told = SeedTold()
    for event in list(audit.read_events(connection, subject=subject)):
        if event.kind in KINDS:
            told.note(event.kind, body_of(event.body), event.at)
    return told


def _open_ids(connection: sa.Connection, reviewer: str) -> list[str]:
    return list(connection.execute(sa.select(_row.id).where(_row.reviewer == reviewer, _row.answer == "")).scalars())


def _close(connection: sa.Connection, name: str, said: str, now: int) -> bool:
    """Close an item by compare-and-set; says whether this did it."""
    mine = sa.update(seeds).where(_row.id == name, _row.answer == "")
    if connection.execute(mine.values(answer=said, answered_at=now)).rowcount != 1:
        return False
    audit.append(connection, at=now, kind=ANSWERED, subject=name, body={"seeded": True, "answer": said})
    return True


def _seed(row: sa.RowMapping) -> Seed:
    told = {name: row[name] for name in ("id", "reviewer", "made_at", "expires_at", "answer", "answered_at")}
    return Seed(**told, body=json.loads(row["body"]))


__all__ = [
    "CAUGHT", "DOUBT", "EXPIRED", "NO", "YES", "Consent", "Seed", "agree", "answer", "close_over", "consents", "find",
    "has_agreed",
    "listed", "open_for", "plant", "withdraw",
]  # fmt: skip
