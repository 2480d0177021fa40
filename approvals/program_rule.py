"""A program decides nothing: the one rule that every way of deciding asks.

Guarantees: pure; what a program may not do is said with the name of its account and of its owner, and with one cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.errors import CredentialError, NotAllowedError

if TYPE_CHECKING:
    from checkvalve.approvals.roles import Account


def require_person(found: Account) -> None:
    """Make sure that a person holds an account.

    Raises:
        NotAllowedError: a program does.
    """
    if found.program:
        whose = f", owned by {found.owner}" if found.owner else ""
        raise NotAllowedError(
            f"a program decides nothing: {found.name} is the account of one{whose}",
            remedy="let a person do it, with a credential of their own",
            cause=Cause.NOT_A_PERSON,
        )


def require_way_in(found: Account) -> None:
    """Make sure that an account may have ways into the pages.

    Raises:
        CredentialError: it is a program's.
    """
    if found.program:
        raise CredentialError(
            f"a program has no way into these pages: {found.name} is the account of one",
            remedy="a person signs in with an account of their own",
            cause=Cause.NOT_A_PERSON,
        )


__all__ = ["require_person", "require_way_in"]
