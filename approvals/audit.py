"""The event chain: one row for each change, in the same transaction, each row bound to the one before it.

Guarantees: appends pass one after the other through the single ``audit_head`` row, so events are numbered in the order
of their commits, without gaps, however many processes write; a changed, removed, inserted or reordered event breaks the
chain, and a proposal whose state or bytes were edited disagrees with its events. What it does not prove by itself:
somebody who can write the database can rewrite the whole chain, and cut its end. The signed tree over the same events
(:mod:`sealer`) shows that.

What is hashed of an event's body is a commitment: an HMAC under a salt of its own. So body and salt can be erased, and
nobody can find out a short value by trying all of them, while every hash and every proof stays as it is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.chainend import ChainEnd, end_of
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, events
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

ERASED: Final = "content.erased"
"""The kind of the event that says what was erased; bodies that are gone without one were removed by somebody else."""
_PLAIN: Final = 1  # the hashed form with the body in it: what older versions wrote
_COMMITTED: Final = 2  # the hashed form with a commitment to the body
_SALT_BYTES: Final = 32

_AFTER: Final = sa.select(events).where(events.c.seq > sa.bindparam("after")).order_by(events.c.seq)
_OF_SUBJECT: Final = _AFTER.where(events.c.subject == sa.bindparam("subject"))
_WRITE: Final = sa.insert(events)  # statements that every change of state runs are made once: making them costs most


@dataclass(frozen=True, slots=True)
class Event:
    """One audit record. ``subject`` is the proposal it is about, or empty."""

    seq: int
    at: int
    kind: str
    subject: str
    body: str
    prev: str
    hash: str
    salt: str | None = None
    commitment: str | None = None

    @property
    def form(self) -> bytes:
        """The bytes that are hashed: into the chain, and as a leaf of the tree.

        Raises:
            HostileInputError: the event holds what this program never writes.
        """
        hashed = self.body if self.commitment is None else self.commitment
        return event_form(
            self.prev,
            seq=self.seq,
            at=self.at,
            kind=self.kind,
            subject=self.subject,
            hashed=hashed,
            committed=self.commitment is not None,
        )

    @property
    def is_erased(self) -> bool:
        """Say whether the body is gone."""
        return self.commitment is not None and self.salt is None and self.body == ""

    @property
    def is_whole(self) -> bool:
        """Say whether hash and commitment are those of what the event holds."""
        try:
            told = "sha256:" + hashlib.sha256(self.form).hexdigest() == self.hash
            return told and (self.commitment is None or self.is_erased or self._is_committed())
        except (HostileInputError, TypeError, ValueError, AttributeError):
            return False  # a value of a kind that is never written is a change like any other

    def _is_committed(self) -> bool:
        """Compare body and salt with the commitment; a salt has one spelling."""
        salt = self.salt or ""
        return salt == salt.lower() and commitment(salt, self.body) == self.commitment and len(salt) == 2 * _SALT_BYTES

    def to_json(self) -> dict[str, JSON]:
        """Return the event for people and programs; an erased body is null."""
        return {
            "seq": self.seq,
            "at": rfc3339(self.at),
            "kind": self.kind,
            "subject": self.subject,
            "body": json.loads(self.body) if self.body else None,
            "prev": self.prev,
            "hash": self.hash,
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain: keep it somewhere else, and a later cut before it is found."""

    seq: int
    hash: str


def commitment(salt: str, body: str) -> str:
    """Return what stands for a body in the hashes: ``hmac-sha256:<hex>``, keyed with the salt (64 hex digits)."""
    return "hmac-sha256:" + hmac.new(bytes.fromhex(salt), body.encode(), hashlib.sha256).hexdigest()


def event_form(prev: str, *, seq: int, at: int, kind: str, subject: str, hashed: str, committed: bool) -> bytes:
    """Return the bytes of one event that are hashed; ``hashed`` is its commitment, or in older events its body."""
    return canonical([_COMMITTED if committed else _PLAIN, prev, seq, at, kind, subject, hashed])


def append(connection: sa.Connection, *, at: int, kind: str, subject: str = "", body: Mapping[str, JSON]) -> Head:
    """Add one event inside the caller's write transaction.

    1. Take the end of the chain: read from the head row with the first event of a transaction, under its lock.
    2. Write the event, bound to the hash that the end had.
    3. The new end is stored when the transaction commits, or at once where the store's own transaction is not known.

    Raises:
        StoreCorruptError: the head is gone.
    """
    held = end_of(connection)
    end = held or ChainEnd()
    seq, prev = end.place(connection)
    text, salt = canonical(dict(body)).decode(), secrets.token_hex(_SALT_BYTES)
    kept = commitment(salt, text)
    form = event_form(prev, seq=seq, at=at, kind=kind, subject=subject, hashed=kept, committed=True)
    new = "sha256:" + hashlib.sha256(form).hexdigest()
    values = {"seq": seq, "at": at, "kind": kind, "subject": subject, "body": text, "prev": prev, "hash": new}
    connection.execute(_WRITE, {"salt": salt, "commitment": kept, **values})
    end.move(seq, new)
    if held is None:
        end.store(connection)
    return Head(seq, new)


def head(store: Store) -> Head:
    """Return the present end of the chain."""
    with store.read() as connection:
        row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    if row is None:
        raise StoreCorruptError("the audit chain has lost its head", remedy="restore a backup; nothing was changed")
    return Head(row.seq, row.hash)


def read_events(
    connection: sa.Connection, *, subject: str = "", after: int = 0, upto: int | None = None, limit: int | None = None
) -> Generator[Event, None, None]:
    """Yield events in order, all of them or those about one proposal. Who stops early closes the generator."""
    query: sa.Select[Any] = _OF_SUBJECT if subject else _AFTER
    given = {"after": after, **({"subject": subject} if subject else {})}
    if upto is not None:
        query = query.where(events.c.seq <= upto)
    if limit is not None:
        query = query.limit(limit)
    # the whole log comes in parts, from a cursor of the server's; of one subject there is little, in one answer
    options = {} if subject else {"yield_per": 1_000}
    with connection.execute(query, given, execution_options=options) as rows:
        for row in rows.mappings():
            yield Event(**row)
