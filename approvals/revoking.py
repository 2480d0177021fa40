"""Taking an approval back before its call has begun.

1. The call is approved and its time has not run out; in observe mode nothing was enforced, so nothing is taken back.
2. Who does it may decide this question, whatever roles they have for it or stand in for; or said yes to it; or is an
administrator for such calls; or asked for it, as a reviewer or with the token that acts in that name. 3. What the yes
accepted for the rest of the task ends with it, or the same call would run unasked. 4. The call is ``revoked``: its
permit is worth nothing, and what was proposed again counts as refused until the user has spoken.

Guarantees: all of it is one transaction; it races with whoever claims the permit, and exactly one of them gets it. Like
a no it is taken everywhere, and where the tables were edited by hand: nothing runs because of it.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import deciding, endorsing, moves, plans, reach, votes
from checkvalve.approvals.causes import Cause, cause_of
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import ApprovalError, ConflictError
from checkvalve.approvals.outcome import ENDED
from checkvalve.approvals.people import folded, is_usable
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.refusals import NotYoursError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Account, Role, Roster, account_of
from checkvalve.approvals.spoken import kept
from checkvalve.filters.strictjson import JSON

REVOKED: Final = "revoked"
"""The code of an approval that a person took back."""


def revoke(queue: Queue, proposal_id: str, reviewer: Reviewer, note: str = "", *, channel: str = "") -> Proposal:
    """Take the approval of a call back, as a person with a credential.

    Raises:
        NotFoundError, ConflictError, CredentialError, NotAllowedError, QueueError: nothing was changed.
    """
    return _take_back(queue, proposal_id, reviewer, f"reviewer:{reviewer.name}", note, channel)


def revoke_own(queue: Queue, proposal_id: str, client: str, note: str = "", *, channel: str = "") -> Proposal:
    """Take it back with the token of the program that acts for whoever asked; the caller has checked the token.

    Raises:
        NotFoundError, ConflictError, NotAllowedError, QueueError: nothing was changed.
    """
    return _take_back(queue, proposal_id, None, f"client:{client}", note, channel)


def may_revoke(queue: Queue, proposal: Proposal, reviewer: Reviewer) -> bool:
    """Say whether a surface should offer it; everything is checked again then."""
    if _why_not(proposal) is not None or moves.is_overdue(proposal, queue.clock()):
        return False
    with queue.store.read() as connection:
        try:
            _require_right(connection, queue, proposal, reviewer)
        except ApprovalError:
            return False
    return True


def require_revocable(proposal: Proposal) -> None:
    """Do step 1, but for the clock.

    Raises:
        ConflictError: there is nothing to take back, or not any more.
    """
    if (error := _why_not(proposal)) is not None:
        raise error


def _take_back(queue: Queue, proposal_id: str, reviewer: Reviewer | None, by: str, note: str, channel: str) -> Proposal:
    kept(note)
    with queue.store.write() as connection:
        now = queue.clock()
        proposal = moves.load(connection, proposal_id)
        closed = moves.close_overdue(connection, proposal, now)
        if closed is proposal:
            require_revocable(proposal)  # 1.
            if reviewer is not None:  # 2.
                _require_right(connection, queue, proposal, reviewer)
            elif not is_usable(proposal.requester) or folded(proposal.requester) != folded(by.partition(":")[2]):
                raise NotYoursError("this call was not asked for in your name", remedy="a reviewer can revoke it")
            endorsing.end_given_with(connection, proposal, by=by, at=now)  # 3.
            details: dict[str, JSON] = {"channel": channel}
            return moves.move(  # 4.
                connection, proposal, State.REVOKED, at=now, by=by, code=REVOKED, note=note, details=details
            )
    raise moves.conflict(closed)


def _why_not(proposal: Proposal) -> ConflictError | None:
    """Return what is in the way of step 1, in words that say what would help."""
    if proposal.state is State.APPROVED and proposal.mode != moves.OBSERVE:
        return None
    since, cause = to_the_second(proposal.updated_at), cause_of(proposal.state.value)
    if proposal.state is State.APPROVED:
        cause = Cause.CONFLICT
        text, remedy = "observe mode lets this call run, whatever anybody says", "enforce the policy: the setting mode"
    elif proposal.state is State.PENDING:
        text, remedy = "nobody has approved this call yet: there is nothing to take back", "say no to it instead"
    elif proposal.state is State.EXECUTING:
        text = f"this call has begun at {since}; an approval is taken back before that"
        remedy = "wait for its end; whether its effect can be undone: checkvalve undo show"
    elif proposal.state in ENDED:
        text = f"this call has run, and is {proposal.state.value} since {since}"
        remedy = "whether its effect can be undone: checkvalve undo show"
    else:
        return moves.conflict(proposal)
    return ConflictError(text, remedy=remedy, cause=cause, present=proposal.present)


def _require_right(connection: sa.Connection, queue: Queue, proposal: Proposal, reviewer: Reviewer) -> None:
    """Do step 2 for a reviewer.

    Raises:
        CredentialError, NotAllowedError: no reviewer any more; it is none of theirs, and the error says whose it is.
    """
    roster = Roster(connection)
    queue.reviewers.require(roster, reviewer)
    plan, account = plans.read(connection, proposal.id), account_of(roster, reviewer.name)
    if Role.ADMINISTRATOR in account.roles_for(plan.question(proposal), yes=False):
        return
    if _asked(proposal, account) or _said_yes(connection, proposal, account):
        return
    deciding.voter_of(roster, queue.bench, proposal, plan, reviewer, yes=False, at=queue.clock())


def _asked(proposal: Proposal, account: Account) -> bool:
    """Say whether this person asked for the call; an unknown requester is nobody here."""
    return reach.is_requester(tuple(name for name in proposal.asked_by if is_usable(name)), account)


def _said_yes(connection: sa.Connection, proposal: Proposal, account: Account) -> bool:
    """Say whether the permit rests on a yes of this person, or on one that was said for them."""
    cast = [vote for vote in votes.read(connection, proposal.id) if vote.yes]
    return any(account.name == vote.reviewer or account.person in {vote.person, vote.via} for vote in cast)


__all__ = ["REVOKED", "may_revoke", "require_revocable", "revoke", "revoke_own"]
