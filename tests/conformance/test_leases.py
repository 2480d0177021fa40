"""One run at a time for each thread, on every database: who gets the lease, and what ends it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals import leases as lease_module
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import LeaseHeldError, LeaseLostError, QueueError, StoreUnreachableError
from checkvalve.approvals.leases import Lease, Leases
from checkvalve.approvals.ownership import Owner
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import leases as rows
from tests.approvals.made import HandClock
from tests.waiting import LONG, until

ELSEWHERE = "another-boot/pid:1/77/123/abcd"
SPAN = timedelta(seconds=30)


@pytest.fixture
def table(store: Store, clock: HandClock) -> Leases:
    return Leases(store, clock, span=SPAN)


def own(store: Store, owner: str) -> None:
    with store.write() as connection:
        connection.execute(sa.update(rows).values(owner=owner))


def test_a_held_thread_is_refused_with_a_code_and_a_remedy(table: Leases) -> None:
    with table.hold("t") as held:
        held.check()
        with pytest.raises(LeaseHeldError, match="another run") as caught, table.hold("t"):
            pass
        assert (caught.value.code, bool(caught.value.remedy)) == ("lease_held", True)
        with table.hold("another"):
            pass


def test_fences_grow_with_every_holder(table: Leases) -> None:
    fences = []
    for _ in range(3):
        with table.hold("t") as held:
            fences.append(held.fence)
    assert fences == [1, 2, 3]


def test_a_block_that_raises_gives_the_lease_back(table: Leases) -> None:
    with pytest.raises(ZeroDivisionError), table.hold("t"):
        raise ZeroDivisionError
    assert table.acquire("t").fence == 2


def test_of_many_who_ask_at_once_one_gets_it(table: Leases) -> None:
    def ask(_: int) -> Lease | None:
        try:
            return table.acquire("t")
        except LeaseHeldError:
            return None

    with ThreadPoolExecutor(6) as pool:
        assert len([lease for lease in pool.map(ask, range(6)) if lease]) == 1


def test_a_holder_elsewhere_is_given_its_time_and_no_more(table: Leases, store: Store, clock: HandClock) -> None:
    table.acquire("t")
    own(store, ELSEWHERE)
    clock.advance(seconds=29)
    with pytest.raises(LeaseHeldError):
        table.acquire("t")
    clock.advance(seconds=1)
    assert table.acquire("t").fence == 2


def test_what_this_process_left_behind_is_taken_at_once(table: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = table.acquire("t")
    with pytest.raises(LeaseHeldError):
        table.acquire("t")
    monkeypatch.setattr(lease_module, "_HELD", set())
    assert table.acquire("t").fence == lease.fence + 1


def test_a_taken_over_lease_can_be_neither_renewed_nor_given_back(
    table: Leases, store: Store, clock: HandClock
) -> None:
    lease = table.acquire("t")
    clock.advance(seconds=31)
    taken = table.acquire("t")
    with pytest.raises(LeaseLostError) as caught:
        table.renew(lease)
    assert (caught.value.code, "t" in caught.value.message) == ("lease_lost", True)
    table.release(lease)
    assert table.renew(taken).fence == 2
    with store.read() as connection:
        assert connection.execute(sa.select(rows.c.owner)).scalar() == taken.owner


def test_renewing_makes_it_longer(table: Leases, clock: HandClock) -> None:
    with table.hold("t") as held:
        for _ in range(3):
            clock.advance(seconds=20)
            held.renew()
            held.check()
        clock.advance(seconds=30)
        with pytest.raises(LeaseLostError):
            held.check()


def test_a_holder_that_overslept_finds_out(table: Leases, clock: HandClock) -> None:
    with table.hold("t") as held:
        clock.advance(seconds=31)
        taken = table.acquire("t")
        held.renew()
        with pytest.raises(LeaseLostError):
            held.check()
        clock.now -= 31_000_000  # not even with a clock that went back
        with pytest.raises(LeaseLostError):
            held.check()
    assert table.renew(taken).fence == 2, "the late holder gave nothing back that was not its own"


def test_a_database_that_is_away_costs_no_lease_until_its_time_is_over(
    table: Leases, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Lease) -> Lease:
        raise StoreUnreachableError("away")

    with table.hold("t") as held:
        with monkeypatch.context() as patch:
            patch.setattr(table, "renew", away)
            held.renew()
        held.check()
        clock.advance(seconds=29)
        held.renew()
        held.check()


def test_the_background_renews(table: Leases, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks often, and the clock is moved by hand: however slow the machine is, no span is missed."""
    monkeypatch.setattr(lease_module, "_RENEWALS", 600)
    with table.hold("t") as held:
        for _ in range(4):
            clock.advance(seconds=20)
            until(lambda: held._lease.until == clock() + micros(SPAN), "nobody renewed it")
            held.check()
        with pytest.raises(LeaseHeldError):
            table.acquire("t")


def test_names_that_are_none_are_refused(table: Leases) -> None:
    for name in ("", "x" * 601):
        with pytest.raises(QueueError):
            table.acquire(name)
    with table.hold("\U0001f600" * 600):
        pass
    odd = "\x00 \u4e2d' %s \ufdd0\ufdd1"
    with table.hold(odd), pytest.raises(LeaseHeldError):
        table.acquire(odd)


def test_awaited_runs_hold_it_too(table: Leases) -> None:
    async def run() -> None:
        async with table.ahold("t") as held:
            held.check()
            with pytest.raises(LeaseHeldError):
                async with table.ahold("t"):
                    pass
        async with table.ahold("t"):
            pass

    asyncio.run(run())
    assert table.acquire("t").fence == 3


def test_cancelled_while_it_is_taken_it_is_given_back(
    table: Leases, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, reached, go = table.acquire, threading.Event(), threading.Event()

    def slow(thread: str) -> Lease:
        reached.set()
        go.wait(LONG)
        return plain(thread)

    def is_given_back() -> bool:
        with store.read() as connection:
            return connection.execute(sa.select(rows.c.fence, rows.c.owner)).all() == [(1, "")]

    async def hold() -> None:
        async with table.ahold("t"):
            pytest.fail("cancelled")

    async def run() -> None:
        task = asyncio.ensure_future(hold())
        await asyncio.to_thread(reached.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await asyncio.to_thread(until, is_given_back, "it was not given back")

    monkeypatch.setattr(table, "acquire", slow)
    asyncio.run(run())
    assert plain("t").fence == 2


HOLDER = """
import sys, time
from checkvalve.approvals.leases import Leases
from checkvalve.approvals.store import Store
with Store.open(sys.argv[1], create=False) as store, Leases(store).hold("t"):
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    time.sleep(60)
"""


def test_a_killed_process_is_taken_over_at_once_and_a_living_one_is_not(store: Store, url: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, url], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    table = Leases(store)
    try:
        with pytest.raises(LeaseHeldError):
            table.acquire("t")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert table.acquire("t").fence == 2


def test_an_owner_is_this_claim_of_this_process(table: Leases) -> None:
    first, second = table.acquire("a"), table.acquire("b")
    assert first.owner != second.owner
    who = Owner.parse(first.owner)
    assert who is not None
    assert who.is_same_process(Owner.me())
