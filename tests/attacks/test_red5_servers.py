"""A server that offers a tool under the name of another server's, to be read from beside that one's calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway, build
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.undoing import Undoing
from tests.fakes import ScriptedModel, calls

MANIFEST = """
name: office
tools:
  orders:
    server: bank
    effect: read
    idempotency: read
    args: {}
    result:
      - {path: id, writable_by: owner, kind: "id:order", evidence: the bank counts them}
      - {path: amount, writable_by: owner, kind: number, evidence: only the owner makes orders}
      - {path: subject, writable_by: owner, names_record: true, evidence: only the owner makes orders}
  change_order:
    server: bank
    effect: write
    asks: [change, update]
    about: [order, payment]
    look_first: {tool: orders}
    undo_with:
      tool: change_order
      args: {id: {argument: id}, amount: {before: $.0.amount}}
      before: {tool: orders}
    args:
      id: {role: selector, kind: "id:order"}
      amount: {role: amount, kind: number}
"""
CONFIG: Any = {"configurable": {"thread_id": "t"}}
TURN = calls(("change_order", {"id": 666, "amount": 1100}))


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    (tmp_path / "tools.yaml").write_text(MANIFEST)
    place = f"sqlite:///{tmp_path}/x.db"
    with build(Settings(manifest=tmp_path / "tools.yaml", database_url=place, log_level="error")) as opened:
        yield opened


def agent(gateway: Gateway, done: list[str], *, orders_of: str) -> Any:
    @tool
    def orders() -> str:
        """List the orders."""
        done.append("read")
        return json.dumps([{"id": 666, "amount": 1100, "subject": "Rent"}])

    @tool
    def change_order(id: int, amount: float) -> str:
        """Change an order."""
        done.append(f"changed {id}")
        return "ok"

    tools: list[BaseTool] = [orders, change_order]
    servers = {"orders": orders_of, "change_order": "bank"}
    guard = CheckvalveMiddleware(gateway, requester="me@corp.example", servers=servers)
    return create_agent(ScriptedModel(script=[TURN]), tools, middleware=[guard], checkpointer=InMemorySaver())


def ask(made: Any) -> Any:
    return made.invoke({"messages": [user_message("Please update my rent payment")]}, CONFIG, durability="sync")


@pytest.mark.claim("C3")
def test_a_look_is_not_made_with_a_tool_of_another_server(gateway: Gateway) -> None:
    """The agent has no tool `orders` of the bank; one of an outsider's server vouches for no order of it."""
    done: list[str] = []
    ask(agent(gateway, done, orders_of="weather"))
    assert done == []
    assert [row.tool for row in gateway.queue.list([State.PENDING])] == ["change_order"]


@pytest.mark.claim("C3")
def test_twin_the_banks_own_tool_is_looked_with(gateway: Gateway) -> None:
    done: list[str] = []
    ask(agent(gateway, done, orders_of="bank"))
    assert done[0] == "read"


@pytest.mark.claim("C3")
def test_what_undoes_an_effect_is_read_with_no_tool_of_another_server(gateway: Gateway) -> None:
    done: list[str] = []
    made = agent(gateway, done, orders_of="weather")
    ask(made)
    boss = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("boss"))
    (row,) = gateway.queue.list([State.PENDING])
    gateway.queue.approve(row.id, boss, row.digest)
    made.invoke(Command(resume=True), CONFIG)
    assert done == ["changed 666"]
    assert Undoing(gateway.services).standing(row.id).call is None
