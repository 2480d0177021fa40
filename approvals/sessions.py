"""Who is signed in, in the store: so every server on one database knows the same sessions.

Guarantees: a browser holds a random name and the database its hash; a session ends when idle, at an absolute age, when
its account is disabled or gets another credential, and when somebody ends it; each begins and ends with an event in the
same transaction, and one that has no such event lets nobody in. A seal is good for one session and one purpose.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import sessions
from checkvalve.approvals.accountcheck import proved_by, session_subject
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.program_rule import require_way_in
from checkvalve.approvals.proof_holds import of_session, require_holding
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Account, account, require_as_recorded
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON

MAX_SESSIONS: Final = 20
"""Sessions that one person may have; of more, the one that was idle longest ends."""
_NOTED: Final = 30_000_000  # microseconds between notes of when a session was seen: a look at a page is rarely a write
_BYTES: Final = 32
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Session:
    """One browser in which one reviewer is signed in. Times are microseconds."""

    key: str
    reviewer: Reviewer
    method: str
    started: int
    seen: int
    proved: int
    browser: str
    secret: bytes = field(repr=False)
    proved_by: str = ""  # known of the session that a browser came with, and of no other

    @property
    def proof(self) -> Proof:
        """The last time this person proved who they are here, and how they did it then; it ends with the session."""
        return Proof(self.reviewer, self.proved_by, self.proved, of_session(self.key))

    def seal(self, *parts: str) -> str:
        """Return a seal over ``parts`` that only this session can make and check."""
        return sealed(self.secret, *parts)

    def is_sealed(self, seal: str, *parts: str) -> bool:
        """Say whether ``seal`` is that of ``parts``."""
        return hmac.compare_digest(self.seal(*parts).encode(), seal.encode("utf-8", "replace"))


class Sessions:
    """The sessions in one store. Safe to use from several threads, processes and machines."""

    def __init__(self, store: Store, clock: Clock = system_clock, *, idle: float, absolute: float) -> None:
        """``idle`` and ``absolute`` are seconds. Servers that share a store need clocks that agree to a second."""
        self._store = store
        self.micros = clock
        self.clock: Callable[[], float] = lambda: clock() / _SECOND  # what looks at a page are timed with, in seconds
        self._idle, self._absolute = int(idle * _SECOND), int(absolute * _SECOND)

    def start(self, proof: Proof, browser: str = "") -> str:
        """Sign in and return the new session's name; it is drawn here, so nobody can have known it before.

        What was proved was proved when the proof was made: a session that begins anew makes it no younger.

        Raises:
            CredentialError: the account was disabled, or got another credential, since the proof.
        """
        name, now = secrets.token_urlsafe(_BYTES), self.micros()
        proved = min(proof.at, now)
        key = hashed(name)
        with self._store.write() as connection:
            require_reviewer(connection, proof.reviewer)
            require_holding(connection, proof)
            self._drop_old(connection, now)
            self._make_room(connection, proof.reviewer.name, now)
            who = {"name": proof.reviewer.name, "selector": proof.reviewer.selector, "method": proof.method}
            times = {"started_at": now, "seen_at": now, "proved_at": proved}
            secret = secrets.token_bytes(_BYTES)
            row = {"key": key, **who, **times, "secret": secret, "browser": browser}
            connection.execute(sa.insert(sessions).values(row))
            body: dict[str, JSON] = {**who, "proved_at": proved}
            audit.append(connection, at=now, kind="session.started", subject=session_subject(key), body=body)
        return name

    def find(self, name: str, *, touch: bool = True) -> Session | None:
        """Return the session of this name while it lasts. ``touch`` is false for what a page does by itself."""
        key, now = hashed(name), self.micros()
        with self._store.read() as connection:
            row = _row(connection, key)
            found = None if row is None else _account(connection, _reviewer(row))
            good = found is not None and not found.program
            proved = proved_by(connection, row) if row is not None else ""
        if row is None:
            return None
        if not proved or not good or self._is_over(row, now):
            self.end(name, code="over" if proved and good else "credential")
            return None
        if touch and now - row["seen_at"] >= min(_NOTED, self._idle // 4):
            with self._store.write() as connection:
                connection.execute(sa.update(sessions).where(sessions.c.key == key).values(seen_at=now))
        return _session(row, proved)

    def prove(self, session: Session, proof: Proof) -> None:
        """Note that the person of a session has just proved who they are once more."""
        if proof.reviewer != session.reviewer:
            raise CredentialError("this is another person's credential", remedy="give your own")
        now = self.micros()
        proved = min(proof.at, now)
        with self._store.write() as connection:
            require_holding(connection, proof)
            changed = sa.update(sessions).where(sessions.c.key == session.key).values(proved_at=proved, seen_at=now)
            if connection.execute(changed).rowcount != 1:
                raise CredentialError("the session has ended", remedy="sign in again")
            body: dict[str, JSON] = {"name": session.reviewer.name, "method": proof.method, "proved_at": proved}
            audit.append(connection, at=now, kind="session.proved", subject=session_subject(session.key), body=body)

    def end(self, name: str, *, code: str = "signed_out") -> None:
        """Sign out."""
        with self._store.write() as connection:
            end_sessions(connection, sessions.c.key == hashed(name), at=self.micros(), code=code)

    def end_one(self, reviewer: Reviewer, key: str) -> bool:
        """End one of a person's own sessions, by the key that :meth:`of` shows; says whether there was one."""
        mine = sa.and_(sessions.c.key == key, sessions.c.name == reviewer.name)
        with self._store.write() as connection:
            return end_sessions(connection, mine, at=self.micros(), code="ended") == 1

    def end_all(self, reviewer: Reviewer, *, keep: str = "") -> int:
        """Sign a person out everywhere, but in the session with the key ``keep``; returns how many sessions ended."""
        mine = sa.and_(sessions.c.name == reviewer.name, sessions.c.key != keep)
        with self._store.write() as connection:
            return end_sessions(connection, mine, at=self.micros(), code="ended_all")

    def of(self, reviewer: Reviewer) -> list[Session]:
        """Return a person's sessions, the one that was seen last first."""
        now = self.micros()
        query = sa.select(sessions).where(sessions.c.name == reviewer.name, sessions.c.selector == reviewer.selector)
        with self._store.read() as connection:
            rows = connection.execute(query.order_by(sessions.c.seen_at.desc())).mappings().all()
        return [_session(row) for row in rows if not self._is_over(row, now)]

    def _is_over(self, row: sa.RowMapping, now: int) -> bool:
        return now - int(row["seen_at"]) >= self._idle or now - int(row["started_at"]) >= self._absolute

    def _drop_old(self, connection: sa.Connection, now: int) -> None:
        over = sa.or_(sessions.c.seen_at <= now - self._idle, sessions.c.started_at <= now - self._absolute)
        end_sessions(connection, over, at=now, code="over")

    def _make_room(self, connection: sa.Connection, name: str, now: int) -> None:
        query = sa.select(sessions.c.key).where(sessions.c.name == name).order_by(sessions.c.seen_at.desc())
        for key in connection.execute(query).scalars().all()[MAX_SESSIONS - 1 :]:
            end_sessions(connection, sessions.c.key == key, at=now, code="too_many")


