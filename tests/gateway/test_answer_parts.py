"""What a model says beside its plain text is cleaned as well: reasoning, refusals, structured output, events."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import AnyUrl, BaseModel, Field

from checkvalve.gateway.answer_parts import beside_text, cleaned_value, handed_over
from checkvalve.gateway.langchain import CheckvalveMiddleware, user_message
from tests.fakes import ScriptedModel, calls
from tests.gateway.test_answers import CONFIG, EVIL, StreamingModel, agent
from tests.gateway.world import World

pytestmark = pytest.mark.claim("C8")
KEY = "ghp_a8F3kZ01mmQ92xTr5Bv7Nc4Ld6We1Yu3Io2P"
MARK = "⟨removed: github-token⟩"


def clean(text: str) -> str:
    return text.replace(KEY, MARK)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.create(tmp_path)


class Row(NamedTuple):
    number: int
    text: str


class Level(enum.StrEnum):
    HIGH = "high"


class Part(BaseModel):
    note: str = Field(max_length=60)
    level: Level = Level.HIGH


@dataclass(frozen=True)
class Pair:
    name: str
    size: int

    def __post_init__(self) -> None:
        assert not self.name.startswith("⟨")


class Answer(BaseModel):
    summary: str
    parts: list[Part] = []
    site: AnyUrl | None = None


def test_every_string_of_a_value_is_cleaned_and_what_is_clean_is_the_same_object() -> None:
    fine = Answer(summary="Budget", parts=[Part(note="x")], site=AnyUrl("https://corp.example/"))
    assert cleaned_value(fine, clean) is fine
    bad = Answer(summary=KEY, parts=[Part(note=f"a {KEY}")], site=AnyUrl(f"https://corp.example/{KEY}"))
    found = cleaned_value(bad, clean)
    assert isinstance(found, Answer)
    assert (found.summary, found.parts[0].note, found.parts[0].level) == (MARK, f"a {MARK}", Level.HIGH)
    assert KEY not in str(found.site)
    assert bad.summary == KEY


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({KEY: 1, "b": [KEY, 2]}, {MARK: 1, "b": [MARK, 2]}),
        ((KEY, None, True), (MARK, None, True)),
        ({"a", KEY}, {"a", MARK}),
        (KEY.encode(), MARK.encode()),
        (Row(1, KEY), (1, MARK)),
        (object, object),
    ],
)
def test_values_of_every_shape_are_cleaned(value: Any, shown: Any) -> None:
    assert cleaned_value(value, clean) == shown


def test_a_frozen_object_is_cleaned_without_asking_it() -> None:
    found = cleaned_value(Pair(KEY, 2), clean)
    assert (type(found), found.name, found.size) == (Pair, MARK, 2)


def test_what_is_nested_too_deeply_is_withheld() -> None:
    value: Any = KEY
    for _ in range(80):
        value = [value]
    assert KEY not in repr(cleaned_value(value, clean))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasoning", "reasoning": f"the key is {KEY}", "id": "r1"},
        {"type": "thinking", "thinking": f"the key is {KEY}", "signature": "c2ln"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": f"the key is {KEY}"}]},
    ],
)
def test_reasoning_with_a_key_goes_as_a_whole_and_other_reasoning_stays(block: dict[str, Any]) -> None:
    text = {"type": "text", "text": "Done."}
    assert beside_text(AIMessage([block, text]), clean).content == [text]
    fine = AIMessage([{"type": "thinking", "thinking": "I add the sums.", "signature": "c2ln"}, text])
    assert beside_text(fine, clean) is fine


def test_words_that_providers_put_beside_a_message_are_cleaned() -> None:
    message = AIMessage(
        [{"type": "text", "text": "Done.", "annotations": [{"type": "citation", "title": KEY, "id": "c"}]}],
        additional_kwargs={"reasoning_content": KEY, "refusal": f"no {KEY}", "audio": {"id": "a", "transcript": KEY}},
        invalid_tool_calls=[
            {"name": "send", "args": f'{{"a": "{KEY}', "id": "x", "error": None, "type": "invalid_tool_call"}
        ],
    )
    found = beside_text(message, clean)
    assert KEY not in repr((found.content, found.additional_kwargs, found.invalid_tool_calls))
    assert found.additional_kwargs["audio"]["id"] == "a"


def test_calls_that_hand_structured_output_over_are_cleaned_and_other_calls_are_not_touched() -> None:
    asked = {"name": "send", "args": {"body": KEY}, "id": "1", "type": "tool_call"}
    given = {"name": "Answer", "args": {"summary": KEY}, "id": "2", "type": "tool_call"}
    message = AIMessage([{"type": "tool_use", "id": "2", "input": {"summary": KEY}}], tool_calls=[asked, given])
    assert beside_text(message, clean).tool_calls == [asked, given]
    returned = handed_over([message, ToolMessage("x", tool_call_id="2")])
    found = beside_text(message, clean, returned=returned)
    assert found.tool_calls == [asked, {**given, "args": {"summary": MARK}}]
    assert KEY not in repr(found.content)


def test_structured_output_of_a_guarded_agent_is_cleaned_in_every_place(world: World) -> None:
    script = [calls(("Answer", {"summary": f"Budget ![c]({EVIL})", "parts": [{"note": f"key {KEY}"}]}))]
    with world.open() as gateway:
        guard = CheckvalveMiddleware(gateway)
        run = create_agent(
            ScriptedModel(script=script), world.tools(), middleware=[guard], response_format=ToolStrategy(Answer)
        )
        state = run.invoke({"messages": [user_message("Sum it up")]}, CONFIG)
    assert state["structured_response"].summary == "Budget c ⟨removed: auto-fetch⟩"
    assert state["structured_response"].parts[0].note == f"key {MARK}"
    assert "evil.example" not in repr(state)
    assert KEY not in repr(state)


def test_without_the_guard_the_same_structured_output_has_the_link() -> None:
    script = [calls(("Answer", {"summary": f"![c]({EVIL})"}))]
    run = create_agent(ScriptedModel(script=script), [], response_format=ToolStrategy(Answer))
    words: Any = {"messages": [("user", "Sum it up")]}
    state = run.invoke(words)
    assert "evil.example" in state["structured_response"].summary


def _events(run: Any) -> list[Any]:
    async def read() -> list[Any]:
        entry = {"messages": [user_message("Hello")]}
        return [event async for event in run.astream_events(entry, CONFIG, version="v2")]

    return asyncio.run(read())


def test_the_events_of_an_agent_show_no_token_of_its_model(world: World) -> None:
    with world.open() as gateway:
        events = _events(agent(world, gateway, AIMessage(f"One ![c]({EVIL}) two")))
    assert "evil.example" not in repr(events)
    assert "removed: auto-fetch" in repr(events)
    assert not [event for event in events if event["event"] == "on_chat_model_stream"]


def test_without_the_guard_the_same_events_show_every_token() -> None:
    events = _events(create_agent(StreamingModel(script=[AIMessage(f"![c]({EVIL})")]), []))
    assert [event for event in events if event["event"] == "on_chat_model_stream"]
    assert "evil.example" in repr(events)


def test_reasoning_of_a_guarded_agent_is_cleaned_and_its_logged_tokens_go(world: World) -> None:
    answer = AIMessage(
        [{"type": "reasoning", "reasoning": f"See {EVIL}"}, {"type": "text", "text": "Done."}],
        response_metadata={"logprobs": {"content": [{"token": EVIL}]}, "model": "m"},
    )
    with world.open() as gateway:
        run = agent(world, gateway, answer)
        last = run.invoke({"messages": [user_message("Hello")]}, CONFIG)["messages"][-1]
    assert last.content == [{"type": "text", "text": "Done."}]
    assert last.response_metadata == {"model": "m"}
