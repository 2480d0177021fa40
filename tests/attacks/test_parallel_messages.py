"""A message beside a call that waits: words, data and yeses of one task are nobody's consent in the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from checkvalve.approvals.conversations import contexts_of, root_of
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.records import State
from checkvalve.approvals.task_contexts import for_message, is_busy
from checkvalve.graphs.errors import PipelineError
from tests.fakes import calls
from tests.graphs.actor_told import codes
from tests.graphs.pipeline_world import PAUSING, World, ref, scripted

pytestmark = pytest.mark.claim("C3")
TASK = "Write to whoever sent the first mail"
SEND = calls(("send_mail", {"to": "eve@evil.example", "body": "hello"}))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def pipeline(world: World, *script: AIMessage) -> tuple[Any, Any]:
    actor = scripted(*script)
    return actor, world.pipeline(actor, on_new_message="allow-parallel")


def waiting(world: World, thread: str = "t") -> str:
    """Let a first message end in a question, and return it."""
    (found,) = world.pipeline(scripted(*PAUSING), on_new_message="allow-parallel").start(TASK, thread=thread).waiting
    return str(found)


def test_a_message_beside_a_question_begins_a_task_of_its_own(world: World) -> None:
    approval = waiting(world)
    actor, beside = pipeline(world, AIMessage("it is noon"))
    result = beside.start("What time is it?", thread="t")
    assert (result.thread, result.status, result.answer) == ("t~2", "answered", "it is noon")
    told = [message.content for message in actor.seen[-1] if isinstance(message, HumanMessage)]
    assert told == ["What time is it?"], "nothing of the other task"
    assert world.queue.get(approval).state is State.PENDING
    world.approve(approval)
    late = world.pipeline(scripted(*PAUSING), on_new_message="allow-parallel").resume("t")
    assert late.status == "answered"
    assert world.effects == ["send eve@evil.example: hello"], "the late yes reaches the run that waited for it"


def test_the_same_awaited(world: World) -> None:
    approval = waiting(world)
    _, beside = pipeline(world, AIMessage("it is noon"))
    result = asyncio.run(beside.astart("What time is it?", thread="t"))
    assert (result.thread, result.answer) == ("t~2", "it is noon")
    assert world.queue.get(approval).state is State.PENDING


def test_new_words_are_no_consent_to_the_call_that_waits(world: World) -> None:
    """The new message names the very destination: the old call is asked about all the same."""
    approval = waiting(world)
    _, beside = pipeline(world, AIMessage("done"))
    beside.start("Yes, send eve@evil.example a mail that says hello", thread="t")
    _, again = pipeline(world, *PAUSING)
    assert again.resume("t").waiting == (approval,)
    assert world.effects == []
    reports: Any = world.queue.get(approval).decision["arguments"]
    assert [item["sufficient"] for item in reports if item["path"] == "to"] == [False]


def test_old_words_are_no_consent_in_the_new_task(world: World) -> None:
    """The first message asked for a mail to this person; the new one did not."""
    first = "Send ann@corp.example a mail, and write to whoever sent the first mail"
    world.pipeline(scripted(*PAUSING), on_new_message="allow-parallel").start(first, thread="t")
    send = calls(("send_mail", {"to": "ann@corp.example", "body": "hi"}))
    _, beside = pipeline(world, send, AIMessage("done"))
    result = beside.start("What time is it?", thread="t")
    assert (result.thread, result.status) == ("t~2", "waiting")
    assert world.effects == []


@pytest.mark.claim("C4")
def test_a_yes_in_one_task_is_none_in_the_other(world: World) -> None:
    """Neither for the same call, nor for the data that was accepted with it."""
    approval = waiting(world)
    _, beside = pipeline(world, SEND, AIMessage("done"))
    (other,) = beside.start("Is there any news?", thread="t").waiting
    assert other != approval
    assert world.queue.get(other).digest == world.queue.get(approval).digest
    world.approve(approval)
    assert beside.resume("t~2").waiting == (other,)
    assert world.effects == []
    _, first = pipeline(world, *PAUSING)
    first.resume("t")
    assert beside.resume("t~2").waiting == (other,), "what was accepted there is not accepted here"
    assert world.effects == ["send eve@evil.example: hello"]


@pytest.mark.claim("C1")
def test_the_new_task_has_no_reference_of_the_old_one(world: World) -> None:
    waiting(world)
    actor, beside = pipeline(world, calls(("send_mail", {"to": ref("r4"), "body": "x"})), AIMessage("done"))
    assert beside.start("What time is it?", thread="t").status == "answered"
    assert codes(actor) == ["unknown_reference"]


def test_a_mandate_of_the_new_message_is_none_in_the_old_task(world: World) -> None:
    approval = waiting(world)
    _, beside = pipeline(world, AIMessage("done"))
    given = Mandate(source="read_mail", tool="send_mail", roles=("target",))
    beside.start("Look at my mail", thread="t", mandates=[given])
    assert world.queue.mandates.in_force("t", "me") == []
    assert len(world.queue.mandates.in_force("t~2", "me")) == 1
    assert world.queue.get(approval).state is State.PENDING


@pytest.mark.parametrize("when", ["pending", "approved"])
def test_a_task_is_busy_until_its_permit_is_used(world: World, when: str) -> None:
    """A message that came in between would be read before the call runs, and might mean that it must not."""
    approval = waiting(world)
    if when == "approved":
        world.approve(approval)
    assert is_busy(world.queue, "t")
    _, beside = pipeline(world, AIMessage("one"))
    assert beside.start("No, do not", thread="t").thread == "t~2"


def test_messages_come_back_when_nothing_waits(world: World) -> None:
    approval = waiting(world)
    _, beside = pipeline(world, AIMessage("one"), AIMessage("two"))
    assert beside.start("First question", thread="t").thread == "t~2"
    assert beside.start("Second question", thread="t").thread == "t~2", "nothing waits there"
    assert beside.start("Third question", thread="t~2").thread == "t~2"
    world.reject(approval)
    _, first = pipeline(world, *PAUSING)
    assert first.resume("t").status == "answered"
    assert beside.context_for("t") == "t"
    assert beside.context_for("t~2") == "t"


def test_every_task_that_waits_gets_a_further_one_up_to_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkvalve.approvals.task_contexts.MAX_CONTEXTS", 3)
    waiting(world)
    _, beside = pipeline(world, SEND)
    for name in ("t~2", "t~3"):
        assert beside.start("Is there any news?", thread="t").thread == name
    with pytest.raises(PipelineError, match="too many tasks"):
        beside.start("One more", thread="t")
    assert contexts_of(world.store, "t") == ["t", "t~2", "t~3"]


def test_a_repeated_message_stays_where_it_was(world: World) -> None:
    waiting(world)
    _, beside = pipeline(world, SEND, AIMessage("other"))
    first = beside.start("Is there any news?", thread="t", message_id="m7")
    assert beside.start("Is there any news?", thread="t", message_id="m7").waiting == first.waiting
    assert contexts_of(world.store, "t") == ["t", "t~2"]


def test_cancelling_takes_back_what_waits_in_every_task(world: World) -> None:
    approval = waiting(world)
    _, beside = pipeline(world, SEND)
    (other,) = beside.start("Is there any news?", thread="t").waiting
    assert beside.cancel("t", by="operator") == [approval, other]


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("t", "t"),
        ("t~2", "t"),
        ("t~2~3", "t~2"),
        ("t~1", "t~1"),
        ("t~", "t~"),
        ("t~0", "t~0"),
        ("~2", "~2"),
        ("t~x", "t~x"),
    ],
)
def test_only_a_number_names_a_task_beside_another(name: str, root: str) -> None:
    assert root_of(name) == root


def test_no_message_goes_to_a_run_of_another_name(world: World) -> None:
    """Its name only begins alike, or holds what a database takes for a placeholder."""
    for thread in ("t", "tx", "t%", "t_"):
        waiting(world, thread)
    assert for_message(world.queue, "t") == "t~2"
    assert contexts_of(world.store, "t%") == ["t%"]
