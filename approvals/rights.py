"""The rights that a permit rests on, counted once more right before the effect: may they still say yes to this call?

1. A permit that a rule gave rests on nobody. 2. One of a broken glass: who broke it still may break this one. 3. Any
other: the votes as they count now, by the rule of :func:`counting.still_counting`, still are what the plan asks for.
Where the votes that are left are enough, the call runs. 4. Else the permit is void, and the event says whose yes is
gone, and why.

Guarantees: it is read in the transaction that takes the permit, so nobody's right ends between; what was written by
hand stops the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import askers, plans, reach, votes
from checkvalve.approvals.breakglass import require_breaker
from checkvalve.approvals.counting import counting_for_permit, votes_behind
from checkvalve.approvals.errors import CredentialError, NotAllowedError, StoreCorruptError
from checkvalve.approvals.handed import GLASS, REVIEWER
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.roles import Role, Roster, account_of, accounts
from checkvalve.approvals.subjectrows import Held
from checkvalve.approvals.tables import grants
from checkvalve.approvals.votes import Vote
from checkvalve.filters.strictjson import JSON

GONE: Final = "rights_gone"
"""The code of a permit that is void since too few of those who gave it still may."""


@dataclass(frozen=True, slots=True)
class Gone:
    """Somebody whose yes counts no more, and a stable word for why."""

    reviewer: str
    why: str

    def to_json(self) -> dict[str, JSON]:
        """Return what the event has."""
        return {"reviewer": self.reviewer, "why": self.why}


def in_words(gone: Sequence[Gone]) -> str:
    """Return it as a note, for whoever looks at the call."""
    return "no yes any more: " + ", ".join(f"{one.reviewer} ({one.why})" for one in gone)


def lost(connection: sa.Connection, proposal: Proposal, held: Held, *, at: int) -> list[Gone]:
    """Return whose yes is gone; empty where the permit still stands.

    ``held`` are the rows of the call as this transaction read them, compared with the log by the caller.

    Raises:
        StoreCorruptError: an account, or a hand-over, that the permit rests on was written by hand.
    """
    permit = held.one(grants.c.proposal_id)
    issued_by = "" if permit is None else str(permit["issued_by"])
    if not issued_by.startswith((REVIEWER, GLASS)):  # 1.
        return []
    roster, row = Roster(connection), held.one(plan_rows.c.proposal_id)
    plan = plans.read(connection, proposal.id) if row is None else plans.of_row(row)
    try:
        if issued_by.startswith(GLASS):  # 2.
            return _breaker_lost(roster, proposal, plan, issued_by.removeprefix(GLASS))
        return _votes_lost(
            roster, proposal, plan, votes_behind(roster, proposal, plan, held, issued_by), at
        )  # 3. and 4.
    except CredentialError as error:
        raise StoreCorruptError(
            f"an account that proposal {proposal.id} was approved by is not there any more",
            remedy="nothing was done; verify the audit log: checkvalve audit verify",
        ) from error


def _votes_lost(roster: Roster, proposal: Proposal, plan: Plan, cast: Sequence[Vote], at: int) -> list[Gone]:
    earlier = askers.require_as_told(roster, proposal.asked_by, askers.voices(cast))
    counting = counting_for_permit(roster, cast, plan, proposal, at=at, earlier=earlier)
    if votes.tally(plan, counting).decided == "yes":
        return []
    roles = {vote.reviewer: vote.roles for vote in counting if vote.yes}
    gone = [vote for vote in cast if vote.yes and roles.get(vote.reviewer) != vote.roles]
    asked = earlier | reach.requesters(proposal.asked_by, accounts(roster, everyone=True))
    return [Gone(vote.reviewer, _why(roster, plan, proposal, vote, asked)) for vote in gone]


def _breaker_lost(roster: Roster, proposal: Proposal, plan: Plan, name: str) -> list[Gone]:
    try:
        require_breaker(roster, proposal, plan, name)
    except NotAllowedError:
        account = account_of(roster, name)
        role = Role.BREAKER in account.roles_for(plan.question(proposal))
        gone = "disabled" if account.disabled else "program" if account.program else "asked" if role else "role"
        return [Gone(name, gone)]
    return []


def _why(roster: Roster, plan: Plan, proposal: Proposal, vote: Vote, asked: frozenset[str]) -> str:
    """Return a word for why a yes does not count any more; that it does not was decided before."""
    account = account_of(roster, vote.reviewer)
    if account.disabled or account.program:
        return "disabled" if account.disabled else "program"
    if {account.person, vote.via} & asked:
        return "asked"
    if vote.via:
        return "delegation"
    if account.roles_for(plan.question(proposal)).isdisjoint(vote.roles):
        return "role" if account.roles.isdisjoint(vote.roles) else "scope"
    return "same_person"  # as somebody else who said yes


__all__ = ["GONE", "Gone", "in_words", "lost"]