def end_sessions(connection: sa.Connection, which: sa.ColumnElement[bool], *, at: int, code: str) -> int:
    """End sessions inside the caller's write transaction, each with its event; returns how many."""
    found = connection.execute(sa.select(sessions.c.key, sessions.c.name).where(which)).all()
    for row in found:
        connection.execute(sa.delete(sessions).where(sessions.c.key == row.key))
        body: dict[str, JSON] = {"name": row.name, "code": code}
        audit.append(connection, at=at, kind="session.ended", subject=session_subject(row.key), body=body)
    return len(found)


def begun_with(method: str, name: str, keep: str = "") -> sa.ColumnElement[bool]:
    """Return which sessions of a person began with a way to sign in, without the one with the key ``keep``."""
    return sa.and_(sessions.c.name == name, sessions.c.method == method, sessions.c.key != keep)


def require_reviewer(connection: sa.Connection, reviewer: Reviewer) -> None:
    """Make sure that somebody still is a reviewer, with the credential they came with.

    Raises:
        CredentialError: the account was disabled, has another credential now, or is a program's.
    """
    found = _account(connection, reviewer)
    if found is None:
        raise CredentialError("the credential is no longer accepted", remedy="sign in again")
    require_way_in(found)


def hashed(name: str) -> str:
    """Return what the database keeps of a random name that a browser or a link holds."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def sealed(key: bytes, *parts: str) -> str:
    """Return a MAC over a list of texts; each is preceded by its length, so that no two lists look alike."""
    form = b"".join(b"%d:%b" % (len(data), data) for data in (p.encode("utf-8", "surrogatepass") for p in parts))
    return hmac.new(key, form, hashlib.sha256).hexdigest()


def _row(connection: sa.Connection, key: str) -> sa.RowMapping | None:
    return connection.execute(sa.select(sessions).where(sessions.c.key == key)).mappings().one_or_none()


def _account(connection: sa.Connection, who: Reviewer) -> Account | None:
    """Return the account that somebody came with, if it still is one with this credential.

    Raises:
        StoreCorruptError: somebody wrote it by hand.
    """
    query = sa.select(reviewers).where(reviewers.c.name == who.name, reviewers.c.disabled_at.is_(None))
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["selector"] != who.selector:
        return None
    require_as_recorded(connection, row)
    return account(row)


def _reviewer(row: Any) -> Reviewer:
    return Reviewer(str(row["name"]), str(row["selector"]), str(row["method"]))


def _session(row: sa.RowMapping, proved: str = "") -> Session:
    times = {"started": row["started_at"], "seen": row["seen_at"], "proved": row["proved_at"]}
    more = {"browser": row["browser"], "secret": row["secret"], "proved_by": proved}
    return Session(row["key"], _reviewer(row), row["method"], **more, **times)


__all__ = ["MAX_SESSIONS", "Session", "Sessions", "begun_with", "end_sessions", "hashed", "require_reviewer", "sealed"]
