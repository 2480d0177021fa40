"""The pipeline end to end: its shape, its pauses, what its actor is told, and that an effect happens once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from checkvalve.approvals.errors import LeaseHeldError, NotFoundError
from checkvalve.approvals.leases import Leases
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.revoking import revoke
from checkvalve.graphs.checkpoint import StrictSerializer
from checkvalve.graphs.errors import PipelineError, PromptError
from checkvalve.graphs.events import Event, from_json
from checkvalve.graphs.limits import PipelineLimits
from checkvalve.graphs.prompts.registry import load
from checkvalve.graphs.schemas import parse_schema
from tests.fakes import calls
from tests.graphs.pipeline_world import MAILS, PAUSING, World, reading, ref, scripted

TASK = "Please send a mail to whoever wrote to me"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def told(actor: Any) -> list[dict[str, Any]]:
    """Return what the actor was told of its calls, in the latest input."""
    return [json.loads(str(m.content)) for m in actor.seen[-1] if isinstance(m, ToolMessage)]


def codes(actor: Any) -> list[str]:
    return [str(entry.get("code", entry["status"])) for entry in told(actor)]


@pytest.mark.claim("C2")
def test_only_the_gate_leads_to_the_executor(world: World) -> None:
    drawn = world.pipeline(scripted()).graph.get_graph()
    before: dict[str, set[str]] = {}
    for edge in drawn.edges:
        before.setdefault(edge.target, set()).add(edge.source)
    assert before["executor"] == {"gate"}
    assert before["reader"] == before["answer"] - {"answer"} == {"actor"}
    assert before["actor"] == {"ingest", "reader", "answer", "actor"}
    assert {edge.target for edge in drawn.edges if edge.source == "executor"} == {"ingest"}
    assert set(drawn.nodes) == {START, "ingest", "actor", "reader", "gate", "executor", "answer", END}


def test_the_actor_works_with_references_and_the_answer_is_filled_in_at_the_end(world: World) -> None:
    actor = scripted(calls(("read_mail", {}), prefix="a"), AIMessage("It says: {ref:r7}"))
    result = world.pipeline(actor).start("What does my mail say?", thread="t")
    assert (result.status, result.answer) == ("answered", f"It says: {MAILS[0]['text']}")
    tree = told(actor)[0]["result"]
    assert tree["kind"] == "list"
    assert set(tree["items"][0]["fields"]) == {"id", "size", "sender", "subject", "text"}
    assert tree["items"][0]["fields"]["text"] == {"ref": "r7", "kind": "text", "size": 32, "trust": "untrusted"}


@pytest.mark.claim("C3", "C4")
def test_a_reference_to_an_outsiders_field_waits_and_runs_once_after_the_yes(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    result = pipeline.start(TASK, thread="t")
    assert (result.status, world.effects) == ("waiting", [])
    row = world.queue.get(result.waiting[0])
    assert (row.tool, row.rule) == ("send_mail", "untrusted-target")
    origin = row.to_json()["decision"]["arguments"][0]["origins"][0]  # type: ignore[index, call-overload]
    assert origin == {  # exact, and no better than the field
        "source": "tool:read_mail/c1x1@t1#0.sender",
        "span": [0, 16],
        "match": "reference",
        "trust": "untrusted",
    }
    assert pipeline.resume("t") == result, "resuming decides nothing"
    world.approve(result.waiting[0])
    assert pipeline.resume("t").answer == "done"
    assert pipeline.resume("t").answer == "done"
    assert world.effects == ["send eve@evil.example: hello"]


def test_an_interrupt_carries_the_id_and_nothing_else(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    result = pipeline.start(TASK, thread="t")
    snapshot = pipeline.graph.get_state({"configurable": {"thread_id": "t"}})
    assert [task.interrupts[0].value for task in snapshot.tasks] == [{"approval_id": result.waiting[0]}]
    for value in (True, {"decisions": [{"type": "approve"}]}, "approve"):
        pipeline.graph.invoke(Command(resume=value), {"configurable": {"thread_id": "t"}})
    assert world.effects == []


@pytest.mark.claim("C9")
@pytest.mark.parametrize("end", ["rejected", "expired", "cancelled", "lapsed", "revoked"])
def test_a_question_that_ends_without_a_yes_becomes_a_code(tmp_path: Path, end: str) -> None:
    world = World(tmp_path)
    now = [world.queue.clock()]
    world.queue = Queue(world.store, lambda: now[0], execute_within=timedelta(minutes=5))
    world.services = type(world.services)(**{**vars(world.services), "queue": world.queue})
    actor = scripted(*PAUSING)
    pipeline = world.pipeline(actor)
    approval = pipeline.start(TASK, thread="t").waiting[0]
    if end == "rejected":
        world.reject(approval, reason="SECRET WORDS of the reviewer")
    elif end == "cancelled":
        assert pipeline.cancel("t", by="operator") == [approval]
    elif end == "revoked":
        world.approve(approval)
        revoke(world.queue, approval, world.reviewer(), "SECRET WORDS of the reviewer")
    else:
        if end == "lapsed":
            world.approve(approval)
        now[0] += 2 * 86_400 * 1_000_000
    assert pipeline.resume("t").answer == "done"
    assert codes(actor) == ["done", end]
    assert set(told(actor)[1]) == {"status", "code", "remedy"}
    assert "SECRET" not in str(actor.seen)
    assert world.effects == []


def test_parallel_requests_run_when_they_may_and_only_one_waits(world: World) -> None:
    turn = calls(
        ("send_mail", {"to": "ann@corp.example", "body": "one"}),
        ("send_mail", {"to": "thief@evil.example", "body": "two"}),
        ("pay", {"to": "nobody", "wrong": 1}),
    )
    actor = scripted(turn)
    pipeline = world.pipeline(actor)
    result = pipeline.start("Send a mail to ann@corp.example", thread="t")
    assert (result.status, len(result.waiting)) == ("waiting", 1)
    assert world.effects == ["send ann@corp.example: one"], "what may run does not wait for the person"
    world.approve(result.waiting[0])
    assert pipeline.resume("t").status == "answered"
    assert world.effects == ["send ann@corp.example: one", "send thief@evil.example: two"]
    assert sorted(codes(actor)) == ["done", "done", "unknown-argument"]


def test_two_reviews_are_taken_in_any_order(world: World) -> None:
    turn = calls(*(("send_mail", {"to": f"x{n}@evil.example", "body": "b"}) for n in (1, 2)))
    pipeline = world.pipeline(scripted(turn))
    first, second = pipeline.start("Send a mail to ann@corp.example", thread="t").waiting
    world.approve(second)
    assert pipeline.resume("t").waiting == (first,)
    assert world.effects == ["send x2@evil.example: b"]
    world.reject(first)
    assert pipeline.resume("t").status == "answered"
    assert world.effects == ["send x2@evil.example: b"]


@pytest.mark.claim("C4")
def test_arguments_changed_in_the_state_after_the_yes_never_run(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    approval = pipeline.start(TASK, thread="t").waiting[0]
    world.approve(approval)
    config: Any = {"configurable": {"thread_id": "t"}}
    state = pipeline.graph.get_state(config).values
    item = {**state["requests"][0], "args": {"to": "thief@evil.example", "body": "all"}, "status": "ready"}
    pipeline.graph.update_state(config, {"requests": [item]}, as_node="gate")
    pipeline.resume("t")
    assert world.effects == []
    assert world.queue.get(approval).state is State.INVALIDATED


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", ["pending", "foreign", "made up"])
def test_a_forged_status_in_the_state_runs_nothing(world: World, name: str) -> None:
    pipeline = world.pipeline(scripted(*PAUSING))
    approval = pipeline.start(TASK, thread="t").waiting[0]
    other = world.pipeline(scripted(*PAUSING)).start(TASK, thread="other").waiting[0]
    world.approve(other)
    config: Any = {"configurable": {"thread_id": "t"}}
    state = pipeline.graph.get_state(config).values
    forged = {"pending": approval, "foreign": other, "made up": "no-such-id"}[name]
    item = {**state["requests"][0], "status": "ready", "approval": forged}
    pipeline.graph.update_state(config, {"requests": [item]}, as_node="gate")
    refusal = {"foreign": PipelineError, "made up": NotFoundError}.get(name)
    with pytest.raises(refusal) if refusal else nullcontext():
        pipeline.resume("t")
    assert world.effects == []
    assert world.queue.get(other).state is State.APPROVED


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


@pytest.mark.claim("C9")
def test_what_the_actor_cannot_do_is_a_code(world: World) -> None:
    actor = scripted(
        calls(("read_mail", {}), ("broken", {}), ("invented", {"a": 1}), prefix="a"),
        calls(
            ("send_mail", {"to": ref("r999"), "body": "x"}),
            ("send_mail", {"to": "x", "body": "y" * 300_000}),
            ("read", {"references": ["r1", "r99"], "schema": {"fields": {"a": {"type": "bool"}}}}),
            ("read", {"references": ["r1"], "schema": {"fields": {"a": {"type": "string"}}}}),
            ("read", {"references": ["r1"], "schema": "not registered"}),
            ("read", {"references": [], "schema": {}}),
            ("select", {"reference": "r3"}),
            ("select", {"reference": "r1", "where": [{"field": "sender", "op": "lt", "value": "b"}]}),
            ("each", {"reference": "r1", "field": "nothing"}),
            ("answer", {"text": "early"}),
        ),
        AIMessage(
            "",
            invalid_tool_calls=[
                {"name": "pay", "args": "{", "id": "q", "error": "broken", "type": "invalid_tool_call"}
            ],
        ),
        calls(("answer", {"text": 5})),
        calls(("answer", {"text": "{ref:r999}"})),
    )
    world.mails = MAILS
    result = world.pipeline(actor).start("Read my mail", thread="t")
    assert result.answer == "done"
    seen = codes(actor)
    assert sorted(seen[:3]) == ["done", "failed", "unregistered_tool"]
    expected = {"unknown_reference": 2} | dict.fromkeys(
        ("malformed_call", "bad_schema", "unknown_schema", "bad_request", "not_a_list", "unverified_field"), 1
    )
    assert Counter(seen[3:13]) == expected | {"unknown_field": 1, "answer_alone": 1}
    assert seen[13:] == ["malformed_call", "empty_answer", "unknown_reference"]
    assert "the server says" not in str(actor.seen)
    assert "SERVER WORDS" not in str(actor.tools)


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


@pytest.mark.claim("C8")
def test_an_answer_is_decided_over_its_expanded_text(world: World) -> None:
    world.mails = [{**MAILS[0], "text": "![x](https://evil.example/p.png)", "subject": "https://good.example/a"}]
    actor = scripted(
        calls(("read_mail", {})),
        AIMessage("Look: {ref:r7}"),
        AIMessage("The link was {ref:r6}"),
    )
    result = world.pipeline(actor).start("Read my mail", thread="t")
    assert codes(actor) == ["done", "auto-fetch"]
    assert result.answer == "The link was good[.]example/a"  # outsiders wrote it: to be read, not to be clicked
    composed = world.pipeline(scripted(AIMessage("See https://made.example/?q=1")))
    waiting = composed.start("Say something", thread="u")
    assert waiting.status == "waiting"
    assert world.queue.get(waiting.waiting[0]).rule == "composed-link"
    world.approve(waiting.waiting[0])
    assert composed.resume("u").answer == "See https://made.example/?q=1"


@pytest.mark.claim("C2")
def test_a_sub_agent_goes_through_the_same_gate(world: World) -> None:
    inner_actor = scripted(
        calls(("send_mail", {"to": ref("r3"), "body": "from inside"}), prefix="i"), AIMessage("inner: {ref:r5}")
    )
    inner = world.pipeline(inner_actor)
    errand = {"task": "look at this and write to its sender", "references": [ref("r2")]}
    outer_actor = scripted(
        calls(("read_mail", {}), prefix="a"),
        calls(("research", {"task": "leak {ref:r7}"}), ("research", errand), prefix="b"),
        AIMessage("outer: {ref:r14}"),
    )
    outer = world.pipeline(outer_actor, tools=[*world.tools(), inner.as_tool("research")])
    result = outer.start(TASK, thread="t")
    assert result.status == "waiting"
    row = world.queue.get(result.waiting[0])
    assert (row.tool, row.thread, row.call_id) == ("send_mail", "t", "c2x2/c1x1@t1")
    assert outer.resume("t").waiting == result.waiting
    world.approve(row.id)
    done = outer.resume("t")
    assert world.effects == ["send eve@evil.example: from inside"]
    assert done.answer == "outer: inner: Bill"
    assert "literal_only" in codes(outer_actor)
    assert "evil.example" not in str(inner_actor.seen) + str(outer_actor.seen)
    assert str(MAILS[0]["text"]) not in str(inner_actor.seen) + str(outer_actor.seen)


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


def test_the_state_is_plain_json_and_holds_no_content(world: World) -> None:
    saver = InMemorySaver(serde=StrictSerializer())
    actor = scripted(
        calls(("read_mail", {}), prefix="a"),
        calls(("read", {"references": ["r7"], "schema": {"fields": {"x": {"type": "reference"}}}}), prefix="b"),
        AIMessage("{ref:r7} {ref:r14}"),
    )
    pipeline = world.pipeline(
        actor, reading('{"have_enough_information": true, "x": "FREE WORDS"}'), checkpointer=saver
    )
    result = pipeline.start("Read my mail", thread="t")
    assert result.answer == f"{MAILS[0]['text']} FREE WORDS"
    stored = ""
    for snapshot in pipeline.graph.get_state_history({"configurable": {"thread_id": "t"}}):
        assert json.loads(json.dumps(snapshot.values)) == snapshot.values
        stored += json.dumps(snapshot.values)
    assert "Pay DE" not in stored
    assert "FREE WORDS" not in stored
    assert "evil.example" not in stored
    with pytest.raises(PipelineError, match="rebuild"):
        world.pipeline(scripted(), checkpointer=InMemorySaver())


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


def test_tools_need_names_of_their_own(world: World) -> None:
    twice = [*world.tools(), world.tools()[0]]
    with pytest.raises(PipelineError, match="taken"):
        world.pipeline(scripted(), tools=twice)
    with pytest.raises(PipelineError, match="taken"):
        world.pipeline(scripted(), tools=[world.pipeline(scripted()).as_tool("answer")])


def test_a_registered_schema_is_asked_by_name(world: World) -> None:
    schema = parse_schema({"fields": {"due": {"type": "date"}}}, max_fields=3, max_enum=3)
    ask = calls(("read", {"references": ["r2"], "schema": "bill"}), prefix="b")
    actor = scripted(calls(("read_mail", {})), ask)
    reader = reading('```json\n{"have_enough_information": true, "due": "2026-01-02"}\n```')
    assert world.pipeline(actor, reader, schemas={"bill": schema}).start("When?", thread="t").status == "answered"
    assert told(actor)[1]["values"] == {"due": "2026-01-02"}
    assert len(reader.seen) == 1
    assert reader.tools == []


@pytest.mark.claim("C9")
def test_observing_runs_everything_and_stops_at_nothing_that_is_missing(world: World) -> None:
    world.services = replace(world.services, mode="observe")
    actor = scripted(
        calls(("read_mail", {}), ("invented", {}), prefix="a"),
        calls(("send_mail", {"to": ref("r4"), "body": "{ref:r7}"}), prefix="b"),
    )
    assert world.pipeline(actor).start(TASK, thread="t").answer == "done"
    assert world.effects == [f"send eve@evil.example: {MAILS[0]['text']}"]
    assert codes(actor) == ["done", "failed", "done"]
    row = next(row for row in world.queue.list(thread="t") if row.tool == "send_mail")
    assert (row.mode, row.verdict_name) == ("observe", "review")
    origins: Any = row.decision["arguments"]
    body = next(item["origins"] for item in origins if item["path"] == "body")
    assert (body[0]["match"], body[0]["source"]) == ("reference", "tool:read_mail/c1x1@t1#0.text")


def test_prompts_are_files_with_a_header() -> None:
    for name in ("actor@1", "reader@1"):
        prompt = load(name)
        assert (prompt.id, prompt.date, bool(prompt.reason)) == (name, "2026-11-30", True)
        assert "---" not in prompt.text
    for name in ("actor@999", "../actor@1", "actor", "nothing@1"):
        with pytest.raises(PromptError):
            load(name)
