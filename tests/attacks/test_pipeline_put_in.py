"""The actor sees no content, so it can send what it put in, and nothing else: of that, every field counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkvalve.approvals.fieldspec import ResultField
from checkvalve.approvals.toolspec import Manifest
from tests.fakes import calls
from tests.graphs.pipeline_world import World, ref, scripted

pytestmark = pytest.mark.claim("C1", "C3")
SECRET = 'line one\nline "two" of owner only text'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.mails = [
        {"id": f"m{number}", "size": 1, "sender": "a@b.example", "subject": "s", "text": SECRET} for number in (1, 2)
    ]
    yield made
    made.store.close()


def send(world: World, body: Any, *before: AIMessage) -> str:
    """Let the actor write to whom the user chose; return the rule that stopped it, if any."""
    turns: Sequence[AIMessage] = before or (calls(("read_mail", {}), ("contacts", {}), prefix="a"),)
    actor = scripted(*turns, calls(("send_mail", {"to": "jane@home.example", "body": body}), prefix="b"))
    result = world.pipeline(actor).start("Write to jane@home.example how things are", thread="t")
    assert any(isinstance(message, ToolMessage) for message in actor.seen[-1])
    return world.queue.get(result.waiting[0]).rule if result.waiting else ""


PEOPLE = " ".join(f"{{ref:r{number}}}" for number in range(15, 21))
"""The address book, which everybody of the domain may read."""


@pytest.mark.parametrize(
    "body",
    [
        ref("r7"),
        "It says {ref:r7}",
        "It says {ref:r2}",  # a whole record, whose text is escaped inside it
        {"x": [ref("r1")]},
        f"{'{ref:r17} ' * 30}{{ref:r7}}",  # behind more references than are kept as origins
        f"{PEOPLE * 5} {{ref:r1}}",
    ],
    ids=range(6),
)
def test_private_data_counts_however_it_is_put_in(world: World, body: Any) -> None:
    assert send(world, body) == "readers"
    assert world.effects == []


@pytest.mark.parametrize("body", [ref("r2"), "it is {ref:r2}", {"x": ref("r1")}], ids=str)
def test_so_does_a_key_that_is_data(world: World, body: Any) -> None:
    manifest = world.services.manifest
    private = manifest.tools["read_mail"].model_copy(update={"result": (ResultField(path="**", readers="owner"),)})
    manifest = Manifest(**{**dict(manifest), "tools": {**manifest.tools, "read_mail": private}})
    world.services = replace(world.services, manifest=manifest)
    world.mails = [{"4237-4252": None}]
    assert send(world, body) == "readers"
    assert world.effects == []


@pytest.mark.parametrize("body", ["Things are fine here, thank you", "I know {ref:r18}"], ids=range(2))
def test_harmless_twin_what_was_not_put_in_does_not_count(world: World, body: str) -> None:
    assert send(world, body) == ""
    assert len(world.effects) == 1
