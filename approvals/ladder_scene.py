"""What the ladder of a question is judged by: who is there, what was told of each step, and what did not arrive.

Guarantees: nothing is written here; what was told is read from the events of the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import attention, audit, delegations, votes
from checkvalve.approvals.handed import LADDER
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.ladder_steps import Scene, Step
from checkvalve.approvals.oncall import OnDuty
from checkvalve.approvals.outbox import DEAD
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.roles import accounts
from checkvalve.approvals.rungs import Staff
from checkvalve.approvals.tables import deliveries, events, outbox, proposals

ESCALATED: Final = LADDER[1]
TRIES: Final = 3
"""Failed tries after which a channel counts as one that does not work, although it is tried further."""
_row = plan_rows.c
_sent = deliveries.c


@dataclass(frozen=True, slots=True)
class Around:
    """What is the same for all questions at one moment."""

    staff: Staff
    spent: frozenset[str]
    channels: frozenset[str] | None

    @classmethod
    def at(cls, connection: sa.Connection, queue: Queue, now: int) -> Around:
        """Read it: accounts, who stands in, whose budget is used up, and which channels somebody serves."""
        known = queue.channels
        if known is not None:
            known |= frozenset(connection.execute(sa.select(outbox.c.channel)).scalars())
        spent = attention.used_up(connection, queue.budget, now)
        return cls(staff_at(connection, now, single_user=queue.bench.single_user), spent, known)

    def scene(self, connection: sa.Connection, proposal: Proposal, plan: Plan) -> Scene:
        """Return one question as it stands."""
        voted = frozenset(vote.person for vote in votes.read(connection, proposal.id))
        return Scene(self.staff, plan, plan.question(proposal), proposal.asked_by, self.spent, voted, self.channels)


def staff_at(connection: sa.Connection, at: int, *, single_user: bool = False) -> Staff:
    """Return who is there at a moment, and who stands in for whom."""
    handed = {item.giver: item.taker for item in delegations.in_force(connection, at)}
    listed = accounts(connection, everyone=True)
    enabled = tuple(one for one in listed if not one.disabled)
    return Staff(enabled, handed, single_user, tuple(one for one in listed if one.disabled))


def failing(connection: sa.Connection) -> list[tuple[str, int, str]]:
    """Return the messages of steps that do not arrive: the open question, the number of its event, the channel."""
    query = sa.select(events.c.subject, events.c.seq, _sent.channel).join(events, events.c.seq == _sent.seq)
    query = query.join(proposals, proposals.c.id == events.c.subject)
    query = query.where(_given_up(), events.c.kind == ESCALATED, proposals.c.state == State.PENDING.value)
    return [(row.subject, row.seq, row.channel) for row in connection.execute(query)]


def _given_up() -> sa.ColumnElement[bool]:
    return sa.or_(_sent.state == DEAD, sa.and_(_sent.code != "", _sent.tries > TRIES))


def with_steps_left(connection: sa.Connection) -> list[str]:
    """Return the open questions that have a step before them."""
    query = sa.select(_row.proposal_id).join(proposals, proposals.c.id == _row.proposal_id)
    left = query.where(proposals.c.state == State.PENDING.value, _row.next_at.is_not(None), has_steps())
    return list(connection.execute(left.order_by(_row.proposal_id)).scalars())


def has_steps() -> sa.ColumnElement[bool]:
    """Return the condition that a plan has steps of escalation."""
    return ~_row.body.contains('"escalate":[]', autoescape=True)  # stored plans are canonical JSON


def told_steps(connection: sa.Connection, proposal_id: str) -> list[Step]:
    """Return the steps that were told, oldest first, as their events say."""
    found: list[Step] = []
    for event in list(audit.read_events(connection, subject=proposal_id)):
        body = body_of(event.body) if event.kind == ESCALATED and event.body else {}
        if body and body.get("missed") is not True:
            found.append(Step(_words(body.get("to")), _answers(body.get("oncall")), _dead(connection, event.seq)))
    return found


def _words(told: object) -> tuple[str, ...]:
    return tuple(str(word) for word in told) if isinstance(told, list) else ()


def _answers(told: object) -> dict[str, OnDuty]:
    listed = told.items() if isinstance(told, dict) else ()
    return {
        name: OnDuty(_words(item.get("people")), str(item.get("failed") or ""))
        for name, item in listed
        if isinstance(item, dict)
    }


def _dead(connection: sa.Connection, seq: int) -> frozenset[str]:
    return frozenset(connection.execute(sa.select(_sent.channel).where(_sent.seq == seq, _given_up())).scalars())


__all__ = ["ESCALATED", "TRIES", "Around", "failing", "has_steps", "staff_at", "told_steps", "with_steps_left"]
