"""How a thread stands in the queue when one of its calls is decided: read once, in one snapshot.

Guarantees: of earlier calls only what a decision needs is read, since a long task has many; their stored bytes are
hashed before they count, and what is overdue is closed before it is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import endorsing, flood
from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON

_NEEDED: Final = (
    *("id", "call_id", "server", "tool", "canonical", "digest", "mode", "state", "verdict"),
    *("created_at", "updated_at"),
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier call of a thread, as it stood in the snapshot. Times are microseconds."""

    id: str
    call_id: str
    server: str
    tool: str
    canonical: bytes = field(repr=False)
    digest: str
    mode: str
    state: State
    verdict_name: str
    created_at: int
    updated_at: int

    def check(self) -> None:
        """Check that the stored bytes are those that were decided.

        Raises:
            StoreCorruptError: they are not.
        """
        if digest_bytes(self.canonical) != self.digest:
            raise self._changed()

    def args(self) -> dict[str, JSON]:
        """Return a fresh copy of the arguments, read from the stored bytes after hashing them again.

        Raises:
            StoreCorruptError: the stored bytes are not what was decided.
        """
        self.check()
        call = json.loads(self.canonical)
        args = call.get("args") if isinstance(call, dict) else None
        if not isinstance(args, dict) or (call.get("tool"), call.get("server")) != (self.tool, self.server):
            raise self._changed()
        return args

    def _changed(self) -> StoreCorruptError:
        return StoreCorruptError(f"the stored call of proposal {self.id} was changed", remedy="verify the audit log")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The earlier calls of a thread, oldest first, the data accepted in it, and whether it asks too much."""

    calls: Sequence[Earlier]
    endorsements: Sequence[Endorsement]
    flood: flood.Flood


def snapshot(queue: Queue, thread: str) -> Snapshot:
    """Return how a thread stands now, after closing what is overdue.

    Raises:
        StoreCorruptError: a row holds what this program never writes, or an endorsement that nobody gave.
    """
    queue.sweep()
    query = sa.select(*(proposals.c[name] for name in _NEEDED)).where(proposals.c.thread == thread)
    with queue.store.read() as connection:
        rows = connection.execute(query.order_by(proposals.c.created_at, proposals.c.id)).all()
        accepted = endorsing.read(connection, thread, queue.clock())
        asked = flood.standing(connection, thread)
    return Snapshot([_earlier(*row) for row in rows], accepted, asked)


def _earlier(*values: object) -> Earlier:
    stored = dict(zip(_NEEDED, values, strict=True))
    try:
        stored["state"] = State(str(stored["state"]))
    except ValueError as error:
        raise StoreCorruptError("a stored proposal cannot be read", remedy="verify the audit log") from error
    stored["verdict_name"] = stored.pop("verdict")
    return Earlier(**stored)  # type: ignore[arg-type]  # the columns have these types


__all__ = ["Earlier", "Snapshot", "snapshot"]
