"""Climbing early: where nobody of the present step of a question can be reached, the next one is told at once.

1. The present step is the newest that was told; before any, those who were asked. 2. Whether it can be reached is
judged by :mod:`ladder_steps`, over what its event says of it. 3. Where nobody can, the next step is told now, with the
reasons, and so on until one is reached or there is none left. 4. The clock goes on as before; when the time of a step
comes that was told early, its event says so, and nobody is told twice.

Guarantees: each step is told once, by compare-and-set on the plan's row, however many processes look; hooks are asked
outside of transactions; what a channel could not deliver is looked up, never waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from checkvalve.approvals import audit, moves, plans
from checkvalve.approvals.handed import EARLY
from checkvalve.approvals.ladder_apart import Apart
from checkvalve.approvals.ladder_event import saying
from checkvalve.approvals.ladder_scene import ESCALATED, Around, has_steps, told_steps
from checkvalve.approvals.ladder_steps import ASKED, TOO_FEW, Scene, Step, why_nobody
from checkvalve.approvals.oncall import ONCALL, OnDuty
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.rungs import Rung, rungs
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import proposals

_row = plan_rows.c


@dataclass(frozen=True, slots=True)
class Told:
    """One step that was told: its number from 1, to whom, and who of those on call cannot decide, with reasons."""

    number: int
    who: tuple[str, ...]
    why: Mapping[str, str]
    cannot: Mapping[str, str]


def asked(queue: Queue, hooks: Collection[str], now: int) -> dict[str, OnDuty]:
    """Ask hooks who is on call. Never inside a transaction: it may take a while."""
    return {name: queue.oncall.who(name, now) for name in sorted(hooks)}


def hooks_due(queue: Queue, proposal_id: str, now: int) -> dict[str, OnDuty]:
    """Ask the hooks of the steps of a question whose time has come, and of no others."""
    with queue.store.read() as connection:
        query = sa.select(_row.step, _row.ahead).where(_row.proposal_id == proposal_id)
        row = connection.execute(query).one_or_none()
        if row is None:
            return {}
        proposal, plan = moves.load(connection, proposal_id), plans.read(connection, proposal_id)
    ladder = rungs(plan, created_at=proposal.created_at, decide_by=proposal.decide_by)
    end = sum(rung.at <= now for rung in ladder)
    return asked(queue, hooks_of(ladder, row.step, end, row.ahead), now)


def hooks_of(ladder: Sequence[Rung], start: int, end: int, ahead: int) -> set[str]:
    """Return the hooks of the rungs from ``start`` to before ``end`` that were not told early."""
    told = [rung for number, rung in enumerate(ladder[:end]) if number >= start and not is_told(ladder, number, ahead)]
    return {word.removeprefix(ONCALL) for rung in told for word in rung.to if word.startswith(ONCALL)}


def is_told(ladder: Sequence[Rung], number: int, ahead: int) -> bool:
    """Say whether a rung is a step that was told before its time."""
    return bool(ladder[number].to) and sum(bool(rung.to) for rung in ladder[: number + 1]) <= ahead


def stalled(queue: Queue, names: Sequence[str], now: int, apart: Apart) -> list[str]:
    """Return which of these questions have a step that reaches nobody: one look at many; see :class:`Apart`."""
    found: list[str] = []
    with queue.store.read() as connection:
        around = Around.at(connection, queue, now) if names else None
        for name in names:
            with apart.of(name):
                standing = _standing(connection, queue, name, now, around)
                found += [name] if standing is not None and standing.why() else []
    return found


def climb_ahead(queue: Queue, proposal_id: str, now: int) -> list[Told]:
    """Do steps 1 to 3 for one question; returns the steps that were told now.

    Raises:
        StoreCorruptError: the question or its plan is not what the log says.
    """
    with queue.store.read() as connection:
        standing = _standing(connection, queue, proposal_id, now)
    if standing is None or not standing.why():
        return []
    answers = asked(queue, hooks_of(standing.steps, standing.told, len(standing.steps), 0), now)
    with queue.store.write() as connection:
        found = _standing(connection, queue, proposal_id, now)
        if found is None:
            return []
        require_recorded(connection, proposal_id)
        return found.climb(connection, answers, now)


def lost(connection: sa.Connection, queue: Queue, now: int, apart: Apart) -> dict[str, dict[str, str]]:
    """Return the open questions of which every step was told, while nobody of any can be reached now: with reasons.

    A question without steps has no ladder that could end: there only rights count. What is damaged is named where its
    clock is looked at.
    """
    done = sa.select(_row.proposal_id).join(proposals, proposals.c.id == _row.proposal_id)
    done = done.where(proposals.c.state == State.PENDING.value, sa.or_(_row.ahead > 0, _row.next_at.is_(None)))
    names = connection.execute(done.where(has_steps())).scalars().all()
    around = Around.at(connection, queue, now) if names else None
    found: dict[str, dict[str, str]] = {}
    for name in names:
        with apart.of(name):
            standing = _standing(connection, queue, name, now, around)
            if standing is not None and (reasons := standing.lost()):
                found[name] = reasons
    return found


@dataclass(slots=True)
class _Standing:
    """How far the ladder of one question is: its steps, how many were told, and what was told of each."""

    proposal: Proposal
    scene: Scene
    steps: Sequence[Rung]
    told: int
    row: _Row
    every: Sequence[Step]

    @classmethod
    def of(cls, connection: sa.Connection, proposal: Proposal, scene: Scene, row: _Row) -> _Standing:
        ladder = rungs(scene.plan, created_at=proposal.created_at, decide_by=proposal.decide_by)
        by_time = sum(bool(rung.to) for rung in ladder[: row.step])
        steps = [rung for rung in ladder if rung.to]
        told = max(by_time, row.ahead)
        return cls(proposal, scene, steps, told, row, told_steps(connection, proposal.id) if told else [])

    def why(self) -> dict[str, str]:
        """Return why nobody of the present step can be reached; empty where somebody can, or no step is left."""
        if self.told >= len(self.steps):
            return {}
        if not self.told and self.row.unreachable_at is not None:
            return {ASKED: TOO_FEW} | why_nobody(Step(), self.scene)
        return why_nobody(self.every[-1] if self.every else Step(), self.scene)

    def lost(self) -> dict[str, str]:
        """Return why nobody of any step can be reached; empty where somebody can, or a step is left."""
        found = [why_nobody(step, self.scene) for step in (Step(), *self.every)]
        return found[-1] if self.told >= len(self.steps) and all(found) else {}

    def climb(self, connection: sa.Connection, answers: Mapping[str, OnDuty], now: int) -> list[Told]:
        """Tell step after step until one is reached."""
        found: list[Told] = []
        while reasons := self.why():
            number, rung = self.told + 1, self.steps[self.told]
            mine = sa.update(plan_rows).where(
                _row.proposal_id == self.proposal.id, _row.step == self.row.step, _row.ahead == self.row.ahead
            )
            if connection.execute(mine.values(ahead=number)).rowcount != 1:
                break
            found.append(self._tell(connection, rung, number, reasons, answers, now))
            self.told, self.every = number, [*self.every, Step(rung.to, answers)]
            self.row = replace(self.row, ahead=number)
        return found

    def _tell(  # what one step tells
        self,
        connection: sa.Connection,
        rung: Rung,
        number: int,
        reasons: Mapping[str, str],
        answers: Mapping[str, OnDuty],
        now: int,
    ) -> Told:
        said = saying(rung, self.scene, answers)
        body = said.body | {"ahead": number, EARLY: {**reasons}}
        audit.append(connection, at=now, kind=ESCALATED, subject=self.proposal.id, body=body)
        return Told(number, said.who, reasons, said.cannot)


@dataclass(frozen=True, slots=True)
class _Row:
    step: int
    ahead: int
    unreachable_at: int | None


def _standing(
    connection: sa.Connection, queue: Queue, proposal_id: str, now: int, around: Around | None = None
) -> _Standing | None:
    """Return how far a question is; None where it is decided or over, or has no plan with steps."""
    proposal = moves.load(connection, proposal_id)
    query = sa.select(_row.step, _row.ahead, _row.unreachable_at).where(_row.proposal_id == proposal_id)
    row = connection.execute(query).one_or_none()
    if row is None or proposal.state is not State.PENDING or moves.is_overdue(proposal, now):
        return None
    plan = plans.read(connection, proposal_id)
    if not plan.escalate:
        return None
    scene = (around or Around.at(connection, queue, now)).scene(connection, proposal, plan)
    return _Standing.of(connection, proposal, scene, _Row(row.step, row.ahead, row.unreachable_at))


__all__ = ["Told", "asked", "climb_ahead", "hooks_due", "hooks_of", "is_told", "lost", "stalled"]
