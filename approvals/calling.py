"""Calling others to a question by hand: what the clock's escalation does later, a reviewer does now.

1. The question is open, and the reviewer may at least say no to it. 2. It was not called for before: once for each
question. 3. Those are named whom the plan's steps of escalation name; where it has none, whoever could say yes. The
caller, whoever asked and whoever has voted are not among them. 4. One event says so, and channels tell it.

Guarantees: nothing is decided, no clock and no rung of the ladder changes, and the clock's own escalation still comes.
"""

from __future__ import annotations

from checkvalve.approvals import audit, moves, plans, votes
from checkvalve.approvals.deciding import require_responder
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.ladder import staff_at
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.refusals import DoneAlreadyError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.rungs import CHANNEL, Rung, who_should_look
from checkvalve.approvals.sound_events import sound_events
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.talked import CALLED
from checkvalve.filters.strictjson import JSON


def call_others(queue: Queue, proposal_id: str, reviewer: Reviewer, *, channel: str = "") -> tuple[str, ...]:
    """Do the four steps; returns the accounts that should look now. ``channel`` is where it was said.

    Raises:
        NotFoundError, CredentialError, NotAllowedError, StoreCorruptError: nothing was stored.
        ConflictError: it is decided, others were called already, or there is nobody else.
    """
    queue.get(proposal_id)
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        if proposal.state is not State.PENDING or moves.is_overdue(proposal, now):
            raise moves.conflict(proposal)
        account = require_responder(connection, queue.bench, proposal, reviewer)
        require_recorded(connection, proposal_id)
        if any(event.kind == CALLED for event in sound_events(connection, proposal_id)):
            raise DoneAlreadyError("others were called to this question already", remedy="decide it, or wait for them")
        plan = plans.read(connection, proposal_id)
        to = tuple(dict.fromkeys(word for step in plan.escalate for word in step.to))
        voted = {vote.person for vote in votes.read(connection, proposal_id)} | {account.person}
        staff = staff_at(connection, now, single_user=queue.bench.single_user)
        who = who_should_look(
            Rung(now, 0, to), staff, plan, plan.question(proposal), requester=proposal.requester, voted=voted
        )
        if not who and not any(word.startswith(CHANNEL) for word in to):
            raise ConflictError("there is nobody else who could decide this", remedy="an administrator adds a reviewer")
        body: dict[str, JSON] = {"state": proposal.state.value, "by": f"reviewer:{reviewer.name}", "who": [*who]}
        body |= {"to": [*to], "channel": channel}
        audit.append(connection, at=now, kind=CALLED, subject=proposal_id, body=body)
    return who


__all__ = ["call_others"]
