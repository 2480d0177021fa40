"""What people accepted or granted ahead of time, as lists show it: in force only where a call could rely on it now.

1. Of what holds by its own row it is asked whether its givers may give it, by the rule by which calls are decided
(:mod:`givers`). 2. Where they may not any more it is ``void``: it can still be taken back, and counts again if the
right comes back.

Guarantees: reads only; what cannot be looked at counts for nothing, and hides no other one.
"""

from __future__ import annotations

from dataclasses import replace

from checkvalve.approvals import givers
from checkvalve.approvals.endorsing import Endorsed
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.queue import Queue


def accepted(queue: Queue, *, thread: str = "") -> list[Endorsed]:
    """Return the data that was ever accepted, oldest first."""
    found, now = queue.endorsed.list(thread=thread), queue.clock()
    with queue.store.read() as connection:
        people, known = givers.Rows(connection), dict[str, bool]()
        for name in {item.proposal_id for item in found if item.holds(now)}:
            try:
                known[name] = givers.still_accept(people, name, at=now)
            except StoreCorruptError:
                known[name] = False
    return [replace(item, counts=known.get(item.proposal_id, True)) for item in found]


def granted(queue: Queue, *, thread: str = "") -> list[MandateEntry]:
    """Return the mandates that were ever granted, oldest first."""
    found, now = queue.mandates.list(thread=thread), queue.clock()
    with queue.store.read() as connection:
        people = givers.Rows(connection)
        return [replace(item, counts=not item.holds(now) or givers.still_grants(people, item)) for item in found]


__all__ = ["accepted", "granted"]
