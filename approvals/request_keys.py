"""Keys under which a program may send the same request twice, for as long as anybody would try again.

Guarantees: of several processes that get one key at once, one keeps it first; a key that comes with another request is
told apart. The key itself is not stored, and neither is the request: only digests. An answer is kept only as bytes that
whoever keeps it has sealed, and goes with its key.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.clock import micros
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import request_keys
from checkvalve.filters.strictjson import JSON

KEPT: Final = micros(timedelta(days=2))
"""How long a key is remembered."""
Known: TypeAlias = Literal["new", "same", "other"]


def remember(store: Store, who: str, key: str, request: JSON, *, now: int) -> Known:
    """Keep a key of ``who``; say whether it is new, was sent with the same request before, or with another one."""
    name, what = digest([who, key]), digest(request)
    row = request_keys.c
    with store.write() as connection:
        connection.execute(sa.delete(request_keys).where(row.at < now - KEPT))
        found = connection.execute(sa.select(row.request).where(row.key == name)).scalar()
        if found is not None:
            return "same" if found == what else "other"
        connection.execute(sa.insert(request_keys).values(key=name, request=what, at=now))
    return "new"


def keep_answer(store: Store, who: str, key: str, request: JSON, answer: bytes) -> None:
    """Keep how a request ended, sealed; empty bytes say that it was carried out, and no more."""
    with store.write() as connection:
        connection.execute(sa.update(request_keys).where(*_claim(who, key, request)).values(answer=answer))


def answer_of(store: Store, who: str, key: str, request: JSON) -> bytes | None:
    """Return what was kept of how a request ended; nothing where it has not ended, or was forgotten."""
    with store.read() as connection:
        found = connection.execute(sa.select(request_keys.c.answer).where(*_claim(who, key, request))).scalar()
    return None if found is None else bytes(found)


def forget(store: Store, who: str, key: str, request: JSON) -> None:
    """Give a key back whose request did nothing. One whose request has ended stays."""
    with store.write() as connection:
        row = request_keys.c
        connection.execute(sa.delete(request_keys).where(*_claim(who, key, request), row.answer.is_(None)))


def empty_answers(connection: sa.Connection) -> None:
    """Leave nothing of any answer: what was erased may stand in one, and nobody here can read which."""
    row = request_keys.c
    connection.execute(sa.update(request_keys).where(row.answer.is_not(None)).values(answer=b""))


def _claim(who: str, key: str, request: JSON) -> tuple[sa.ColumnElement[bool], ...]:
    row = request_keys.c
    return row.key == digest([who, key]), row.request == digest(request)


__all__ = ["KEPT", "Known", "answer_of", "empty_answers", "forget", "keep_answer", "remember"]
