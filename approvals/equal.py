"""Which open questions ask the same: one tool, one rule, and the same data to accept, in whatever task.

The data is the same when value, role, kind and the tool are, and when it stands in what the same tool returned; in
which call of that tool is left out, since every run makes its own. Critical calls ask one by one. Whether such
questions may be answered in one table is another matter: :mod:`batching` says.

Guarantees: reads only; a call that was changed beside the log is in no group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.overdue import readable
from checkvalve.approvals.pages_data import MAX_BATCH, PENDING, critical, mark
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.while_unchanged import while_unchanged

CANDIDATES: Final = 300
"""Open calls of one tool and rule that are compared; a queue of more is worked off in parts."""
_row: Final = proposals.c
_OWN: Final = (_row.server, _row.tool, _row.rule)


@dataclass(frozen=True, slots=True)
class Equals:
    """Open calls that ask the same: the oldest one, how many they are, and of how many tasks."""

    first: Proposal
    count: int
    tasks: int


def same_data(proposal: Proposal) -> str:
    """Return what two questions about the same data have in common, whichever call of a tool brought it."""
    return digest([_said(offer) for offer in proposal.endorsable])


def _said(offer: Mapping[str, Any]) -> dict[str, Any]:
    source, _, field = str(offer.get("source", "")).partition("#")
    return {**offer, "source": [source.rpartition("/")[0] or source, field]}


def equals(store: Store, *, limit: int) -> list[Equals]:
    """Return the groups of open calls that ask the same, the largest first."""

    def look() -> list[Equals]:
        count = sa.func.count()
        query = sa.select(*_OWN).where(PENDING, _row.endorsable != "[]", sa.not_(critical())).group_by(*_OWN)
        query = query.having(count > 1).order_by(count.desc(), sa.func.min(_row.created_at)).limit(limit)
        with store.read() as connection:
            kinds = [tuple(row) for row in connection.execute(query)]
            found = [group for kind in kinds for group in _groups(connection, kind)]
        return sorted(found, key=lambda group: -group.count)[:limit]

    return while_unchanged(store, mark(store), ("equals", limit), look)


def _groups(connection: sa.Connection, kind: tuple[str, ...]) -> list[Equals]:
    groups: dict[str, list[Proposal]] = {}
    for row in _of(connection, kind):
        groups.setdefault(same_data(row), []).append(row)
    return [Equals(rows[0], len(rows), len({row.thread for row in rows})) for rows in groups.values() if len(rows) > 1]


def _of(connection: sa.Connection, kind: tuple[str, ...]) -> list[Proposal]:
    same = [column == value for column, value in zip(_OWN, kind, strict=True)]
    query = sa.select(proposals).where(PENDING, *same, _row.endorsable != "[]", sa.not_(critical()))
    query = query.order_by(_row.created_at, _row.id).limit(CANDIDATES)
    rows = (readable(row) for row in connection.execute(query).mappings())
    return [row for row in rows if row is not None]


def equal_to(store: Store, proposal: Proposal, *, limit: int = MAX_BATCH) -> list[Proposal]:
    """Return the open calls that ask the same as ``proposal``, itself first."""
    with store.read() as connection:
        found = _of(connection, (proposal.server, proposal.tool, proposal.rule))
    wanted = same_data(proposal)
    same = [row for row in found if same_data(row) == wanted]
    return sorted(same, key=lambda row: row.id != proposal.id)[:limit]


__all__ = ["CANDIDATES", "Equals", "equal_to", "equals", "same_data"]
