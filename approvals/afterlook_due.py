"""A broken glass that nobody has looked at is not forgotten: every day those who may look are told again.

1. A day after the glass was broken, and every further day, one event ``afterlook.due`` is written and told to channels,
with who may look. 2. Days that were missed are one event, not several. 3. It ends with the look.

Guarantees: however many processes look, each day is written once, since it is counted under the write lock; a record
that was changed beside the log is left alone and named.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import afterlooks, audit, moves, reach
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.handed import DUE
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.people import same_person
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import account_of, accounts
from checkvalve.approvals.rungs import MAX_NAMED
from checkvalve.filters.strictjson import JSON

EVERY: Final = 86_400_000_000
"""Microseconds between two reminders."""


def remind(queue: Queue) -> dict[str, tuple[str, ...]]:
    """Write what is due now; returns the calls that wait for a look, with who was named."""
    with queue.store.read() as connection:
        if not _due(connection, queue.clock()):
            return {}
    found: dict[str, tuple[str, ...]] = {}
    with queue.store.write() as connection:
        now = queue.clock()
        for item, days in _due(connection, now):
            who = _who(connection, item)
            body: dict[str, JSON] = {"by": "clock", "days": days, "who": [*who]}
            audit.append(connection, at=now, kind=DUE, subject=item.proposal_id, body=body)
            found[item.proposal_id] = who
    return found


def _due(connection: sa.Connection, now: int) -> list[tuple[afterlooks.AfterLook, int]]:
    """Return the open looks of which a further day is over, with how many days that are."""
    found = []
    for item in afterlooks.entries(connection):
        days = (now - item.at) // EVERY
        if days >= 1 and days > _told(connection, item.proposal_id):
            found.append((item, days))
    return found


def _told(connection: sa.Connection, name: str) -> int:
    told = (
        body_of(event.body).get("days") for event in audit.read_events(connection, subject=name) if event.kind == DUE
    )
    return max((days for days in told if isinstance(days, int)), default=0)


def _who(connection: sa.Connection, item: afterlooks.AfterLook) -> tuple[str, ...]:
    """Return the accounts that may look: not who broke the glass, nor who asked for the call."""
    try:
        proposal, broke = moves.load(connection, item.proposal_id), account_of(connection, item.by)
    except ApprovalError:  # a damaged record: that somebody has to look is still said
        return ()
    own = reach.requesters(proposal.asked_by, accounts(connection, everyone=True))
    names = [
        one.name
        for one in accounts(connection)
        if not one.roles.isdisjoint(afterlooks.LOOKERS)
        and one.person not in own
        and not same_person(one.person, broke.person)
        and not same_person(one.name, broke.name)
    ]
    return tuple(names[:MAX_NAMED])


__all__ = ["DUE", "EVERY", "remind"]
