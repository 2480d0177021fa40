"""What the stored votes on a question count for now, and how it stands because of them.

Guarantees: a yes counts for no more than the person could still say today; nothing here writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from checkvalve.approvals import plans, reach, votes
from checkvalve.approvals.delegations import standing_in
from checkvalve.approvals.handed import REVIEWER
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import votes as vote_rows
from checkvalve.approvals.roles import Account, People, Role, Roster, account_of, accounts
from checkvalve.approvals.subjectrows import Held
from checkvalve.approvals.votes import Tally, Vote, Voter
from checkvalve.filters.strictjson import JSON


@dataclass(frozen=True, slots=True)
class Standing:
    """How a question stands: its plan, who said what, what is missing, and whether anybody can give it."""

    plan: Plan
    votes: Sequence[Vote]
    tally: Tally
    reachable: bool

    def to_json(self) -> dict[str, JSON]:
        """Return the published form; ``missing`` lists what each alternative still needs, the nearest first."""
        told = self.tally.to_json()
        said: list[JSON] = [vote.to_json() for vote in self.votes]
        plan = self.plan.to_json() | {"parent": self.plan.parent, "edited_by": self.plan.edited_by}
        return {"plan": plan, "votes": said, "missing": told["missing"], "reachable": self.reachable}


def still_counting(
    people: People,
    cast: Sequence[Vote],
    plan: Plan,
    proposal: Proposal,
    *,
    single_user: bool,
    at: int,
    earlier: frozenset[str] = frozenset(),
) -> list[Vote]:
    """Return the votes on a question with what counts of them at a moment: while it is open, and before its effect.

    A yes of an account that was disabled, or whose role was taken, since then is none; nor is one for somebody in whose
    place nobody stands any more, or who has spoken since. A no stays. Accounts that were found to be one person's have
    one voice, and who turned out to have asked for the call has no yes, unless this is a single-user setting; nor have
    ``earlier``, the persons who asked under a name that they had once, as :mod:`askers` found them.

    Raises:
        StoreCorruptError: the roles of one of them, or a hand-over to them, were written by hand.
    """
    found: dict[str, Vote] = {}
    roster = people if isinstance(people, Roster) else Roster(people)
    spoke = {account_of(roster, vote.reviewer).person for vote in cast if not vote.via}
    question, own = plan.question(proposal), frozenset[str]()
    if not single_user:
        own = earlier | reach.requesters(proposal.asked_by, accounts(roster, everyone=True))
    for vote in cast:
        account = account_of(roster, vote.reviewer)
        if vote.yes and not own.isdisjoint({account.person, vote.via}):
            continue
        if vote.yes and vote.via and (vote.via in spoke or not _stands_in(roster, vote, at)):
            continue
        if vote.yes:
            roles = _roles_of_person(roster, vote.via, question) if vote.via else account.roles_for(question)
            kept = replace(vote, person=account.person, roles=frozenset() if account.disabled else vote.roles & roles)
        else:
            kept = replace(vote, person=account.person)
        if (kept.roles or not kept.yes) and (account.person not in found or not kept.yes):
            found[account.person] = kept
            spoke.add(vote.via)
    return list(found.values())


def votes_behind(roster: Roster, proposal: Proposal, plan: Plan, held: Held, issued_by: str) -> list[Vote]:
    """Return the votes of a permit that people gave; one that kept none rests on who issued it.

    ``held`` are the rows of the call as this transaction read them.

    Raises:
        CredentialError, StoreCorruptError: that account is not there, or was written by hand.
    """
    if not held.is_empty(vote_rows.c.proposal_id):
        return votes.of_rows(held(roster.connection, vote_rows.c.proposal_id, proposal.id))
    return [yes_of(account_of(roster, issued_by.removeprefix(REVIEWER)), proposal, plan.roles)]


def yes_of(account: Account, proposal: Proposal, roles: frozenset[Role]) -> Vote:
    """Return the plain yes of somebody to a call, to count with: it is stored nowhere."""
    return Vote(
        proposal.id,
        account.person,
        account.name,
        yes=True,
        roles=roles,
        via="",
        digest=proposal.digest,
        endorse=False,
        code="",
        note="",
        at=0,
    )


def counting_for_permit(
    roster: Roster,
    cast: Sequence[Vote],
    plan: Plan,
    proposal: Proposal,
    *,
    at: int,
    earlier: frozenset[str] = frozenset(),
) -> list[Vote]:
    """Return what still counts of the votes behind a permit.

    What one says to one's own call counts only where the record says that it did.
    """
    alone = proposal.self_approved
    return still_counting(roster, cast, plan, proposal, single_user=alone, at=at, earlier=earlier)


def used_voices(roster: Roster, cast: Sequence[Vote], voter: Voter, at: int) -> list[Vote]:
    """Return the votes that a further one is compared with.

    Left out is a yes that somebody else said for the voter, or for whom the voter stands in, and who does not stand
    in any more: it counts for nothing, and so the voice may be used.
    """
    voices, own = {voter.account.person, voter.via} - {""}, voter.account.person
    return [
        vote
        for vote in cast
        if not (vote.yes and vote.via in voices and vote.person != own) or _stands_in(roster, vote, at)
    ]


def _stands_in(roster: Roster, vote: Vote, at: int) -> bool:
    """Say whether who said this for somebody still stands in for that person."""
    taker = account_of(roster, vote.reviewer).person
    givers = (account_of(roster, handed.giver) for handed in standing_in(roster.connection, taker, at))
    return any(giver.person == vote.via for giver in givers)


def _roles_of_person(roster: Roster, person: str, question: Question) -> frozenset[Role]:
    """Return what the enabled accounts of a person may do together about a question."""
    mine = [account_of(roster, one.name) for one in accounts(roster) if one.person == person]
    return frozenset(role for one in mine for role in one.roles_for(question))


def standing(connection: sa.Connection, proposal: Proposal, *, single_user: bool, at: int) -> Standing:
    """Return how a question stands at a moment."""
    plan, cast = plans.read(connection, proposal.id), votes.read(connection, proposal.id)
    pending, roster = proposal.state is State.PENDING, Roster(connection)
    counting = still_counting(roster, cast, plan, proposal, single_user=single_user, at=at) if pending else cast
    tally = votes.tally(plan, counting)
    reachable = not pending or reach.can_be_approved(roster, proposal, plan, single_user=single_user)
    return Standing(plan, cast, tally, reachable)


__all__ = [
    "Standing", "counting_for_permit", "standing", "still_counting", "used_voices", "votes_behind",
    "yes_of",
]  # fmt: skip
