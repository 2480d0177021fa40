"""The step-up in a terminal: password or token once more, typed, for one call and one decision."""

from __future__ import annotations

from checkvalve.approvals import plans, stepup
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.stepup import Checks, Decision, Item, StepUp
from checkvalve.approvals.terminal import NO_DECISION, ask, stop


def step_up_if_needed(queue: Queue, proposal: Proposal, reviewer: Reviewer) -> StepUp | None:
    """Ask for a step-up where the plan of the question takes one; see :func:`ask_step_up`."""
    with queue.store.read() as connection:
        wanted = plans.read(connection, proposal.id).step_up
    return ask_step_up(queue, proposal, reviewer) if wanted else None


def ask_step_up(queue: Queue, proposal: Proposal, reviewer: Reviewer, decision: Decision = "approve") -> StepUp:
    """Ask once more who it is. A file or a variable will not do: those are there without the person.

    Raises:
        CredentialError: what was typed is wrong.
        StepUpError: this person has a passkey, which takes the review page.
    """
    checks = Checks.of(queue.reviewers)
    stepup.refuse_passkey_holder(checks, reviewer)
    question = f"This call is grave. Your password or token once more, {reviewer.name}"
    secret = ask(question, instead="this takes a person at a terminal, or the review page", hide=True)
    if not secret:
        stop("no decision: no credential was given", NO_DECISION)
    return stepup.with_secret(checks, reviewer, Item.of(proposal, decision), secret)


__all__ = ["ask_step_up", "step_up_if_needed"]
