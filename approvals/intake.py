"""How a decided call enters the queue, in one transaction, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias, cast

import sqlalchemy as sa

from checkvalve.approvals import audit, endorsing, flood, glance, moves, plans, reach, stuck, uses
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.asked_by import as_json, once, stored
from checkvalve.approvals.canonical import canonical, digest
from checkvalve.approvals.clock import Clock, micros, rfc3339
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.question import question_of
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.records import Proposal, State, from_row, proposal_id, record_digest
from checkvalve.approvals.reproposals import refused_before
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.strictjson import JSON

MAX_OPEN_PER_THREAD: Final = 20
"""Open questions of one thread: a person cannot judge more at once, and an agent that floods is not doing its task."""

OBSERVED_FOR: Final = micros(timedelta(days=36_500))
"""How long a permit of observe mode lasts: for ever, since observing must not stop anything."""

_SECOND: Final = 1_000_000  # microseconds
_RECORD: Final = sa.insert(proposals)
Beside: TypeAlias = Callable[[sa.Connection, Proposal], None]
"""What is written in the same transaction as a new proposal; if it raises, nothing of either is stored."""

FLOODED: Final = Deny("queue-flooded", "queue-flooded", remedy_for("queue-flooded"))


@dataclass(frozen=True, slots=True)
class Intake:
    """Writes proposals. ``decide_within`` and ``execute_within`` (microseconds) count where no review rule says more.

    ``tenant`` and ``single_user`` are the gateway's: for the rules, and for whether anybody can answer; ``adopted``
    says whether the rules that the call was decided by are in force.
    """

    store: Store
    clock: Clock
    decide_within: int
    execute_within: int
    rules: ReviewRules = field(default_factory=ReviewRules)
    tenant: str = ""
    single_user: bool = False
    adopted: Adopted = field(default_factory=Adopted)

    def propose(
        self,
        request: ActionRequest,
        decision: Decision,
        *,
        mode: str,
        idempotency: Idempotency,
        beside: Beside | None = None,
    ) -> Proposal:
        """Record a decided call.

        1. The id follows from thread, call and digest. A row with this id is returned as it is: nothing is recomputed.
        2. Another digest under the same call replaces what was open there: changed arguments need their own decision.
        3. A question beyond the thread's open ones is denied as flooding, and one that a person has refused already is
           denied with the id of the first, unless the user has said something since.
        4. Allow → approved with a grant by the rule; Review → pending, with the plan of how it is to be answered; Deny
           → denied. In observe mode everything is approved with a grant by ``observe``, and the record says so.
        5. Row, event, grant, what the call uses up of mandates, and what ``beside`` does are committed together.

        Raises:
            QueueError: the call has no thread or no call id, so it could not be told from another one.
            MandateSpentError: what an allowed call relied on is not there any more; nothing was recorded.
            NotAdoptedError: it was decided by rules that nobody adopted; nothing was recorded.
        """
        if not request.thread or not request.call_id:
            raise QueueError("a call without thread and call id cannot be recorded", remedy="let the gateway give both")
        try:
            with self.store.write() as connection:
                if mode != moves.OBSERVE:
                    self.adopted.require(connection, self.clock())
                found = self._propose(connection, request, decision, mode=mode, idempotency=idempotency)
                if beside is not None:
                    beside(connection, found)
                return found
        except sa.exc.IntegrityError:  # on a server, another writer inserted the same id first
            with self.store.read() as connection:
                return moves.load(connection, proposal_id(request.thread, request.call_id, request.digest))

    def _propose(
        self,
        connection: sa.Connection,
        request: ActionRequest,
        decision: Decision,
        *,
        mode: str,
        idempotency: Idempotency,
    ) -> Proposal:
        now = self.clock()
        known = proposal_id(request.thread, request.call_id, request.digest)
        there = glance.look(connection, request, known)
        if there.known:
            return moves.close_overdue(connection, moves.load(connection, known), now)
        pending = there.pending
        if there.replaces:
            self._replace(connection, request, now)
            pending = _open(connection, request.thread)
        verdict = decision.verdict
        if mode != moves.OBSERVE and isinstance(verdict, Review) and pending >= MAX_OPEN_PER_THREAD:
            verdict = FLOODED
        if mode != moves.OBSERVE and there.asked_before:
            verdict = refused_before(connection, request, verdict)
        state, by = _start(verdict, mode)
        until = now + (OBSERVED_FOR if mode == moves.OBSERVE else self.execute_within)
        values = _row(request, decision, verdict, mode=mode, idempotency=idempotency)
        values |= {"id": known, "state": state.value, "decided_by": by, "created_at": now, "updated_at": now}
        plan = self._plan(request, decision) if state is State.PENDING else None
        values["decide_by"] = now + (self.decide_within if plan is None else self._window(plan))
        values["execute_by"] = until if state is State.APPROVED else None
        connection.execute(_RECORD, values)
        proposal = from_row(values)
        body = {**_body(proposal, decision), "record_digest": record_digest(values)}
        if state is State.APPROVED and (relied := uses.named(decision.uses)):
            body["uses"] = relied
        if plan is not None:
            body["plan_digest"] = plans.store(connection, known, plan, created_at=now, decide_by=proposal.decide_by)
        audit.append(connection, at=now, kind="proposal.recorded", subject=known, body=body)
        if plan is not None:
            self._say_unreachable(connection, proposal, plan)
        if state is State.APPROVED:
            moves.issue_grant(connection, proposal, by=by, at=now, execute_by=until)
            uses.spend(connection, proposal, decision.uses, at=now)
        elif proposal.rule == FLOODED.rule and decision.verdict == verdict:
            flood.pause(connection, request.thread, at=now)
        return proposal

    def _plan(self, request: ActionRequest, decision: Decision) -> plans.Plan:
        """Choose how the question is to be answered, from what is recorded of the call."""
        question = question_of(request, decision, tenant=self.tenant)
        seconds = {"decide_within": self.decide_within // _SECOND, "execute_within": self.execute_within // _SECOND}
        return self.rules.plan_for(question, **seconds)

    def _window(self, plan: plans.Plan) -> int:
        """Return how long the question stays open, in microseconds."""
        own = plan.decide_within == self.decide_within // _SECOND
        return self.decide_within if own else plan.decide_within * _SECOND

    def _say_unreachable(self, connection: sa.Connection, proposal: Proposal, plan: plans.Plan) -> None:
        """Say in the log that nobody can say yes to this question; it waits all the same, and nothing is relaxed."""
        if reach.can_be_approved(connection, proposal, plan, single_user=self.single_user):
            return
        body: dict[str, JSON] = {"plan": plan.rule or plan.tier.value, "approve": plan.to_json()["approve"]}
        stuck.note(connection, proposal.id, at=proposal.created_at, body={**body, "by": "gateway"})

    @staticmethod
    def _replace(connection: sa.Connection, request: ActionRequest, now: int) -> None:
        """Close what is still open under the same call with other arguments, edits of it included."""
        row = proposals.c
        edit = sa.and_(row.call_id.startswith(f"{request.call_id}~", autoescape=True), row.id.in_(plans.linked()))
        same = sa.or_(row.call_id == request.call_id, edit)
        query = sa.select(proposals).where(row.thread == request.thread, same)
        for found in connection.execute(query.where(row.state.in_(["pending", "approved"]))).mappings().all():
            older = from_row(found)
            end = State.SUPERSEDED if older.state is State.PENDING else State.INVALIDATED
            moves.move(connection, older, end, at=now, by="gateway", code="arguments_changed")


def _open(connection: sa.Connection, thread: str) -> int:
    query = sa.select(sa.func.count()).select_from(proposals)
    found = connection.execute(query.where(proposals.c.thread == thread, proposals.c.state == State.PENDING.value))
    return int(found.scalar_one())


def _start(verdict: Verdict, mode: str) -> tuple[State, str]:
    """Return the first state and who put it there."""
    if mode == moves.OBSERVE:
        return State.APPROVED, moves.OBSERVE
    if isinstance(verdict, Allow):
        return State.APPROVED, f"rule:{verdict.rule}"
    return (State.PENDING, "") if isinstance(verdict, Review) else (State.DENIED, f"rule:{verdict.rule}")


def _row(
    request: ActionRequest, decision: Decision, verdict: Verdict, *, mode: str, idempotency: Idempotency
) -> dict[str, Any]:
    return {
        "thread": request.thread,
        "call_id": request.call_id,
        "requester": request.requester,
        "behind": stored(once(request.requester, request.behind)),
        "server": request.server,
        "tool": request.tool,
        "canonical": request.canonical_form,
        "digest": request.digest,
        "mode": mode,
        "idempotency": idempotency.value,
        "verdict": verdict.name,
        "rule": verdict.rule,
        "reason": "" if isinstance(verdict, Allow) else verdict.reason,
        "remedy": "" if isinstance(verdict, Allow) else verdict.remedy,
        "decision": canonical(cast("JSON", decision.to_json())).decode(),
        "endorsable": canonical([dict(item) for item in endorsing.offered(decision)]).decode(),
        "version": 1,
        "code": "",
        "note": "",
        "self_approved": False,
    }


def _body(proposal: Proposal, decision: Decision) -> dict[str, JSON]:
    """Return what the log keeps: identities and digests, no argument values."""
    return {
        "state": proposal.state.value,
        "version": proposal.version,
        "by": proposal.decided_by,
        "mode": proposal.mode,
        "thread": proposal.thread,
        "call_id": proposal.call_id,
        "requester": proposal.requester,
        "behind": as_json(proposal.behind),
        "server": proposal.server,
        "tool": proposal.tool,
        "digest": proposal.digest,
        "verdict": proposal.verdict_name,
        "rule": proposal.rule,
        "rules": list(decision.rules),
        "reason": proposal.reason,
        "decision_digest": digest(proposal.decision),
        "policy_digest": decision.policy_digest,
        "manifest_digest": decision.manifest_digest,
        "schema_digest": decision.schema_digest,
        "profile": decision.profile,
        "decide_by": rfc3339(proposal.decide_by),
    }
