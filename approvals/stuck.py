"""Calls that nobody can decide: no enabled reviewer with the right roles is left beside whoever asked.

Guarantees: becoming so and ending to be so are events, each written once by compare-and-set on the plan's row however
many processes look; a call that waits is as strict as before. Whether it is so is counted in :mod:`reach`.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.handed import REACHING
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON

_row = plans.c
_OPEN = proposals.c.state == State.PENDING.value


def note(connection: sa.Connection, proposal_id: str, *, at: int, body: Mapping[str, JSON]) -> bool:
    """Say that nobody can decide a call, inside the caller's transaction; says whether that was news."""
    mine = sa.update(plans).where(_row.proposal_id == proposal_id, _row.unreachable_at.is_(None))
    if connection.execute(mine.values(unreachable_at=at)).rowcount != 1:
        return False
    audit.append(connection, at=at, kind=REACHING[0], subject=proposal_id, body={"state": "pending", **body})
    return True


def lift(connection: sa.Connection, proposal_id: str, *, at: int) -> bool:
    """Say that somebody can decide it again; says whether that was news."""
    mine = sa.update(plans).where(_row.proposal_id == proposal_id, _row.unreachable_at.is_not(None))
    if connection.execute(mine.values(unreachable_at=None)).rowcount != 1:
        return False
    body: dict[str, JSON] = {"state": "pending", "by": "clock"}
    audit.append(connection, at=at, kind=REACHING[1], subject=proposal_id, body=body)
    return True


def listed(connection: sa.Connection) -> dict[str, int]:
    """Return the open calls that nobody can decide, with since when, the oldest first."""
    query = sa.select(_row.proposal_id, _row.unreachable_at).join(proposals, proposals.c.id == _row.proposal_id)
    query = query.where(_row.unreachable_at.is_not(None), _OPEN).order_by(_row.unreachable_at, _row.proposal_id)
    return {name: int(since) for name, since in connection.execute(query).all()}


__all__ = ["lift", "listed", "note"]
