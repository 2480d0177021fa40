"""Could the people who are there answer a question at all? One that nobody can answer is said to be so, loudly.

Guarantees: it is counted over enabled accounts with the roles they have now, one voice for each person, without whoever
asked; nothing is relaxed because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from checkvalve.approvals import votes
from checkvalve.approvals.people import is_usable, same_person
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.roles import Account, People, Role, accounts


def is_requester(requester: str, account: Account) -> bool:
    """Say whether an account is that of whoever asked. An unknown requester may be anybody.

    A name that no person could read (see ``people``) says as little as none.
    """
    if not is_usable(requester):
        return True
    return same_person(requester, account.name) or same_person(requester, account.person)


def asked(people: People, requester: str, account: Account) -> bool:
    """Say whether whoever asked is the person of this account, under whatever account of theirs."""
    if is_requester(requester, account):
        return True
    return account.person in requesters(requester, accounts(people, everyone=True))


def requesters(requester: str, known: Iterable[Account]) -> frozenset[str]:
    """Return the persons whose yes does not count: who asked, under any of their accounts."""
    return frozenset(one.person for one in known if is_requester(requester, one))


def voices(
    known: Iterable[Account], question: Question, *, requester: str, single_user: bool = False
) -> Mapping[str, frozenset[Role]]:
    """Return who could say yes to a question, as persons with the roles that would count."""
    listed = list(known)
    own = frozenset() if single_user else requesters(requester, listed)
    found: dict[str, frozenset[Role]] = {}
    for one in listed:
        if one.person not in own:
            found[one.person] = found.get(one.person, frozenset()) | one.roles_for(question)
    return found


def can_be_approved(people: People, proposal: Proposal, plan: Plan, *, single_user: bool = False) -> bool:
    """Say whether the people who are there could say yes to this question together."""
    could = voices(
        accounts(people, everyone=True),
        plan.question(proposal),
        requester=proposal.requester,
        single_user=single_user,
    )
    return votes.reachable(plan, could, editor=plan.edited_by)


__all__ = ["asked", "can_be_approved", "is_requester", "requesters", "voices"]
