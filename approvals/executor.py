"""The choke point: every effect of every surface runs through :meth:`Executor.run`, at most once.

1. Read the row and apply its clocks. Not approved: say where it stands, run nothing.
2. Re-validate. A verdict may only get stricter; if it did, the permit is void (``invalidated``). So it is where what
   the call points at is not the version that a person was asked about.
3. Take the arguments from the record: parse the stored bytes after hashing them again.
4. Claim: approved → executing, the grant used, the attempt and its intent written. Commit. Only now may it happen.
5. The effect, with those arguments and an idempotency key that is the same for every try.
6. Record the end under the attempt's fence: succeeded, failed, or unknown; with a success, what undoes it.
7. Whoever lost the race at 4 waits, for a bounded time, and gets the recorded result.

A process that dies before 4 has committed leaves an approved call and no effect; one that dies between 4 and 6 leaves
``executing``, which :meth:`Executor.recover` turns into ``unknown`` once the owner is known to be dead. Whoever comes
back to it runs it again where its tool only reads, or takes a key: then with the same key and the same bytes, three
times in all and within a day (:mod:`retries`). Nothing else is tried again. The fence stops an old worker from
recording, not from finishing a request that is already on its way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeAlias

from checkvalve.approvals.claim_handover import Handover
from checkvalve.approvals.claims import Claim, Claims, Revalidate
from checkvalve.approvals.outcome import Outcome, raised, returned
from checkvalve.approvals.pins import Found
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.retries import honest
from checkvalve.approvals.undo_call import Kept
from checkvalve.filters.strictjson import JSON

Effect: TypeAlias = Callable[[dict[str, JSON], str], JSON]
AsyncEffect: TypeAlias = Callable[[dict[str, JSON], str], Awaitable[JSON]]
Keep: TypeAlias = Callable[[JSON], Kept | None]

LEASE: Final = timedelta(minutes=15)
"""After this, an attempt counts as dead wherever it runs; on this machine the process table is quicker."""
WAIT: Final = timedelta(seconds=30)
"""How long a loser waits for the winner's result before it answers that the call is still running."""
_POLL: Final = 0.05


class Executor:
    """Runs effects for one queue. ``on_step`` is called with the name of each step, so that tests can die there."""

    def __init__(
        self,
        queue: Queue,
        *,
        lease: timedelta = LEASE,
        wait: timedelta = WAIT,
        on_step: Callable[[str], None] | None = None,
    ) -> None:
        """Use the queue's store and clock; keep no state but that."""
        self._step = on_step or (lambda _name: None)
        self._claims = Claims(queue, lease, self._step)
        self._wait = wait.total_seconds()

    def run(
        self,
        proposal_id: str,
        effect: Effect,
        *,
        revalidate: Revalidate | None = None,
        keep: Keep | None = None,
        pinned: Found | None = None,
    ) -> Outcome:
        """Run the effect of an approved proposal, or say why not. The numbered steps are the module's.

        ``keep`` says of a recorded result what is stored with it, to undo the effect later. ``pinned`` is what was just
        read of what the call points at (:mod:`pins`): without it, a call whose question was bound to it does not run.

        Raises:
            NotFoundError: no such proposal.
            StoreError: nothing was started.
            OutcomeUnknownError: the effect ran, and the store did not take its end.
        """
        claim = self._claims.take(proposal_id, revalidate, pinned)  # 1 to 4
        if not isinstance(claim, Claim):
            return self._wait_for(claim)  # 7
        try:
            self._step("claimed")
            value = effect(claim.args(), claim.key)  # 5
            self._step("effect_done")
        except BaseException as error:  # noqa: BLE001  # whatever ended it, it may have begun
            return self._failed(claim, error)
        return self._succeeded(claim, value, keep)  # 6

    async def arun(
        self,
        proposal_id: str,
        effect: AsyncEffect,
        *,
        revalidate: Revalidate | None = None,
        keep: Keep | None = None,
        pinned: Found | None = None,
    ) -> Outcome:
        """Do what :meth:`run` does, for an effect that is awaited; the store's work is done in threads.

        Cancelled while claiming: the claim is given back as not started. Cancelled in the effect: ``unknown``.
        """
        handover = Handover(self._claims)
        try:
            claim = await asyncio.to_thread(handover.take, proposal_id, revalidate, pinned)  # 1 to 4
        except asyncio.CancelledError:
            handover.give_up()
            raise
        if not isinstance(claim, Claim):
            return await self._await(claim)  # 7
        try:
            self._step("claimed")
            value = await effect(claim.args(), claim.key)  # 5
            self._step("effect_done")
        except Exception as error:  # noqa: BLE001  # whatever ended it, it may have begun
            return await asyncio.to_thread(self._failed, claim, error)
        except BaseException as error:  # noqa: BLE001  # cancelled: nothing may be awaited any more
            return self._failed(claim, error)
        return await asyncio.to_thread(self._succeeded, claim, value, keep)  # 6

    def recover(self, *, damaged: list[str] | None = None) -> list[Proposal]:
        """Turn every attempt whose owner is dead into ``unknown``, for a person to settle, and return those.

        Whoever gives a list ``damaged`` finds the ids there of what was changed beside the log; it holds up no other.

        Raises:
            StoreCorruptError: a call was changed beside the log, and no list was given.
        """
        return self._claims.recover(damaged)

    def look(self, proposal_id: str) -> Outcome:
        """Return how a proposal stands, with its recorded result, and run nothing."""
        return self._claims.look(proposal_id)

    def _succeeded(self, claim: Claim, value: JSON, keep: Keep | None) -> Outcome:
        ending = returned(value)
        proposal = self._claims.record(claim, ending, honest(_kept(keep, value), claim.attempt.fence))
        self._step("recorded")
        return Outcome(proposal, result=value, ran_here=True)

    def _failed(self, claim: Claim, error: BaseException) -> Outcome:
        ending = raised(error, claim.proposal.idempotency, again=claim.again)
        proposal = self._claims.record(claim, ending)
        if not isinstance(error, Exception):
            raise error
        return Outcome(proposal, error=ending.error, ran_here=True, raised=error)

    def _wait_for(self, outcome: Outcome) -> Outcome:
        until = time.monotonic() + self._wait
        while outcome.state is State.EXECUTING and time.monotonic() < until:
            time.sleep(_POLL)
            outcome = self._claims.look(outcome.proposal.id)
        return outcome

    async def _await(self, outcome: Outcome) -> Outcome:
        until = time.monotonic() + self._wait
        while outcome.state is State.EXECUTING and time.monotonic() < until:
            await asyncio.sleep(_POLL)
            outcome = await asyncio.to_thread(self._claims.look, outcome.proposal.id)
        return outcome


def _kept(keep: Keep | None, value: JSON) -> Kept | None:
    """Return what undoes an effect. It happened, whatever goes wrong here: then the record says that none was kept."""
    try:
        return None if keep is None else keep(value)
    except Exception:  # noqa: BLE001  # the success has to be recorded all the same
        return Kept(why="failed")


__all__ = ["LEASE", "WAIT", "AsyncEffect", "Effect", "Executor", "Keep", "Outcome", "Revalidate"]
