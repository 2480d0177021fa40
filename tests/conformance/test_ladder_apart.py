"""One question that cannot be looked at holds up the clocks of no other one, on every database; and it is named."""

from __future__ import annotations

from typing import Any

import pytest

from checkvalve.approvals import ladder, ladder_ahead
from checkvalve.approvals.errors import LogTamperedError, StoreCorruptError, StoreUnreachableError
from checkvalve.approvals.ladder import AFTERLOOKS, CLOSING, Ladder
from checkvalve.approvals.oncall import AHEAD, LATEST, OnCall, OnDuty
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.oncall_hooks import read_answer
from tests.approvals.emergency import add, busy
from tests.approvals.made import Desk, HandClock
from tests.conformance.test_ladder import told
from tests.conformance.test_ladder_ahead import RULES, steps

pytestmark = pytest.mark.claim("C9")


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    found = busy(store, clock, rules=RULES)
    found.queue.oncall.add("payments", lambda name, at: ["cem"])
    return found


def failing(monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], row: Proposal, error: Exception) -> None:
    """Let what looks at one question raise."""
    real = getattr(*place)

    def look(*args: Any, **named: Any) -> Any:
        if any(row.id == getattr(one, "id", one) for one in args):
            raise error
        return real(*args, **named)

    monkeypatch.setattr(*place, look)


@pytest.mark.parametrize(
    "until",
    ["9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z",
     "1969-12-31T23:59:59Z"],
)  # fmt: skip
def test_an_end_of_time_in_an_answer_is_no_answer_and_stops_no_ladder(desk: Desk, store: Store, until: str) -> None:
    answer = read_answer(f'{{"people": ["cem"], "until": "{until}"}}'.encode())
    desk.queue.oncall.hooks["payments"] = lambda name, at: answer
    rows = [desk.propose() for _ in range(2)]
    desk.clock.advance(hours=4)
    Ladder(desk.queue).tick()
    why = {"oncall:payments": "bad_answer"}
    for row in rows:
        assert steps(desk, row) == [("oncall:payments", None, why), ("channel:pager", why, None)]
    assert verify(store).ok


@pytest.mark.parametrize("until", [-1, LATEST, 10**30, "soon", 1.5])
def test_what_any_hook_says_is_bounded(until: Any) -> None:
    hooks = OnCall(
        {"x": lambda name, at: OnDuty(("ann",), until=until), "y": lambda name, at: OnDuty(("ann",), until=at)}
    )
    assert hooks.who("x", AHEAD) == OnDuty(failed="bad_answer")
    assert OnCall({"x": lambda name, at: OnDuty(("ann",), until=LATEST - 1)}).who("x", 0).to_json()["until"]
    assert hooks.who("y", AHEAD) == OnDuty(("ann",), until=AHEAD)


def test_a_hook_that_answers_something_else_has_failed(desk: Desk) -> None:
    hooks = OnCall({"x": lambda name, at: None})  # type: ignore[dict-item]
    assert hooks.who("x", 0) == OnDuty(failed="hook_error")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ((ladder, "climb"), OverflowError("far")),
        ((ladder, "climb_ahead"), RecursionError()),
        ((ladder_ahead, "_standing"), KeyError("x")),
    ],
)
def test_one_question_that_fails_is_named_and_the_others_are_climbed(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], error: Exception
) -> None:
    rows = [desk.propose() for _ in range(3)]
    failing(monkeypatch, place, rows[1], error)
    desk.clock.advance(hours=4)  # cem has no account, so the step after the first is told early
    look = Ladder(desk.queue).tick()
    assert look.failed == {rows[1].id: type(error).__name__}
    assert look.damaged == []
    for row in (rows[0], rows[2]):
        assert [step[0] for step in steps(desk, row)] == ["oncall:payments", "channel:pager"]
    monkeypatch.undo()
    look = Ladder(desk.queue).tick()  # what failed is not lost
    assert not look.failed
    assert [step[0] for step in steps(desk, rows[1])] == ["oncall:payments", "channel:pager"]
    assert verify(store).ok


def test_who_can_be_reached_is_counted_for_the_others_and_stays_as_it_was_for_the_one(
    store: Store, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = busy(store, clock)  # two have to say yes, and there is one
    rows = [desk.propose() for _ in range(3)]
    look = Ladder(desk.queue)
    look.tick()
    add(desk, "ben", Role.APPROVER)
    failing(monkeypatch, (ladder_ahead, "_standing"), rows[1], ValueError("x"))
    found = look.tick()
    assert {item.proposal_id for item in found.done if item.what == "reachable"} == {rows[0].id, rows[2].id}
    assert found.failed == {rows[1].id: "ValueError"}
    assert [event["kind"] for event in told(desk, rows[1].id)][-1] != "reachable"
    assert rows[1].id in ladder.stuck_now(desk.queue)
    monkeypatch.undo()
    assert {item.proposal_id for item in Ladder(desk.queue).tick().done if item.what == "reachable"} == {rows[1].id}


@pytest.mark.parametrize("error", [StoreUnreachableError("gone"), LogTamperedError("other")])
def test_a_store_that_does_not_answer_is_the_trouble_of_all(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    rows = [desk.propose() for _ in range(2)]
    failing(monkeypatch, (ladder, "climb"), rows[0], error)
    desk.clock.advance(hours=4)
    with pytest.raises(type(error)):
        Ladder(desk.queue).tick()


def test_a_damaged_one_is_still_called_damaged(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [desk.propose() for _ in range(2)]
    failing(monkeypatch, (ladder, "climb"), rows[0], StoreCorruptError("changed"))
    desk.clock.advance(hours=4)
    look = Ladder(desk.queue).tick()
    assert (look.damaged, look.failed) == ([rows[0].id], {})


def test_closing_and_after_looks_that_fail_hold_up_no_clock(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise OverflowError("far")

    row = desk.propose()
    monkeypatch.setattr(ladder, "close_overdue", broken)
    monkeypatch.setattr("checkvalve.approvals.afterlook_due.remind", broken)
    desk.clock.advance(hours=4)
    look = Ladder(desk.queue).tick()
    assert look.failed == {CLOSING: "OverflowError", AFTERLOOKS: "OverflowError"}
    assert [step[0] for step in steps(desk, row)] == ["oncall:payments", "channel:pager"]
    assert desk.queue.get(row.id).state is State.PENDING


@pytest.mark.parametrize("ends", ["damaged", "fails"])
def test_more_than_one_page_of_them_at_the_front_starves_nobody(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.setattr(ladder, "BATCH", 3)
    error = StoreCorruptError("x", remedy="y") if ends == "damaged" else OverflowError("far")
    front = [desk.propose() for _ in range(7)]
    for row in front:
        failing(monkeypatch, (ladder, "climb"), row, error)
    desk.clock.advance(minutes=1)
    behind = [desk.propose() for _ in range(5)]
    desk.clock.advance(hours=4)
    for _ in range(2):
        Ladder(desk.queue).tick()
    assert all(told(desk, row.id) for row in behind)
    assert not any(told(desk, row.id, "reminded") or told(desk, row.id, "escalated") for row in front)
