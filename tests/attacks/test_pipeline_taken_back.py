"""A yes that the user has taken back runs nothing, although a reviewer gave it before that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage

from checkvalve.approvals.records import State
from checkvalve.graphs import saying
from checkvalve.graphs.errors import PipelineError
from tests.graphs.pipeline_world import PAUSING, World, scripted

pytestmark = pytest.mark.claim("C2")
TASK = "Write to whoever sent the first mail"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("way", ["cancel", "supersede"])
def test_an_unused_permit_is_taken_back(world: World, way: str) -> None:
    actor = scripted(*PAUSING)
    pipeline = world.pipeline(actor, on_new_message="supersede")
    approval = pipeline.start(TASK, thread="t").waiting[0]
    world.approve(approval)
    if way == "cancel":
        assert pipeline.cancel("t", by="operator") == [approval]
    else:
        pipeline.tell("No, do not write to anybody", thread="t")
    assert world.queue.get(approval).state is State.INVALIDATED
    assert pipeline.resume("t").status == "answered"
    assert world.effects == []
    told = [json.loads(str(m.content)) for m in actor.seen[-1] if isinstance(m, ToolMessage)]
    assert told[-1]["code"] == "invalidated"


@pytest.mark.parametrize("way", ["cancel", "supersede"])
def test_another_threads_permit_stays(world: World, way: str) -> None:
    pipeline = world.pipeline(scripted(*PAUSING), on_new_message="supersede")
    approval = pipeline.start(TASK, thread="t").waiting[0]
    world.approve(approval)
    if way == "cancel":
        pipeline.cancel("u", by="operator")
    else:
        pipeline.tell("No", thread="u")
    assert world.queue.get(approval).state is State.APPROVED


def test_harmless_twin_a_permit_that_nobody_took_back_is_used(world: World) -> None:
    pipeline = world.pipeline(scripted(*PAUSING), on_new_message="supersede")
    world.approve(pipeline.start(TASK, thread="t").waiting[0])
    assert pipeline.resume("t").status == "answered"
    assert world.effects == ["send eve@evil.example: hello"]


@pytest.mark.parametrize("permit", [False, True])
def test_a_message_that_is_sent_again_takes_nothing_back_that_it_asked_itself(world: World, permit: bool) -> None:
    """A client that got no answer sends it once more, under its id: that is no new message."""
    pipeline = world.pipeline(scripted(*PAUSING), on_new_message="supersede")
    (approval,) = pipeline.start(TASK, thread="t", message_id="m1").waiting
    if permit:
        world.approve(approval)
    assert pipeline.tell(TASK, thread="t", message_id="m1") == "t"
    assert world.queue.get(approval).state is (State.APPROVED if permit else State.PENDING)
    with pytest.raises(PipelineError, match="other words were said under this message_id"):
        pipeline.tell("No, do not write to anybody", thread="t", message_id="m1")
    assert world.queue.get(approval).state is (State.APPROVED if permit else State.PENDING)
    pipeline.tell("No, do not write to anybody", thread="t", message_id="m2")
    assert world.queue.get(approval).state is (State.INVALIDATED if permit else State.SUPERSEDED)


def test_what_a_process_that_died_took_back_is_said_by_the_retry(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = world.pipeline(scripted(*PAUSING), on_new_message="supersede")
    (approval,) = pipeline.start(TASK, thread="t").waiting
    with monkeypatch.context() as dying:
        dying.setattr(saying, "add_message", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            pipeline.tell("Stop", thread="t", message_id="m2")
    pipeline.tell("Stop", thread="t", message_id="m2")
    assert world.queue.get(approval).state is State.SUPERSEDED
    assert pipeline.resume("t").status == "answered"
    assert world.effects == []
