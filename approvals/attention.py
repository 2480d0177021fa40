"""Keeping those who decide awake: how often one says yes within an hour, and when they were shown what they decided.

Guarantees: a yes beyond the budget is refused in the transaction that would have made it, and nothing is approved
because of it: the question goes on waiting, everybody else may decide it, and saying no is always possible. What was
shown when is an event of the log, so the figures come from the same record as the decisions.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import BudgetError
from checkvalve.approvals.render import clip
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import grants
from checkvalve.filters.strictjson import JSON

HOUR: Final = 3_600_000_000  # microseconds
SHOWN: Final = "attention.shown"
"""The kind of the event that says when a person first saw a call."""
WHOLE: Final = "whole"
"""Stands in that event: every argument was shown in full."""
REACHED: Final = "budget.reached"
"""The kind of the event that says that a person has used up an hour's budget."""
_SUBJECT: Final = "budget:"
_REVIEWER: Final = "reviewer:"


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


def used_up(connection: sa.Connection, budget: int, now: int) -> frozenset[str]:
    """Return the accounts that may not say yes now, since the hour's budget is used up; none without a budget."""
    if not budget:
        return frozenset()
    row, vote = grants.c, votes.c
    permits = sa.select(row.issued_by, row.proposal_id).where(
        row.issued_at > now - HOUR, row.issued_by.startswith(_REVIEWER)
    )
    said = sa.select(vote.reviewer, vote.proposal_id).where(vote.at > now - HOUR, vote.vote == "yes")
    pairs = {(by.removeprefix(_REVIEWER), name) for query in (permits, said) for by, name in connection.execute(query)}
    counted = Counter(by for by, _ in pairs)
    return frozenset(by for by, count in counted.items() if count >= budget)


def note_shown(store: Store, proposal_id: str, reviewer: str, *, at: int, now: int, whole: bool = False) -> bool:
    """Note that ``reviewer`` first saw a call at ``at``; once for each of them. Says whether it was news.

    Surfaces call it when they show a card to somebody whose credential they know. ``whole``: no part of an argument
    was folded or left out; where that was not so at first and is now, it is noted once more.
    """
    who = f"reviewer:{reviewer}"
    with store.read() as connection:
        if _was_shown(connection, proposal_id, who, whole=whole):
            return False
    with store.write() as connection:
        if _was_shown(connection, proposal_id, who, whole=whole):
            return False
        body: dict[str, JSON] = {"by": who, "shown_at": rfc3339(at), WHOLE: whole}
        audit.append(connection, at=now, kind=SHOWN, subject=proposal_id, body=body)
    return True


def shows_whole(row: Seen) -> bool:
    """Say whether a card of the pages or the terminal shows every argument of a call without folding any."""
    return all(not clip(item.text)[1] for item in row.parts())


def _was_shown(connection: sa.Connection, proposal_id: str, who: str, *, whole: bool) -> bool:
    events = list(audit.read_events(connection, subject=proposal_id))  # read to the end: it is a cursor of the server's
    bodies = [json.loads(event.body) for event in events if event.kind == SHOWN and event.body]
    return any(body.get("by") == who and (not whole or body.get(WHOLE) is True) for body in bodies)


def _said_lately(connection: sa.Connection, reviewer: str, now: int) -> bool:
    events = list(audit.read_events(connection, subject=_SUBJECT + reviewer))
    return any(event.at > now - HOUR for event in events)


__all__ = ["HOUR", "REACHED", "SHOWN", "WHOLE", "given", "note_shown", "shows_whole", "spend", "spent", "used_up"]
