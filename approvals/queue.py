"""The review queue: what was proposed, how it was decided, and who said yes.

Guarantees: every change is one transaction with its event; a proposal is decided once, by compare-and-set; an approval
binds to the digest that was shown; proposing the same call again returns the stored row and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals import attention, audit, endorsing, flood, moves
from checkvalve.approvals.clock import Clock, micros, system_clock
from checkvalve.approvals.decide import Decision
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import ConflictError, NotAllowedError
from checkvalve.approvals.intake import Intake
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_store import Mandates
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.matching import MIN_DIGEST, match_digest
from checkvalve.approvals.people import is_usable, same_person
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.render import short
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.strictjson import JSON

DECIDE_WITHIN: Final = timedelta(hours=24)
"""How long a question stays open: a person away for a day finds it expired, not an agent acting on old facts."""
EXECUTE_WITHIN: Final = timedelta(hours=1)
"""How long a permit stays good: the world that was looked at should still be the one acted on."""
ENDORSED_FOR: Final = timedelta(days=7)
"""How long accepted data stays accepted in its task: longer than any task, shorter than people's memory of it."""


Endorsements: TypeAlias = list[Endorsement]  # inside the class, `list` is the method
Floods: TypeAlias = list[flood.Flood]


class Queue:
    """The queue in one store. Safe to use from several threads and processes at once."""

    def __init__(
        self,
        store: Store,
        clock: Clock = system_clock,
        *,
        decide_within: timedelta = DECIDE_WITHIN,
        execute_within: timedelta = EXECUTE_WITHIN,
        endorsed_for: timedelta = ENDORSED_FOR,
        single_user: bool = False,
        tenant: str = "",
        budget: int = 0,
    ) -> None:
        """``single_user`` lets people approve what they asked for themselves; every record of it says so.

        ``tenant`` tells apart gateways that share a store: mandates of one are none of another's. ``budget`` is how
        often one person may say yes within an hour, 0 for any number: beyond it questions wait, for others too.
        """
        self.store = store
        self.clock = clock
        self.reviewers = Reviewers(store, clock)
        self.endorsed = endorsing.Endorsements(store, clock)
        self.mandates = Mandates(store, clock, tenant=tenant)
        self._execute_within = micros(execute_within)
        self._endorsed_for = micros(endorsed_for)
        self._single_user = single_user
        self.budget = budget
        self._intake = Intake(store, clock, decide_within=micros(decide_within), execute_within=self._execute_within)

    def propose(
        self,
        request: ActionRequest,
        decision: Decision,
        *,
        mode: Literal["enforce", "observe"] = "enforce",
        idempotency: Idempotency = Idempotency.NONE,
    ) -> Proposal:
        """Record a decided call and return its row; an allowed one has its grant. See :class:`intake.Intake`."""
        return self._intake.propose(request, decision, mode=mode, idempotency=idempotency)

    def get(self, proposal_id: str) -> Proposal:
        """Return the proposal as it stands now, its clocks applied.

        Raises:
            NotFoundError: there is none with this id.
        """
        with self.store.read() as connection:
            proposal = moves.load(connection, proposal_id)
        if not moves.is_overdue(proposal, self.clock()):
            return proposal
        with self.store.write() as connection:
            return moves.close_overdue(connection, moves.load(connection, proposal_id), self.clock())

    def find(self, prefix: str) -> Proposal:
        """Return the one proposal whose id starts with ``prefix``.

        Raises:
            NotFoundError, ConflictError: no id, or several ids, start like this.
        """
        start = prefix.strip().casefold()
        query = sa.select(proposals.c.id).where(proposals.c.id.startswith(start, autoescape=True)).limit(2)
        with self.store.read() as connection:
            found = connection.execute(query).scalars().all()
        if len(start) < MIN_DIGEST or len(found) > 1:
            raise ConflictError("this id is too short to name one proposal", remedy="give more of its characters")
        return self.get(found[0] if found else start)

    def grant(self, proposal_id: str) -> moves.Grant | None:
        """Return the permit of a proposal, used or not."""
        with self.store.read() as connection:
            return moves.read_grant(connection, proposal_id)

    def list(self, states: Iterable[State] | None = None, *, thread: str = "") -> list[Proposal]:
        """Return proposals, oldest first: all, or those in ``states`` and of ``thread``, after closing overdue ones."""
        self.sweep()
        query = sa.select(proposals).order_by(proposals.c.created_at, proposals.c.id)
        if states is not None:
            query = query.where(proposals.c.state.in_([state.value for state in states]))
        if thread:
            query = query.where(proposals.c.thread == thread)
        with self.store.read() as connection:
            return [from_row(row) for row in connection.execute(query).mappings()]

    def sweep(self) -> int:
        """Close everything whose time is over; returns how many that were."""
        now, row = self.clock(), proposals.c
        late = sa.or_(
            sa.and_(row.state == State.PENDING.value, row.decide_by <= now),
            sa.and_(row.state == State.APPROVED.value, row.execute_by <= now),
        )
        with self.store.read() as connection:
            if not connection.execute(sa.select(sa.exists().where(late))).scalar():
                return 0
        with self.store.write() as connection:
            overdue = [from_row(found) for found in connection.execute(sa.select(proposals).where(late)).mappings()]
            for proposal in overdue:
                moves.close_overdue(connection, proposal, now)
        return len(overdue)

    def approve(
        self, proposal_id: str, reviewer: Reviewer, digest_prefix: str, *, endorse: bool = True, note: str = ""
    ) -> Proposal:
        """Say yes to exactly the call with this digest, once.

        1. Close it first if its time is over; then it must be pending, and what was recorded.
        2. The reviewer still is one, did not ask for the call (unless this is a single-user setting), and has not said
           yes so often within the hour that nobody could have looked.
        3. The digest prefix matches the stored digest.
        4. Pending → approved, the grant, and unless ``endorse`` is false the accepted data: one transaction.

        Raises:
            NotFoundError, ConflictError, CredentialError, NotAllowedError, BudgetError, DigestError, StoreCorruptError:
                nothing was changed.
        """
        self.get(proposal_id)
        now = self.clock()
        with self.store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            if proposal.state is not State.PENDING or moves.is_overdue(proposal, now):
                raise moves.conflict(proposal)
            require_recorded(connection, proposal_id)
            self.reviewers.require(connection, reviewer)
            own = self._is_own(proposal, reviewer)
            match_digest(proposal, digest_prefix)
            attention.spend(connection, reviewer.name, self.budget, now)
            by = f"reviewer:{reviewer.name}"
            until = now + self._execute_within
            approved = moves.move(
                connection, proposal, State.APPROVED, at=now, by=by, note=note, execute_by=until, self_approved=own
            )
            moves.issue_grant(connection, approved, by=by, at=now, execute_by=until)
            if endorse:
                endorsing.store(connection, approved, by=by, at=now, expires_at=now + self._endorsed_for)
        return approved

    def _is_own(self, proposal: Proposal, reviewer: Reviewer) -> bool:
        """Say whether this is self-approval. An unknown requester may be anybody, so it counts as the reviewer.

        A name that no person could read (see ``people``) says as little as none.
        """
        unknown = not is_usable(proposal.requester)
        own = unknown or same_person(proposal.requester, reviewer.name)
        if own and not self._single_user:
            remedy = "let the gateway name the requester" if unknown else "another reviewer has to decide"
            what = "nobody knows who asked for this call" if unknown else "you asked for this call yourself"
            raise NotAllowedError(what, remedy=f"{remedy}, or use the single-user setting")
        return own

    def reject(self, proposal_id: str, reviewer: Reviewer, code: str = "rejected", reason: str = "") -> Proposal:
        """Say no. ``code`` is a stable word for programs, ``reason`` the reviewer's own text."""
        return self._decide(proposal_id, reviewer, State.REJECTED, code=code, note=reason)

    def settle(self, proposal_id: str, reviewer: Reviewer, *, done: bool, note: str = "") -> Proposal:
        """Say how an unknown outcome really ended, after looking."""
        end = State.CONFIRMED_DONE if done else State.CONFIRMED_NOT_DONE
        return self._decide(proposal_id, reviewer, end, code="settled", note=note)

    def _decide(self, proposal_id: str, reviewer: Reviewer, end: State, *, code: str, note: str) -> Proposal:
        self.get(proposal_id)
        with self.store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            self.reviewers.require(connection, reviewer)
            by = f"reviewer:{reviewer.name}"
            return moves.move(connection, proposal, end, at=self.clock(), by=by, code=code, note=note)

    def close(
        self, proposal_id: str, end: Literal[State.CANCELLED, State.SUPERSEDED], *, by: str, code: str
    ) -> Proposal:
        """Take back an open question: the run ended, or the user asked for something else."""
        with self.store.write() as connection:
            return moves.move(connection, moves.load(connection, proposal_id), end, at=self.clock(), by=by, code=code)

    def invalidate(self, proposal_id: str, code: str) -> Proposal:
        """Take back a permit that was not used: what was approved is no longer what the policy would let through."""
        with self.store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            return moves.move(connection, proposal, State.INVALIDATED, at=self.clock(), by="gateway", code=code)

    def note_refusal(self, thread: str, tool: str, code: str, *, enforced: bool = True) -> None:
        """Log a call that was refused before it could be recorded as a proposal, since its form is hostile.

        ``code`` is a word of ours; the names are the caller's, so they are kept short and visible. ``enforced`` is
        false where nothing is stopped: then the log says that the call ran without a record.
        """
        body: dict[str, JSON] = {"thread": short(thread), "tool": short(tool), "code": code, "enforced": enforced}
        with self.store.write() as connection:
            audit.append(connection, at=self.clock(), kind="call.refused", body=body)

    def endorsements(self, thread: str) -> Endorsements:
        """Return the data that people accepted in this thread and that still counts: the same is not asked twice."""
        with self.store.read() as connection:
            return endorsing.read(connection, thread, self.clock())

    def revoke_endorsement(self, name: str, reviewer: Reviewer) -> endorsing.Endorsed:
        """Take accepted data back; see :meth:`endorsing.Endorsements.revoke`."""
        with self.store.write() as connection:
            self.reviewers.require(connection, reviewer)
            return self.endorsed.revoke(connection, name, by=f"reviewer:{reviewer.name}")

    def grant_mandate(self, mandate: Mandate, reviewer: Reviewer, *, thread: str, requester: str) -> MandateEntry:
        """Let a person with a credential grant a mandate for somebody's task; see :meth:`Mandates.grant`."""
        with self.store.write() as connection:
            self.reviewers.require(connection, reviewer)
            by = f"reviewer:{reviewer.name}"
            return self.mandates.grant_in(connection, mandate, thread=thread, requester=requester, by=by)

    def revoke_mandate(self, name: str, reviewer: Reviewer) -> MandateEntry:
        """Take a mandate back; see :meth:`Mandates.revoke`."""
        with self.store.write() as connection:
            self.reviewers.require(connection, reviewer)
            return self.mandates.revoke(connection, name, by=f"reviewer:{reviewer.name}")

    def flood(self, thread: str) -> flood.Flood:
        """Say whether the task of a thread is paused for asking too much, and what more it may ask."""
        with self.store.read() as connection:
            return flood.standing(connection, thread)

    def paused(self) -> Floods:
        """Return every task that is paused for asking too much."""
        with self.store.read() as connection:
            return flood.all_paused(connection)

    def let_go_on(self, thread: str, reviewer: Reviewer, *, more: int) -> None:
        """Let a paused task go on and ask ``more`` further questions.

        Raises:
            ConflictError: it is not paused, or that is no number of questions.
        """
        with self.store.write() as connection:
            self.reviewers.require(connection, reviewer)
            if not flood.standing(connection, thread).paused or not 0 <= more <= flood.MAX_MORE:
                raise ConflictError("this task is not paused", remedy="list those that are: checkvalve approvals list")
            by = f"reviewer:{reviewer.name}"
            flood.let_go_on(connection, thread, by=by, more=more, at=self.clock())


__all__ = ["MIN_DIGEST", "Queue", "match_digest"]
