"""A broken glass that nobody looks at is told of every day, once, to those who may look, until somebody has looked."""

from __future__ import annotations

import threading

import pytest

from checkvalve.approvals.afterlook_due import DUE, remind
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.notices import FOR_PEOPLE, kind_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, add, broken, busy, looks
from tests.approvals.made import Desk, HandClock


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return busy(store, clock)


def glass(desk: Desk) -> Proposal:
    row = desk.propose()
    return broken(desk, add(desk, "eve", Role.BREAKER, Role.AUDITOR), row)


def told(desk: Desk, row: Proposal) -> list[tuple[object, object]]:
    with desk.queue.store.read() as connection:
        events = [event for event in read_events(connection, subject=row.id) if event.kind == DUE]
    return [(body_of(event.body)["days"], body_of(event.body)["who"]) for event in events]


def test_those_who_may_look_are_told_every_day_until_one_has_looked(desk: Desk, store: Store) -> None:
    row = glass(desk)
    aud = add(desk, "aud", Role.AUDITOR)
    add(desk, "ann-phone", Role.VIEWER)
    ladder = Ladder(desk.queue)
    desk.clock.advance(hours=23)
    ladder.tick()
    assert told(desk, row) == []
    desk.clock.advance(hours=2)
    (due,) = (item for item in ladder.tick().done if item.what == "afterlook")
    assert (due.proposal_id, due.who) == (row.id, ("ann", "aud"))  # not eve, who broke it, and no viewer
    ladder.tick()
    Ladder(desk.queue).tick()
    assert told(desk, row) == [(1, ["ann", "aud"])]
    desk.clock.advance(hours=72)  # nobody looked at the clocks: one reminder, not three
    ladder.tick()
    assert [days for days, _ in told(desk, row)] == [1, 4]
    looks(desk).close(row.id, aud, FINDING)
    desk.clock.advance(hours=48)
    ladder.tick()
    assert len(told(desk, row)) == 2
    assert verify(store).ok


def test_channels_are_told_as_people(desk: Desk) -> None:
    row = glass(desk)
    desk.clock.advance(hours=25)
    assert list(remind(desk.queue)) == [row.id]
    with desk.queue.store.read() as connection:
        (event,) = (event for event in read_events(connection, subject=row.id) if event.kind == DUE)
    assert kind_of(event.kind, event.body) == "afterlook"
    assert "afterlook" in FOR_PEOPLE


def test_several_gateways_write_each_day_once(url: str, store: Store, desk: Desk) -> None:
    row = glass(desk)
    desk.clock.advance(hours=25)
    gate = threading.Barrier(8)

    def race() -> None:
        with Store.open(url) as own:
            other = Queue(own, desk.clock)
            gate.wait()
            remind(other)

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [days for days, _ in told(desk, row)] == [1]
    assert verify(store).ok
