"""A read that never comes back holds up no effect, no question and no loop: it has its time, and a thread of a few."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.graphs import keeping
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.pipeline import build_pipeline
from tests.fakes import ScriptedModel, calls
from tests.gateway.test_look_first import ORDERS
from tests.graphs import test_pipeline_looks as looks
from tests.graphs.pipeline_world import scripted
from tests.undo_world import Office
from tests.waiting import LONG

pytestmark = pytest.mark.claim("C9")
THREAD = "checkvalve-read"
TASK = "please update note n1 to eggs"


class Stuck:
    """A blocking tool that does not come back until it is let go; it says which threads it was run in."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.names: list[str] = []

    def __call__(self, id: str = "") -> str:
        self.names.append(threading.current_thread().name)
        self.go.wait(LONG)
        return json.dumps(ORDERS)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    monkeypatch.setattr(keeping, "SECONDS", 0.05)
    found = Stuck()
    yield found
    found.go.set()
    for thread in [one for one in threading.enumerate() if one.name == THREAD]:
        thread.join(LONG)
        assert not thread.is_alive()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Office(store, tmp_path)


def with_stuck(tools: list[BaseTool], name: str, stuck: Stuck) -> list[BaseTool]:
    for tool in tools:
        if tool.name == name:
            cast(Any, tool).func, cast(Any, tool).coroutine = stuck, None
    return tools


def test_an_effect_comes_without_what_could_not_be_read_and_one_that_needs_it_does_not(
    office: Office, stuck: Stuck
) -> None:
    tools = with_stuck(office.tools(), "get_note", stuck)
    office.tools = lambda *_: tools  # type: ignore[method-assign]
    done = office.act("update_note", id="n1", text="eggs")
    assert done.state is State.SUCCEEDED
    assert "took too long" in office.undoing.standing(done.proposal.id).why_not
    held = office.act("delete_note", id="n1")
    assert (held.state, held.proposal.code) == (State.FAILED, "not_started")
    assert office.notebook.effects == ["update n1 eggs"]
    assert stuck.names == [THREAD, THREAD]
    (read, _) = [row for row in office.queue.list(thread="task") if row.tool == "get_note"]
    assert read.state is State.FAILED, "nobody has to find out what a read did"


def test_an_awaited_run_does_not_wait_for_it_either(office: Office, stuck: Stuck) -> None:
    pipeline = build_pipeline(
        office.services,
        tools=with_stuck(office.tools(), "get_note", stuck),
        reader=ScriptedModel(script=[AIMessage("{}")]),
        actor=ScriptedModel(
            script=[
                calls(("update_note", {"id": "n1", "text": "eggs"})),
                calls(("answer", {"text": "done"}), prefix="z"),
            ]
        ),
        checkpointer=InMemorySaver(serde=StrictSerializer()),
        requester="bob",
    )
    asyncio.run(pipeline.astart(TASK, thread="p1"))  # ends by joining the loop's own threads: it is not one of them
    (row,) = [row for row in office.queue.list([State.SUCCEEDED]) if row.tool == "update_note"]
    assert "took too long" in office.undoing.standing(row.id).why_not
    assert stuck.names == [THREAD]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_question_is_asked_without_the_look(
    tmp_path: Path, stuck: Stuck, monkeypatch: pytest.MonkeyPatch, *, awaited: bool
) -> None:
    office = looks.Office(tmp_path)
    tools = with_stuck(office.tools(), "orders", stuck)
    monkeypatch.setattr(office, "tools", lambda: tools)
    actor = scripted(calls(("change_order", {"id": 7, "amount": 1100})), AIMessage("done"))
    pipeline = office.pipeline(actor)
    start = pipeline.start if not awaited else lambda *args, **named: asyncio.run(pipeline.astart(*args, **named))
    result = start(looks.ASK, thread="t")
    assert (result.status, office.effects, stuck.names) == ("waiting", [], [THREAD])
    office.store.close()
