"""Do plans, votes and roles say what the events say? A loosened plan, a planted vote or role is found here.

Guarantees: every column of plans and votes is compared, but for how far the ladder of reminders has come, which has
events of its own; and for reviewers, their roles and whose account it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.quorum_said import PLAIN, QuorumTold
from checkvalve.approvals.review_tables import plans, votes
from checkvalve.approvals.subjectrows import Row, Rows, stored
from checkvalve.approvals.tables import reviewers

Found = Iterator[tuple[str, str]]

_NOTHING: Final = QuorumTold()
ACCOUNT: Final = "reviewer:"
"""Before an account's name: the subject of the events about its roles."""


def check_plans(
    connection: sa.Connection,
    told: Mapping[str, QuorumTold],
    *,
    only: str = "",
    erased: Collection[str] = (),
    rows: Rows = stored,
) -> Found:
    """Yield a code and a sentence for each plan that differs from its events, or is gone; of one question, or of all.

    ``erased`` are calls that are compared as a whole.
    """
    known = set()
    for row in rows(connection, plans.c.proposal_id, only):
        name = row["proposal_id"]
        known.add(name)
        said = told.get(name, _NOTHING)
        if name not in erased and not _same_plan(row, said):
            yield "row_differs", f"the review plan of {name} is not what its events say"
    for gone in sorted(name for name, said in told.items() if said.plan and name not in known | set(erased)):
        yield "row_missing", f"the review plan of {gone} has an event and no row"


def _same_plan(row: Row, said: QuorumTold) -> bool:
    try:
        same = digest_bytes(row["body"].encode()) == said.plan and json.loads(row["body"])["tier"] == row["tier"]
    except (AttributeError, ValueError, TypeError, KeyError):
        return False
    return same and (row["parent"], row["edited_by"]) == said.linked


def check_votes(
    connection: sa.Connection,
    told: Mapping[str, QuorumTold],
    *,
    only: str = "",
    erased: Collection[str] = (),
    rows: Rows = stored,
) -> Found:
    """Yield a code and a sentence for each vote that differs from its event, or is gone; of one question, or of all."""
    known = set()
    for row in rows(connection, votes.c.proposal_id, only):
        name, person = row["proposal_id"], row["person"]
        known.add((name, person))
        said = told.get(name, _NOTHING).votes.get(person)
        if name not in erased and not _same_vote(row, said):
            yield "row_differs", f"a vote on {name} is not what its events say"
    cast = {(name, person) for name, said in told.items() if name not in erased for person in said.votes}
    for name, _person in sorted(cast - known):
        yield "row_missing", f"a vote on {name} has an event and no row"


def _same_vote(row: Row, said: dict[str, Any] | None) -> bool:
    try:
        found = {**row, "roles": json.loads(row["roles"])}
    except (ValueError, TypeError):
        return False
    return said is not None and all(found[name] == said[name] for name in (*PLAIN, "roles", "reviewer", "at"))


def check_roles(connection: sa.Connection, told: Mapping[str, QuorumTold]) -> Found:
    """Yield a code and a sentence for each account whose roles, or whose person, nobody has given."""
    row = reviewers.c
    for name, roles, person in connection.execute(sa.select(row.name, row.roles, row.person)).all():
        said = told.get(f"{ACCOUNT}{name}", _NOTHING).roles or ("", "")
        if (roles, person) != said:
            yield "row_differs", f"the roles of reviewer {name!r} are not what the events say"


__all__ = ["ACCOUNT", "check_plans", "check_roles", "check_votes"]
