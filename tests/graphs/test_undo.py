"""Undoing: what is read before and after, where values are from, what is refused, and what a redo is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from checkvalve.approvals.errors import ConflictError, NotFoundError, OutcomeUnknownError, QueueError
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.undos import beside
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.undoing import Undoing
from tests.undo_world import MANIFEST, Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Office(store, tmp_path)


@pytest.mark.claim("C2")
def test_reads_before_and_after_are_calls_with_verdicts_of_their_own(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs").proposal
    reads = [row for row in office.queue.list(thread="task") if row.tool == "get_note"]
    assert [(row.call_id, row.rule, row.state) for row in reads] == [
        (beside(done.call_id, word), "read-inside", State.SUCCEEDED) for word in ("before", "after")
    ]
    found = office.undoing.standing(done.id)
    assert found.call is not None
    assert (found.left, found.call.before) == ({"title": "List", "text": "eggs"}, reads[0].id)


def test_a_failing_read_holds_nothing_up_unless_it_is_required(office: Office) -> None:
    done = office.act("update_note", "get_note", id="n1", text="eggs")
    assert done.state is State.SUCCEEDED
    assert "was not at hand" in office.undoing.standing(done.proposal.id).why_not
    held = office.act("delete_note", "get_note", id="n1")
    assert (held.state, held.proposal.code) == (State.FAILED, "not_started")
    assert office.notebook.effects == ["update n1 eggs"]


def test_observe_mode_holds_nothing_back(office: Office) -> None:
    watching = office.serve(MANIFEST, mode="observe")
    done = office.act("delete_note", "get_note", services=watching, id="n1")
    assert done.state is State.SUCCEEDED
    assert office.notebook.effects == ["delete n1"]


def test_whatever_breaks_beside_an_effect_does_not_reach_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkvalve.graphs import keeping

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(keeping, "look_call", broken)
    assert office.act("update_note", id="n1", text="eggs").state is State.SUCCEEDED
    assert office.act("delete_note", id="n1").proposal.code == "not_started"
    monkeypatch.setattr(keeping, "kept", broken)
    done = office.act("create_note", title="a", text="b").proposal
    assert office.undoing.standing(done.id).why_not.endswith("failed to keep it")


def test_a_tool_that_breaks_while_it_reads_holds_nothing_up(office: Office) -> None:
    office.notebook.write({"n1": {"title": "List", "text": "milk"}}, "begin")
    tools = {tool.name: tool for tool in office.tools()}
    cast(Any, tools["get_note"]).func = lambda id: 1 / 0
    office.tools = lambda *_: list(tools.values())  # type: ignore[method-assign]
    done = office.act("update_note", id="n1", text="eggs")
    assert done.state is State.SUCCEEDED
    assert "could not be read" in office.undoing.standing(done.proposal.id).why_not


@pytest.mark.claim("C3")
def test_no_value_of_an_undoing_is_the_users(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs", task="please update note n1, set it to eggs").proposal
    assert done.verdict_name == "allow", "the user named all of it"
    undo = office.undoing.ask(done.id, "carl", office.tools())
    arguments: Any = undo.decision["arguments"]
    reports = {item["path"]: item for item in arguments}
    for path, kind in (("id", "argument"), ("text", "before")):
        (found,) = reports[path]["origins"]
        assert found["trust"] == "untrusted"
        assert f".{kind}#" in found["source"]
    assert undo.verdict_name == "review"


def test_a_changed_state_is_shown_and_then_the_shown_one_must_still_hold(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs").proposal.id
    office.notebook.write({"n1": {"title": "List", "text": "by hand"}}, "hand")
    undo = office.undoing.ask(done, "carl", office.tools())
    assert office.undoing.standing(done).changes == [("$.text", "eggs", "by hand")]
    office.approve(undo)
    office.notebook.write({"n1": {"title": "List", "text": "by hand again"}}, "hand")
    outcome = office.undoing.run(undo.id, office.tools())
    assert outcome.state is State.INVALIDATED
    assert office.notebook.read()["n1"]["text"] == "by hand again"
    again = office.undoing.ask(done, "carl", office.tools())
    office.approve(again)
    assert office.undoing.run(again.id, office.tools()).state is State.SUCCEEDED
    assert office.notebook.read()["n1"]["text"] == "milk"


def test_without_a_look_the_state_must_be_what_the_effect_left(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs").proposal.id
    undo = office.undoing.ask(done, "carl")  # no tools at hand
    assert not office.undoing.standing(undo.id).looked
    office.approve(undo)
    office.notebook.write({"n1": {"title": "List", "text": "by hand"}}, "hand")
    assert office.undoing.run(undo.id, office.tools()).state is State.INVALIDATED


@pytest.mark.claim("C4")
def test_after_a_change_of_the_declaration_nothing_is_undone(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    changed = Undoing(office.serve(MANIFEST.replace("within: 30d", "within: 31d")))
    assert changed.run(undo.id, office.tools()).state is State.INVALIDATED
    with pytest.raises(ConflictError, match="the manifest no longer says"):
        changed.ask(done, "carl")
    gone = Undoing(
        office.serve(MANIFEST.replace("  delete_note:\n", "  remove_note:\n").replace("delete_note", "remove_note"))
    )
    with pytest.raises(ConflictError, match="the manifest no longer says"):
        gone.ask(done, "carl")


@pytest.mark.claim("C2", "C4")
def test_after_a_change_of_the_tools_schema_nothing_is_undone(office: Office) -> None:
    from checkvalve.approvals.manifest import schema_digest
    from checkvalve.graphs.toolbox import schema_of

    delete = next(tool for tool in office.tools() if tool.name == "delete_note")
    pin = f"  delete_note:\n    schema_digest: {schema_digest(schema_of(delete))}"
    office.services = office.serve(MANIFEST.replace("  delete_note:", pin))
    office.undoing = Undoing(office.services)
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    from langchain_core.tools import StructuredTool

    def delete_note(id: str, everything: bool = True) -> str:
        raise AssertionError("this is another tool than the pinned one")

    other = StructuredTool.from_function(delete_note, description="delete")
    assert office.undoing.run(undo.id, [other]).state is State.INVALIDATED


def test_an_undoing_can_be_undone_in_turn(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs").proposal.id
    undo = office.undoing.ask(done, "carl", office.tools())
    office.approve(undo)
    office.undoing.run(undo.id, office.tools())
    with office.store.read() as connection:
        from checkvalve.approvals import undos

        kept = undos.read(connection, undo.id)
    assert kept is not None
    assert kept.call().args == {"id": "n1", "text": "eggs"}


PROBED = MANIFEST.replace(
    "- {path: text, readers: owner}", "- {path: text, readers: owner, writable_by: owner, evidence: the owner's notes}"
).replace(
    "    undo: write the former text back\n",
    """    undo: write the former text back
    idempotency: probe
    probe_with: {tool: get_note, args: {id: {argument: id}}, done_when: {path: $.text, argument: text}}
