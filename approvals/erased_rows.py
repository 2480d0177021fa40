"""What is left of an erased call in the tables, and whether it still is what it was right after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.tables import attempts, endorsements, grants, proposals, uses
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

_ROWS: Final = (
    (proposals, proposals.c.id),
    (grants, grants.c.proposal_id),
    (attempts, attempts.c.proposal_id),
    (endorsements, endorsements.c.proposal_id),
    (uses, uses.c.proposal_id),
)


def rows_digest(connection: sa.Connection, proposal_id: str) -> str:
    """Return the digest over everything that the tables hold of a call; an edit of an erased call changes it.

    Raises:
        HostileInputError: a row holds what this program never writes.
    """
    found: dict[str, JSON] = {}
    for table, column in _ROWS:
        rows = connection.execute(sa.select(table).where(column == proposal_id)).mappings()
        plain: list[JSON] = [_plain(row) for row in rows]
        found[table.name] = sorted(plain, key=str)
    return digest(found)


def _plain(row: sa.RowMapping) -> dict[str, JSON]:
    items: Iterable[tuple[Any, Any]] = row.items()
    return {str(name): value.hex() if isinstance(value, bytes) else value for name, value in items}


def is_as_erased(connection: sa.Connection, proposal_id: str, told: str) -> bool:
    """Say whether the rows of an erased call are what they were right after."""
    try:
        return rows_digest(connection, proposal_id) == told
    except HostileInputError:
        return False
