"""The executor's steps 1 to 4 and 6: taking a claim, recording its end, finding dead owners.

Guarantees: what a claim rests on is compared with the log in the transaction that takes it, so nothing is changed
between; a claim and an end are one transaction each.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals import attempts, endorsing, moves, pin_record, retries, rights, uses
from checkvalve.approvals.attempts import Attempt
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import ConflictError, OutcomeUnknownError, StoreCorruptError, StoreError
from checkvalve.approvals.handed import GLASS
from checkvalve.approvals.outcome import Ending, Outcome
from checkvalve.approvals.ownership import Owner, is_dead
from checkvalve.approvals.pins import Found
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import votes as vote_rows
from checkvalve.approvals.subjectrows import Held, read
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import attempts as attempt_rows
from checkvalve.approvals.tables import grants as grant_rows
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.tables import uses as use_rows
from checkvalve.approvals.undo_call import Kept
from checkvalve.approvals.verdicts import Deny, Review, Verdict
from checkvalve.filters.strictjson import JSON

Revalidate: TypeAlias = Callable[[], Verdict]

_RUNNING: Final[set[str]] = set()
"""What this process has claimed and not recorded yet, by owner text."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one effect once; of a call whose end nobody knows, once more."""

    proposal: Proposal
    attempt: Attempt

    @property
    def key(self) -> str:
        """The idempotency key for the remote side."""
        return self.attempt.idempotency_key

    @property
    def again(self) -> bool:
        """Say whether there was an earlier try, which may have had its effect."""
        return self.attempt.fence > 1

    def args(self) -> dict[str, JSON]:
        """Return the arguments of the record."""
        return self.proposal.args()


