"""Reminders, escalation, and questions that nobody can decide, on every database that the store supports."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, stuck
from checkvalve.approvals.clock import micros
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.plans import Plan, Step
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rungs import next_at, rungs
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import add, busy
from tests.approvals.made import Desk, HandClock
from tests.conformance.test_channels_store import anything

HOUR = micros(timedelta(hours=1))


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return busy(store, clock)


def told(desk: Desk, name: str, kind: str = "") -> list[dict[str, Any]]:
    with desk.queue.store.read() as connection:
        found = list(audit.read_events(connection, subject=name))
    kinds = {"proposal.reminded", "proposal.escalated", "proposal.unreachable", "proposal.reachable"}
    return [
        {"kind": event.kind.removeprefix("proposal."), **json.loads(event.body)}
        for event in found
        if event.kind in kinds and kind in event.kind
    ]


def what(desk: Desk, ladder: Ladder) -> list[tuple[str, tuple[str, ...]]]:
    return [(item.what, item.who) for item in ladder.tick().done]


def heard(store: Store, clock: HandClock) -> list[str]:
    """Return what a channel is told that wants to hear of everything."""
    return [notice.kind for notice in Outbox(store, clock).after(0)[0] if anything(notice)]


def test_the_rungs_are_parts_of_the_time_to_decide_in_order() -> None:
    plan = Plan(Tier.HIGH, remind=(0.5, 0.8), escalate=(Step(0.25, ("cem",)), Step(0.8, ("administrator",))))
    ladder = rungs(plan, created_at=1_000, decide_by=2_000)
    assert [(rung.at, rung.percent, rung.to, rung.kind) for rung in ladder] == [
        (1_250, 25, ("cem",), "escalated"),
        (1_500, 50, (), "reminded"),
        (1_800, 80, (), "reminded"),
        (1_800, 80, ("administrator",), "escalated"),
    ]
    assert [next_at(ladder, done) for done in range(5)] == [1_250, 1_500, 1_800, 1_800, None]
    assert rungs(Plan(Tier.LOW), created_at=1, decide_by=2) == []


def test_people_are_reminded_at_each_moment_once_and_then_others_are_told(desk: Desk, store: Store) -> None:
    add(desk, "ben", Role.APPROVER)
    add(desk, "cem", Role.VIEWER)
    ladder, row = Ladder(desk.queue), desk.propose()
    assert what(desk, ladder) == []
    desk.clock.advance(hours=5)
    assert what(desk, ladder) == [("reminded", ("ann", "ben"))]
    assert what(desk, ladder) == what(desk, Ladder(desk.queue)) == []
    desk.approve(row)  # ann has said yes: she is not reminded again
    desk.clock.advance(hours=3)
    assert what(desk, ladder) == [("reminded", ("ben",))]
    desk.clock.advance(hours=1)
    assert what(desk, ladder) == [("escalated", ("cem",))]  # the administrator is ann, who has voted
    assert [(event["percent"], event["step"]) for event in told(desk, row.id)] == [(50, 1), (80, 2), (90, 3)]
    assert told(desk, row.id)[-1]["to"] == ["administrator", "cem", "channel:oncall"]
    assert heard(store, desk.clock)[-3:] == ["reminder", "reminder", "escalated"]
    assert desk.queue.get(row.id).state is State.PENDING
    desk.clock.advance(hours=1)
    assert ladder.tick().closed == 1
    expired = desk.queue.get(row.id)
    assert (expired.state, expired.decided_by, expired.code) == (State.EXPIRED, "clock", "expired")
    assert what(desk, ladder) == []
    assert verify(store).ok


@pytest.mark.claim("C5")
def test_twenty_ladders_at_once_climb_each_rung_once(url: str, clock: HandClock) -> None:
    with Store.open(url) as store:
        desk = busy(store, clock)
        add(desk, "ben", Role.APPROVER)
        rows = [desk.propose() for _ in range(6)]
        gate, done = threading.Barrier(20), list[int]()

        def race() -> None:
            with Store.open(url) as own:
                ladder = Ladder(busy_over(own, clock))
                gate.wait()
                done.append(len(ladder.tick().done))

        for hours, kind in ((5, "reminded"), (3, "reminded"), (1, "escalated")):
            clock.advance(hours=hours)
            threads = [threading.Thread(target=race) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sum(done) == len(rows), kind
            done.clear()
        for row in rows:
            assert [event["kind"] for event in told(desk, row.id)] == ["reminded", "reminded", "escalated"]
        assert verify(store).ok


def busy_over(store: Store, clock: HandClock) -> Any:
    from checkvalve.approvals.queue import Queue

    return Queue(store, clock)


def test_after_a_silence_each_rung_has_its_event_and_people_are_told_once(desk: Desk, store: Store) -> None:
    add(desk, "ben", Role.APPROVER)
    row = desk.propose()
    desk.clock.advance(hours=9, minutes=30)
    Ladder(desk.queue).tick()
    assert [(event["kind"], event.get("missed", False)) for event in told(desk, row.id)] == [
        ("reminded", True),
        ("reminded", False),
        ("escalated", False),
    ]
    assert heard(store, desk.clock)[-3:] == ["asked", "reminder", "escalated"]
    assert verify(store).ok


def test_what_is_decided_or_over_is_taken_off_the_ladder(desk: Desk) -> None:
    ben = add(desk, "ben", Role.APPROVER)
    rejected, expired = desk.propose(), desk.propose()
    desk.queue.reject(rejected.id, ben)
    desk.clock.advance(hours=11)
    look = Ladder(desk.queue).tick()
    assert (look.done, look.closed, look.damaged) == ([], 1, [])
    assert told(desk, rejected.id) == told(desk, expired.id) == []
    with desk.queue.store.read() as connection:
        assert connection.execute(sa.select(plans.c.next_at)).scalars().all() == [None, None]
    assert [desk.queue.get(row.id).state.value for row in (rejected, expired)] == ["rejected", "expired"]


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change", [{"step": 2}, {"step": 0, "next_at": None}, {"next_at": 9_000_000_000_000_000}, {"next_at": None}]
)
def test_a_ladder_that_was_moved_by_hand_is_found(desk: Desk, change: dict[str, Any]) -> None:
    ben = add(desk, "ben", Role.APPROVER)
    row, other = desk.propose(), desk.propose()
    desk.clock.advance(hours=5)
    ladder = Ladder(desk.queue)
    ladder.tick()
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(plans).where(plans.c.proposal_id == row.id).values(**change))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_differs"]
    desk.clock.advance(hours=3)
    look = ladder.tick()
    assert other.id in {item.proposal_id for item in look.done}  # and it holds up no other one
    assert row.id not in {item.proposal_id for item in look.done}
    with pytest.raises(StoreCorruptError):
        desk.queue.approve(row.id, ben, row.digest)


@pytest.mark.parametrize("damage", ["decision", "plan"])
def test_one_damaged_record_holds_up_no_other_one(desk: Desk, store: Store, damage: str) -> None:
    rows = [desk.propose() for _ in range(5)]
    with store.write() as connection:
        if damage == "plan":
            connection.execute(sa.update(plans).where(plans.c.proposal_id == rows[2].id).values(body="{"))
        else:
            connection.execute(sa.update(proposals).where(proposals.c.id == rows[2].id).values(decision="{"))
    add(desk, "ben", Role.APPROVER)
    desk.clock.advance(hours=5)
    ladder = Ladder(desk.queue)
    look = ladder.tick()
    others = {row.id for row in rows} - {rows[2].id}
    assert {item.proposal_id for item in look.done if item.what == "reminded"} == others
    assert others <= {item.proposal_id for item in look.done if item.what == "reachable"}
    assert look.damaged == [rows[2].id]
    desk.clock.advance(hours=4, minutes=30)
    look = ladder.tick()
    assert {item.proposal_id for item in look.done if item.what == "escalated"} == others
    desk.clock.advance(hours=1)
    look = ladder.tick()
    if damage == "decision":  # it cannot even be closed, and the others are all the same
        assert (look.closed, look.damaged[0]) == (4, rows[2].id)
    else:
        assert look.closed == 5


def test_a_question_that_nobody_can_decide_is_said_to_be_so_and_no_longer_when_somebody_can(
    desk: Desk, store: Store
) -> None:
    """The rule takes two approvers: at first there is one."""
    row = desk.propose()
    assert [event["kind"] for event in told(desk, row.id)] == ["unreachable"]  # at once, when it was asked
    ladder = Ladder(desk.queue)
    assert what(desk, ladder) == [("escalated", ("ann",))]  # and those of the next step hear of it now, not at 90 %
    assert told(desk, row.id)[-1]["early"] == {"approvers": "too_few"}
    with store.read() as connection:
        assert stuck.listed(connection) == {row.id: row.created_at}
    add(desk, "ben", Role.APPROVER)
    assert what(desk, ladder) == [("reachable", ())]
    with store.read() as connection:
        assert stuck.listed(connection) == {}
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    assert what(desk, ladder) == [("unreachable", ())]
    assert what(desk, ladder) == what(desk, Ladder(desk.queue)) == []
    assert heard(store, desk.clock) == ["asked", "unreachable", "escalated", "unreachable"]
    assert desk.queue.get(row.id).state is State.PENDING
    assert verify(store).ok


def test_a_yes_that_was_said_before_counts_for_who_can_still_be_reached(desk: Desk) -> None:
    ben = add(desk, "ben", Role.APPROVER)
    add(desk, "cem", Role.APPROVER)
    row = desk.propose()
    desk.queue.approve(row.id, ben, row.digest)
    ladder = Ladder(desk.queue)
    ladder.tick()
    desk.queue.reviewers.disable("cem", by=desk.reviewer)
    assert what(desk, ladder) == []  # ben has said yes, ann can


@pytest.mark.parametrize("requester", ["ann", "BEN", "", "\u200b"])
def test_whoever_asked_is_nobody_to_be_reached(desk: Desk, requester: str) -> None:
    add(desk, "ben", Role.APPROVER)
    row = desk.propose(request=desk.request(requester=requester))
    assert [event["kind"] for event in told(desk, row.id)] == ["unreachable"]
    desk.clock.advance(hours=5)
    (reminded,) = (event for event in told_after(desk, row.id) if event["kind"] == "reminded")
    assert not {"ann", "ben"} & {requester.casefold()} & set(reminded["who"])


def told_after(desk: Desk, name: str) -> list[dict[str, Any]]:
    Ladder(desk.queue).tick()
    return told(desk, name)


def test_who_has_handed_over_stands_beside_the_colleague_who_stands_in(desk: Desk) -> None:
    ben = add(desk, "ben", Role.APPROVER)
    add(desk, "dora", Role.RESPONDER)
    handing = Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)
    handing.give(ben, "dora", reason="on holiday", expires_at=desk.clock() + 24 * HOUR)
    desk.propose()
    desk.clock.advance(hours=5)
    assert what(desk, Ladder(desk.queue)) == [("reminded", ("ann", "ben", "dora"))]


def test_a_clock_that_goes_back_repeats_nothing_and_brings_nothing_back(desk: Desk, store: Store) -> None:
    add(desk, "ben", Role.APPROVER)
    row = desk.propose()
    ladder = Ladder(desk.queue)
    desk.clock.advance(hours=5)
    assert len(ladder.tick().done) == 1
    desk.clock.advance(hours=-6)  # before the question was asked
    assert what(desk, ladder) == what(desk, Ladder(desk.queue)) == []
    desk.clock.advance(hours=6)
    assert what(desk, ladder) == []
    desk.clock.advance(hours=5)
    ladder.tick()
    assert desk.queue.get(row.id).state is State.EXPIRED
    desk.clock.advance(hours=-8)
    assert what(desk, ladder) == []
    assert desk.queue.get(row.id).state is State.EXPIRED
    assert [event["kind"] for event in told(desk, row.id)] == ["reminded"]
    assert verify(store).ok
