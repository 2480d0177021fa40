"""Climbing early where nobody of a step can be reached, and asking who is on call, on every database."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.breakglass import may_break
from checkvalve.approvals.clock import micros
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import NotAllowedError
from checkvalve.approvals.ladder import AGAIN, Ladder
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import add, busy
from tests.approvals.made import Desk, HandClock
from tests.conformance.test_ladder import heard, told

RULES = """
everywhere:
  decide_within: 10h
  remind: [0.5]
  escalate:
    - {after: 0.4, to: ["oncall:payments"]}
    - {after: 0.6, to: ["channel:pager"]}
    - {after: 0.8, to: [dora]}
"""
HOUR = micros(timedelta(hours=1))


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    found = busy(store, clock, rules=RULES)
    found.queue.oncall.add("payments", lambda name, at: ["cem"])
    return found


def steps(desk: Desk, row: Proposal) -> list[tuple[Any, ...]]:
    """Return what was told of each step: to whom, why before its time, and who of those on call cannot approve."""
    return [
        (event["to"][0], event.get("early"), event.get("cannot"))
        for event in told(desk, row.id, "escalated")
        if "missed" not in event
    ]


def used_up(desk: Desk) -> None:
    """Let ann say yes as often as one may."""
    desk.queue.budget = 1
    desk.approve(desk.propose(request=desk.request(thread="before")))


def test_where_people_can_be_reached_no_step_comes_before_its_time(desk: Desk, store: Store) -> None:
    add(desk, "cem", Role.APPROVER)
    row, ladder = desk.propose(), Ladder(desk.queue)
    ladder.tick()
    desk.clock.advance(hours=3, minutes=59)
    ladder.tick()
    assert steps(desk, row) == []
    desk.clock.advance(minutes=1)
    ladder.tick()
    ladder.tick()
    assert steps(desk, row) == [("oncall:payments", None, None)]
    (event,) = told(desk, row.id)
    assert (event["oncall"], event["who"]) == ({"payments": {"people": ["cem"]}}, ["cem"])
    desk.clock.advance(hours=5)
    ladder.tick()
    assert [step[0] for step in steps(desk, row)] == ["oncall:payments", "channel:pager", "dora"]
    assert verify(store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize("roles", [(Role.VIEWER,), (Role.RESPONDER,), None])
def test_who_is_on_call_without_a_role_is_told_and_can_decide_nothing(
    desk: Desk, store: Store, roles: tuple[Role, ...] | None
) -> None:
    """The hook chooses whom to tell and gives nobody a right: that is said, and the next step is told at once."""
    cem = add(desk, "cem", *roles) if roles else None
    row, ladder = desk.propose(), Ladder(desk.queue)
    desk.clock.advance(hours=4)
    done = ladder.tick().done
    reason = "no_right" if roles else "no_account"
    assert [dict(item.cannot) for item in done] == [{"cem": reason}, {}]
    assert steps(desk, row) == [("oncall:payments", None, {"cem": reason}), ("channel:pager", {"cem": reason}, None)]
    assert told(desk, row.id)[0]["who"] == (["cem"] if roles else [])
    assert heard(store, desk.clock)[-2:] == ["escalated", "escalated"]
    if cem is not None:
        with pytest.raises(NotAllowedError):
            desk.queue.approve(row.id, cem, row.digest)
        assert not may_break(desk.queue, row, cem)
    assert desk.queue.get(row.id).state is State.PENDING
    assert desk.queue.grant(row.id) is None
    assert verify(store).ok


@pytest.mark.claim("C9")
def test_a_hook_that_fails_is_said_and_the_next_step_is_told(desk: Desk, store: Store) -> None:
    def broken(name: str, at: Any) -> list[str]:
        raise OSError("the rota is down")

    desk.queue.oncall.add("payments", broken)
    row = desk.propose()
    desk.clock.advance(hours=4)
    Ladder(desk.queue).tick()
    why = {"oncall:payments": "hook_error"}
    assert steps(desk, row) == [("oncall:payments", None, why), ("channel:pager", why, None)]
    assert told(desk, row.id)[0]["oncall"] == {"payments": {"failed": "hook_error"}}
    assert verify(store).ok


def test_who_asked_for_the_call_is_not_reached_by_being_on_call(desk: Desk) -> None:
    add(desk, "cem", Role.APPROVER)
    row = desk.propose(request=desk.request(requester="cem"))
    desk.clock.advance(hours=4)
    Ladder(desk.queue).tick()
    assert steps(desk, row)[0] == ("oncall:payments", None, {"cem": "requester"})
    assert told(desk, row.id)[0]["who"] == []


def test_a_channel_that_gave_up_and_one_that_nobody_serves_let_the_next_step_be_told(desk: Desk, store: Store) -> None:
    box = Outbox(store, desk.clock)
    box.collect("pager", lambda notice: True)
    desk.queue.channels = frozenset()  # this gateway's own file has none; another process serves it
    row, ladder = desk.propose(), Ladder(desk.queue)
    desk.clock.advance(hours=4)
    ladder.tick()
    assert [step[0] for step in steps(desk, row)] == ["oncall:payments", "channel:pager"]
    box.collect("pager", lambda notice: notice.is_for("pager"))
    for tries in range(4):
        ladder.tick()
        assert len(steps(desk, row)) == 2, "it may still arrive"
        delivery = box.claim("pager", hold=1)
        assert delivery is not None
        box.failed(delivery, "status_500", wait=0 if tries < 3 else None)
        desk.clock.advance(seconds=1)
    ladder.tick()
    assert steps(desk, row)[-1] == ("dora", {"channel:pager": "channel_failed"}, None)
    ladder.tick()
    assert len(steps(desk, row)) == 3
    assert verify(store).ok


def test_a_channel_that_is_in_no_file_is_passed_over(desk: Desk) -> None:
    desk.queue.channels = frozenset({"ops"})
    row = desk.propose()
    desk.clock.advance(hours=4)
    Ladder(desk.queue).tick()
    assert steps(desk, row)[-1] == ("dora", {"channel:pager": "no_channel"}, None)


def test_a_budget_that_is_used_up_lets_the_first_step_be_told_at_once(desk: Desk, store: Store) -> None:
    used_up(desk)
    row, ladder = desk.propose(), Ladder(desk.queue)
    ladder.tick()
    cem = {"cem": "no_account"}
    assert steps(desk, row) == [("oncall:payments", {"ann": "budget"}, cem), ("channel:pager", cem, None)]
    assert told(desk, row.id)[0]["percent"] == 40
    assert verify(store).ok


def test_who_becomes_unreachable_later_is_noticed_then(desk: Desk, store: Store) -> None:
    add(desk, "cem", Role.APPROVER)
    row, ladder = desk.propose(), Ladder(desk.queue)
    desk.clock.advance(hours=4)
    ladder.tick()
    assert len(steps(desk, row)) == 1
    desk.queue.reviewers.disable("cem", by=desk.reviewer)
    ladder.tick()
    assert steps(desk, row)[-1] == ("channel:pager", {"cem": "disabled"}, None)
    ladder.tick()
    assert len(steps(desk, row)) == 2
    assert verify(store).ok


def test_who_is_away_counts_where_the_colleague_may_decide_and_not_where_they_asked(desk: Desk) -> None:
    cem, _ = add(desk, "cem", Role.APPROVER), add(desk, "eli", Role.RESPONDER)
    handing = Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)
    handing.give(cem, "eli", reason="on holiday", starts_at=desk.clock() + HOUR, expires_at=desk.clock() + 24 * HOUR)
    row = desk.propose()
    own = desk.propose(request=desk.request(thread="u", requester="eli"))
    desk.clock.advance(hours=4)
    ladder = Ladder(desk.queue)
    ladder.tick()
    assert [step[0] for step in steps(desk, row)] == ["oncall:payments"]
    assert steps(desk, own)[-1] == ("channel:pager", {"cem": "away"}, None)


def test_a_hand_over_that_begins_by_the_clock_is_noticed(desk: Desk) -> None:
    cem, _ = add(desk, "cem", Role.APPROVER), add(desk, "eli", Role.RESPONDER)
    handing = Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)
    handing.give(
        cem, "eli", reason="on holiday", starts_at=desk.clock() + 5 * HOUR, expires_at=desk.clock() + 24 * HOUR
    )
    row, ladder = desk.propose(request=desk.request(requester="eli")), Ladder(desk.queue)
    desk.clock.advance(hours=4)
    ladder.tick()
    ladder.tick()
    assert [step[0] for step in steps(desk, row)] == ["oncall:payments"]
    desk.clock.advance(hours=1)
    ladder.tick()
    assert steps(desk, row)[-1] == ("channel:pager", {"cem": "away"}, None)


def test_where_nobody_of_any_step_is_left_it_is_said_at_once_and_taken_back_when_somebody_is(
    desk: Desk, store: Store
) -> None:
    desk.queue.channels = frozenset()
    used_up(desk)
    row, ladder = desk.propose(), Ladder(desk.queue)
    done = [(item.what, dict(item.why)) for item in ladder.tick().done]
    assert [what for what, _ in done] == ["escalated"] * 3 + ["unreachable"]
    assert done[-1][1] == {"dora": "no_account"}
    assert [event["kind"] for event in told(desk, row.id)] == ["escalated"] * 3 + ["unreachable"]
    assert [item.what for item in ladder.tick().done] == []
    desk.clock.advance(hours=1, seconds=AGAIN / 1e6)  # the hour's budget is there again
    assert [item.what for item in ladder.tick().done] == ["reachable"]
    assert verify(store).ok


def test_when_the_time_of_a_step_comes_that_was_told_early_nobody_is_told_twice(desk: Desk, store: Store) -> None:
    used_up(desk)
    desk.queue.channels = frozenset()
    row, ladder = desk.propose(), Ladder(desk.queue)
    ladder.tick()
    before = heard(store, desk.clock)
    desk.clock.advance(hours=9)
    ladder.tick()
    later = heard(store, desk.clock)[len(before) :]
    assert [event.get("missed") for event in told(desk, row.id, "escalated")] == [None] * 3 + [True] * 3
    assert [kind for kind in later if kind not in {"unreachable", "lapsed"}] == [
        "reminder"
    ]  # that one nobody had before
    with store.read() as connection:
        step, ahead = connection.execute(
            sa.select(plans.c.step, plans.c.ahead).where(plans.c.proposal_id == row.id)
        ).one()
    assert (step, ahead) == (4, 3)
    assert verify(store).ok


@pytest.mark.claim("C5")
@pytest.mark.parametrize("ahead", [0, 1, 9])
def test_an_early_step_that_was_moved_by_hand_is_found_and_holds_up_no_other_one(desk: Desk, ahead: int) -> None:
    used_up(desk)
    row, other = desk.propose(), desk.propose(request=desk.request(thread="u"))
    ladder = Ladder(desk.queue)
    ladder.tick()
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(plans).where(plans.c.proposal_id == row.id).values(ahead=ahead))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_differs"]
    desk.queue.channels = frozenset()
    add(desk, "zoe", Role.VIEWER)  # the people have changed, so everything is looked at again
    look = ladder.tick()
    assert {item.proposal_id for item in look.done if item.what == "escalated"} == {other.id}


@pytest.mark.claim("C5")
def test_ten_ladders_at_once_tell_each_early_step_once(url: str, clock: HandClock) -> None:
    with Store.open(url) as store:
        desk = busy(store, clock, rules=RULES)
        used_up(desk)
        rows = [desk.propose(request=desk.request(thread=f"t{number}")) for number in range(4)]
        gate, done = threading.Barrier(10), list[int]()

        def race() -> None:
            with Store.open(url) as own:
                queue = Queue(own, clock, budget=1, rules=parse_review_rules(RULES, "rules.yaml"))
                queue.channels = frozenset()
                ladder = Ladder(queue)
                gate.wait()
                done.append(sum(item.what == "escalated" for item in ladder.tick().done))

        threads = [threading.Thread(target=race) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(done) == 3 * len(rows)
        for row in rows:
            assert [step[0] for step in steps(desk, row)] == ["oncall:payments", "channel:pager", "dora"]
        assert verify(store).ok