""",
)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("broken", [True, False], ids=["read later", "read at once"])
@pytest.mark.parametrize("written", [True, False], ids=["written", "not written"])
def test_an_undoing_of_unknown_end_is_looked_for_and_run_once(office: Office, written: bool, broken: bool) -> None:
    undoing = Undoing(office.serve(PROBED))
    done = office.act("update_note", id="n1", text="eggs", services=undoing._services).proposal.id
    undo = undoing.ask(done, "carl", office.tools())
    office.approve(undo)
    tools = {tool.name: tool for tool in office.tools()}
    update = cast(Any, tools["update_note"]).func

    read = cast(Any, tools["get_note"]).func

    def cut_off(id: str, text: str) -> str:
        if written:
            update(id, text)
        cast(Any, tools["get_note"]).func = lambda id: 1 / 0 if broken else read(id)
        raise OutcomeUnknownError("no answer")

    cast(Any, tools["update_note"]).func = cut_off
    known = State.CONFIRMED_DONE if written else State.UNKNOWN
    assert undoing.run(undo.id, tools.values()).state is (State.UNKNOWN if broken else known)
    cast(Any, tools["get_note"]).func = read
    assert undoing.run(undo.id, tools.values()).state is known
    assert office.notebook.effects == ["update n1 eggs", *["update n1 milk"] * written]


@pytest.mark.claim("C2", "C4")
def test_observe_mode_lets_no_undoing_run_by_itself(office: Office) -> None:
    services = office.serve(MANIFEST, mode="observe")
    done = office.act("create_note", title="a", text="b", services=services).proposal
    assert done.mode == "observe"
    undo = Undoing(services).ask(done.id, "carl")
    assert (undo.mode, undo.state) == ("enforce", State.PENDING)


def test_what_has_no_undoing_says_so_and_a_name_is_needed(office: Office) -> None:
    sent = office.act("send_note", id="n1", to="x@corp.example").proposal.id
    with pytest.raises(ConflictError, match="nothing was kept to undo it"):
        office.undoing.ask(sent, "carl")
    assert office.undoing.standing(sent).words == "it cannot be undone; what was sent stays sent"
    done = office.act("create_note", title="a", text="b").proposal.id
    with pytest.raises(QueueError, match="needs the name of the person"):
        office.undoing.ask(done, "")
    with pytest.raises(NotFoundError):
        office.undoing.run(done, office.tools())
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    with pytest.raises(PipelineError, match="the tool 'delete_note' is not here"):
        office.undoing.run(undo.id, [])
    assert [row.id for row in office.undoing.due()] == [undo.id]


def test_a_result_that_cannot_be_read_undoes_nothing(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal
    assert office.undoing.standing(done.id).call is not None
    failed = office.act("update_note", id="n9", text="x")
    assert failed.state is State.FAILED
    with pytest.raises(ConflictError, match="it is failed"):
        office.undoing.ask(failed.proposal.id, "carl")


@pytest.mark.claim("C2")
@pytest.mark.parametrize("awaited", [False, True])
def test_a_pipelines_effects_keep_what_undoes_them(office: Office, awaited: bool) -> None:
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver

    from checkvalve.approvals import undos
    from checkvalve.graphs.checkpoint import StrictSerializer
    from checkvalve.graphs.pipeline import build_pipeline
    from tests.fakes import ScriptedModel, calls

    turn = calls(("create_note", {"title": "a", "text": "b"}), ("update_note", {"id": "n1", "text": "eggs"}))
    end = calls(("answer", {"text": "done"}), prefix="z")
    pipeline = build_pipeline(
        office.services,
        tools=office.tools(),
        reader=ScriptedModel(script=[AIMessage("{}")]),
        actor=ScriptedModel(script=[turn, end]),
        checkpointer=InMemorySaver(serde=StrictSerializer()),
        requester="bob",
    )
    task = "please create the note a with the text b, and update note n1 to eggs"
    if awaited:
        import asyncio

        asyncio.run(pipeline.astart(task, thread="p1"))
    else:
        pipeline.start(task, thread="p1")
    for tool, args in (("create_note", {"id": "n2"}), ("update_note", {"id": "n1", "text": "milk"})):
        (row,) = [row for row in office.queue.list([State.SUCCEEDED]) if row.tool == tool]
        with office.store.read() as connection:
            kept = undos.read(connection, row.id)
        assert kept is not None
        assert (kept.why, kept.call().args) == ("", args) or tool == "create_note"
        assert office.undoing.standing(row.id).why_not == ""
    assert [tool.name for tool in pipeline.tools] == [tool.name for tool in office.tools()]


def test_what_takes_an_effect_back_is_compared_by_its_own_declaration_and_not_by_a_pin(office: Office) -> None:
    """Its state is read and compared as `before` says: nobody reads a version for it, and so none is needed."""
    pin = "    pin: [{tool: get_note, args: {id: {argument: id}}, version: [$]}]\n"
    pinned = office.serve(MANIFEST.replace("    asks: [delete, remove]\n", f"    asks: [delete, remove]\n{pin}"))
    done = office.act("create_note", services=pinned, title="Eggs", text="two").proposal
    undo = Undoing(pinned).ask(done.id, "bob", office.tools())
    assert (undo.tool, undo.rule, undo.decision.get("pins")) == ("delete_note", "undo", None)
    office.approve(undo)
    assert Undoing(pinned).run(undo.id, office.tools()).state is State.SUCCEEDED
