"""What the card says of the quorum: whom a question takes, who said what, what is missing, and what you may say.

Guarantees: words of people are in :class:`Shown` and nowhere else; that a button is there promises nothing, since the
queue checks everything again.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals import deciding
from checkvalve.approvals.plans import ONE, Alternative
from checkvalve.approvals.reach import requesters
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.roles import accounts
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.votes import Vote
from checkvalve.gateway.web_desk import Visit
from checkvalve.gateway.web_text import Shown, line


@dataclass(frozen=True, slots=True)
class VoteView:
    """What one person said."""

    yes: bool
    reviewer: Shown
    via: Shown
    roles: tuple[str, ...]
    note: Shown
    at: int
    by_token: bool  # said with a token, which a person has and a program could


@dataclass(frozen=True, slots=True)
class QuorumView:
    """One card's part. ``ways`` and ``missing`` are pairs of a number and a role, a list for each alternative.

    ``so_far`` has for the alternative that is nearest, and each role of which it takes several people: how many there
    are, and of how many. ``alone`` says that there is nobody beside whoever asked. ``refusal`` says why this person's
    yes does not count, empty where it would; ``no`` the same of a no; ``voted`` that this person has said yes, and may
    take it back by saying no.
    """

    ways: tuple[tuple[tuple[int, str], ...], ...]
    missing: tuple[tuple[tuple[int, str], ...], ...]
    so_far: tuple[tuple[int, int, str], ...]
    votes: tuple[VoteView, ...]
    plain: bool
    nobody: bool
    alone: bool
    somebody_else: bool
    deny: int
    note_required: bool
    rule: Shown
    edited_by: Shown
    refusal: Shown
    no: Shown
    voted: bool


def quorum_view(visit: Visit, row: Seen) -> QuorumView:
    """Return what the card of a call says of its quorum."""
    queue, proposal = visit.desk.queue, row.exact
    standing = row.said(queue.standing(proposal.id))
    plan, tally = standing.plan, standing.tally
    pending = proposal.state is State.PENDING
    return QuorumView(
        ways=tuple(_pairs(needs) for needs in plan.approve),
        missing=tuple(_pairs(needs) for needs in tally.ways if needs) if pending else (),
        so_far=_so_far(plan.approve, tally.missing),
        votes=tuple(_vote(vote) for vote in standing.votes),
        plain=plan.approve == ONE,
        nobody=pending and not standing.reachable,
        alone=_alone(visit, proposal),
        somebody_else=pending and tally.somebody_else,
        deny=plan.deny,
        note_required=plan.note_required,
        rule=line(plan.rule),
        edited_by=line(plan.edited_by),
        refusal=line(_refusal(visit, proposal, yes=True), limit=600),
        no=line(_refusal(visit, proposal, yes=False), limit=600),
        voted=any(vote.yes and vote.reviewer == visit.reviewer.name for vote in standing.votes),
    )


def _alone(visit: Visit, proposal: Proposal) -> bool:
    with visit.desk.queue.store.read() as connection:
        known = accounts(connection)
    return {one.person for one in known} <= requesters(proposal.asked_by, known)


def _refusal(visit: Visit, proposal: Proposal, *, yes: bool) -> str:
    queue = visit.desk.queue
    if proposal.state is not State.PENDING:
        return ""
    with queue.store.read() as connection:
        return deciding.refusal(connection, queue.bench, proposal, visit.reviewer, yes=yes, at=queue.clock())


def _pairs(needs: Alternative) -> tuple[tuple[int, str], ...]:
    return tuple((need.count, need.role.value) for need in needs)


def _so_far(ways: tuple[Alternative, ...], missing: Alternative) -> tuple[tuple[int, int, str], ...]:
    """Return ``1 of 2 approvers`` as numbers, where there is one way to fill the quorum."""
    lacks = {need.role: need.count for need in missing}
    several = [need for need in ways[0] if need.count > 1] if len(ways) == 1 else []
    return tuple((need.count - lacks.get(need.role, 0), need.count, need.role.value) for need in several)


def _vote(vote: Vote) -> VoteView:
    roles = tuple(sorted(role.value for role in vote.roles))
    words = vote.note or vote.code
    said = line(words, limit=2_000)
    return VoteView(vote.yes, line(vote.reviewer), line(vote.via), roles, said, vote.at, vote.means == "token")


__all__ = ["QuorumView", "VoteView", "quorum_view"]
