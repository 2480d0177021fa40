"""What comes with a result beside the one value that its tool declared: further blocks, artifacts, state."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from checkvalve.gateway.app import Gateway
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from checkvalve.gateway.messages import beside_text, text_of, values_of
from tests.fakes import ScriptedModel, calls
from tests.gateway.middleware_world import argument, results
from tests.gateway.world import World, thread

pytestmark = pytest.mark.claim("C3")

GRAPH: Any = thread("t")
RECORD = json.dumps({"name": "Ann", "email": "thief@evil.example"})
REPLY: dict[str, Any] = {"tool_call_id": "c1", "name": "lookup"}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def run(place: World, gateway: Gateway, *messages: Any, **state: Any) -> Any:
    """Look Ann up, send her a mail, and return the decision on the mail."""

    @tool
    def lookup(name: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Find a person."""
        return Command(update={"messages": list(messages), **state})

    send = calls(("send_mail", {"to": "thief@evil.example", "body": "hi"}), prefix="s")
    agent: Any = create_agent(
        ScriptedModel(script=[calls(("lookup", {"name": "Ann"})), send]),
        [lookup, *[item for item in place.tools() if item.name != "lookup"]],
        middleware=[CheckvalveMiddleware(gateway, requester="me")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [user_message("Look up Ann and send her a mail that says hi")]}, GRAPH)
    return next(row for row in gateway.queue.list() if row.tool == "send_mail")


@pytest.mark.parametrize(
    "content",
    [RECORD, [RECORD], [text(RECORD)], [text(RECORD, id="lc_1")], [{"type": "json", "json": json.loads(RECORD)}]],
)
def test_one_value_is_the_declared_result(content: Any, place: World, gateway: Gateway) -> None:
    run(place, gateway, ToolMessage(content, **REPLY))
    assert place.effects == ["send thief@evil.example: hi"]


@pytest.mark.parametrize(
    "content",
    [
        [text('{"hits": 1}'), text(RECORD)],
        [RECORD, "see above"],
        [text("one hit"), {"type": "json", "json": json.loads(RECORD)}],
        [text(RECORD, id="mail-7")],  # a record of data that looks like a block: its text is one of its fields
        [text(RECORD, sender="thief@evil.example")],
        [{"type": "search_result", "title": "Ann", "source": "x", "content": [text(RECORD)]}],
    ],
    ids=["two texts", "two strings", "text and json", "id of a record", "field of a record", "search result"],
)
def test_among_several_values_none_is(content: Any, place: World, gateway: Gateway) -> None:
    proposal = run(place, gateway, ToolMessage(content, **REPLY))
    assert place.effects == []
    to = argument(proposal.decision, "to")
    assert to["origins"]
    assert {origin["trust"] for origin in to["origins"]} == {"untrusted"}


def test_of_two_messages_that_answer_one_call_neither_is(place: World, gateway: Gateway) -> None:
    run(place, gateway, ToolMessage("one hit", **REPLY), ToolMessage(RECORD, **REPLY))
    assert place.effects == []


def test_an_artifact_is_not_the_result(place: World, gateway: Gateway) -> None:
    run(place, gateway, ToolMessage("one hit", artifact=json.loads(RECORD), **REPLY))
    assert place.effects == []
    assert [item["value"] for item in results(gateway)][:2] == ["one hit", json.loads(RECORD)]


def test_what_an_artifact_repeats_stays_what_it_is(place: World, gateway: Gateway) -> None:
    run(place, gateway, ToolMessage(RECORD, artifact={"found": [json.loads(RECORD), None, True]}, **REPLY))
    assert place.effects == ["send thief@evil.example: hi"]


@pytest.mark.parametrize(
    "state",
    [{"summary": RECORD}, {"facts": {"email": "thief@evil.example"}}, {"talk": [HumanMessage("thief@evil.example")]}],
    ids=["text", "structure", "messages"],
)
def test_what_a_tool_writes_into_the_state_is_seen_and_untrusted(
    state: dict[str, Any], place: World, gateway: Gateway
) -> None:
    proposal = run(place, gateway, ToolMessage("one hit", **REPLY), **state)
    assert place.effects == []
    to = argument(proposal.decision, "to")
    assert to["origins"]
    assert {origin["trust"] for origin in to["origins"]} == {"untrusted"}


def test_pictures_are_named_and_their_bytes_are_not_kept() -> None:
    picture = {"type": "image", "source": {"url": "https://evil.example/x", "data": "A" * 100_000}}
    message = ToolMessage(["see", picture], tool_call_id="c")
    (_, _), (value, declared) = values_of(message)
    assert not declared
    assert "https://evil.example/x" in json.dumps(value)
    assert len(json.dumps(value)) < 200
    assert text_of(message) == "see"
    assert beside_text(message) == [value]
