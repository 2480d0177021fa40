"""Reminders and escalation: each rung of a question's ladder is climbed once, however many processes look.

1. What is over is closed first: a question whose time is up expires, and nobody is reminded of it. 2. Of each question
with a rung that is due, the plan's row is compared and set, and the event of the rung is written with it. Where several
rungs were missed, each has its event, and people are told of the newest reminder only. 3. Where accounts or questions
have changed since the last look, it is counted anew whether anybody could decide what waits. 4. Who may look after a
broken glass is told every day that somebody has to.

Guarantees: nothing here decides; a record that was changed beside the log is left alone, named, and holds up no other
one; a time that runs out is an expiry, and never looks like a person's no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import afterlook_due, audit, deciding, delegations, moves, plans, reach, stuck, votes
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.overdue import close_overdue, readable
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.question import Question
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import plans as plan_rows
from checkvalve.approvals.roles import Account, accounts
from checkvalve.approvals.rungs import Rung, Staff, next_at, rungs, who_should_look
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import events, proposals
from checkvalve.filters.strictjson import JSON

BATCH: Final = 200
"""Questions that one look takes at a time."""
CLOCK: Final = "clock"
A_RULE: Final = "a standing rule"
"""Stands for the id of one that is damaged."""
_ASKED: Final = ("proposal.recorded", plans.LINKED)
_PEOPLE: Final = "reviewer."
_row = plan_rows.c
_OPEN = proposals.c.state == State.PENDING.value


@dataclass(frozen=True, slots=True)
class Climbed:
    """One thing that a look did.

    ``what`` is ``reminded``, ``escalated``, ``unreachable``, ``reachable`` or ``afterlook``.
    """

    proposal_id: str
    what: str
    who: tuple[str, ...] = ()


@dataclass(slots=True)
class Look:
    """What one look did, how many questions it closed, and which records it left alone since they were changed."""

    done: list[Climbed] = field(default_factory=list)
    closed: int = 0
    damaged: list[str] = field(default_factory=list)


class Ladder:
    """The ladders of one queue. Safe to use from several threads and processes at once; keep one for each process."""

    def __init__(self, queue: Queue) -> None:
        """Nothing was looked at yet."""
        self._queue = queue
        self._seen: int | None = None  # the event up to which it is known who can be reached

    def tick(self) -> Look:
        """Do the four steps once."""
        look = Look()
        self._close(look)
        now = self._queue.clock()
        for name in self._due(now):
            try:
                with self._queue.store.write() as connection:
                    look.done += climb(connection, name, now, single_user=self._queue.bench.single_user)
            except StoreCorruptError:
                look.damaged.append(name)
        look.done += self._reach(now)
        look.done += [Climbed(name, "afterlook", who) for name, who in afterlook_due.remind(self._queue).items()]
        return look

    def _close(self, look: Look) -> None:
        """Do step 1; what cannot be read is left alone and named."""
        closed = close_overdue(self._queue.store, self._queue.clock)
        look.closed, look.damaged = closed.count, [*closed.damaged]
        try:
            self._queue.standing_rules.sweep()
        except StoreCorruptError:
            look.damaged.append(A_RULE)

    def _due(self, now: int) -> list[str]:
        """Return open questions with a rung that is due, and take decided ones off the ladder."""
        query = sa.select(_row.proposal_id, proposals.c.state).join(proposals, proposals.c.id == _row.proposal_id)
        query = query.where(_row.next_at <= now).order_by(_row.next_at, _row.proposal_id).limit(BATCH)
        with self._queue.store.read() as connection:
            found = connection.execute(query).all()
        waiting = [name for name, state in found if state == State.PENDING.value]
        if len(waiting) < len(found):
            over = sa.select(proposals.c.id).where(proposals.c.state != State.PENDING.value)
            done = sa.update(plan_rows).where(_row.next_at <= now, _row.proposal_id.in_(over))
            with self._queue.store.write() as connection:
                connection.execute(done.values(next_at=None))
        return waiting

    def _reach(self, now: int) -> list[Climbed]:
        """Do step 3."""
        with self._queue.store.read() as connection:
            end = int(connection.execute(sa.select(sa.func.max(events.c.seq))).scalar() or 0)
            wanted = self._changed(connection, end)
            if wanted == []:
                self._seen = end
                return []
            before = stuck.listed(connection)
            after = set(_unreachable(connection, wanted, single_user=self._queue.bench.single_user))
        fallen = sorted(after - before.keys())
        lifted = sorted(name for name in before if name not in after and (wanted is None or name in wanted))
        found = []
        if fallen or lifted:
            with self._queue.store.write() as connection:
                found = [item for item in _say(connection, fallen, lifted, now) if item is not None]
        self._seen = end
        return found

    def _changed(self, connection: sa.Connection, end: int) -> list[str] | None:
        """Return the questions to count for: None for all, where the people have changed, or nothing is known yet."""
        if self._seen is None:
            return None
        if self._seen == end:
            return []
        new = sa.select(events.c.kind, events.c.subject).where(events.c.seq > self._seen, events.c.seq <= end)
        kinds = sa.or_(events.c.kind.in_(_ASKED), events.c.kind.startswith(_PEOPLE))
        found = connection.execute(new.where(kinds)).all()
        if any(event.kind.startswith(_PEOPLE) for event in found):
            return None
        return [event.subject for event in found]


def climb(connection: sa.Connection, proposal_id: str, now: int, *, single_user: bool = False) -> list[Climbed]:
    """Climb every rung of a question that is due, inside the caller's transaction; none where others were faster.

    Raises:
        StoreCorruptError: the question or its plan is not what the log says.
    """
    proposal = moves.load(connection, proposal_id)
    row = connection.execute(sa.select(_row.step, _row.next_at).where(_row.proposal_id == proposal_id)).one_or_none()
    due = row is not None and row.next_at is not None and row.next_at <= now
    if row is None or not due or proposal.state is not State.PENDING or moves.is_overdue(proposal, now):
        return []
    require_recorded(connection, proposal_id)
    plan = plans.read(connection, proposal_id)
    ladder = rungs(plan, created_at=proposal.created_at, decide_by=proposal.decide_by)
    end = next((number for number, rung in enumerate(ladder) if rung.at > now), len(ladder))
    if not 0 <= row.step < end:
        return []
    mine = sa.update(plan_rows).where(
        _row.proposal_id == proposal_id, _row.step == row.step, _row.next_at == row.next_at
    )
    if connection.execute(mine.values(step=end, next_at=next_at(ladder, end))).rowcount != 1:
        return []
    staff = staff_at(connection, now, single_user=single_user)
    voted = {vote.person for vote in votes.read(connection, proposal_id)}
    last = max((number for number in range(row.step, end) if not ladder[number].to), default=-1)
    found = []
    for number in range(row.step, end):
        rung = ladder[number]
        asked = plan.question(proposal)
        who = who_should_look(rung, staff, plan, asked, requester=proposal.requester, voted=voted)
        body = _body(rung, number + 1, who)
        if not rung.to and number != last:
            body["missed"] = True  # nobody looked at the ladder then; a newer reminder tells people
        audit.append(connection, at=now, kind=f"proposal.{rung.kind}", subject=proposal_id, body=body)
        found.append(Climbed(proposal_id, rung.kind, who))
    return found


def stuck_now(queue: Queue) -> dict[str, int]:
    """Return the open calls that are said to be out of everybody's reach and still are, with since when.

    Who looks before the next tick must not be told what is no longer so.
    """
    with queue.store.read() as connection:
        said = stuck.listed(connection)
        still = set(_unreachable(connection, list(said), single_user=queue.bench.single_user)) if said else set[str]()
    return {name: since for name, since in said.items() if name in still}


def staff_at(connection: sa.Connection, at: int, *, single_user: bool = False) -> Staff:
    """Return who is there at a moment, and who stands in for whom."""
    handed = {item.giver: item.taker for item in delegations.in_force(connection, at)}
    return Staff(tuple(accounts(connection)), handed, single_user)


def _body(rung: Rung, step: int, who: Sequence[str]) -> dict[str, JSON]:
    body: dict[str, JSON] = {"state": State.PENDING.value, "by": CLOCK, "step": step, "percent": rung.percent}
    body["who"] = [*who]
    return {**body, "to": [*rung.to]} if rung.to else body


def _unreachable(connection: sa.Connection, wanted: Sequence[str] | None, *, single_user: bool) -> list[str]:
    """Return which open questions, of these or of all, nobody could say yes to together with those who have."""
    found: list[str] = []
    staff = accounts(connection)
    known: dict[tuple[Plan, Question, str], bool] = {}  # many questions differ in nothing that matters here
    for part in _questions(connection, wanted):
        chosen = _plans(connection, [proposal.id for proposal in part])
        for proposal in (one for one in part if one.id in chosen):
            plan = chosen[proposal.id]
            key = (plan, plan.question(proposal), proposal.requester)
            if key not in known:
                people = reach.voices(staff, key[1], requester=proposal.requester, single_user=single_user)
                known[key] = votes.reachable(plan, people, editor=plan.edited_by)
            if not known[key] and not _with_votes(connection, proposal, plan, staff, single_user=single_user):
                found.append(proposal.id)
    return found


def _with_votes(
    connection: sa.Connection, proposal: Proposal, plan: Plan, staff: Sequence[Account], *, single_user: bool
) -> bool:
    """Say whether those who are there could say yes together with those who have said it."""
    said = [vote for vote in votes.read(connection, proposal.id) if vote.yes]
    if not said:
        return False
    asked = plan.question(proposal)
    people = dict(reach.voices(staff, asked, requester=proposal.requester, single_user=single_user))
    for vote in deciding.still_counting(connection, said, plan, proposal, single_user=single_user):
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


def _plans(connection: sa.Connection, names: Sequence[str]) -> dict[str, Plan]:
    """Return the plans of questions, without those that are damaged."""
    try:
        return plans.read_all(connection, names)
    except StoreCorruptError:
        if len(names) == 1:
            return {}
    half = len(names) // 2
    return _plans(connection, names[:half]) | _plans(connection, names[half:])


def _say(connection: sa.Connection, fallen: Sequence[str], lifted: Sequence[str], now: int) -> Iterator[Climbed | None]:
    for name in fallen:
        state = connection.execute(sa.select(proposals.c.state).where(proposals.c.id == name)).scalar()
        if state == State.PENDING.value:
            yield Climbed(name, "unreachable") if stuck.note(connection, name, at=now, body={"by": CLOCK}) else None
    for name in lifted:
        yield Climbed(name, "reachable") if stuck.lift(connection, name, at=now) else None


__all__ = ["BATCH", "Climbed", "Ladder", "Look", "climb", "staff_at", "stuck_now"]
