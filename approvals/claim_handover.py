"""Passing a claim from the thread that takes it to the task that asked for it, so that a cancelled task loses none."""

from __future__ import annotations

import threading

from checkvalve.approvals.claims import Claim, Claims, Revalidate
from checkvalve.approvals.outcome import Outcome, not_started
from checkvalve.approvals.pins import Found


class Handover:
    """Passes one claim. Whoever gives up in between gives the claim back as not started."""

    def __init__(self, claims: Claims) -> None:
        """Nothing is taken yet."""
        self._claims = claims
        self._lock = threading.Lock()
        self._given_up = False
        self._taken: Claim | None = None

    def take(self, proposal_id: str, revalidate: Revalidate | None, pinned: Found | None = None) -> Claim | Outcome:
        """Take the claim; when the task was cancelled meanwhile, give it straight back."""
        claim = self._claims.take(proposal_id, revalidate, pinned)
        with self._lock:
            self._taken = claim if isinstance(claim, Claim) else None
            abandoned = self._given_up
        if abandoned:
            self._return()
        return claim

    def give_up(self) -> None:
        """Say that nobody will run the effect."""
        with self._lock:
            self._given_up = True
            taken = self._taken is not None
        if taken:
            self._return()

    def _return(self) -> None:
        if (taken := self._taken) is not None:
            self._claims.record(taken, not_started(taken.proposal.idempotency, again=taken.again))


__all__ = ["Handover"]
