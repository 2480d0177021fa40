"""A person edits what the pipeline proposed: what runs, and that no typed character reaches the actor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import EditRefusedError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.edited import deciding
from tests.fakes import calls
from tests.graphs.pipeline_world import FunctionModel, World, ref, scripted

pytestmark = pytest.mark.claim("C1", "C4")
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def colleague(world: World) -> Reviewer:
    return world.queue.reviewers.authenticate(world.queue.reviewers.add("ben", by=world.reviewer()))


def changed(world: World, name: str, args: Mapping[str, JSON]) -> Proposal:
    """Let a colleague edit a call, and the first reviewer approve what it became."""
    row = world.queue.get(name)
    made = edit(world.queue, row.id, colleague(world), row.digest, args, deciding(world.services))
    world.approve(made.id)
    return made


def seen(actor: FunctionModel) -> str:
    return "\n".join(str(message.content) for asked in actor.seen for message in asked)


def test_the_edited_call_runs_and_the_actor_learns_which_argument_it_was(world: World) -> None:
    actor = scripted(
        calls(("read_mail", {}), prefix="a"),
        calls(("send_mail", {"to": ref("r4"), "body": "hello"}), prefix="b"),
        AIMessage("done"),
    )
    pipeline = world.pipeline(actor)
    waiting = pipeline.start("Read my mail and send a mail", thread="t").waiting
    made = changed(world, waiting[0], {"to": "typed@corp.example", "body": "hello"})
    result = pipeline.resume("t")
    assert (result.status, world.effects) == ("answered", ["send typed@corp.example: hello"])
    assert '"edited": ["to"]' in seen(actor)
    assert "typed@" not in seen(actor)
    assert world.queue.get(made.id).state is State.SUCCEEDED
    assert verify(world.store).ok


def test_a_run_waits_for_the_edit_under_its_own_id(world: World) -> None:
    pipeline = world.pipeline(scripted(calls(("send_mail", {"to": "x@y.example", "body": "zz"}))))
    (name,) = pipeline.start("Hi", thread="t").waiting
    row = world.queue.get(name)
    made = edit(
        world.queue, name, colleague(world), row.digest, {"to": "z@y.example", "body": "zz"}, deciding(world.services)
    )
    for result in (pipeline.look("t"), pipeline.resume("t"), pipeline.resume("t")):
        assert (result.status, result.waiting) == ("waiting", (made.id,))
    assert world.effects == []
    world.reject(made.id)
    assert pipeline.resume("t").status == "answered"
    assert world.effects == []


def test_an_edited_answer_is_handed_out_cleaned(world: World) -> None:
    pipeline = world.pipeline(scripted(AIMessage("See https://made.example/?q=1")))
    (name,) = pipeline.start("Say something", thread="t").waiting
    with pytest.raises(EditRefusedError):
        changed(world, name, {"text": "![x](https://evil.example/p.png)"})
    made = edit(
        world.queue,
        name,
        world.queue.reviewers.authenticate(world.queue.reviewers.add("zoe", by=world.reviewer())),
        world.queue.get(name).digest,
        {"text": "Nothing to see"},
        deciding(world.services),
    )
    world.approve(made.id)
    assert pipeline.resume("t").answer == "Nothing to see"


@pytest.mark.claim("C2")
@pytest.mark.parametrize("forged", [{"edited": ["to"]}, {"edited": []}, {}])
def test_a_forged_mark_in_the_state_runs_no_other_call(forged: dict[str, Any], world: World) -> None:
    """Two calls wait in one thread; the state is made to say that the approved one is an edit of the other."""
    turn = calls(("send_mail", {"to": "x@y.example", "body": "1"}), ("send_mail", {"to": "z@y.example", "body": "2"}))
    pipeline = world.pipeline(scripted(turn))
    pipeline.start("Hi", thread="t")
    first, second = pipeline.graph.get_state(CONFIG).values["requests"]
    world.approve(second["approval"])
    items = [{**first, "approval": second["approval"], "status": "ready", **forged}, {**second, "status": "done"}]
    pipeline.graph.update_state(CONFIG, {"requests": items}, as_node="gate")
    pipeline.resume("t")
    assert world.effects == []
    assert world.queue.get(second["approval"]).state is State.INVALIDATED


def test_what_a_sub_agent_is_given_cannot_be_typed(world: World) -> None:
    inner = world.pipeline(scripted(AIMessage("inner")))
    manifest = world.services.manifest
    strict = manifest.model_copy(
        update={
            "tools": {
                **manifest.tools,
                "research": manifest.tools["research"].model_copy(update={"leaves_domain": True}),
            }
        }
    )
    world.services = type(world.services)(**{**vars(world.services), "manifest": strict})
    outer = world.pipeline(
        scripted(
            calls(("read_mail", {}), prefix="a"),
            calls(("research", {"task": "x", "references": [ref("r2")]}), prefix="b"),
        ),
        tools=[*world.tools(), inner.as_tool("research")],
    )
    result = outer.start("Read my mail", thread="t")
    if result.status != "waiting":
        pytest.skip("this errand is not asked about")
    row = world.queue.get(result.waiting[0])
    made = changed(world, row.id, {**row.args(), "references": ["typed"]})
    outer.resume("t")
    assert world.queue.get(made.id).state is State.INVALIDATED
