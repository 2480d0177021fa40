"""Climbing the rungs of one question whose time has come: each once, with its event, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, plans
from checkvalve.approvals.ladder_ahead import hooks_of, is_told
from checkvalve.approvals.ladder_event import saying
from checkvalve.approvals.ladder_scene import Around
from checkvalve.approvals.oncall import OnDuty
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.rungs import next_at, rungs
from checkvalve.approvals.tablecheck import require_recorded

_row = plan_rows.c


@dataclass(frozen=True, slots=True)
class Climbed:
    """One thing that a look did.

    ``what`` is ``reminded``, ``escalated``, ``unreachable``, ``reachable`` or ``afterlook``. ``why`` says of a step
    that was told early why nobody of the one before can be reached; ``cannot`` who of those on call cannot decide, and
    which hooks failed.
    """

    proposal_id: str
    what: str
    who: tuple[str, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)


def climb(
    connection: sa.Connection, proposal_id: str, now: int, queue: Queue, answers: Mapping[str, OnDuty]
) -> list[Climbed]:
    """Climb every rung of a question that is due; none where others were faster, or where a hook was not asked yet.

    ``answers`` is what the hooks said whose step is due.

    Raises:
        StoreCorruptError: the question or its plan is not what the log says.
    """
    proposal = moves.load(connection, proposal_id)
    query = sa.select(_row.step, _row.next_at, _row.ahead).where(_row.proposal_id == proposal_id)
    row = connection.execute(query).one_or_none()
    due = row is not None and row.next_at is not None and row.next_at <= now
    if row is None or not due or proposal.state is not State.PENDING or moves.is_overdue(proposal, now):
        return []
    require_recorded(connection, proposal_id)
    plan = plans.read(connection, proposal_id)
    ladder = rungs(plan, created_at=proposal.created_at, decide_by=proposal.decide_by)
    end = next((number for number, rung in enumerate(ladder) if rung.at > now), len(ladder))
    if not 0 <= row.step < end or not hooks_of(ladder, row.step, end, row.ahead) <= answers.keys():
        return []
    mine = sa.update(plan_rows).where(
        _row.proposal_id == proposal_id,
        _row.step == row.step,
        _row.next_at == row.next_at,
        _row.ahead == row.ahead,
    )
    if connection.execute(mine.values(step=end, next_at=next_at(ladder, end))).rowcount != 1:
        return []
    scene = Around.at(connection, queue, now).scene(connection, proposal, plan)
    last = max((number for number in range(row.step, end) if not ladder[number].to), default=-1)
    found = []
    for number in range(row.step, end):
        rung = ladder[number]
        early = is_told(ladder, number, row.ahead)
        missed = early or (not rung.to and number != last)  # a newer reminder tells people
        said = saying(rung, scene, None if early else answers)
        body = said.body | {"step": number + 1, **({"missed": True} if missed else {})}
        audit.append(connection, at=now, kind=f"proposal.{rung.kind}", subject=proposal_id, body=body)
        found += [] if early else [Climbed(proposal_id, rung.kind, said.who, cannot=said.cannot)]
    return found


__all__ = ["Climbed", "climb"]
