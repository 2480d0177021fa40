"""The step-up over HTTP: the reviewer's password, beside the token, for one call and one decision.

Guarantees: a token is no proof that a person is there; passwords are counted as at the door of the pages; who has a
passkey is sent to the review page. Nobody is asked for a proof of a decision that would not be taken anyway.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.before_proof import require_worth_proving
from checkvalve.approvals.deciding import Yes
from checkvalve.approvals.errors import StepUpError
from checkvalve.approvals.password_rules import TOKEN
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.stepup import Checks, Decision, Item, StepUp, with_secret
from checkvalve.approvals.tries import Tries
from checkvalve.gateway.http_problems import Problem

_HOW: Final = "send the reviewer's `password`; or decide it on the review page, /review/items/ID, or in a terminal"


def step_up(queue: Queue, row: Proposal, reviewer: Reviewer, password: str, decision: Decision = "approve") -> StepUp:
    """Return the step-up of a password that came with a decision.

    Raises:
        Problem: too many were tried.
        StepUpError: there was none, it was a token, or this person has a passkey.
        CredentialError: it is wrong.
    """
    if not password or password.strip().startswith(TOKEN):
        raise StepUpError("this call takes a fresh proof of the person, and a token is none", remedy=_HOW)
    tries = Tries(queue.store, queue.clock)
    if not tries.may_try(reviewer.name):
        raise Problem(429, "too_many_tries", "too many passwords were tried for this account", "try again later")
    found = with_secret(Checks.of(queue.reviewers), reviewer, Item.of(row, decision), password)
    tries.was_good(reviewer.name)
    return found


def step_up_if_needed(queue: Queue, row: Proposal, reviewer: Reviewer, password: str, yes: Yes) -> StepUp | None:
    """Return the step-up where the plan of the question takes one; see :func:`step_up`.

    Raises:
        ApprovalError: ``yes`` would be refused with any proof, so none is asked for and no password is looked at.
    """
    if not queue.standing(row.id).plan.step_up:
        return None
    with queue.store.read() as connection:
        require_worth_proving(connection, queue.bench, row, reviewer, yes, at=queue.clock())
    return step_up(queue, row, reviewer, password)


__all__ = ["step_up", "step_up_if_needed"]
