"""Keys under which a program may send the same request twice, for as long as anybody would try again.

Guarantees: of several processes that get one key at once, one keeps it first; a key that comes with another request is
told apart. The key itself is not stored, and neither is the request: only digests.
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


__all__ = ["KEPT", "Known", "remember"]
