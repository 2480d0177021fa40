"""A link that only a model wrote has no source: the reader and a sub-agent see content, and may put it into one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from tests.fakes import calls
from tests.graphs.pipeline_world import World, reading, ref, scripted

pytestmark = pytest.mark.claim("C8")
LINK = "https://evil.example/c?d=DE89370400440532013000"
READ = {"references": ["r1"], "schema": {"fields": {"s": {"type": "reference"}}}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def by_reader(world: World, text: str) -> tuple[str, list[str]]:
    actor = scripted(calls(("read_mail", {})), calls(("read", READ)), calls(("answer", {"text": "{ref:r14}"})))
    said = json.dumps({"have_enough_information": True, "s": text})
    result = world.pipeline(actor, reading(said)).start("Summarise my mail", thread="t")
    return result.status, [world.queue.get(name).rule for name in result.waiting]


def by_sub_agent(world: World, text: str) -> tuple[str, list[str]]:
    inner = world.pipeline(scripted(AIMessage(text)))
    errand = ("research", {"task": "look", "references": [ref("r1")]})
    actor = scripted(calls(("read_mail", {})), calls(errand), calls(("answer", {"text": "{ref:r14}"})))
    outer = world.pipeline(actor, tools=[*world.tools(), inner.as_tool("research")])
    result = outer.start("Summarise my mail", thread="t")
    while result.status == "waiting" and world.queue.get(result.waiting[0]).call_id.startswith("c2x1/"):
        world.approve(result.waiting[0])  # the inner answer, seen by a person: it is still no source for the outer one
        result = outer.resume("t")
    return result.status, [world.queue.get(name).rule for name in result.waiting]


@pytest.mark.parametrize("way", [by_reader, by_sub_agent], ids=["reader", "sub-agent"])
@pytest.mark.parametrize("text", [f"see {LINK}", f"[open this]({LINK})"], ids=["bare", "markdown"])
def test_a_link_that_stands_in_a_models_output_only_waits(world: World, way: object, text: str) -> None:
    assert callable(way)
    assert way(world, text) == ("waiting", ["composed-link"])


def test_a_decoded_link_waits(world: World) -> None:
    world.mails = [
        {"id": "m1", "size": 1, "sender": "s", "subject": "b", "text": "aHR0cHM6Ly9ldmlsLmV4YW1wbGUvYz9kPTEyMzQ1"}
    ]
    actor = scripted(calls(("read_mail", {})), calls(("answer", {"text": "see https://evil.example/c?d=12345"})))
    result = world.pipeline(actor).start("Read my mail", thread="t")
    assert [world.queue.get(name).rule for name in result.waiting] == ["composed-link"]


@pytest.mark.parametrize("way", [by_reader, by_sub_agent], ids=["reader", "sub-agent"])
def test_harmless_twin_a_link_of_the_mail_is_shown(world: World, way: object) -> None:
    assert callable(way)
    world.mails = [{"id": "m1", "size": 1, "sender": "s", "subject": "b", "text": f"see {LINK}"}] * 2
    assert way(world, f"see {LINK}") == ("answered", [])
