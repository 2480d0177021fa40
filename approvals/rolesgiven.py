"""Giving roles: who may, to whom, and what is always left.

1. An administrator gives roles, and never one to himself, under whatever account; to give up some of his own is free.
2. Whose account it is, is settled when it is made: a name that somebody has already means that person. 3. One enabled
administrator is left, or nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.people import RULE, folded, is_usable, same_person
from checkvalve.approvals.refusals import SecondPersonError
from checkvalve.approvals.roles import GIVEN, LOOKS, Account, Role, Scope, accounts, stored, subject_of
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
    """
    if not (roles := frozenset(roles)):
        raise QueueError("an account has one role at least", remedy="give one, or disable the account")
    if owner is not None and not roles <= LOOKS:
        raise QueueError("a program looks, and does nothing else", remedy="let a person have these roles")
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


__all__ = ["give", "keep_one_administrator", "may_give", "person_for"]
