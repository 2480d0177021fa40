"""Messages to a pipeline that waits, has ended or is at its limits; awaited runs, and pipelines in bigger graphs."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from checkvalve.approvals.errors import LeaseHeldError
from checkvalve.approvals.leases import Leases
from checkvalve.approvals.records import State
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.events import Event, from_json
from checkvalve.graphs.limits import PipelineLimits
from tests.fakes import calls
from tests.graphs.actor_told import TASK, codes, told
from tests.graphs.pipeline_world import PAUSING, World, reading, ref, scripted


def test_a_new_message_is_held_until_the_question_is_decided(world: World) -> None:
    actor = scripted(*PAUSING)
    pipeline = world.pipeline(actor)
    approval = pipeline.start(TASK, thread="t").waiting[0]
    assert pipeline.start("And hurry up", thread="t").waiting == (approval,)
    assert "hurry" not in str(actor.seen)
    world.approve(approval)
    assert pipeline.resume("t").status == "answered"
    assert world.effects == ["send eve@evil.example: hello"]
    assert [m.content for m in actor.seen[-1] if isinstance(m, HumanMessage)] == [TASK, "And hurry up"]


def test_a_new_message_may_supersede_what_waits(world: World) -> None:
    actor = scripted(*PAUSING)
    pipeline = world.pipeline(actor, on_new_message="supersede")
    approval = pipeline.start(TASK, thread="t").waiting[0]
    assert pipeline.start("Stop, do not write", thread="t").status == "answered"
    assert world.queue.get(approval).state is State.SUPERSEDED
    assert codes(actor) == ["done", "superseded"]
    assert isinstance(actor.seen[-1][-1], HumanMessage), "the new message comes last"
    assert world.effects == []


def test_a_second_task_goes_on_in_the_same_thread(world: World) -> None:
    actor = scripted(calls(("read_mail", {})), AIMessage("first"), AIMessage("second: {ref:r6}"))
    pipeline = world.pipeline(actor)
    assert pipeline.start("Read my mail", thread="t", message_id="1").answer == "first"
    assert pipeline.start("Read my mail", thread="t", message_id="1").answer == "first", "the same message, once"
    assert pipeline.start("The first subject?", thread="t").answer == "second: Bill"


def test_an_empty_turn_is_told_so(world: World) -> None:
    actor = scripted()
    actor.answer = lambda _: AIMessage("  " if len(actor.seen) == 1 else "hello")
    assert world.pipeline(actor).start("Hello", thread="t").answer == "hello"
    assert json.loads(str(actor.seen[-1][-1].content))["code"] == "empty_answer"


def test_limits_stop_the_run_and_a_new_message_starts_a_new_budget(world: World) -> None:
    actor = scripted(*(calls(("read_mail", {}), prefix=str(n)) for n in range(9)))
    pipeline = world.pipeline(actor, limits=PipelineLimits(max_turns=3))
    result = pipeline.start("Read my mail", thread="t")
    assert (result.status, result.code, result.turns) == ("stopped", "max_turns", 3)
    assert pipeline.start("Go on", thread="t").turns == 6
    crowd = scripted(calls(*(("read_mail", {}) for _ in range(30))))
    assert world.pipeline(crowd, limits=PipelineLimits(max_calls=5)).start("x", thread="u").code == "max_calls"
    assert codes(crowd) if len(crowd.seen) > 1 else True


def test_a_model_that_cannot_be_reached_leaves_a_run_that_goes_on(world: World) -> None:
    actor = scripted(calls(("read_mail", {})), AIMessage("fine"))
    good = actor.answer

    def broken(messages: Any) -> AIMessage:
        if len(actor.seen) == 2:
            raise ConnectionError("provider down")
        return good(messages)

    actor.answer = broken
    pipeline = world.pipeline(actor)
    with pytest.raises(ConnectionError):
        pipeline.start("Read my mail", thread="t")
    assert pipeline.look("t").status == "running"
    assert pipeline.resume("t").answer == "fine"


class Bigger(TypedDict, total=False):
    task: str
    status: str
    answer_id: str


def test_a_pipeline_is_a_node_of_a_bigger_graph(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING), checkpointer=None)
    graph = StateGraph(Bigger)
    graph.add_node("agent", pipeline.graph)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    bigger = graph.compile(checkpointer=InMemorySaver(serde=StrictSerializer()))
    config: Any = {"configurable": {"thread_id": "big"}}
    state = bigger.invoke({"task": TASK}, config, durability="sync")
    approval = state["__interrupt__"][0].value["approval_id"]
    world.approve(approval)
    state = bigger.invoke(Command(resume=True), config, durability="sync")
    assert state["status"] == "answered"
    assert world.services.executor.look(state["answer_id"]).result == {"text": "done"}
    assert world.effects == ["send eve@evil.example: hello"]
    state = bigger.invoke({"task": TASK}, config, durability="sync")
    assert "__interrupt__" in state or state["status"] == "answered"
    reads = [row for row in world.queue.list(thread="big") if row.tool == "read_mail"]
    assert len(reads) == 2, "a second run of the node makes its own calls"


def test_one_run_at_a_time_for_each_thread(world: World) -> None:
    pipeline = world.pipeline(scripted(AIMessage("hello")))
    with Leases(world.store).hold("t"), pytest.raises(LeaseHeldError):
        pipeline.start("Hello", thread="t")
    assert pipeline.resume("t").answer == "hello", "the message was kept"


def test_awaited_runs_do_the_same(world: World) -> None:
    actor = scripted(
        calls(("read_mail", {}), ("contacts", {}), prefix="a"),
        calls(
            ("read", {"references": ["r2"], "schema": {"fields": {"bill": {"type": "bool"}}}}),
            ("read", {"references": ["r99"], "schema": {"fields": {"bill": {"type": "bool"}}}}),
            ("send_mail", {"to": ref("r4"), "body": "hi"}),
            prefix="b",
        ),
    )
    pipeline = world.pipeline(actor, reading("prose", '{"have_enough_information": true, "bill": true}'))

    async def run() -> list[Event]:
        events = [event async for event in pipeline.astream(TASK, thread="t")]
        waiting = (await pipeline.alook("t")).waiting
        await asyncio.to_thread(world.approve, waiting[0])
        assert (await pipeline.aresume("t")).answer == "done"
        assert (await pipeline.astart("again", thread="t")).answer == "done"
        return events

    events = asyncio.run(run())
    assert world.effects == ["send eve@evil.example: hi"]
    assert {"status": "done", "values": {"bill": True}, "enough": True} in told(actor)
    assert all(from_json(event.to_json()) == event for event in events)
    assert [type(event).__name__ for event in events][:2] == ["TaskStarted", "Proposed"]


def test_a_thread_without_a_message_is_no_run(world: World) -> None:
    actor = scripted()
    pipeline = world.pipeline(actor)
    for ask in (pipeline.resume, pipeline.look, lambda name: list(pipeline.stream(thread=name))):
        with pytest.raises(PipelineError, match="there is no run 'typo'"):
            ask("typo")
    for wait in (pipeline.aresume, pipeline.alook):
        with pytest.raises(PipelineError, match="there is no run 'typo'"):
            asyncio.run(wait("typo"))
    assert not actor.seen
    assert not world.services.content.items("typo")
