"""A checkpoint that was tampered with: what belongs to another thread is neither used nor changed from here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import State
from checkvalve.graphs.errors import PipelineError
from tests.fakes import calls
from tests.graphs.pipeline_world import World, scripted

pytestmark = pytest.mark.claim("C2", "C9")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("status", ["ready", "pending"])
def test_an_approval_of_another_thread_is_left_alone(world: World, status: str) -> None:
    turn = calls(("send_mail", {"to": "x@y.example", "body": "zz"}))
    theirs = world.pipeline(scripted(turn)).start("Hi", thread="u").waiting[0]
    world.approve(theirs)
    pipeline = world.pipeline(scripted(turn))
    pipeline.start("Hi", thread="v")
    config: Any = {"configurable": {"thread_id": "v"}}
    item = {**pipeline.graph.get_state(config).values["requests"][0], "approval": theirs, "status": status}
    pipeline.graph.update_state(config, {"requests": [item]}, as_node="gate")
    with pytest.raises(PipelineError, match="another thread"):
        pipeline.resume("v")
    assert (world.effects, world.queue.get(theirs).state) == ([], State.APPROVED)


def test_a_state_of_another_thread_is_refused(world: World) -> None:
    pipeline = world.pipeline(scripted())
    pipeline.start("Hi", thread="x")
    pipeline.graph.update_state({"configurable": {"thread_id": "x"}}, {"thread": "t"}, as_node="ingest")
    with pytest.raises(PipelineError, match="another thread"):
        pipeline.resume("x")


def test_harmless_twin_the_own_approval_is_used(world: World) -> None:
    pipeline = world.pipeline(scripted(calls(("send_mail", {"to": "x@y.example", "body": "zz"}))))
    world.approve(pipeline.start("Hi", thread="v").waiting[0])
    assert pipeline.resume("v").status == "answered"
    assert world.effects == ["send x@y.example: zz"]
