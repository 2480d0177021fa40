"""A seeded item in the form of a question, so that a page or a program shows it like any other.

Guarantees: nothing of it is stored as a call, and whatever takes it for one finds no row under its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from checkvalve.approvals import seeds, votes
from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.counting import Standing
from checkvalve.approvals.notices import ASKED, Notice, name_of
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seed_said import MADE
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.tables import events
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.labels import CLEAN, UNKNOWN


def as_question(seed: Seed) -> Proposal:
    """Return what is shown of an item in the form of a call that waits."""
    body: Any = seed.body
    return Proposal(
        id=seed.id,
        thread=body["thread"],
        call_id=body["call_id"],
        requester=body["requester"],
        server=body["server"],
        tool=body["tool"],
        canonical=str(body["canonical"]).encode(),
        digest=body["digest"],
        mode="enforce",
        idempotency=Idempotency.NONE,
        verdict_name="review",
        rule=body["rule"],
        reason=body["reason"],
        remedy=body["remedy"],
        decision=body["decision"],
        endorsable=[dict(item) for item in body["endorsable"]],
        state=State.PENDING,
        version=1,
        created_at=seed.made_at,
        updated_at=seed.made_at,
        decide_by=seed.expires_at,
        execute_by=None,
        decided_by="",
        code="",
        note="",
        self_approved=False,
    )


def items_of(seed: Seed) -> tuple[HistoryItem, ...]:
    """Return the made-up words and message around it."""
    body: Any = seed.body
    said = {"authority": "USER", "text": body["words"], "uri": ""}
    result = {"args": {}, "call": body["call"], "declared": True, "server": "", "tool": body["reader"], "turn": "1"}
    return (
        HistoryItem(1, "u1/0", "words", said, CLEAN),
        HistoryItem(2, "call:1/0", "result", {**result, "value": body["result"]}, UNKNOWN),
    )


def plan_of(seed: Seed) -> Plan:
    """Return how it is to be answered."""
    return Plan.from_json(seed.body["plan"])


def standing_of(seed: Seed) -> Standing:
    """Return how it stands: nobody has said anything yet."""
    plan = plan_of(seed)
    return Standing(plan, (), votes.tally(plan, ()), reachable=True)


def with_items(
    queue: Queue,
    reviewer: Reviewer | None,
    rows: Sequence[Proposal],
    *,
    states: Sequence[State] | None,
    thread: str,
    after: tuple[int, str] | None,
    more: bool,
) -> list[Proposal]:
    """Return one page of a list, oldest first, with the items of whoever looks in their places.

    They come beside the calls of the page, so no real one moves to another; ``more`` says that a page follows.
    """
    found = list(rows)
    if reviewer is None or (states and State.PENDING not in states):
        return found
    start, end = after or (0, ""), (rows[-1].created_at, rows[-1].id) if more and rows else None
    mine = (as_question(seed) for seed in seeds.open_for(queue, reviewer))
    shown = (item for item in mine if not thread or item.thread == thread)
    places = ((item, (item.created_at, item.id)) for item in shown)
    found += [item for item, place in places if place > start and (end is None or place < end)]
    return sorted(found, key=lambda row: (row.created_at, row.id))


def notices_of(queue: Queue, reviewer: Reviewer, after: int, until: int) -> list[Notice]:
    """Return what whoever watches is told of their own items, of the events behind ``after`` up to ``until``."""
    row = events.c
    query = sa.select(row.seq, row.hash, row.at, row.subject).where(row.kind == MADE, row.seq > after, row.seq <= until)
    with queue.store.read() as connection:
        made = connection.execute(query.order_by(row.seq)).all()
    found = ((event, seeds.find(queue, event.subject, reviewer)) for event in made)
    return [
        Notice(event.seq, name_of(event.hash), event.at, ASKED, event.subject, {"state": "pending"}, as_question(seed))
        for event, seed in found
        if seed is not None and not seed.answer
    ]


__all__ = ["as_question", "items_of", "notices_of", "plan_of", "standing_of", "with_items"]
