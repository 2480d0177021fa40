"""The account of a source holds for all agents of a thread, and for everything that a comparison tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkvalve.graphs.limits import PipelineLimits
from tests.fakes import calls
from tests.graphs.pipeline_world import FunctionModel, World, reading, ref, scripted

pytestmark = pytest.mark.claim("C1")
NOTHING = PipelineLimits(bits_per_source=0)
FIT = ("select", {"reference": "r1", "where": [{"field": "sender", "value": "eve@evil.example"}]})
PROBES: list[tuple[str, dict[str, Any]]] = [
    FIT,
    ("select", {"reference": "r1", "where": [FIT[1]["where"][0], {"field": "id", "op": "lt", "value": 5}]}),
    ("select", {"reference": "r1", "where": [{"field": "size", "op": "lt", "value": ref("r6")}]}),
    ("each", {"reference": "r8", "field": "nosuch"}),
    ("select", {"reference": "r8", "pick": {"field": "nosuch", "most": "max"}}),
    ("join", {"left": "r8", "right": "r1", "left_field": "id", "right_field": "id"}),
    ("read", {"references": ["r8"], "schema": {"fields": {"x": {"type": "bool"}}}}),
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def told(actor: FunctionModel) -> list[dict[str, Any]]:
    return [json.loads(str(m.content)) for m in actor.seen[-1] if isinstance(m, ToolMessage)]


def test_without_bits_no_probe_tells_anything(world: World) -> None:
    views = []
    for sender, subject in (("eve@evil.example", "2026-05-04"), ("bob@evil.example", "2026 05-04")):
        world.mails = [{"id": "m1", "size": 1, "sender": sender, "subject": subject, "text": "t"}]
        actor = scripted(calls(("read_mail", {})), *(calls(probe) for probe in PROBES))
        said = json.dumps({"have_enough_information": True, "x": True})
        world.pipeline(actor, reading(said), limits=NOTHING).start("Read my mail", thread=sender)
        views.append(told(actor))
    assert views[0] == views[1]


def test_a_pairing_is_charged_by_how_many_there_are(world: World) -> None:
    world.mails = [
        {"id": f"m{n}", "size": 1, "sender": f"s{n}@x.example", "subject": "s", "text": "t"} for n in range(8)
    ]
    both = {"left": "r1", "right": "r1", "left_field": "sender", "right_field": "sender"}
    actor = scripted(calls(("read_mail", {})), calls(("join", both)))
    result = world.pipeline(actor).start("Read my mail", thread="t")
    assert 50 < dict(result.bits)["read_mail"] <= 65


def test_sub_agents_share_the_account(world: World) -> None:
    ask = ("read", {"references": ["r1"], "schema": {"fields": {"x": {"type": "number", "min": 0, "max": 2**20}}}})
    said = json.dumps({"have_enough_information": True, "x": 5})
    inner_actor = scripted(calls(ask), calls(ask), AIMessage("done"))
    inner = world.pipeline(inner_actor, reading(said))
    errands = [calls(("research", {"task": "look", "references": [ref("r1")]})) for _ in range(3)]
    actor = scripted(calls(("read_mail", {})), *errands)
    result = world.pipeline(actor, tools=[*world.tools(), inner.as_tool("research")]).start("Look", thread="t")
    assert 40 < dict(result.bits)["read_mail"] <= 64


def test_harmless_twin_a_comparison_that_fits_is_shown(world: World) -> None:
    actor = scripted(calls(("read_mail", {})), calls(FIT))
    result = world.pipeline(actor).start("Read my mail", thread="t")
    assert [item["ref"] for item in told(actor)[1]["result"]["items"]] == ["r2"]
    assert dict(result.bits) == {"read_mail": 2.0}
