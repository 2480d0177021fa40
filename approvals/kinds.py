"""Accounts of people and accounts of programs, and which accounts are one person's.

1. A program's account looks and does nothing else: it votes on nothing, hands nothing over and takes nothing over,
breaks no glass, makes and confirms nothing, reveals nothing, and has no session, password, passkey or link.
2. A program has an owner; where calls are asked for in its name, the owner has asked for them, too.
3. A person's account becomes a program's, and never the other way: what was said with a credential that a program
holds is no person's word.
4. Accounts that turn out to be one person's are joined, and never taken apart again: that person has one voice from
then on, also in questions that are open.

Guarantees: each change takes an administrator, and commits with its event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checkvalve.approvals.account_tables import sessions
from checkvalve.approvals.errors import NotAllowedError, QueueError
from checkvalve.approvals.people import folded
from checkvalve.approvals.roles import LOOKS, Account, Role, account_of, accounts, require_role
from checkvalve.approvals.rolesgiven import (
    give,
    keep_one_administrator,
    owner_for,
    owner_named,
    require_owns_nothing,
)
from checkvalve.approvals.sessions import end_sessions

if TYPE_CHECKING:
    import sqlalchemy as sa

    from checkvalve.approvals.reviewers import Reviewer, Reviewers

_LIST: Final = "list them: checkvalve approvals reviewer list"


def make_program(board: Reviewers, name: str, *, owner: str, by: Reviewer) -> Account:
    """Say that a program holds the credential of an account; its sessions end, and its open yeses count no more.

    Raises:
        CredentialError, NotAllowedError: ``by`` is no administrator.
        QueueError: there is no such account, the owner is no person's name, it owns a program itself, or nobody would
            be left who gives roles.
    """
    owner_named(owner)
    with board.store.write() as connection:
        found, at = _named(connection, board, name, by), board.clock()
        known = accounts(connection, everyone=True)
        whose = owner_for(known, owner, found.name)
        require_owns_nothing(known, found.name)
        give(connection, found.name, LOOKS, found.scope,
             person=found.person, by=by.name, at=at, owner=whose)  # fmt: skip
        keep_one_administrator(connection)
        end_sessions(connection, sessions.c.name == found.name, at=at, code="credential")
        return account_of(connection, found.name)


def join(board: Reviewers, name: str, *, person: str, by: Reviewer) -> Account:
    """Say that an account, and every other one of the same person, is ``person``'s, who has an account already.

    Raises:
        CredentialError, NotAllowedError: ``by`` is no administrator.
        QueueError: one of them is not known, is a program's, or they are one person's already.
        StoreCorruptError: one of the accounts was written by hand.
    """
    with board.store.write() as connection:
        found = _named(connection, board, name, by)
        other = account_of(connection, _found(connection, person).name)
        if found.program or other.program:
            raise NotAllowedError("a program is nobody's account", remedy="name its owner instead")
        if found.person == other.person:
            raise QueueError(f"they are accounts of {other.person} already", remedy="nothing was changed")
        mine = [one for one in accounts(connection, everyone=True) if one.person == found.person]
        for one in mine:
            give(connection, one.name, one.roles, one.scope, person=other.person, by=by.name, at=board.clock(),
                 owner=one.owner if one.program else None)  # fmt: skip
        return account_of(connection, found.name)


def _named(connection: sa.Connection, board: Reviewers, name: str, by: Reviewer) -> Account:
    board.require(connection, by)
    require_role(connection, by, Role.ADMINISTRATOR)
    return account_of(connection, _found(connection, name).name)


def _found(connection: sa.Connection, name: str) -> Account:
    known = accounts(connection, everyone=True)
    found = next((one for one in known if folded(one.name) == folded(name)), None)
    if found is None:
        raise QueueError("there is no such reviewer", remedy=_LIST)
    return found


__all__ = ["join", "make_program", "owner_named"]
