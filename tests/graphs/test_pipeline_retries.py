"""A pipeline that comes back to a call of unknown end: a key is tried again, a probe is read; no actor sees either."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.records import Proposal, State, idempotency_key
from checkvalve.approvals.verify import verify
from checkvalve.graphs.detached import idempotency_key as key_of_this_call
from tests.fakes import calls
from tests.graphs.pipeline_world import World, scripted

pytestmark = pytest.mark.claim("C4")
MANIFEST: Final = """
name: bank
tools:
  find_payment:
    effect: read
    args: {key: {role: selector}, to: {role: selector}}
    result:
      - {path: state, writable_by: owner, evidence: the bank sets it}
      - {path: version, writable_by: owner, evidence: the bank sets it}
  pay:
    effect: pay
    asks: [pay]
    args: {to: {role: target, kind: account}, amount: {role: amount, kind: number}}
    CLASS
"""
KEY: Final = "idempotency: key"
PINNED: Final = KEY + (
    "\n    pin: [{tool: find_payment, args: {key: {value: x}, to: {argument: to}}, version: [$.version], seconds: 60}]"
)
PROBE: Final = """idempotency: probe
    probe_with:
      tool: find_payment
      args: {key: {key: true}, to: {argument: to}}
      done_when: {path: $.state, values: [booked]}
      seconds: 60
"""
PAY: Final = ("pay", {"to": "DE89370400440532013000", "amount": 12})
ASK: Final = "Please pay the bill"


class Bank(World):
    """The pipeline's world with a bank whose answers get lost as often as ``losses`` says."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.record: dict[str, Any] = {"state": "unheard_of", "version": 1}
        self.keys = list[str]()
        self.losses = 1

    def declare(self, how: str) -> None:
        self.services = replace(self.services, manifest=parse_manifest(MANIFEST.replace("CLASS", how), "bank.yaml"))

    def tools(self) -> list[BaseTool]:
        def find_payment(key: str, to: str) -> str:
            """Look for a payment."""
            self.happen(f"looked for {key}")
            return json.dumps(self.record)

        def pay(to: str, amount: int) -> str:
            """Pay."""
            self.keys.append(key_of_this_call())
            self.happen(f"paid {to} {amount}")
            self.record["state"] = "booked"
            if len(self.keys) <= self.losses:
                raise KeyboardInterrupt
            return "paid"

        async def afind(key: str, to: str) -> str:
            return find_payment(key, to)

        async def apay(to: str, amount: int) -> str:
            return pay(to, amount)

        pairs = ((find_payment, afind), (pay, apay))
        return [StructuredTool.from_function(plain, coroutine=awaited) for plain, awaited in pairs]

    def row(self) -> Proposal:
        (found,) = [row for row in self.queue.list(list(State), thread="t") if row.tool == "pay"]
        return found


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    made = Bank(tmp_path)
    yield made
    made.store.close()


def lost(bank: Bank, how: str) -> Any:
    """Let a run die in the middle of a payment; return its actor."""
    bank.declare(how)
    actor = scripted(calls(PAY), AIMessage("done"))
    result = bank.pipeline(actor).start(ASK, thread="t")
    bank.approve(result.waiting[0])
    with pytest.raises(KeyboardInterrupt):
        bank.pipeline(actor).resume("t")
    assert bank.row().state is State.UNKNOWN
    return actor


def go_on(bank: Bank, actor: Any, *, awaited: bool) -> None:
    pipeline = bank.pipeline(actor)
    result = asyncio.run(pipeline.aresume("t")) if awaited else pipeline.resume("t")
    assert result.status == "answered"
    assert verify(bank.store).ok


def told(actor: Any) -> str:
    return json.dumps([message.content for message in actor.seen[-1]])


@pytest.mark.parametrize("awaited", [False, True], ids=["resume", "aresume"])
@pytest.mark.parametrize("how", [KEY, PINNED], ids=["plain", "pinned"])
def test_a_run_that_goes_on_sends_the_same_call_with_the_same_key(bank: Bank, how: str, *, awaited: bool) -> None:
    go_on(bank, lost(bank, how), awaited=awaited)
    row = bank.row()
    assert row.state is State.SUCCEEDED
    assert bank.keys == [idempotency_key(row.id)] * 2
    assert {line for line in bank.effects if line.startswith("paid")} == {"paid DE89370400440532013000 12"}


def test_what_is_pinned_and_another_one_by_now_stays_for_a_person(bank: Bank) -> None:
    actor = lost(bank, PINNED)
    bank.record["version"] = 2
    go_on(bank, actor, awaited=False)
    assert (bank.row().state, len(bank.keys)) == (State.UNKNOWN, 1)
    assert "a person has to look" in told(actor)


@pytest.mark.parametrize("awaited", [False, True], ids=["resume", "aresume"])
def test_a_run_that_goes_on_reads_the_probe_and_pays_nothing(bank: Bank, *, awaited: bool) -> None:
    actor = lost(bank, PROBE)
    go_on(bank, actor, awaited=awaited)
    row = bank.row()
    assert (row.state, row.decided_by, len(bank.keys)) == (State.CONFIRMED_DONE, "probe", 1)
    assert f"looked for {idempotency_key(row.id)}" in bank.effects
    assert "confirmed_done" in told(actor)
    assert "booked" not in told(actor), "what a probe says is nothing that the actor reads"


def test_a_tool_that_promises_nothing_is_left_alone(bank: Bank) -> None:
    go_on(bank, lost(bank, "idempotency: none"), awaited=False)
    assert (bank.row().state, len(bank.keys)) == (State.UNKNOWN, 1)


@pytest.mark.parametrize("awaited", [False, True], ids=["resume", "aresume"])
def test_a_promise_that_the_manifest_took_back_is_not_relied_on(bank: Bank, *, awaited: bool) -> None:
    actor = lost(bank, KEY)
    bank.declare("idempotency: none")
    go_on(bank, actor, awaited=awaited)
    assert (bank.row().state, len(bank.keys)) == (State.UNKNOWN, 1)


def test_a_promise_that_the_manifest_gives_later_is_not_one_of_this_call(bank: Bank) -> None:
    actor = lost(bank, "idempotency: none")
    bank.declare(KEY)
    go_on(bank, actor, awaited=False)
    assert (bank.row().state, len(bank.keys)) == (State.UNKNOWN, 1)


@pytest.mark.parametrize("how", ["say", "cancel"])
def test_who_takes_back_what_waits_is_heard_for_the_tries_of_a_lost_call(bank: Bank, how: str) -> None:
    """The first try may never have arrived: after a no of the user nothing is sent once more."""
    bank.declare(KEY)
    actor = scripted(calls(PAY), AIMessage("done"), AIMessage("done"))
    result = bank.pipeline(actor, on_new_message="supersede").start(ASK, thread="t")
    bank.approve(result.waiting[0])
    with pytest.raises(KeyboardInterrupt):
        bank.pipeline(actor).resume("t")
    pipeline = bank.pipeline(actor, on_new_message="supersede")
    if how == "say":
        pipeline.start("Stop, do not pay it!", thread="t")
    else:
        assert pipeline.cancel("t", by="me") == [], "whether it happened nobody knows"
        pipeline.resume("t")
    assert (bank.row().state, len(bank.keys)) == (State.UNKNOWN, 1)
    assert verify(bank.store).ok
