"""Giving roles: who may, to whom, and what is always left.

1. An administrator gives roles, and never one to himself, under whatever account; to give up some of his own is free.
2. Whose account it is, is settled when it is made: a name that somebody has already means that person. 3. One enabled
administrator is left, or nothing is changed. 4. A program is owned by a person: by no program, and not by itself.
5. An account is what the log says of it before its next event is written: what was edited by hand is never signed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.people import RULE, folded, is_usable, same_person
from checkvalve.approvals.refusals import SecondPersonError
from checkvalve.approvals.roles import GIVEN, LOOKS, Account, Role, Scope, account_of, accounts, stored, subject_of
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON


def may_give(giver: Account | None, person: str, roles: frozenset[Role], scope: Scope) -> None:
    """Check that ``giver`` may let ``person`` have these roles; None is whoever sets the database up.

    Raises:
        NotAllowedError: that is himself, and these would be more than he has.
    """
    if giver is None or giver.person != person:
        return
    if not roles <= giver.roles or scope != giver.scope:
        raise SecondPersonError("nobody gives himself a role", remedy="another administrator can")


def person_for(known: Iterable[Account], name: str, person: str) -> str:
    """Return whose account a new one is: the name of the person as it is known already, or the account's own.

    Raises:
        QueueError: this is no name of a person, or somebody of the account's own name is known as another person.
    """
    listed = list(known)
    whose = folded(person) if person else name
    if not is_usable(whose):
        raise QueueError(f"a person has a printable name: {RULE}", remedy="give the name of their first account")
    for one in listed:
        if any(same_person(whose, known_name) for known_name in (one.name, one.person, *one.known_as)):
            return one.person
    if person and not same_person(whose, name):
        raise QueueError("nobody is known by this name", remedy="name somebody of: checkvalve approvals reviewer list")
    return whose


def owner_named(owner: str) -> str:
    """Return the owner of a program or of a token as people are compared; empty where there is none.

    Raises:
        QueueError: this is no name of a person.
    """
    if owner and not is_usable(owner):
        raise QueueError(f"an owner has a printable name: {RULE}", remedy="give the name or address of a person")
    return folded(owner)


def owner_for(known: Iterable[Account], owner: str, program: str) -> str:
    """Return the owner of the program's account ``program`` as it is stored, among the accounts that there are.

    Raises:
        QueueError: this is no name of a person: it is the program itself, or another one.
    """
    whose, others = owner_named(owner), [one for one in known if not same_person(one.name, program)]
    if whose and (same_person(whose, program) or _only_programs(whose, others)):
        raise QueueError("a program owns no program", remedy="name the person who answers for it")
    return whose


def require_owns_nothing(known: Iterable[Account], program: str) -> None:
    """Make sure that no program has an owner who would be none any more when ``program`` is a program itself.

    Raises:
        QueueError: there is one; it says which.
    """
    left = [replace(one, program=one.program or one.name == program) for one in known]
    others = [one for one in left if one.name != program]
    mine = next(one for one in left if one.name == program)
    for one in others:
        if one.program and one.owner and _is_called(mine, one.owner) and _only_programs(one.owner, left):
            raise QueueError(
                f"{program} owns the program {one.name}, and a program owns none",
                remedy=f"name another owner first: checkvalve approvals reviewer program {one.name} --owner NAME",
            )


def _only_programs(name: str, known: Iterable[Account]) -> bool:
    """Say whether this is what programs are called, and no person."""
    called = [one.program for one in known if _is_called(one, name)]
    return bool(called) and all(called)


def _is_called(account: Account, name: str) -> bool:
    return any(same_person(name, word) for word in (account.name, account.person, *account.known_as))


def give(  # each is a part of what the row and the event say
    connection: sa.Connection,
    name: str,
    roles: Iterable[Role],
    scope: Scope,
    *,
    person: str,
    by: str,
    at: int,
    owner: str | None = None,
) -> None:
    """Write what an account may do and whose it is, with the event; ``owner`` is that of a program, None of people.

    Raises:
        QueueError: it would have no role, and still see every call; or it is a program's, and would do more than look.
        StoreCorruptError: its row was written by hand.
    """
    if not (roles := frozenset(roles)):
        raise QueueError("an account has one role at least", remedy="give one, or disable the account")
    if owner is not None and not roles <= LOOKS:
        raise QueueError("a program looks, and does nothing else", remedy="let a person have these roles")
    account_of(connection, name)  # 5.
    text, whose = stored(roles, scope, owner=owner), "" if person == name else person
    connection.execute(sa.update(reviewers).where(reviewers.c.name == name).values(roles=text, person=whose))
    body: dict[str, JSON] = {"reviewer": name, "roles": text, "person": whose, "by": by}
    audit.append(connection, at=at, kind=GIVEN, subject=subject_of(name), body=body)


def keep_one_administrator(connection: sa.Connection) -> None:
    """Make sure that somebody is left who gives roles.

    Raises:
        QueueError: nobody would be.
    """
    if not any(one.has(Role.ADMINISTRATOR) for one in accounts(connection)):
        raise QueueError("nobody would be left who gives roles", remedy="let somebody else be an administrator first")


__all__ = [
    "give", "keep_one_administrator", "may_give", "owner_for", "owner_named", "person_for", "require_owns_nothing",
]  # fmt: skip
