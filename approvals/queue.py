"""The review queue: what was proposed, how it was decided, and who said yes.

Guarantees: every change is one transaction with its event; a proposal is decided once, by compare-and-set; an approval
binds to the digest that was shown; proposing the same call again returns the stored row and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final, Literal

import sqlalchemy as sa

from checkvalve.approvals import audit, counting, deciding, endorsing, moves
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.asked_by import Owners
from checkvalve.approvals.clock import Clock, micros, system_clock
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.granting import Granting
from checkvalve.approvals.intake import Beside, Intake
from checkvalve.approvals.mandate_store import Mandates
from checkvalve.approvals.matching import MIN_DIGEST, match_digest
from checkvalve.approvals.oncall import OnCall
from checkvalve.approvals.overdue import close_overdue
from checkvalve.approvals.records import Proposal, State, from_rows
from checkvalve.approvals.refusals import AmbiguousError
from checkvalve.approvals.render import short
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.revisions import require_revision
from checkvalve.approvals.rule_changes import RuleChanges
from checkvalve.approvals.spoken import kept, stable_word
from checkvalve.approvals.standing_rules import StandingRules
from checkvalve.approvals.stepup import StepUp
from checkvalve.approvals.store import Store
from checkvalve.approvals.subjectrows import Held
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.veiling import Veiling
from checkvalve.filters.strictjson import JSON

DECIDE_WITHIN: Final = timedelta(hours=24)
"""How long a question stays open: a person away for a day finds it expired, not an agent acting on old facts."""
EXECUTE_WITHIN: Final = timedelta(hours=1)
"""How long a permit stays good: the world that was looked at should still be the one acted on."""
ENDORSED_FOR: Final = timedelta(days=7)
"""How long accepted data stays accepted in its task: longer than any task, shorter than people's memory of it."""


