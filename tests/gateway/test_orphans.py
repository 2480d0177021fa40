"""A call whose process died in the middle is found by whoever watches the clock, or asks what is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.notices import notice_of
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.gateway.ladder_keeper import LadderKeeper
from tests.approvals.emergency import busy
from tests.approvals.made import ALLOW, Desk, HandClock
from tests.approvals.test_executor import orphan
from tests.waiting import until

pytestmark = pytest.mark.claim("C9")

ELSEWHERE = "other-boot/pid:[1]/1/1/x"
LEASE = 60_000_000  # microseconds


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db", create=True) as store:
        yield busy(store, HandClock())


def test_the_thread_that_watches_the_clock_finds_it_and_channels_are_told(desk: Desk) -> None:
    name = orphan(desk, ELSEWHERE, desk.clock.now + LEASE)
    keeper = LadderKeeper(desk.queue, every=0.01)
    keeper.start()
    try:
        assert desk.queue.get(name).state is State.EXECUTING  # its process may well be at work
        desk.clock.advance(minutes=1)
        until(lambda: desk.queue.get(name).state is State.UNKNOWN, "the dead owner was found")
    finally:
        keeper.stop()
    with desk.queue.store.read() as connection:
        events = list(read_events(connection, subject=name))
    row = desk.queue.get(name)
    assert row.code == "owner_died"
    assert "unknown" in {notice.kind for event in events if (notice := notice_of(event, row)) is not None}


def test_one_that_was_changed_beside_the_log_holds_up_no_clock(desk: Desk) -> None:
    damaged, waits = orphan(desk, ELSEWHERE, desk.clock.now + LEASE), desk.propose()
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == damaged).values(decision="{"))
    desk.clock.advance(days=10)
    with pytest.raises(StoreCorruptError):
        Executor(desk.queue).recover()
    keeper = LadderKeeper(desk.queue, every=0.01)
    keeper.start()
    try:
        until(lambda: state(desk, waits.id) == State.EXPIRED.value, "the question was closed")
    finally:
        keeper.stop()
    assert state(desk, damaged) == State.EXECUTING.value


def state(desk: Desk, name: str) -> str:
    """Return what is stored; asking the queue would close it."""
    with desk.queue.store.read() as connection:
        return str(connection.execute(sa.select(proposals.c.state).where(proposals.c.id == name)).scalar())


def test_a_call_that_is_at_work_is_left_alone(desk: Desk) -> None:
    seen: list[State] = []

    def works(args: object, key: str) -> str:
        Executor(desk.queue).recover()
        seen.append(desk.queue.list([State.EXECUTING])[0].state)
        return "done"

    row = desk.propose(ALLOW)
    assert Executor(desk.queue).run(row.id, works).state is State.SUCCEEDED
    assert seen == [State.EXECUTING]
