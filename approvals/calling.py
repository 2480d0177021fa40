"""Calling others to a question by hand: what the clock's escalation does later, a reviewer does now.

1. The question is open, and the reviewer may at least say no to it. 2. It was not called for before: once for each
question. 3. Those are named whom the plan's steps of escalation name; where it has none, whoever could say yes. The
caller, whoever asked and whoever has voted are not among them. 4. One event says so, and channels tell it.

Guarantees: nothing is decided, no clock and no rung of the ladder changes, and the clock's own escalation still comes.
"""

from __future__ import annotations

from checkvalve.approvals import audit, moves, plans
from checkvalve.approvals.deciding import require_responder
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.ladder_ahead import asked
from checkvalve.approvals.ladder_event import oncall_body
from checkvalve.approvals.ladder_scene import Around
from checkvalve.approvals.oncall import ONCALL
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.queue import Queue
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
    found = queue.get(proposal_id)
    with queue.store.read() as connection:  # no request goes out for somebody who may not call anybody
        require_responder(connection, queue.bench, found, reviewer)
        to = _words(plans.read(connection, proposal_id))
    answers = asked(queue, {word.removeprefix(ONCALL) for word in to if word.startswith(ONCALL)}, queue.clock())
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        moves.require_open(proposal, now)
        account = require_responder(connection, queue.bench, proposal, reviewer)
        require_recorded(connection, proposal_id)
        if any(event.kind == CALLED for event in sound_events(connection, proposal_id)):
            raise DoneAlreadyError("others were called to this question already", remedy="decide it, or wait for them")
        plan = plans.read(connection, proposal_id)
        scene = Around.at(connection, queue, now).scene(connection, proposal, plan)
        who = who_should_look(
            Rung(now, 0, to),
            scene.staff,
            plan,
            scene.question,
            requester=scene.requester,
            voted={*scene.voted, account.person},
            oncall=answers,
        )
        if not who and not any(word.startswith(CHANNEL) for word in to):
            raise ConflictError("there is nobody else who could decide this", remedy="an administrator adds a reviewer")
        body: dict[str, JSON] = {"state": proposal.state.value, "by": f"reviewer:{reviewer.name}", "who": [*who]}
        body |= {"to": [*to], "channel": channel, **oncall_body(to, answers, scene)}
        audit.append(connection, at=now, kind=CALLED, subject=proposal_id, body=body)
    return who


def _words(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for step in plan.escalate for word in step.to))


__all__ = ["call_others"]
