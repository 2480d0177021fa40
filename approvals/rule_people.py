"""Who agrees to a change of the rules: another person than the author, or one alone and why.

1. The author never agrees, under whatever account. 2. Where nothing is in force, one administrator is enough. 3. Where
rules were adopted in a log that was closed in doubt, that is so only where there is no other administrator: else who
can close a log could change the rules alone. 4. Where the rules in force say that one person uses the gateway, that
person agrees; what other settings say of it counts for nothing.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.doubts import is_doubted
from checkvalve.approvals.people import same_person
from checkvalve.approvals.refusals import SecondPersonError
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, account_of, accounts
from checkvalve.approvals.ruleset_store import RuleChange, read_text, subject_of
from checkvalve.approvals.rulesets import setting_in
from checkvalve.approvals.standing_store import persons_of

FIRST: Final = "first"
SINGLE_USER: Final = "single_user"


def is_other(connection: sa.Connection, author: str, reviewer: Reviewer) -> bool:
    """Say whether this is another person than the author, whatever accounts the two have.

    Raises:
        StoreCorruptError: whose account one of them is, is not what the log says.
    """
    account_of(connection, author)
    account_of(connection, reviewer.name)
    people, mine = (persons_of(connection, {name})[name] for name in (author, reviewer.name))
    return not any(same_person(one, other) for one in people for other in mine)


def may_begin(connection: sa.Connection, tenant: str, reviewer: Reviewer) -> bool:
    """Say whether one administrator may adopt rules where nothing is in force."""
    if not is_doubted(connection, subject_of(tenant)):
        return True
    mine = persons_of(connection, {reviewer.name})[reviewer.name]
    others = (one.person for one in accounts(connection) if one.has(Role.ADMINISTRATOR))
    return all(any(same_person(one, name) for name in mine) for one in others)


def why_alone(connection: sa.Connection, current: RuleChange | None, tenant: str, reviewer: Reviewer) -> str:
    """Return why the author may agree alone: :data:`FIRST` or :data:`SINGLE_USER`.

    Raises:
        NotAllowedError: he may not.
    """
    if current is None:
        if may_begin(connection, tenant, reviewer):
            return FIRST
    elif setting_in(read_text(connection, current.parts["settings"]), "single_user") is True:
        return SINGLE_USER
    raise SecondPersonError(
        "you proposed this change yourself", remedy="another person who is an administrator has to confirm it"
    )


__all__ = ["FIRST", "SINGLE_USER", "is_other", "may_begin", "why_alone"]
