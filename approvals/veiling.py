"""From stored calls to calls as people see them: the key of the marks, and the secrets of a whole task.

1. The key is derived from the one that the servers of a store share, for each task anew. 2. What the calls of a task
declare as secret is looked for in everything that is shown of the task, since the user's words and what was read may
say it, too; of very many calls with secrets, in the newest of them. What a refused call declares counts on that call
alone: nobody else has looked at it. What the task also holds as a destination counts nowhere: people have to see it.
3. A preview, a read of a version, a probe and an undoing, whose threads are their own, are under the veil of the task
of their question.

Guarantees: a call that cannot be read is not shown; nothing is written but the key, once.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.asides import made_for
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.conversations import root_of, sides
from checkvalve.approvals.endorsing import Endorsed
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.overdue import readable
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil, told
from checkvalve.approvals.seen import Seen, aims_of, offered, secrets_of, seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.tries import page_key
from checkvalve.filters.secrets.readings import squeezed
from checkvalve.filters.secrets.registered import MIN_VALUE, NOTHING, Registered

MAX_CALLS: Final = 200
"""Calls of one task whose declared secrets are looked for."""
_SIGNS: Final = ('"role":"credential"', '"redact":true', '"redact":[')
"""What a recorded decision with a declared secret has in it; a text in it cannot, since JSON escapes the quotes."""
_AIMS: Final = ('"role":"target"', '"role":"selector"', '"role":"command"')
"""What one with a destination, a record or a command has in it."""

_MAX_ASIDE: Final = 8  # undoings of undoings, and previews of those


class Veiling:
    """The veils of one store; ``registered`` are the values of the deployer that nobody is shown."""

    def __init__(self, store: Store, clock: Clock = system_clock, registered: Registered = NOTHING) -> None:
        """Keep no state but the key."""
        self._store, self._clock, self.registered = store, clock, registered
        self._key = b""

    def veil(self, thread: str, more: Iterable[str] = ()) -> Veil:
        """Return the veil of a task; ``more`` are further secrets that are not shown under it."""
        return self._veil(thread, [*self._secrets(thread), *more])

    def _veil(self, thread: str, secrets: Iterable[str]) -> Veil:
        self._key = self._key or page_key(self._store, self._clock)
        name = f"redaction {self._home(thread)}"
        key = hmac.new(self._key, name.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return Veil(key, self.registered, told(secrets))

    def around(self, proposal_id: str) -> Veil:
        """Return the veil of the task that a call is of, for what was made of that call."""
        query = sa.select(proposals.c.thread).where(proposals.c.id == proposal_id)
        with self._store.read() as connection:
            thread = connection.execute(query).scalar()
        return self.veil(str(thread or ""))

    def seen(self, row: Proposal) -> Seen:
        """Return one call as it is shown."""
        return seen(row, self.veil(row.thread, _own(row)))

    def lifted(self, row: Proposal) -> Seen:
        """Return one call with nothing left out, for :mod:`reveals`, which has recorded who looks."""
        return seen(row, Veil(b"", lifted=True))

    def all(self, rows: Iterable[Proposal]) -> list[Seen]:
        """Return calls as they are shown, each task's secrets looked up once."""
        secrets: dict[str, list[str]] = {}
        veils: dict[tuple[str, tuple[str, ...]], Veil] = {}
        found = list[Seen]()
        for row in rows:
            kind = row.thread, tuple(_own(row))
            if row.thread not in secrets:
                secrets[row.thread] = self._secrets(row.thread)
            if kind not in veils:
                veils[kind] = self._veil(row.thread, [*secrets[row.thread], *kind[1]])
            found.append(seen(row, veils[kind]))
        return found

    def together(self, rows: Sequence[Proposal]) -> list[Seen]:
        """Return calls, of several tasks maybe, as they are shown in one table: one secret has one mark in it."""
        if not rows:
            return []
        threads = dict.fromkeys(row.thread for row in rows)
        veil = self.veil(rows[0].thread, (secret for thread in threads for secret in self._secrets(thread)))
        return [seen(row, veil) for row in rows]

    def beside(self, row: Seen, other: Proposal) -> Seen:
        """Return another call as it is shown beside ``row``: the same secret has the same mark in both.

        A lifted veil is for the one call that the log names: any other one keeps its marks.
        """
        if row.veil.lifted and other.id != row.id:
            return self.seen(other)
        if row.veil.lifted or other.thread == row.thread:
            return seen(other, row.veil)
        return seen(other, self.veil(row.thread, self._secrets(other.thread)))

    def accepted(self, items: Iterable[Endorsed]) -> list[Endorsed]:
        """Return accepted data as it is shown."""
        veils: dict[str, Veil] = {}
        return [self._accepted(item, self._kept(veils, item.thread)) for item in items]

    def _accepted(self, item: Endorsed, veil: Veil) -> Endorsed:
        given = item.endorsement
        value = offered(given.to_json(), veil)
        return replace(item, endorsement=replace(given, value=value))

    def _kept(self, veils: dict[str, Veil], thread: str) -> Veil:
        if thread not in veils:
            veils[thread] = self.veil(thread)
        return veils[thread]

    def _home(self, thread: str) -> str:
        """Return the thread of the task that a call is made for."""
        for _ in range(_MAX_ASIDE):
            if not (inner := made_for(thread)):
                return thread
            query = sa.select(proposals.c.thread).where(proposals.c.id == inner)
            with self._store.read() as connection:
                outer = connection.execute(query).scalar()
            if outer is None:
                return thread
            thread = str(outer)
        return thread

    def _secrets(self, thread: str) -> list[str]:
        """Return what the calls of a task declare as secret, but what they also hold as a destination."""
        home = self._home(thread)
        root = root_of(home)  # what one task was told stands in the others of a conversation, too
        with self._store.read() as connection:
            threads = {thread, home, root, *sides(connection, root)}
            secrets = [secret for call in _newest(connection, threads, _SIGNS) for secret in _secrets_of(call)]
            aims = [*_newest(connection, threads, _AIMS)] if secrets else []
        held = {squeezed(text)[0] for call in aims for text in _aims_of(call)} - {""}
        return [secret for secret in secrets if not _is_held(squeezed(secret)[0], held)]


def _newest(connection: sa.Connection, threads: Iterable[str], signs: Iterable[str]) -> Iterator[Proposal]:
    """Yield the newest calls of tasks with a sign in their decision that were not refused."""
    row = proposals.c
    either = sa.or_(*(row.decision.contains(sign, autoescape=True) for sign in signs))
    query = sa.select(proposals).where(row.thread.in_(threads), row.state != State.DENIED.value, either)
    found = connection.execute(query.order_by(row.created_at.desc()).limit(MAX_CALLS)).mappings().all()
    yield from (call for call in map(readable, found) if call is not None)


def _is_held(secret: str, held: Iterable[str]) -> bool:
    """Say whether a secret is a destination of the task, or the greater part of one."""
    part = len(secret) >= MIN_VALUE
    return any(secret == aim or (part and 2 * len(secret) >= len(aim) and secret in aim) for aim in held)


def _own(row: Proposal) -> list[str]:
    """Return what a refused call declares, which counts on that call alone."""
    return _secrets_of(row) if row.state is State.DENIED else []


def _aims_of(row: Proposal) -> list[str]:
    try:
        return list(aims_of(row))
    except StoreCorruptError:
        return []


def _secrets_of(row: Proposal) -> list[str]:
    """Return what a call declares as secret; one that was changed beside the log keeps nobody from the others."""
    try:
        return list(secrets_of(row))
    except StoreCorruptError:
        return []


__all__ = ["MAX_CALLS", "Veiling"]
