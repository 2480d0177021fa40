"""The gate in front of a plain ToolNode: one task for all calls, so everything starts again on a resume."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from checkvalve.approvals.records import State
from checkvalve.gateway.app import Gateway
from checkvalve.gateway.messages import user_message
from checkvalve.gateway.toolnode import guarded_tool_node
from tests.fakes import calls
from tests.gateway.world import World, thread

GRAPH: Any = thread("t")
ASK = user_message("Send a mail to ann@corp.example that says buy fresh milk, and write a note: buy fresh milk")
BATCH = calls(
    ("note", {"text": "buy fresh milk"}),
    ("send_mail", {"to": "thief@evil.example", "body": "one"}),
    ("send_mail", {"to": "crook@evil.example", "body": "two"}),
)


class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]


def graph(place: World, gateway: Gateway, **options: Any) -> Any:
    builder = StateGraph(Talk)
    builder.add_node("tools", guarded_tool_node(place.tools(), gateway, requester="me", **options))
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=InMemorySaver())


def approve(gateway: Gateway, token: str, to: str) -> None:
    reviewer = gateway.queue.reviewers.authenticate(token)
    (proposal,) = [row for row in gateway.queue.list([State.PENDING]) if row.args()["to"] == to]
    gateway.queue.approve(proposal.id, reviewer, proposal.digest)


@pytest.mark.claim("C4")
def test_three_parallel_calls_with_two_questions_run_once_each(place: World, gateway: Gateway) -> None:
    token = gateway.queue.reviewers.add("ann")
    agent = graph(place, gateway)
    agent.invoke({"messages": [ASK, BATCH]}, GRAPH)
    assert place.effects == ["note buy fresh milk"]
    state: Any = {}
    for address in ("thief@evil.example", "crook@evil.example"):
        approve(gateway, token, address)
        state = agent.invoke(Command(resume=True), GRAPH)
    assert place.effects == [
        "note buy fresh milk",
        "send thief@evil.example: one",
        "send crook@evil.example: two",
    ]
    found = [message.content for message in state["messages"] if isinstance(message, ToolMessage)]
    assert found == ["noted: buy fresh milk", "sent to thief@evil.example", "sent to crook@evil.example"]


def test_a_question_can_be_returned_instead(place: World, gateway: Gateway) -> None:
    agent = graph(place, gateway, on_review="return")
    state = agent.invoke({"messages": [ASK, BATCH]}, GRAPH)
    assert [message.status for message in state["messages"][2:]] == ["success", "error", "error"]
    assert "pending" in state["messages"][-1].content


def test_a_node_that_is_awaited_is_guarded_alike(place: World, gateway: Gateway) -> None:
    node = guarded_tool_node(place.tools(), gateway)
    builder = StateGraph(Talk)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    agent = builder.compile()
    state = asyncio.run(agent.ainvoke({"messages": [ASK, calls(("read_mail", {}))]}, GRAPH))
    assert place.effects == ["read"]
    assert isinstance(state["messages"][-1], ToolMessage)


def test_only_declared_words_count_in_a_plain_graph(place: World, gateway: Gateway) -> None:
    agent = graph(place, gateway, on_review="return")
    send = AIMessage("", tool_calls=calls(("send_mail", {"to": "ann@corp.example", "body": "x"})).tool_calls)
    agent.invoke({"messages": [HumanMessage("Send a mail to ann@corp.example"), send]}, GRAPH)
    assert place.effects == []


def test_another_key_of_the_state_may_hold_the_conversation(place: World, gateway: Gateway) -> None:
    class Other(TypedDict):
        talk: Annotated[list[Any], add_messages]

    builder = StateGraph(Other)
    builder.add_node("tools", guarded_tool_node(place.tools(), gateway, messages_key="talk"))
    builder.add_edge(START, "tools")
    send = calls(("send_mail", {"to": "ann@corp.example", "body": "buy fresh milk"}))
    builder.compile().invoke({"talk": [ASK, send]}, GRAPH)
    assert place.effects == ["send ann@corp.example: buy fresh milk"]
