"""What is left of an erased call in the tables, and whether it still is what it was right after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest, digest_bytes
from checkvalve.approvals.review_tables import (
    afterlooks,
    delegations,
    plans,
    remarks,
    snoozes,
    standing_rules,
    undos,
    votes,
)
from checkvalve.approvals.tables import attempts, endorsements, grants, mandates, proposals, uses
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

_ROWS: Final = (
    (proposals, proposals.c.id),
    (grants, grants.c.proposal_id),
    (attempts, attempts.c.proposal_id),
    (endorsements, endorsements.c.proposal_id),
    (uses, uses.c.proposal_id),
)
_LATER: Final = (
    (plans, plans.c.proposal_id),
    (votes, votes.c.proposal_id),
    (remarks, remarks.c.proposal_id),
    (snoozes, snoozes.c.proposal_id),
    (afterlooks, afterlooks.c.proposal_id),
    (undos, undos.c.proposal_id),
    (standing_rules, standing_rules.c.id),
    (delegations, delegations.c.id),
    (mandates, mandates.c.id),
    (uses, uses.c.item),
)
"""Tables that older versions did not have: without a row they are left out, so that the digests of then still hold."""


def rows_digest(connection: sa.Connection, subject: str) -> str:
    """Return the digest over everything that the tables hold of a call, a standing rule or a hand-over.

    An edit of an erased one changes it. A row that holds what this program never writes has a digest, too.
    """
    found: dict[str, JSON] = {}
    for table, column in _ROWS:
        found[table.name] = _plain_rows(connection, column, subject)
    for table, column in _LATER:
        if rows := _plain_rows(connection, column, subject):
            found[f"{table.name}.{column.name}"] = rows
    try:
        return digest(found)
    except HostileInputError:
        return digest_bytes(repr(found).encode("utf-8", "surrogatepass"))


def _plain_rows(connection: sa.Connection, column: sa.Column[Any], subject: str) -> list[JSON]:
    rows = connection.execute(sa.select(column.table).where(column == subject)).mappings()
    plain: list[JSON] = [_plain(row) for row in rows]
    return sorted(plain, key=str)


def _plain(row: sa.RowMapping) -> dict[str, JSON]:
    items: Iterable[tuple[Any, Any]] = row.items()
    return {str(name): value.hex() if isinstance(value, bytes) else value for name, value in items}


def is_as_erased(connection: sa.Connection, subject: str, told: str) -> bool:
    """Say whether the rows of what was erased are what they were right after."""
    return rows_digest(connection, subject) == told
