"""Reminders and escalation: each rung of a question's ladder is climbed once, however many processes look.

1. What is over is closed first: a question whose time is up expires, and nobody is reminded of it. 2. Of each question
with a rung that is due, the plan's row is compared and set, and the event of the rung is written with it. Where several
rungs were missed, each has its event, and people are told of the newest reminder only. 3. Where accounts or questions
have changed since the last look, it is counted anew whether anybody could decide what waits. 4. Where nobody of the
present step of a question can be reached, the next one is told at once (:mod:`ladder_ahead`). 5. Who may look after a
broken glass is told every day that somebody has to.

Guarantees: nothing here decides; a record that was changed beside the log, or that cannot be looked at for any other
reason, is left alone, named, and holds up no other one (:mod:`ladder_apart`); a time that runs out is an expiry, and
never looks like a person's no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import afterlook_due, deciding, ladder_ahead, ladder_scene, plans, reach, stuck, votes
from checkvalve.approvals.ladder_ahead import Told, climb_ahead, hooks_due, stalled
from checkvalve.approvals.ladder_apart import Apart
from checkvalve.approvals.ladder_climb import Climbed, climb
from checkvalve.approvals.ladder_event import CLOCK
from checkvalve.approvals.ladder_scene import ESCALATED
from checkvalve.approvals.overdue import close_overdue, readable
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import delegations as delegation_rows
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.roles import Account, accounts
from checkvalve.approvals.tables import events, proposals
from checkvalve.filters.strictjson import JSON

BATCH: Final = 200
"""Questions that one look reads at a time; it goes on until it has seen all."""
A_RULE: Final = "a standing rule"
"""Stands for the id of one that is damaged."""
CLOSING: Final = "closing what is over"
AFTERLOOKS: Final = "the calls that wait for a look"
"""Stand for the id where something that is done for all of them failed."""
_ASKED: Final = ("proposal.recorded", plans.LINKED, ESCALATED)
_PEOPLE: Final = ("reviewer.", "delegation.", "budget.")
"""Kinds after which many questions may stand otherwise."""
AGAIN: Final = 60_000_000
"""Microseconds after which it is looked again whether what nobody could decide can be decided."""
_row = plan_rows.c
_OPEN = proposals.c.state == State.PENDING.value
_TURNS: Final = [
    moment.between(sa.bindparam("since") + 1, sa.bindparam("until"))
    for moment in (delegation_rows.c.starts_at, delegation_rows.c.expires_at)
]
_HANDED: Final = sa.select(delegation_rows.c.id).where(sa.or_(*_TURNS)).limit(1)


@dataclass(slots=True)
class Look(Apart):
    """What one look did, how many questions it closed, and what it left alone; see :class:`Apart`."""

    done: list[Climbed] = field(default_factory=list)
    closed: int = 0


class Ladder:
    """The ladders of one queue. Safe to use from several threads and processes at once; keep one for each process."""

    def __init__(self, queue: Queue) -> None:
        """Nothing was looked at yet."""
        self._queue = queue
        self._seen: int | None = None  # the event up to which it is known who can be reached
        self._looked = 0  # when that was
        self._failing: set[tuple[str, int, str]] = set()  # messages that do not arrive, and were acted upon

    def tick(self) -> Look:
        """Do the five steps once."""
        look = Look()
        self._close(look)
        now = self._queue.clock()
        for name in self._due(now):
            with look.of(name):
                answers = hooks_due(self._queue, name, now)
                with self._queue.store.write() as connection:
                    climbed = climb(connection, name, now, self._queue, answers)
                look.done += climbed
        news = self._news(now)
        look.done += self._reach(look, now)
        if self._ahead(look, now, news):
            look.done += self._reach(look, now)  # the last step may have been told, and nobody reached
        with look.of(AFTERLOOKS):
            look.done += [Climbed(name, "afterlook", who) for name, who in afterlook_due.remind(self._queue).items()]
        return look

    def _close(self, look: Look) -> None:
        """Do step 1; what cannot be read is left alone and named."""
        with look.of(CLOSING):
            closed = close_overdue(self._queue.store, self._queue.clock)
            look.closed, look.damaged = closed.count, [*closed.damaged]
        with look.of(A_RULE):
            self._queue.standing_rules.sweep()

    def _due(self, now: int) -> Iterator[str]:
        """Yield every open question with a rung that is due, and take decided ones off the ladder.

        A question that is left alone stays due, so the next page begins behind the last one and not at the front.
        """
        query = sa.select(_row.next_at, _row.proposal_id, proposals.c.state)
        query = query.join(proposals, proposals.c.id == _row.proposal_id).where(_row.next_at <= now)
        query = query.order_by(_row.next_at, _row.proposal_id).limit(BATCH)
        behind: sa.ColumnElement[bool] = sa.true()
        while True:
            with self._queue.store.read() as connection:
                found = connection.execute(query.where(behind)).all()
            if any(state != State.PENDING.value for _, _, state in found):
                over = sa.select(proposals.c.id).where(proposals.c.state != State.PENDING.value)
                done = sa.update(plan_rows).where(_row.next_at <= now, _row.proposal_id.in_(over))
                with self._queue.store.write() as connection:
                    connection.execute(done.values(next_at=None))
            yield from (name for _, name, state in found if state == State.PENDING.value)
            if len(found) < BATCH:
                return
            at, last, _ = found[-1]
            behind = sa.or_(_row.next_at > at, sa.and_(_row.next_at == at, _row.proposal_id > last))

    def _news(self, now: int) -> list[str] | None:
        """Return the questions to look at; see :meth:`_changed`."""
        with self._queue.store.read() as connection:
            return self._changed(connection, _end(connection), now)

    def _ahead(self, look: Look, now: int, wanted: Sequence[str] | None) -> bool:
        """Do step 4; says whether a step was told."""
        queue, before = self._queue, len(look.done)
        with queue.store.read() as connection:
            failing = set(ladder_scene.failing(connection))
            more = {name for name, _, _ in failing - self._failing}
            names = ladder_scene.with_steps_left(connection) if wanted is None else sorted({*wanted, *more})
        self._failing = failing
        for start in range(0, len(names), BATCH):
            for name in stalled(queue, names[start : start + BATCH], now, look):
                with look.of(name):
                    look.done += [_told(name, item) for item in climb_ahead(queue, name, now)]
        return len(look.done) > before

    def _reach(self, look: Look, now: int) -> list[Climbed]:
        """Do step 3. What cannot be counted for stays as it was said to be."""
        alone = self._queue.bench.single_user
        with self._queue.store.read() as connection:
            end = _end(connection)
            wanted = self._changed(connection, end, now)
            before = stuck.listed(connection)
            if wanted is not None and before and now >= self._looked + AGAIN:
                wanted = [*wanted, *before]  # a budget comes back, and so does who was away
            if wanted == []:
                self._seen = end
                return []
            apart = Apart()
            lost = ladder_ahead.lost(connection, self._queue, now, apart)
            after = {*_unreachable(connection, wanted, now, apart, single_user=alone), *lost}
            after |= {name for name in before if name in apart}
        look.failed |= apart.failed
        look.damaged += [name for name in apart.damaged if name not in look.damaged]
        self._looked = now
        fallen = sorted(after - before.keys())
        lifted = sorted(name for name in before if name not in after and (wanted is None or name in wanted))
        found = []
        if fallen or lifted:
            with self._queue.store.write() as connection:
                found = [item for item in _say(connection, fallen, lifted, now, lost) if item is not None]
        self._seen = end
        return found

    def _changed(self, connection: sa.Connection, end: int, now: int) -> list[str] | None:
        """Return the questions to count for: None for all, where the people have changed, or nothing is known yet."""
        if self._seen is None or _handed(connection, self._looked, now):
            return None
        if self._seen == end:
            return []
        new = sa.select(events.c.kind, events.c.subject).where(events.c.seq > self._seen, events.c.seq <= end)
        kinds = sa.or_(events.c.kind.in_(_ASKED), *(events.c.kind.startswith(start) for start in _PEOPLE))
        found = connection.execute(new.where(kinds)).all()
        if any(event.kind.startswith(_PEOPLE) for event in found):
            return None
        return [event.subject for event in found]


def stuck_now(queue: Queue) -> dict[str, int]:
    """Return the open calls that are said to be out of everybody's reach and still are, with since when.

    Who looks before the next tick must not be told what is no longer so.
    """
    now, alone, still = queue.clock(), queue.bench.single_user, set[str]()
    with queue.store.read() as connection:
        if said := stuck.listed(connection):
            apart = Apart()
            still = {*_unreachable(connection, list(said), now, apart, single_user=alone)}
            still |= {*ladder_ahead.lost(connection, queue, now, apart), *(name for name in said if name in apart)}
    return {name: since for name, since in said.items() if name in still}


def _unreachable(
    connection: sa.Connection, wanted: Sequence[str] | None, at: int, apart: Apart, *, single_user: bool
) -> list[str]:
    """Return which open questions, of these or of all, nobody could say yes to together with those who have."""
    found: list[str] = []
    staff = accounts(connection)
    known: dict[tuple[Plan, Question, tuple[str, ...]], bool] = {}  # many questions differ in nothing that matters here
    for part in _questions(connection, wanted):
        chosen = plans.read_sound(connection, [proposal.id for proposal in part])
        for proposal in (one for one in part if one.id in chosen):
            with apart.of(proposal.id):
                plan = chosen[proposal.id]
                key = (plan, plan.question(proposal), proposal.asked_by)
                if key not in known:
                    people = reach.voices(staff, key[1], requester=proposal.asked_by, single_user=single_user)
                    known[key] = votes.reachable(plan, people, editor=plan.edited_by)
                if not known[key] and not _with_votes(connection, proposal, plan, staff, at, single_user=single_user):
                    found.append(proposal.id)
    return found


def _with_votes(
    connection: sa.Connection, proposal: Proposal, plan: Plan, staff: Sequence[Account], at: int, *, single_user: bool
) -> bool:
    """Say whether those who are there could say yes together with those who have said it."""
    said = [vote for vote in votes.read(connection, proposal.id) if vote.yes]
    if not said:
        return False
    asked = plan.question(proposal)
    people = dict(reach.voices(staff, asked, requester=proposal.asked_by, single_user=single_user))
    for vote in deciding.still_counting(connection, said, plan, proposal, single_user=single_user, at=at):
        people[vote.person] = people.get(vote.person, frozenset()) | vote.roles
    return votes.reachable(plan, people, editor=plan.edited_by)


def _questions(connection: sa.Connection, wanted: Sequence[str] | None) -> Iterator[list[Proposal]]:
    """Yield open questions with a plan, some at a time."""
    ids = sa.select(proposals.c.id).join(plan_rows, proposals.c.id == _row.proposal_id).where(_OPEN)
    names = list(connection.execute(ids).scalars()) if wanted is None else list(wanted)
    for at in range(0, len(names), BATCH):
        query = sa.select(proposals).where(proposals.c.id.in_(names[at : at + BATCH]), _OPEN)
        query = query.join(plan_rows, proposals.c.id == _row.proposal_id)
        found = (readable(row) for row in connection.execute(query).mappings().all())
        yield [proposal for proposal in found if proposal is not None]


def _say(
    connection: sa.Connection,
    fallen: Sequence[str],
    lifted: Sequence[str],
    now: int,
    lost: Mapping[str, Mapping[str, str]],
) -> Iterator[Climbed | None]:
    for name in fallen:
        state = connection.execute(sa.select(proposals.c.state).where(proposals.c.id == name)).scalar()
        why = lost.get(name, {})
        body: dict[str, JSON] = {"by": CLOCK, **({"why": {**why}} if why else {})}
        if state == State.PENDING.value:
            yield Climbed(name, "unreachable", why=why) if stuck.note(connection, name, at=now, body=body) else None
    for name in lifted:
        yield Climbed(name, "reachable") if stuck.lift(connection, name, at=now) else None


def _end(connection: sa.Connection) -> int:
    return int(connection.execute(sa.select(sa.func.max(events.c.seq))).scalar() or 0)


def _told(name: str, item: Told) -> Climbed:
    return Climbed(name, "escalated", item.who, item.why, item.cannot)


def _handed(connection: sa.Connection, since: int, now: int) -> bool:
    """Say whether a hand-over began or ended by the clock since then."""
    return connection.execute(_HANDED, {"since": since, "until": now}).first() is not None


__all__ = ["AGAIN", "BATCH", "Climbed", "Ladder", "Look", "stuck_now"]