class Claims:
    """Takes and records claims for one process."""

    def __init__(self, queue: Queue, lease: timedelta, step: Callable[[str], None]) -> None:
        """Use the queue's store and clock."""
        self._queue = queue
        self._lease = micros(lease)
        self._step = step

    def take(self, proposal_id: str, revalidate: Revalidate | None, pinned: Found | None = None) -> Claim | Outcome:
        """Do steps 1 to 4: return a claim, or how the proposal stands when there is none to be had.

        ``pinned`` is what was just read of the versions that the question was asked about.
        """
        standing = self.look(proposal_id)  # 1.
        proposal = standing.proposal
        if not retries.may_begin(proposal):
            return standing
        self._step("read")
        if revalidate is not None and proposal.mode != moves.OBSERVE and _is_stricter(revalidate(), proposal):  # 2.
            return self._void(proposal, "revalidation")
        self._step("revalidated")
        return self._claim(proposal, pinned)  # 3. and 4.

    def _void(self, proposal: Proposal, code: str) -> Outcome:
        """Take the permit back; a further try has none left, and simply stays unknown."""
        if proposal.state is not State.APPROVED:
            return Outcome(proposal)
        try:
            with self._queue.store.write() as connection:
                current = moves.load(connection, proposal.id)
                if current.state is State.APPROVED:
                    return self._withdrawn(connection, current, self._queue.clock(), code)
        except ConflictError:
            pass
        return self.look(proposal.id)  # somebody else was faster

    def _claim(self, proposal: Proposal, pinned: Found | None) -> Claim | Outcome:
        owner, same = str(Owner.me(secrets.token_hex(8))), False
        _RUNNING.add(owner)
        try:
            with self._queue.store.write() as connection:  # what is compared with the log is what is claimed
                proposal.args()
                held = read(connection, proposal.id).keeping(connection, vote_rows.c.proposal_id)
                require_recorded(connection, proposal.id, held)
                same = True
                attempt = self._attempt(connection, proposal, held, owner, pinned)
        except BaseException as error:
            _RUNNING.discard(owner)
            if isinstance(error, ConflictError | sa.exc.IntegrityError):
                return self.look(proposal.id)
            if isinstance(error, StoreCorruptError) and not same:
                self._void(proposal, "record_changed")
            raise
        if isinstance(attempt, Outcome):
            _RUNNING.discard(owner)
            return attempt
        return Claim(proposal, attempt)

    def _attempt(
        self, connection: sa.Connection, proposal: Proposal, held: Held, owner: str, pinned: Found | None
    ) -> Attempt | Outcome:
        """Do step 4."""
        now = self._queue.clock()  # while it waited for other writers, the time to run it may have run out
        if retries.is_over(connection, proposal, held, at=now):
            return Outcome(proposal)
        if proposal.mode != moves.OBSERVE:
            self._queue.adopted.require(connection, now)
            setting = _rests_on(held)
            if setting and not self._queue.adopted.has(connection, now, setting):
                return self._withdrawn(connection, proposal, now, "not_adopted")
            relies = not held.is_empty(use_rows.c.proposal_id)
            if relies and not uses.still_given(connection, proposal, at=now):
                return self._withdrawn(connection, proposal, now)
            if gone := rights.lost(connection, proposal, held, at=now):
                told: dict[str, JSON] = {"gone": [one.to_json() for one in gone]}
                return self._withdrawn(connection, proposal, now, rights.GONE, told, rights.in_words(gone))
            if other := pin_record.difference(connection, proposal, pinned):
                return self._withdrawn(connection, proposal, now, other.code, {"pin": other.to_json()})
        until = now + self._lease
        return attempts.claim(connection, proposal, owner=owner, at=now, lease_until=until, step=self._step)

    @staticmethod
    def _withdrawn(
        connection: sa.Connection,
        proposal: Proposal,
        now: int,
        code: str = "withdrawn",
        details: dict[str, JSON] | None = None,
        note: str = "",
    ) -> Outcome:
        """Void a permit that does not hold any more; a further try has none left.

        What was accepted with that yes ends, whatever the code: else the same call would run unasked.
        """
        if proposal.state is not State.APPROVED:
            return Outcome(proposal)
        to, by = State.INVALIDATED, "gateway"
        endorsing.end_given_with(connection, proposal, by=by, at=now)
        void = moves.move(connection, proposal, to, at=now, by=by, code=code, note=note, details=details)
        return Outcome(void)

    def record(self, claim: Claim, ending: Ending, kept: Kept | None = None) -> Proposal:
        """Do step 6; ``kept`` is what undoes the effect, written in the same transaction.

        Raises:
            OutcomeUnknownError: the store did not take it. The attempt will be found as unknown, never tried again.
        """

        def write(connection: sa.Connection) -> Proposal:
            proposal = attempts.finish(connection, claim.attempt, ending, at=self._queue.clock(), kept=kept)
            self._step("record:written")
            return proposal

        try:
            return self._queue.store.change(write)  # written twice it is still recorded once: see `finish`
        except StoreError as error:
            raise OutcomeUnknownError(
                f"the call of proposal {claim.proposal.id} was made, but its end could not be recorded",
                remedy="look at its effect, then settle it: checkvalve approvals unknown",
            ) from error
        finally:
            _RUNNING.discard(claim.attempt.owner)

    def look(self, proposal_id: str) -> Outcome:
        """Return how the proposal stands, after finding out whether the process that runs it is still alive.

        Raises:
            StoreCorruptError: the recorded result is not the one that its event has.
        """
        with self._queue.store.read() as connection:
            proposal, held = moves.load_whole(connection, proposal_id)
            attempt = attempts.of_row(held.one(attempt_rows.c.proposal_id))
            if attempt is not None and proposal.state is not State.EXECUTING:
                require_recorded(connection, proposal_id, held)
        if attempt is None:
            overdue = moves.is_overdue(proposal, self._queue.clock())
            return Outcome(self._queue.get(proposal_id) if overdue else proposal)
        if proposal.state is State.EXECUTING:
            found = self._recover_one(proposal_id, attempt) or proposal
            return Outcome(found) if found.state is State.EXECUTING else self.look(proposal_id)
        result, error = attempt.outcome()
        return Outcome(proposal, result=result, error=error)

    def _recover_one(self, proposal_id: str, attempt: Attempt) -> Proposal | None:
        now = self._queue.clock()
        if not _is_gone(attempt, now):
            return None
        with self._queue.store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            current = attempts.read(connection, proposal_id)
            if proposal.state is State.EXECUTING and current is not None and current.fence == attempt.fence:
                details: dict[str, JSON] = {"owner": attempt.owner, "fence": attempt.fence}
                proposal = moves.move(
                    connection, proposal, State.UNKNOWN, at=now, by="recovery", code="owner_died", details=details
                )
        return proposal

    def recover(self, damaged: list[str] | None) -> list[Proposal]:
        """Look at every attempt that is still open, and return the proposals that became unknown.

        Raises:
            StoreCorruptError: one was changed beside the log, and there is no ``damaged`` to name it in.
        """
        join = proposals.join(attempt_rows, proposals.c.id == attempt_rows.c.proposal_id)
        query = sa.select(attempt_rows).select_from(join).where(proposals.c.state == State.EXECUTING.value)
        with self._queue.store.read() as connection:
            running = connection.execute(query).mappings().all()
        lost = list[Proposal]()
        for row in running:
            try:
                attempt = attempts.of_row(row)
                found = None if attempt is None else self._recover_one(attempt.proposal_id, attempt)
            except StoreCorruptError:
                if damaged is None:
                    raise
                damaged.append(str(row["proposal_id"]))
                continue
            if found is not None and found.state is State.UNKNOWN:
                lost.append(found)
        return lost


def _is_gone(attempt: Attempt, now: int) -> bool:
    """Say whether nobody will record the end of this attempt any more: its process ended, or gave it up."""
    who = Owner.parse(attempt.owner)
    if who is not None and who.is_same_process(Owner.me()) and attempt.owner not in _RUNNING:
        return True
    return is_dead(attempt.owner, lease_until=attempt.lease_until, now=now)


def _rests_on(held: Held) -> str:
    """Return the setting that one person's yes to this call rested on: to an own call, or alone; empty for others."""
    call, permit = held.one(proposals.c.id), held.one(grant_rows.c.proposal_id)
    if call is not None and call["self_approved"]:
        return "single_user"
    return "break_glass" if permit is not None and str(permit["issued_by"]).startswith(GLASS) else ""


def _is_stricter(verdict: Verdict, proposal: Proposal) -> bool:
    """Say whether the present verdict asks for more than was given: a rule's permit, or a person's."""
    if isinstance(verdict, Deny):
        return True
    return isinstance(verdict, Review) and proposal.verdict_name == "allow"
