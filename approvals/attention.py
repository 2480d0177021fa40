"""Keeping those who decide awake: how often one says yes within an hour, and when they were shown what they decided.

Guarantees: a yes beyond the budget is refused in the transaction that would have made it, and nothing is approved
because of it: the question goes on waiting, everybody else may decide it, and saying no is always possible. What was
shown when is an event of the log, so the figures come from the same record as the decisions.
"""

from __future__ import annotations

import json
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import BudgetError
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import grants
from checkvalve.filters.strictjson import JSON

HOUR: Final = 3_600_000_000  # microseconds
SHOWN: Final = "attention.shown"
"""The kind of the event that says when a person first saw a call."""
REACHED: Final = "budget.reached"
"""The kind of the event that says that a person has used up an hour's budget."""
_SUBJECT: Final = "budget:"


def given(connection: sa.Connection, reviewer: str, now: int) -> list[int]:
    """Return when ``reviewer`` said yes within the last hour, oldest first."""
    row, vote = grants.c, votes.c
    permits = sa.select(row.proposal_id, row.issued_at).where(row.issued_by == f"reviewer:{reviewer}")
    said = sa.select(vote.proposal_id, vote.at).where(vote.reviewer == reviewer, vote.vote == "yes")
    lately = (permits.where(row.issued_at > now - HOUR), said.where(vote.at > now - HOUR))  # also where more are needed
    found = {name: at for query in lately for name, at in connection.execute(query)}
    return sorted(found.values())


def spend(connection: sa.Connection, reviewer: str, budget: int, now: int) -> None:
    """Let a yes of ``reviewer`` count, inside the transaction that makes it.

    1. No budget: nothing to do. 2. Used up: refuse, and say from when on it goes on. 3. This is the last one: the log
    says so, once an hour, and channels pass it on to the others.

    Raises:
        BudgetError: it is used up.
    """
    if not budget:
        return
    earlier = given(connection, reviewer, now)
    if len(earlier) >= budget:
        until = to_the_second(earlier[-budget] + HOUR)
        raise BudgetError(
            f"{reviewer} has said yes {len(earlier)} times within the hour; this question waits",
            remedy=f"let somebody else look, say no, or go on after {until}",
        )
    if len(earlier) + 1 == budget and not _said_lately(connection, reviewer, now):
        body: dict[str, JSON] = {"reviewer": reviewer, "budget": budget}
        audit.append(connection, at=now, kind=REACHED, subject=_SUBJECT + reviewer, body=body)


def spent(store: Store, names: list[str], budget: int, now: int) -> dict[str, int]:
    """Return who has used up the hour's budget, with when each may go on."""
    if not budget:
        return {}
    with store.read() as connection:
        found = {name: given(connection, name, now) for name in names}
    return {name: times[-budget] + HOUR for name, times in found.items() if len(times) >= budget}


def note_shown(store: Store, proposal_id: str, reviewer: str, *, at: int, now: int) -> bool:
    """Note that ``reviewer`` first saw a call at ``at``; once for each of them. Says whether it was the first time.

    Surfaces call it when they show a card to somebody whose credential they know.
    """
    who = f"reviewer:{reviewer}"
    with store.read() as connection:
        if _was_shown(connection, proposal_id, who):
            return False
    with store.write() as connection:
        if _was_shown(connection, proposal_id, who):
            return False
        body: dict[str, JSON] = {"by": who, "shown_at": rfc3339(at)}
        audit.append(connection, at=now, kind=SHOWN, subject=proposal_id, body=body)
    return True


def _was_shown(connection: sa.Connection, proposal_id: str, who: str) -> bool:
    events = list(audit.read_events(connection, subject=proposal_id))  # read to the end: it is a cursor of the server's
    return any(event.kind == SHOWN and event.body and json.loads(event.body).get("by") == who for event in events)


def _said_lately(connection: sa.Connection, reviewer: str, now: int) -> bool:
    events = list(audit.read_events(connection, subject=_SUBJECT + reviewer))
    return any(event.at > now - HOUR for event in events)


__all__ = ["HOUR", "REACHED", "SHOWN", "given", "note_shown", "spend", "spent"]
