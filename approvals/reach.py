"""Could the people who are there answer a question at all? One that nobody can answer is said to be so, loudly.

Guarantees: it is counted over enabled accounts with the roles they have now, one voice for each person, without any of
those who asked: who started the task, who owns the token, who owns the agent (see ``asked_by``), under whatever account
and whatever name of theirs; nothing is relaxed because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from checkvalve.approvals import votes
from checkvalve.approvals.asked_by import AskedBy, names_in
from checkvalve.approvals.people import is_usable, same_person
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.roles import Account, People, Role, accounts


def is_requester(asked_by: AskedBy, account: Account) -> bool:
    """Say whether an account is that of somebody who asked. An unknown requester may be anybody.

    A name that no person could read (see ``people``) says as little as none.
    """
    names = names_in(asked_by)
    return any(not is_usable(name) for name in names) or _is_one_of(names, account)


def _is_one_of(names: Sequence[str], account: Account) -> bool:
    """Say whether one of these is a name of an account: its own, its person's, or one that a provider knows it by."""
    known = (account.name, account.person, *account.known_as)
    return any(same_person(name, one) for name in names for one in known)


def asked(people: People, asked_by: AskedBy, account: Account) -> bool:
    """Say whether one of those who asked is the person of this account, under whatever account of theirs."""
    if is_requester(asked_by, account):
        return True
    return account.person in requesters(asked_by, accounts(people, everyone=True))


def requesters(asked_by: AskedBy, known: Iterable[Account]) -> frozenset[str]:
    """Return the persons whose yes does not count: who asked, under any of their accounts.

    Where one of the names is a program's account, its owner has asked as well.
    """
    listed = list(known)
    names = (*names_in(asked_by), *_owners(names_in(asked_by), listed))
    return frozenset(one.person for one in listed if is_requester(names, one))


def _owners(names: Sequence[str], known: Iterable[Account]) -> Iterator[str]:
    yield from (one.owner for one in known if one.program and one.owner and _is_one_of(names, one))


def voices(
    known: Iterable[Account], question: Question, *, requester: AskedBy, single_user: bool = False
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
        requester=proposal.asked_by,
        single_user=single_user,
    )
    return votes.reachable(plan, could, editor=plan.edited_by)


__all__ = ["asked", "can_be_approved", "is_requester", "requesters", "voices"]
