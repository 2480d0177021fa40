"""A payment whose answer got lost is looked for: what the bank says settles it, or a person does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.executor import LEASE
from checkvalve.approvals.probes import PAUSE, UNDECIDED
from checkvalve.approvals.records import State, idempotency_key
from checkvalve.approvals.verify import verify
from checkvalve.gateway.langchain import user_message
from checkvalve.gateway.probe_keeper import ProbeKeeper
from tests.gateway.pin_world import last
from tests.gateway.probe_world import CONFIG, MANIFEST, PAY, Bank
from tests.waiting import LONG

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    found = Bank(tmp_path)
    yield found
    found.end()


def test_what_the_bank_booked_is_settled_and_said(bank: Bank) -> None:
    state = bank.lost()
    row = bank.row()
    assert (row.state, row.decided_by, row.code) == (State.CONFIRMED_DONE, "probe", "probe_done")
    assert "[confirmed_done" in last(state)
    assert bank.looks == [(idempotency_key(row.id), PAY[1]["to"])], "the arguments are those of the record"
    (event,) = bank.events("proposal.confirmed_done")
    told = event["probe"]
    assert (told["tool"], told["why"], told["answer_digest"]) == ("find_payment", "done_when", digest(bank.says()))
    read = bank.queue.get(told["call"])
    assert (read.thread, read.state, read.verdict_name) == (f"probe/{row.id}", State.SUCCEEDED, "allow")
    assert len(bank.effects) == 1
    assert verify(bank.queue.store).ok


def test_it_is_the_same_for_tools_that_are_awaited(bank: Bank) -> None:
    agent = bank.agent(PAY)

    async def run(given: Any) -> Any:
        return await agent.ainvoke(given, CONFIG)

    asyncio.run(run({"messages": [user_message("Read my mail")]}))
    bank.approve()
    asyncio.run(run(None))
    assert (bank.row().state, len(bank.effects), len(bank.looks)) == (State.CONFIRMED_DONE, 1, 1)


def test_who_comes_back_after_a_crash_looks_and_does_not_pay_again(bank: Bank) -> None:
    bank.fails = KeyboardInterrupt()
    agent = bank.agent(PAY)
    bank.ask(agent)
    bank.approve()
    with pytest.raises(KeyboardInterrupt):
        bank.resume(agent)
    assert (bank.row().state, bank.looks) == (State.UNKNOWN, [])
    assert "[confirmed_done" in last(bank.resume(agent))
    assert (bank.row().state, len(bank.effects), len(bank.looks)) == (State.CONFIRMED_DONE, 1, 1)


def test_that_nothing_is_there_counts_once_no_request_can_be_on_its_way(bank: Bank) -> None:
    state = bank.lost(says=lambda: {"state": "unheard_of"})
    assert "[unknown" in last(state)
    bank.hand.advance(seconds=(LEASE + PAUSE).total_seconds())
    bank.hand.now -= 1  # a microsecond too early
    assert bank.look().state is State.UNKNOWN
    assert [event["why"] for event in bank.events(UNDECIDED)] == ["too_early"], "said once for each reason"
    bank.hand.now += 1
    outcome = bank.look()
    assert (outcome.state, outcome.proposal.decided_by) == (State.CONFIRMED_NOT_DONE, "probe")
    assert len(bank.effects) == 1, "a person, or the agent, may propose it again; the gateway does not"
    assert bank.look() == bank.gateway.services.executor.look(bank.row().id)
    assert len(bank.looks) == 3, "nothing is looked for any more"
    assert verify(bank.queue.store).ok


def test_without_the_tool_nothing_is_settled(bank: Bank) -> None:
    state = bank.lost(without="find_payment")
    assert "[unknown" in last(state)
    assert [event["why"] for event in bank.events(UNDECIDED)] == ["tool_missing"]
    assert bank.look().state is State.CONFIRMED_DONE


def test_a_probe_that_is_late_settles_nothing(tmp_path: Path) -> None:
    bank = Bank(tmp_path, MANIFEST.replace("seconds: 60", "seconds: 1"))
    try:
        bank.lost(says=lambda: bank.late.wait(60))
        assert bank.row().state is State.UNKNOWN
        assert [event["why"] for event in bank.events(UNDECIDED)] == ["too_late"]
    finally:
        bank.end()


def test_a_call_that_ended_is_not_looked_for(bank: Bank) -> None:
    bank.fails = None
    bank.lost()
    assert (bank.row().state, bank.looks) == (State.SUCCEEDED, [])


def test_where_nobody_comes_back_the_server_looks_once_the_time_has_come(bank: Bank) -> None:
    bank.lost(says=lambda: {"state": "unheard_of"})
    keeper = ProbeKeeper(bank.gateway.services, bank.tools())
    keeper.tick()
    assert len(bank.looks) == 1, "it is too early: what it would say does not count"
    bank.later()
    keeper.tick()
    keeper.tick()
    assert (bank.row().state, len(bank.looks), len(bank.effects)) == (State.CONFIRMED_NOT_DONE, 2, 1)


def test_a_server_asks_once_about_what_its_probe_does_not_know(bank: Bank) -> None:
    bank.lost(says=lambda: {"state": "pending"})
    bank.later()
    keeper = ProbeKeeper(bank.gateway.services, bank.tools())
    for _ in range(3):
        keeper.tick()
    assert (bank.row().state, len(bank.looks)) == (State.UNKNOWN, 2)


@pytest.mark.parametrize("edit", [{"lease_until": "soon"}, {"fence": 7}], ids=["no number", "other"])
def test_a_call_that_was_damaged_beside_the_log_keeps_no_other_waiting(bank: Bank, edit: dict[str, Any]) -> None:
    bank.says = lambda: {"state": "pending"}
    bank.lost()
    other: Any = {"configurable": {"thread_id": "u"}}
    agent = bank.agent(PAY)
    agent.invoke({"messages": [user_message("Read my mail")]}, other, durability="sync")
    bank.approve()
    agent.invoke(None, other, durability="sync")
    first, second = (row.id for row in bank.queue.list([State.UNKNOWN]))
    with bank.queue.store.write() as connection:
        connection.execute(sa.text("UPDATE attempts SET " + ", ".join(f"{name} = :{name}" for name in edit)
                                   + " WHERE proposal_id = :first"), {**edit, "first": first})  # fmt: skip
    bank.says = lambda: {"state": "unheard_of"}
    bank.later()
    ProbeKeeper(bank.gateway.services, bank.tools()).tick()
    assert bank.queue.get(second).state is State.CONFIRMED_NOT_DONE
    with bank.queue.store.read() as connection:
        state = connection.execute(sa.text("SELECT state FROM proposals WHERE id = :first"), {"first": first}).scalar()
    assert state == "unknown"


def test_the_servers_thread_looks_by_itself_and_ends(bank: Bank) -> None:
    bank.lost(says=lambda: {"state": "unheard_of"})
    bank.later()
    with ProbeKeeper(bank.gateway.services, bank.tools(), every=0.01):
        until = time.monotonic() + LONG
        while bank.row().state is State.UNKNOWN and time.monotonic() < until:
            time.sleep(0.01)
    assert bank.row().state is State.CONFIRMED_NOT_DONE


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_an_agent_that_comes_back_sends_the_same_call_with_the_same_key(tmp_path: Path, *, awaited: bool) -> None:
    start, end = MANIFEST.index("    idempotency: probe"), len(MANIFEST)
    bank = Bank(tmp_path, MANIFEST[:start] + "    idempotency: key\n" + MANIFEST[end:])
    try:
        bank.fails = KeyboardInterrupt()
        agent = bank.agent(PAY)
        bank.ask(agent)
        bank.approve()
        with pytest.raises(KeyboardInterrupt):
            bank.resume(agent)
        bank.fails = None
        state = asyncio.run(agent.ainvoke(None, CONFIG)) if awaited else bank.resume(agent)
        assert (bank.row().state, last(state)) == (State.SUCCEEDED, "paid")
        assert bank.booked == [idempotency_key(bank.row().id)] * 2
        assert len(set(bank.effects)) == 1
    finally:
        bank.end()
