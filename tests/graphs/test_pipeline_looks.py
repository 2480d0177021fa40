"""In the pipeline, too, the record that a call changes is read before the call is decided, and no actor sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool, tool

from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.records import State
from tests.fakes import calls
from tests.gateway.test_look_first import MANIFEST, ORDERS
from tests.graphs.pipeline_world import World, scripted

pytestmark = pytest.mark.claim("C2")
ASK = "Please update my rent payment"


class Office(World):
    """The pipeline's world with a bank in it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.services = replace(self.services, manifest=parse_manifest(MANIFEST, "bank.yaml"))
        self.awaited = False

    def tools(self) -> list[BaseTool]:
        def orders() -> str:
            """List the orders."""
            self.happen("looked")
            return json.dumps(ORDERS)

        async def aorders() -> str:
            return orders()

        @tool
        def change_order(id: int, amount: float, account: str = "") -> str:  # the bank's word
            """Change an order."""
            self.happen(f"changed {id} to {amount:g} {account}".strip())
            return "ok"

        only = StructuredTool.from_function(coroutine=aorders, name="orders", description="List the orders.")
        return [only if self.awaited else tool(orders), change_order]

    def run(self, **args: Any) -> tuple[Any, Any]:
        actor = scripted(calls(("change_order", args)), AIMessage("done"))
        return actor, self.pipeline(actor).start(ASK, thread="t")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path)
    yield made
    made.store.close()


def test_a_record_that_nobody_has_read_is_looked_at_and_the_call_runs(office: Office) -> None:
    actor, result = office.run(id=7, amount=1100)
    assert (result.status, office.effects) == ("answered", ["looked", "changed 7 to 1100"])
    assert "Music" not in str(actor.seen)
    assert "Rent" not in str(actor.seen)
    found = {row.tool: row.state for row in office.queue.list() if row.tool != "answer"}
    assert found == {"orders": State.SUCCEEDED, "change_order": State.SUCCEEDED}


def test_a_tool_that_can_only_be_awaited_is_looked_with(office: Office) -> None:
    office.awaited = True
    actor = scripted(calls(("change_order", {"id": 7, "amount": 1100})), AIMessage("done"))
    asyncio.run(office.pipeline(actor).astart(ASK, thread="t"))
    assert office.effects == ["looked", "changed 7 to 1100"]


@pytest.mark.claim("C3")
@pytest.mark.parametrize(
    "args",
    [
        {"id": 6, "amount": 50},  # not the record that the user named
        {"id": 7, "amount": 9000},  # not its amount
        {"id": 7, "amount": 1100, "account": "DE89370400440532013000"},  # a stranger's account
        {"id": 8, "amount": 1100},  # no such record
    ],
)
def test_a_look_vouches_for_nothing_that_it_does_not_show(office: Office, args: dict[str, Any]) -> None:
    actor, result = office.run(**args)
    assert (result.status, office.effects) == ("waiting", ["looked"])
    assert office.pipeline(actor).resume("t").status == "waiting"
    assert office.effects == ["looked"], "once, however often the run goes on"


@pytest.mark.claim("C1")
def test_what_was_looked_at_is_no_reference_of_the_actor(office: Office) -> None:
    actor, _ = office.run(id=7, amount=1100)
    said = json.dumps([message.content for message in actor.seen[-1]])
    assert "r1" in said, "the result of its own call"
    assert "subject" not in said
