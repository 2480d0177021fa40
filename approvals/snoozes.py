"""Putting a question off: it leaves one person's own queue until a moment before its time is over.

1. The moment lies ahead, and before the question has to be decided. 2. One row and one event for each person and
question; putting it off anew moves the moment. 3. The question comes back at the moment, when that person says so, and
at once when nobody is left who may say yes and has it in view.

Guarantees: the clock of the question goes on, reminders and escalation too; nobody else's queue changes; the question
can be opened and decided all the while, also by whoever put it off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, plans, votes
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.deciding import require_responder
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reach import requesters
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import DoneAlreadyError, TooManyError
from checkvalve.approvals.review_tables import snoozes
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, accounts
from checkvalve.approvals.talked import SNOOZED, WOKEN
from checkvalve.filters.strictjson import JSON

MAX_SNOOZES: Final = 200
"""Questions that one person may have put off at once: beyond it, nobody looks at any of them again."""
_row = snoozes.c


def snooze(queue: Queue, proposal_id: str, reviewer: Reviewer, until: int) -> bool:
    """Put an open question off until a moment (microseconds); say whether it is out of this person's queue now.

    It is not where everybody else who may say yes has put it off as well.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError: nothing was stored.
        QueueError: the moment is over, or not before the question has to be decided.
    """
    queue.get(proposal_id)
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        moves.require_open(proposal, now)
        require_responder(connection, queue.bench, proposal, reviewer)
        require_ahead(proposal, until, now)
        _forget(connection, proposal_id, reviewer.name)
        mine = sa.select(sa.func.count()).select_from(snoozes).where(_row.reviewer == reviewer.name, _row.until > now)
        if connection.execute(mine).scalar_one() >= MAX_SNOOZES:
            raise TooManyError(f"you have put off {MAX_SNOOZES} questions", remedy="decide some of them first")
        values = {"proposal_id": proposal_id, "reviewer": reviewer.name, "until": until}
        connection.execute(sa.insert(snoozes).values(values))
        body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}", "until": rfc3339(until)}
        audit.append(connection, at=now, kind=SNOOZED, subject=proposal_id, body=body)
        return proposal_id in hidden_from(connection, queue, reviewer.name, now)


def require_ahead(proposal: Proposal, until: int, now: int) -> None:
    """Do step 1. Times are microseconds.

    Raises:
        QueueError: the moment is over, or not before the question has to be decided.
    """
    if not now < until < proposal.decide_by:
        raise QueueError(
            "a question is put off until a moment ahead, before it has to be decided",
            remedy=f"give one before {rfc3339(proposal.decide_by)}",
        )


def wake(queue: Queue, proposal_id: str, reviewer: Reviewer) -> None:
    """Take a question back into one's own queue.

    Raises:
        ConflictError, CredentialError: it was not put off, or this is no reviewer any more.
    """
    with queue.store.write() as connection:
        queue.reviewers.require(connection, reviewer)
        if not _forget(connection, proposal_id, reviewer.name):
            raise not_put_off()
        body: dict[str, JSON] = {"by": f"reviewer:{reviewer.name}"}
        audit.append(connection, at=queue.clock(), kind=WOKEN, subject=proposal_id, body=body)


def not_put_off() -> DoneAlreadyError:
    """Return the error for taking back what was not put off."""
    return DoneAlreadyError("you have not put this question off", remedy="nothing was changed")


def _forget(connection: sa.Connection, proposal_id: str, name: str) -> bool:
    gone = sa.delete(snoozes).where(_row.proposal_id == proposal_id, _row.reviewer == name)
    return connection.execute(gone).rowcount == 1


def put_off(connection: sa.Connection, name: str, now: int) -> dict[str, int]:
    """Return what a person has put off, with the moment it comes back at."""
    query = sa.select(_row.proposal_id, _row.until).where(_row.reviewer == name, _row.until > now)
    return {proposal: int(until) for proposal, until in connection.execute(query)}


def hidden_from(connection: sa.Connection, queue: Queue, name: str, now: int) -> dict[str, int]:
    """Return what is out of a person's queue now, with the moment it comes back at; see the module's step 3."""
    mine = put_off(connection, name, now)
    if not mine:
        return {}
    away: dict[str, set[str]] = {proposal: set() for proposal in mine}
    query = sa.select(_row.proposal_id, _row.reviewer).where(_row.proposal_id.in_(sorted(mine)), _row.until > now)
    for proposal_id, reviewer in connection.execute(query):
        away[proposal_id].add(reviewer)
    known = [moves.load(connection, proposal_id) for proposal_id in mine]
    return {
        row.id: mine[row.id]
        for row in known
        if row.state is State.PENDING and _in_view(connection, row, away[row.id], single=queue.bench.single_user)
    }


def put_off_by(queue: Queue, reviewer: Reviewer) -> dict[str, int]:
    """Return what is out of this person's queue now, with the moment it comes back at."""
    with queue.store.read() as connection:
        return hidden_from(connection, queue, reviewer.name, queue.clock())


def _in_view(connection: sa.Connection, proposal: Proposal, away: Iterable[str], *, single: bool) -> bool:
    """Say whether somebody who may say yes to a question, and has not said anything yet, has it in view."""
    gone = set(away)
    question = plans.read(connection, proposal.id).question(proposal)
    said = {vote.person for vote in votes.read(connection, proposal.id)}
    own = frozenset[str]() if single else requesters(proposal.asked_by, accounts(connection, everyone=True))
    return any(
        Role.APPROVER in account.roles_for(question) and account.name not in gone and account.person not in said | own
        for account in accounts(connection)
    )


__all__ = [
    "MAX_SNOOZES", "hidden_from", "not_put_off", "put_off", "put_off_by", "require_ahead", "snooze", "wake",
]  # fmt: skip
