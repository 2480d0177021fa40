"""Content under references, and the history of each thread: everything an attribution index is rebuilt from.

Guarantees: what was stored is never changed; a label that cannot be read is the unknown label (untrusted, private);
adding the same item twice under one key stores it once, and a changed item under an old key is a further item.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.errors import QueueError, StoreCorruptError
from checkvalve.approvals.requests import MAX_NAME
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import content, history
from checkvalve.filters.errors import UnknownReferenceError
from checkvalve.filters.labels import UNKNOWN, Authority, Label, Readers, Source, Trust
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.tainted import Reference, Tainted

_ID_BYTES: Final = 16  # drawn, so that a handle says nothing of the content, not even that two are equal
_MAX_KEY: Final = 1_000  # bytes: an index of PostgreSQL keeps less than 2,704 in a row, the thread's name included
_SOURCE_FIELDS: Final = ("kind", "uri", "author", "channel", "observed_at")


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One thing that entered a thread, in the order it came."""

    seq: int
    key: str
    kind: str
    value: JSON
    label: Label


def label_to_json(label: Label) -> dict[str, JSON]:
    """Return the stored form of a label."""
    return {
        "trust": label.trust.name,
        "authority": label.authority.name,
        "public": label.readers.public,
        "readers": list[JSON](sorted(label.readers.names)),
        "sources": [{name: getattr(source, name) for name in _SOURCE_FIELDS} for source in sorted(label.sources)],
    }


def label_from_json(value: object) -> Label:
    """Return the label in its stored form; whatever cannot be read is :data:`UNKNOWN`, never something better."""
    try:
        if not isinstance(value, Mapping) or not isinstance(value["public"], bool):
            return UNKNOWN
        readers = Readers(public=value["public"], names=frozenset(value["readers"]))
        sources = frozenset(Source(**{name: str(item[name]) for name in _SOURCE_FIELDS}) for item in value["sources"])
        return Label(Trust[value["trust"]], Authority[value["authority"]], readers, sources)
    except Exception:  # noqa: BLE001  # fail closed: no error in a label may end in a better one
        return UNKNOWN


def _stored_label(text: str) -> Label:
    try:
        return label_from_json(json.loads(text))
    except ValueError:
        return UNKNOWN


class SqlContentStore:
    """The content store of one database; it implements ``filters.tainted.ContentStore``."""

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        """Keep no state but the store."""
        self._store = store
        self._clock = clock

    def put(self, content_value: Tainted[str], *, thread: str, kind: str = "text") -> Reference:
        """Store the value for ``thread`` and return its handle."""
        value, label = content_value.reveal()
        if not isinstance(value, str):
            raise QueueError("only text is stored as content", remedy="store a JSON value as its text")
        reference = Reference(secrets.token_hex(_ID_BYTES), kind, len(value.encode("utf-8", "surrogatepass")))
        row = {
            "id": reference.id,
            "thread": thread,
            "kind": kind,
            "value": json.dumps(value),
            "size": reference.size,
            "label": json.dumps(label_to_json(label)),
            "stored_at": self._clock(),
        }
        with self._store.write() as connection:
            connection.execute(sa.insert(content).values(row))
        return reference

    def get(self, reference: Reference) -> Tainted[str]:
        """Return the value with the label it was stored with.

        Raises:
            UnknownReferenceError: nothing is stored under this handle.
            StoreCorruptError: what is stored is not text.
        """
        query = sa.select(content.c.value, content.c.label).where(content.c.id == reference.id)
        with self._store.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise UnknownReferenceError("nothing is stored under this reference")
        value = _stored_value(row.value)
        if not isinstance(value, str):
            raise StoreCorruptError("stored content cannot be read", remedy="restore a backup; nothing was changed")
        return Tainted(value, _stored_label(row.label))

    def append_item(self, thread: str, key: str, kind: str, value: JSON, label: Label = UNKNOWN) -> int:
        """Add one item to a thread's history and return its number. Adding it again changes nothing.

        Raises:
            QueueError: the value is not JSON, or the thread's name is too long to be one.
        """
        if len(thread) > MAX_NAME:
            raise QueueError("this name of a thread is too long", remedy=f"at most {MAX_NAME} characters")
        try:
            text = json.dumps(value, allow_nan=False, sort_keys=True)
        except (ValueError, TypeError, RecursionError):
            raise QueueError("only JSON values can enter a thread's history", remedy="pass the parsed value") from None
        found = digest_bytes(text.encode())
        row = {"thread": thread, "key": _short(key), "kind": kind, "value_digest": found, "value": text}
        same = [history.c[name] == row[name] for name in ("thread", "key", "value_digest")]
        with self._store.write() as connection:
            known = connection.execute(sa.select(history.c.seq).where(*same)).scalar()
            if known is not None:
                return int(known)
            row |= {"label": json.dumps(label_to_json(label))}
            added = sa.insert(history).values(stored_at=self._clock(), **row).returning(history.c.seq)
            return int(connection.execute(added).scalar_one())

    def items(self, thread: str, *, after: int = 0) -> list[HistoryItem]:
        """Return the history of a thread in the order it came, from the item after number ``after`` on."""
        return self._items(history.c.thread == thread, history.c.seq > after)

    def spoken(self, thread: str, kinds: Collection[str]) -> list[HistoryItem]:
        """Return what of a thread's history is of these kinds, in the order it came."""
        return self._items(history.c.thread == thread, history.c.kind.in_(sorted(kinds)))

    def _items(self, *which: sa.ColumnElement[bool]) -> list[HistoryItem]:
        query = sa.select(history).where(*which).order_by(history.c.seq)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return [
            HistoryItem(row.seq, row.key, row.kind, _stored_value(row.value), _stored_label(row.label)) for row in rows
        ]


def _short(key: str) -> str:
    """Return ``key``, or its digest where a database could not keep or index it. Equal keys stay equal."""
    plain = key.encode("utf-8", "surrogatepass")
    kept = len(plain) <= _MAX_KEY and plain.decode("utf-8", "ignore") == key
    return key if kept else digest_bytes(plain)


def _stored_value(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        raise StoreCorruptError(
            "stored content cannot be read", remedy="restore a backup; nothing was changed"
        ) from None
    return value
