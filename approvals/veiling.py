"""From stored calls to calls as people see them: the key of the marks, and the secrets of a whole task.

1. The key is derived from the one that the servers of a store share, for each task anew. 2. What the calls of a task
declare as secret is looked for in everything that is shown of the task, since the user's words and what was read may
say it, too; of very many calls with secrets, in the newest of them.

Guarantees: a call that cannot be read is not shown; nothing is written but the key, once.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.conversations import root_of, sides
from checkvalve.approvals.endorsing import Endorsed
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.overdue import readable
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import Veil, told
from checkvalve.approvals.seen import Seen, offered, secrets_of, seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.tries import page_key
from checkvalve.filters.secrets.registered import NOTHING, Registered

MAX_CALLS: Final = 200
"""Calls of one task whose declared secrets are looked for."""
_SIGNS: Final = ('"role":"credential"', '"redact":true', '"redact":[')
"""What a recorded decision with a declared secret has in it; a text in it cannot, since JSON escapes the quotes."""


class Veiling:
    """The veils of one store; ``registered`` are the values of the deployer that nobody is shown."""

    def __init__(self, store: Store, clock: Clock = system_clock, registered: Registered = NOTHING) -> None:
        """Keep no state but the key."""
        self._store, self._clock, self.registered = store, clock, registered
        self._key = b""

    def veil(self, thread: str, more: Iterable[str] = ()) -> Veil:
        """Return the veil of a task; ``more`` are further secrets that are not shown under it."""
        self._key = self._key or page_key(self._store, self._clock)
        key = hmac.new(self._key, f"redaction {thread}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return Veil(key, self.registered, told([*self._secrets(thread), *more]))

    def around(self, proposal_id: str) -> Veil:
        """Return the veil of the task that a call is of, for what was made of that call."""
        query = sa.select(proposals.c.thread).where(proposals.c.id == proposal_id)
        with self._store.read() as connection:
            thread = connection.execute(query).scalar()
        return self.veil(str(thread or ""))

    def seen(self, row: Proposal) -> Seen:
        """Return one call as it is shown."""
        return seen(row, self.veil(row.thread))

    def lifted(self, row: Proposal) -> Seen:
        """Return one call with nothing left out, for :mod:`reveals`, which has recorded who looks."""
        return seen(row, Veil(b"", lifted=True))

    def all(self, rows: Iterable[Proposal]) -> list[Seen]:
        """Return calls as they are shown, each task's secrets looked up once."""
        veils: dict[str, Veil] = {}
        return [seen(row, self._kept(veils, row.thread)) for row in rows]

    def together(self, rows: Sequence[Proposal]) -> list[Seen]:
        """Return calls, of several tasks maybe, as they are shown in one table: one secret has one mark in it."""
        if not rows:
            return []
        threads = dict.fromkeys(row.thread for row in rows)
        veil = self.veil(rows[0].thread, (secret for thread in threads for secret in self._secrets(thread)))
        return [seen(row, veil) for row in rows]

    def beside(self, row: Seen, other: Proposal) -> Seen:
        """Return another call as it is shown beside ``row``: the same secret has the same mark in both."""
        if row.veil.lifted or other.thread == row.thread:
            return seen(other, row.veil)
        return seen(other, replace(self.veil(row.thread, self._secrets(other.thread)), lifted=row.veil.lifted))

    def accepted(self, items: Iterable[Endorsed]) -> list[Endorsed]:
        """Return accepted data as it is shown."""
        veils: dict[str, Veil] = {}
        return [self._accepted(item, self._kept(veils, item.thread)) for item in items]

    def _accepted(self, item: Endorsed, veil: Veil) -> Endorsed:
        given = item.endorsement
        value = offered({"role": given.role, "value": given.value}, veil)
        return replace(item, endorsement=replace(given, value=value))

    def _kept(self, veils: dict[str, Veil], thread: str) -> Veil:
        if thread not in veils:
            veils[thread] = self.veil(thread)
        return veils[thread]

    def _secrets(self, thread: str) -> list[str]:
        row = proposals.c
        signs = (row.decision.contains(sign, autoescape=True) for sign in _SIGNS)
        with self._store.read() as connection:
            root = root_of(thread)  # what one task was told stands in the others of a conversation, too
            threads = {thread, root, *sides(connection, root)}
            query = sa.select(proposals).where(row.thread.in_(threads), sa.or_(*signs))
            found = connection.execute(query.order_by(row.created_at.desc()).limit(MAX_CALLS)).mappings().all()
        calls = (readable(item) for item in found)
        return [secret for call in calls if call is not None for secret in _secrets_of(call)]


def _secrets_of(row: Proposal) -> list[str]:
    """Return what a call declares as secret; one that was changed beside the log keeps nobody from the others."""
    try:
        return list(secrets_of(row))
    except StoreCorruptError:
        return []


__all__ = ["MAX_CALLS", "Veiling"]
