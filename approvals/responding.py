"""Answering a call instead of running it, and taking an open question back.

Respond: 1. a no whose words are for the agent; 2. the call ends as rejected with the code ``responded``, by as many
people as a no takes; 3. the agent gets the text as what came back for the call, marked as a person's.
Cancel: the requester, or the program that acts for the requester, takes a question back that is still open.

Guarantees: the text of a response gives nothing: it is no word of the user, whatever it says, and values in it are
nobody's; whoever cancels can end only questions of that same requester, and nothing that was decided.
"""

from __future__ import annotations

from typing import Final, Literal

from checkvalve.approvals.people import folded, is_usable, same_person
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import NotYoursError
from checkvalve.approvals.remarks import checked_text
from checkvalve.approvals.reproposals import RESPONDED
from checkvalve.approvals.reviewers import Reviewer

CANCELLED: Final = "cancelled"
"""The code of a question that was taken back by whoever asked it."""


def respond(queue: Queue, proposal_id: str, reviewer: Reviewer, text: str) -> Proposal:
    """End an open call with a text for its agent.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError, QueueError: nothing was changed.
    """
    return queue.reject(proposal_id, reviewer, RESPONDED, checked_text(text))


def response_of(proposal: Proposal) -> str:
    """Return the text that a person answered a call with; empty where it was not answered so."""
    return proposal.note if proposal.state is State.REJECTED and proposal.code == RESPONDED else ""


def cancel(queue: Queue, proposal_id: str, *, means: Literal["reviewer", "client"], name: str) -> Proposal:
    """Take back an open question in the name of whoever asked it.

    ``name`` is the account or the token's name; its credential was checked.

    Raises:
        NotFoundError, ConflictError: there is no such open question.
        NotAllowedError: somebody else asked it, or nobody knows who did.
    """
    asked_for = queue.get(proposal_id).requester
    own = same_person(asked_for, name) if means == "reviewer" else folded(asked_for) == folded(name)
    if not is_usable(asked_for) or not own:
        raise not_yours()
    return queue.close(proposal_id, State.CANCELLED, by=f"{means}:{name}", code=CANCELLED)


def not_yours() -> NotYoursError:
    """Return the error for taking back what somebody else asked."""
    return NotYoursError("this call was not asked for in your name", remedy="a reviewer can reject it")


def cancel_as(queue: Queue, proposal_id: str, reviewer: Reviewer) -> Proposal:
    """Do what :func:`cancel` does, for a reviewer who asked for the call."""
    with queue.store.read() as connection:
        queue.reviewers.require_known(connection, reviewer)  # taking back decides nothing
    return cancel(queue, proposal_id, means="reviewer", name=reviewer.name)


__all__ = ["CANCELLED", "RESPONDED", "cancel", "cancel_as", "not_yours", "respond", "response_of"]
