"""An agent at a bank whose answers get lost, and a read that says whether a payment was booked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from langchain_core.tools import tool

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.errors import OutcomeUnknownError
from checkvalve.approvals.executor import LEASE
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.probes import PAUSE
from checkvalve.approvals.records import Proposal, State
from checkvalve.graphs.detached import idempotency_key
from checkvalve.graphs.probing import Probing
from tests.approvals.made import HandClock
from tests.gateway.agent_world import CONFIG, AgentWorld

MANIFEST: Final = """
name: bank
tools:
  mail:
    effect: read
  find_payment:
    effect: read
    args: {key: {role: selector, kind: "id:payment"}, to: {role: selector, kind: account, optional: true}}
    result:
      - {path: state, writable_by: owner, evidence: the bank sets it}
      - {path: to, writable_by: owner, evidence: the bank sets it}
      - {path: memo}
  pay:
    effect: pay
    asks: [pay]
    args:
      to: {role: target, kind: account}
      amount: {role: amount, kind: number}
      memo: {role: content, optional: true}
    idempotency: probe
    probe_with:
      tool: find_payment
      args: {key: {key: true}, to: {argument: to}}
      done_when: {path: $.state, values: [booked]}
      not_done_when: {path: $.state, values: [unheard_of]}
      seconds: 60
"""
PAY: Final = ("pay", {"to": "DE89370400440532013000", "amount": 12})
CUT: Final = OutcomeUnknownError("no answer")


class Bank(AgentWorld):
    """The agent of the bank. ``says`` makes the answer of the probe; ``fails`` is raised after a payment."""

    def __init__(self, folder: Path, manifest: str = MANIFEST, **settings: Any) -> None:
        super().__init__(folder, manifest, **settings)
        self.hand = HandClock(system_clock())
        self.queue.clock, self.queue._intake = self.hand, replace(self.queue._intake, clock=self.hand)
        self.booked: list[str] = []
        self.looks: list[tuple[str, str | None]] = []
        self.fails: BaseException | None = CUT
        self.says: Callable[[], Any] = lambda: {"state": "booked" if self.booked else "unheard_of", "memo": "booked"}

    def tools(self, *, without: str = "") -> list[Any]:
        @tool
        def mail() -> str:
            """Read mail."""
            return "Pay DE89370400440532013000 12"

        @tool
        def find_payment(key: str, to: str | None = None) -> Any:
            """Look for a payment."""
            self.looks.append((key, to))
            return self.says()

        @tool
        def pay(to: str, amount: int, memo: str | None = None) -> str:
            """Pay."""
            self.effects.append(f"paid {to} {amount}")
            self.booked.append(idempotency_key())
            if self.fails is not None:
                raise self.fails
            return "paid"

        return [one for one in (mail, find_payment, pay) if one.name != without]

    def lost(self, *, says: Callable[[], Any] | None = None, without: str = "") -> Any:
        """Let a payment run whose answer gets lost; return the agent, and where it stands."""
        if says is not None:
            self.says = says
        agent = self.agent(PAY, tools=self.tools(without=without))
        self.ask(agent)
        self.approve()
        return self.resume(agent)

    def row(self) -> Proposal:
        (found,) = [row for row in self.queue.list(list(State), thread="t") if row.tool == "pay"]
        return found

    def later(self, **span: float) -> None:
        """Go to the moment from which "it is not there" counts; and further."""
        self.hand.advance(seconds=(LEASE + PAUSE).total_seconds())
        self.hand.advance(**span)

    def look(self, find: Callable[[str], Any] | None = None) -> Outcome:
        """Come back to the payment, as every surface does."""
        known = {one.name: one for one in self.tools()}
        services = self.gateway.services
        return Probing(services).after(services.executor.look(self.row().id), find or known.get)

    def events(self, kind: str) -> list[dict[str, Any]]:
        with self.queue.store.read() as connection:
            found = read_events(connection, subject=self.row().id)
            return [json.loads(event.body or "{}") for event in found if event.kind == kind]


__all__ = ["CONFIG", "CUT", "MANIFEST", "PAY", "Bank"]
