"""The event chain: one row for each change, in the same transaction, each row bound to the one before it.

Guarantees: appends pass one after the other through the single ``audit_head`` row, so the chain has one end however
many processes write; a changed, removed, inserted or reordered event breaks the chain, and a proposal whose state or
bytes were edited disagrees with its events. What it does not prove: somebody who can write the database can rewrite
the whole chain, and cut its end, unless you kept a head elsewhere (``audit head``) to verify against.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, events
from checkvalve.filters.strictjson import JSON

HEAD_ROW: Final = 1
_VERSION: Final = 1  # of the hashed form below


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

    def to_json(self) -> dict[str, JSON]:
        """Return the event for people and programs; the hash covers exactly these fields."""
        return {
            "seq": self.seq,
            "at": rfc3339(self.at),
            "kind": self.kind,
            "subject": self.subject,
            "body": json.loads(self.body),
            "prev": self.prev,
            "hash": self.hash,
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain: keep it somewhere else, and a later cut before it is found."""

    seq: int
    hash: str


def chain_hash(prev: str, *, seq: int, at: int, kind: str, subject: str, body: str) -> str:
    """Return the hash of one event. Pure: what the verifier computes is what the writer computed."""
    form = canonical([_VERSION, prev, seq, at, kind, subject, body])
    return "sha256:" + hashlib.sha256(form).hexdigest()


def append(connection: sa.Connection, *, at: int, kind: str, subject: str = "", body: Mapping[str, JSON]) -> Head:
    """Add one event inside the caller's write transaction.

    1. Move the head row on. On a server this takes the row's lock; in SQLite the transaction has the write lock.
    2. Write the event, bound to the hash that the head had.
    3. Store the new hash in the head.
    """
    moved = sa.update(audit_head).where(audit_head.c.id == HEAD_ROW).values(seq=audit_head.c.seq + 1)
    row = connection.execute(moved.returning(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    if row is None:
        raise StoreCorruptError("the audit chain has lost its head", remedy="restore a backup; nothing was changed")
    seq, prev = row
    text = canonical(dict(body)).decode()
    new = chain_hash(prev, seq=seq, at=at, kind=kind, subject=subject, body=text)
    values = {"seq": seq, "at": at, "kind": kind, "subject": subject, "body": text, "prev": prev, "hash": new}
    connection.execute(sa.insert(events).values(values))
    connection.execute(sa.update(audit_head).where(audit_head.c.id == HEAD_ROW).values(hash=new))
    return Head(seq, new)


def head(store: Store) -> Head:
    """Return the present end of the chain."""
    with store.read() as connection:
        row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    if row is None:
        raise StoreCorruptError("the audit chain has lost its head", remedy="restore a backup; nothing was changed")
    return Head(row.seq, row.hash)


def read_events(
    connection: sa.Connection, *, subject: str = "", after: int = 0, limit: int | None = None
) -> Iterator[Event]:
    """Yield events in order, all of them or those about one proposal."""
    query = sa.select(events).where(events.c.seq > after).order_by(events.c.seq).limit(limit)
    if subject:
        query = query.where(events.c.subject == subject)
    for row in connection.execute(query, execution_options={"yield_per": 1_000}).mappings():
        yield Event(**row)
