"""Could the people who are there answer a question at all? One that nobody can answer is said to be so, loudly.

Guarantees: it is counted over enabled accounts with the roles they have now, one voice for each person, without any of
those who asked: who started the task, who owns the token, who owns the agent (see ``asked_by``), under whatever account
and whatever name of theirs; nothing is relaxed because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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

    Where one of the names is a program's account, its owner has asked as well; so has the owner of an owner that is a
    program itself, however many there are between.
    """
    listed = list(known)
    if any(not is_usable(name) for name in names_in(asked_by)):
        return frozenset(one.person for one in listed)
    return frozenset(one.person for one in behind(names_in(asked_by), listed)[1])


def behind(names: Iterable[str], known: Iterable[Account]) -> tuple[frozenset[str], list[Account]]:
    """Return every name that some usable names lead to, themselves among them, and the accounts that they are of.

    1. Each account that has one of the names is found. 2. Its person is a further name, and so is its owner where it is
    a program's. 3. Again with those, until nothing is new: programs may own each other in a ring.
    """
    left = {one.name: one for one in known}
    new = {name for name in names if is_usable(name)}
    said, found = set(new), list[Account]()
    while new:
        mine = [one for one in left.values() if _is_one_of(tuple(new), one)]
        for one in mine:
            found.append(left.pop(one.name))
        new = {word for one in mine for word in (one.person, one.owner if one.program else "") if word} - said
        said |= new
    return frozenset(said), found


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


__all__ = ["asked", "behind", "can_be_approved", "is_requester", "requesters", "voices"]