class Queue(Granting):
    """The queue in one store. Safe to use from several threads and processes at once."""

    def __init__(  # noqa: PLR0913  # each is a setting
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
        rules: ReviewRules | None = None,
        glass: Glass | None = None,
    ) -> None:
        """``single_user`` lets people approve what they asked for themselves; every record of it says so.

        ``tenant`` tells apart gateways that share a store: mandates of one are none of another's. ``budget`` is how
        often one person may say yes within an hour, 0 for any number: beyond it questions wait, for others too.
        ``rules`` say who has to say yes to what, and within which times; without any, one approver is enough.
        ``glass`` says whether one person alone may let a call run in an emergency; without it nobody may.
        """
        self.store = store
        self.clock = clock
        self.reviewers = Reviewers(store, clock)
        self.endorsed = endorsing.Endorsements(store, clock)
        self.mandates = Mandates(store, clock, tenant=tenant)
        self.adopted = Adopted(tenant)
        self.owners = Owners()
        self.rule_changes = RuleChanges(store, clock, tenant=tenant)
        self.standing_rules = StandingRules(store, clock, tenant=tenant, single_user=single_user, review=rules)
        self.standing_rules.adopted = self.adopted
        self.veiling = Veiling(store, clock)
        self._execute_within = micros(execute_within)
        self._endorsed_for = micros(endorsed_for)
        self._single_user = single_user
        self.budget = budget
        self.rules = rules or ReviewRules()
        self.glass = glass or Glass()
        self.oncall = OnCall()
        self.channels: frozenset[str] | None = None  # names of channels, where a gateway knows them
        self._intake = Intake(
            store,
            clock,
            decide_within=micros(decide_within),
            execute_within=self._execute_within,
            rules=self.rules,
            tenant=tenant,
            single_user=single_user,
            adopted=self.adopted,
        )

    def propose(
        self,
        request: ActionRequest,
        decision: Decision,
        *,
        mode: Literal["enforce", "observe"] = "enforce",
        idempotency: Idempotency = Idempotency.NONE,
        beside: Beside | None = None,
    ) -> Proposal:
        """Record a decided call and return its row; an allowed one has its grant. See :class:`intake.Intake`."""
        return self._intake.propose(request, decision, mode=mode, idempotency=idempotency, beside=beside)

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
            raise AmbiguousError("this id is too short to name one proposal", remedy="give more of its characters")
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
            return from_rows(connection.execute(query))

    def sweep(self) -> int:
        """Close everything whose time is over; returns how many that were. See :mod:`overdue` for damaged rows."""
        return close_overdue(self.store, self.clock).count

    def approve(
        self,
        proposal_id: str,
        reviewer: Reviewer,
        digest_prefix: str,
        *,
        endorse: bool = True,
        note: str = "",
        channel: str = "",
        step_up: StepUp | None = None,
        seen: int | None = None,
    ) -> Proposal:
        """Say yes to exactly the call with this digest, once. See :mod:`deciding` for the procedure.

        ``seen`` is the revision of what was shown with it, where whoever says yes names one; see :mod:`revisions`.

        Returns:
            The proposal: approved, with its grant, when this was the last yes that its plan asks for; else it still
            waits. ``endorse`` also accepts the data that was shown, once everybody who said yes did.

        Raises:
            NotFoundError, ConflictError, CredentialError, NotAdoptedError, NotAllowedError, BudgetError, DigestError,
            NoteNeededError, StepUpError, StoreCorruptError: nothing was changed.
        """
        yes = deciding.Yes(digest_prefix, endorse, note, channel, step_up)
        with self._question(proposal_id) as (connection, proposal, held):
            require_revision(connection, proposal, seen)
            return deciding.say_yes(connection, self.bench, proposal, reviewer, yes, at=self.clock(), held=held)

    def reject(
        self, proposal_id: str, reviewer: Reviewer, code: str = "rejected", reason: str = "", *, channel: str = ""
    ) -> Proposal:
        """Say no. ``code`` is a stable word for programs, ``reason`` the reviewer's own text.

        Returns:
            The proposal: rejected, or still waiting where its plan takes more noes.

        Raises:
            QueueError: the code is no stable word; nothing was changed.
        """
        stable_word(code)
        with self._question(proposal_id) as (connection, proposal, held):
            said = {"code": code, "note": reason, "channel": channel}
            return deciding.say_no(connection, self.bench, proposal, reviewer, at=self.clock(), held=held, **said)

    @contextmanager
    def _question(self, proposal_id: str) -> Iterator[tuple[sa.Connection, Proposal, Held]]:
        """Give a transaction with a proposal in it, to be decided on. One whose time is over is closed instead.

        Raises:
            NotFoundError, ConflictError: there is none; it has expired.
        """
        with self.store.write() as connection:
            proposal, held = moves.load_whole(connection, proposal_id)
            closed = moves.close_overdue(connection, proposal, self.clock())
            if closed is proposal:
                yield connection, proposal, held
                return
        raise moves.conflict(closed)

    def standing(self, proposal_id: str) -> counting.Standing:
        """Return how a question stands: its plan, who said what, and what is missing.

        Raises:
            NotFoundError: there is none with this id.
        """
        with self.store.read() as connection:
            proposal = moves.load(connection, proposal_id)
            return counting.standing(connection, proposal, single_user=self._single_user, at=self.clock())

    @property
    def seconds(self) -> tuple[int, int]:
        """The time to decide and the time to run that count where no review rule says more, in seconds."""
        return self._intake.decide_within // 1_000_000, self._execute_within // 1_000_000

    @property
    def bench(self) -> deciding.Bench:
        """What deciding depends on beside the question."""
        times = self._execute_within, self._endorsed_for
        return deciding.Bench(self.reviewers, self._single_user, self.budget, *times, self.adopted)

    def settle(self, proposal_id: str, reviewer: Reviewer, *, done: bool, note: str = "") -> Proposal:
        """Say how an unknown outcome really ended, after looking."""
        end, note = State.CONFIRMED_DONE if done else State.CONFIRMED_NOT_DONE, kept(note)
        self.get(proposal_id)
        with self.store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            deciding.require_responder(connection, self.bench, proposal, reviewer)
            by = f"reviewer:{reviewer.name}"
            return moves.move(connection, proposal, end, at=self.clock(), by=by, code="settled", note=note)

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


__all__ = ["MIN_DIGEST", "Queue", "match_digest"]
