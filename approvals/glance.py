"""One look at what the queue has of a call before it is recorded: most calls are new, and then nothing else is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.records import State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.tables import proposals

_ESCAPE: Final = "/"
_row = proposals.c
_thread = _row.thread == sa.bindparam("of_thread")
_open = _row.state.in_([State.PENDING.value, State.APPROVED.value])
_edit = _row.call_id.like(sa.bindparam("edits"), escape=_ESCAPE)
_pending = sa.select(sa.func.count()).select_from(proposals).where(_thread, _row.state == State.PENDING.value)
_LOOK: Final = sa.select(
    sa.exists(sa.select(1).where(_row.id == sa.bindparam("known"))),
    sa.exists(sa.select(1).where(_thread, _open, sa.or_(_row.call_id == sa.bindparam("call"), _edit))),
    _pending.scalar_subquery(),
    sa.exists(
        sa.select(1).where(_thread, _row.digest == sa.bindparam("same"), _row.state != State.DENIED.value),
    ),
)


@dataclass(frozen=True, slots=True)
class Glance:
    """What there is of a call.

    ``known``: this very call. ``replaces``: an open one under its call id, or an edit of that. ``pending``: how many
    questions of its thread are open. ``asked_before``: the same arguments were not denied before.
    """

    known: bool
    replaces: bool
    pending: int
    asked_before: bool


def look(connection: sa.Connection, request: ActionRequest, known: str) -> Glance:
    """Look for a call, whose id would be ``known``."""
    start = request.call_id.replace(_ESCAPE, _ESCAPE * 2).replace("%", f"{_ESCAPE}%").replace("_", f"{_ESCAPE}_")
    given = {"of_thread": request.thread, "known": known, "call": request.call_id, "same": request.digest}
    found = connection.execute(_LOOK, given | {"edits": f"{start}~%"}).one()
    return Glance(bool(found[0]), bool(found[1]), int(found[2]), bool(found[3]))


__all__ = ["Glance", "look"]
