"""Where the log that is to be closed begins, and which events only say that another one does.

Guarantees: a link that is not the first event of the log is taken out of it and kept as evidence, whatever it says; so
one that was planted neither moves the log nor keeps anybody from closing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.closedlogs import RESTARTED, Closed, closed_logs, links
from checkvalve.approvals.judge import KEYS, Outside, body_of
from checkvalve.approvals.logkeys import Follows, LogKey
from checkvalve.approvals.restart_examine import examine
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.filters.strictjson import JSON

UNKNOWN: Final = Follows("", ())
"""Stands for the log before one of which only the public key is left."""


def done_before(store: Store, key: LogKey) -> Closed | None:
    """Return the closed log that this key follows, where the database has closed it."""
    if key.follows is None:
        return None
    with store.read() as connection:
        for event in links(connection):
            body = body_of(event.body)
            if _begins(body, key.origin, key.follows):
                return closed_logs(connection, upto=event.seq)[-1]
    return None


def _begins(body: Mapping[str, JSON], name: str, follows: Follows | None) -> bool:
    """Say whether a link begins the log of this name, and where that is known, behind the one that it follows."""
    told = body.get("closed")
    behind = told.get("origin") if isinstance(told, dict) else None
    return body.get("origin") == name and behind is not None and (follows is None or behind == follows.origin)


def start_of(
    connection: sa.Connection, old: Follows, began: Follows | None, known: Sequence[Outside], before: int | None
) -> int:
    """Return the number of the last event before the log that is closed: by its key, and by what was signed of it.

    A link is an event that anybody who can write the database can write. One counts only where the key says that its
    log follows another; of several, that counts behind which the largest checkpoint is good.
    """
    if began is None:
        return 0
    follows = None if began is UNKNOWN else began
    named = [event.seq - 1 for event in links(connection) if _begins(body_of(event.body), old.origin, follows)]
    starts = [0, *named] if began is UNKNOWN else named or [0]
    if len(starts) == 1:
        return starts[0]
    return max(starts, key=lambda base: examine(connection, old, known, base=base, before=before).size)


def take_out(connection: sa.Connection, start: int) -> list[dict[str, Any]]:
    """Take every link behind the first event of the log out of it, and return them for the evidence."""
    behind = (events.c.subject == KEYS, events.c.kind == RESTARTED, events.c.seq > start + 1)
    found = [dict(row) for row in connection.execute(sa.select(events).where(*behind)).mappings()]
    if start == 0:  # a first log begins with no link
        first = sa.select(events).where(*behind[:2], events.c.seq == 1)
        found += [dict(row) for row in connection.execute(first).mappings()]
    numbers = [row["seq"] for row in found]
    connection.execute(sa.delete(events).where(events.c.seq.in_(numbers)))
    return found


__all__ = ["UNKNOWN", "done_before", "start_of", "take_out"]
