"""A hijacked agent and undoing: it has no way to ask, to prepare, to approve, or to have its own values trusted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from checkvalve.approvals import undos
from checkvalve.approvals.errors import ConflictError, ManifestError, NotAllowedError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.graphs.calls import Call
from checkvalve.graphs.session import GuardSession
from tests.undo_world import MANIFEST, Office

PROGRAM = Path(__file__).resolve().parents[1] / "undo_world.py"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Office(store, tmp_path)


@pytest.mark.claim("C2")
@pytest.mark.parametrize("tool", ["undo", "checkvalve_undo", "undo_do"])
def test_an_agent_has_no_tool_that_undoes(office: Office, tool: str) -> None:
    done = office.act("delete_note", id="n1").proposal.id
    session = GuardSession(office.services, "task", "bob")
    assert session.propose(Call(tool, {"id": done}, "x1")).state is State.DENIED


@pytest.mark.claim("C2", "C4")
def test_an_agent_in_the_thread_of_an_undoing_prepares_none(office: Office) -> None:
    """It knows the thread's name and the call; what it proposes there is decided as its own, and is not the undoing."""
    done = office.act("delete_note", id="n1").proposal.id
    call = office.undoing.standing(done).call
    assert call is not None
    session = GuardSession(office.services, undos.thread_for(done, 1), "bob")
    session.user_words("create the note List milk", key="u1")
    planted = session.propose(Call("create_note", dict(call.args), "undo-0000000000000000"))
    undo = office.undoing.ask(done, "carl")
    assert undo.id != planted.id
    assert undo.state is State.PENDING
    assert office.undoing.due() == [], "an approved call in that thread is no undoing"


@pytest.mark.claim("C4")
def test_no_policy_and_no_words_of_the_user_let_an_undoing_run_by_itself(office: Office) -> None:
    done = office.act("delete_note", id="n1").proposal.id
    GuardSession(office.services, undos.thread_for(done, 1), "carl").user_words(
        "create a note with the title List and the text milk", key="u1"
    )
    undo = office.undoing.ask(done, "carl")
    assert (undo.verdict_name, undo.state, undo.endorsable) == ("review", State.PENDING, [])


@pytest.mark.claim("C4")
def test_who_asks_does_not_decide_and_who_only_looks_does_not_ask(office: Office) -> None:
    done = office.act("delete_note", id="n1").proposal.id
    undo = office.undoing.ask_as(done, office.person())
    with pytest.raises(NotAllowedError):
        office.approve(undo)
    token = office.queue.reviewers.add("zoe", by=office.person(), roles=[Role.VIEWER])
    other = office.act("create_note", title="a", text="b").proposal.id
    with pytest.raises(NotAllowedError):
        office.undoing.ask_as(other, office.queue.reviewers.authenticate(token))


@pytest.mark.claim("C4")
def test_an_undoing_is_not_edited_and_makes_no_standing_rule(office: Office) -> None:
    from checkvalve.approvals import edits
    from checkvalve.approvals.errors import EditRefusedError, StandingRuleError
    from checkvalve.approvals.standing_draft import draft

    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    with pytest.raises(EditRefusedError, match="is fixed since then"):
        edits.edit(office.queue, undo.id, office.person(), undo.digest, {"id": "n1"}, lambda *_: None)  # type: ignore[arg-type]
    office.approve(undo)
    ran = office.undoing.run(undo.id, office.tools()).proposal
    with pytest.raises(StandingRuleError, match="or undid an effect"):
        draft(ran)


@pytest.mark.claim("C2")
def test_settings_and_code_are_never_undone_by_a_kept_call() -> None:
    """`Undo the deletion of the block rule`: a rule is a setting, and a setting has no undoing."""
    rule = """
  delete_rule:
    effect: configure
    args: {id: {role: selector}}
    undo_with: {tool: create_rule, args: {id: {argument: id}}}
  create_rule: {effect: configure, args: {id: {role: selector}}}
"""
    with pytest.raises(ManifestError, match="a `configure` is no part of an undoing"):
        parse_manifest(MANIFEST + rule, "m.yaml")
    weaker = rule.replace("create_rule: {effect: configure", "create_rule: {effect: execute")
    with pytest.raises(ManifestError, match="is no part of an undoing"):
        parse_manifest(MANIFEST + weaker.replace("effect: configure", "effect: delete"), "m.yaml")


@pytest.mark.claim("C3", "C4")
def test_a_tool_server_that_lies_about_the_id_is_shown_to_the_person(office: Office) -> None:
    """The result of the effect names another record; the value is kept, and shown as what it is: a result's."""
    tools = {tool.name: tool for tool in office.tools()}
    cast(Any, tools["create_note"]).func = lambda title, text: {"id": "n1"}
    office.tools = lambda *_: list(tools.values())  # type: ignore[method-assign]
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    arguments: Any = undo.decision["arguments"]
    (report,) = arguments
    (found,) = report["origins"]
    assert ".result#id" in found["source"]
    assert undo.state is State.PENDING


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("step", "effects", "end"),
    [
        ("claim:written:1", 0, State.APPROVED),
        ("claimed:1", 0, State.UNKNOWN),
        ("effect_done:2", 1, State.UNKNOWN),
        ("record:written:2", 1, State.UNKNOWN),
        ("recorded:2", 1, State.SUCCEEDED),
    ],
)
def test_a_process_that_is_killed_undoes_at_most_once(office: Office, step: str, effects: int, end: State) -> None:
    """Its undoing is undone in turn by what it reads first, so each step of the executor is come by twice."""
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    told = subprocess.run([sys.executable, str(PROGRAM), str(office.folder), undo.id, step], check=False)
    assert told.returncode == -signal.SIGKILL
    Executor(office.queue).recover()
    assert office.queue.get(undo.id).state is end
    assert len([line for line in office.notebook.effects if line.startswith("delete")]) == effects
    after = office.undoing.run(undo.id, office.tools())
    assert after.state is (State.SUCCEEDED if end in {State.APPROVED, State.SUCCEEDED} else State.UNKNOWN)
    assert len([line for line in office.notebook.effects if line.startswith("delete")]) == max(
        effects, int(end is State.APPROVED)
    )
    if after.state is State.UNKNOWN:
        with pytest.raises(ConflictError, match="its undoing is unknown"):
            office.undoing.ask(done, "dora")
        office.queue.settle(undo.id, office.person(), done=True)
        with pytest.raises(ConflictError, match="it was undone"):
            office.undoing.ask(done, "dora")
    assert verify(office.store).ok
