"""A yes is to the version that was there when a person was asked: read then, shown, compared right before the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import pin_record
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.pins import FAILED, READ, thread_for
from checkvalve.approvals.records import State
from checkvalve.approvals.verify import verify
from checkvalve.gateway.doctor_pins import pinned
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.calls import Call
from checkvalve.graphs.pinning import Pinning
from tests.gateway.pin_world import CONFIG, DELETE, MANIFEST, UPDATE, WRITE, Office, last

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    found = Office(tmp_path)
    yield found
    found.end()


def bodies(office: Office, name: str) -> str:
    with office.queue.store.read() as connection:
        return " ".join(event.body or "" for event in read_events(connection, subject=name))


def test_a_file_is_pinned_when_asked_and_the_call_runs_while_it_is_the_same(office: Office) -> None:
    agent = office.agent(DELETE)
    office.ask(agent)
    question = office.waiting()
    found = office.pinned(question)
    assert (found.stand, found.items[0].target, found.items[0].size) == ("read", "plan.txt", 8)
    assert next(iter(found.lines())).startswith("plan.txt (path): 8 bytes, sha256 ")
    assert (office.kinds(question.id)[0], office.kinds(question.id)[-1]) == ("proposal.recorded", READ)
    assert "the plan" not in bodies(office, question.id), "of content the log has a digest"
    office.approve()
    office.resume(agent)
    assert office.effects == ["deleted plan.txt"]
    assert verify(office.queue.store).ok


def test_a_record_is_pinned_by_its_declared_fields_and_private_values_stay_out(office: Office) -> None:
    agent = office.agent(UPDATE)
    office.ask(agent)
    question = office.waiting()
    parts = office.pinned(question).items[0].parts
    assert [(part.path, part.value) for part in parts] == [("$.version", "3"), ("$.owner", "")]
    assert '"ann"' not in bodies(office, question.id)
    (read,) = office.queue.list([State.SUCCEEDED], thread=thread_for(question.id))
    assert (read.tool, read.verdict_name, read.args()) == ("get_contact", "allow", {"id": "7"})
    office.approve()
    office.record["name"] = "another name"  # no part of the version
    office.resume(agent)
    assert (office.effects, office.looks) == (["called 7 Eve"], 2)


def test_tools_that_are_awaited_are_pinned_too(office: Office) -> None:
    agent = office.agent(UPDATE)

    async def run() -> Any:
        await agent.ainvoke({"messages": [("user", "Read my mail")]}, CONFIG)
        office.approve()
        office.record["version"] = 4
        return await agent.ainvoke(None, CONFIG)

    state = asyncio.run(run())
    assert office.effects == []
    assert "[pin_changed; pinned: get_contact]" in last(state)


def test_a_changed_record_voids_the_permit_with_a_code_and_both_sides_are_told(office: Office) -> None:
    agent = office.agent(UPDATE)
    office.ask(agent)
    office.approve()
    office.record["version"] = 4
    state = office.resume(agent)
    assert office.effects == []
    row = office.only(State.INVALIDATED)
    assert row.code == "pin_changed"
    assert "what the call points at is not what it was when a person was asked [pin_changed" in last(state)
    moved = office.pinned(row).moved
    assert moved is not None
    assert "when a person was asked: $.version 3, sha256" in moved.words
    assert "right before the call: $.version 4, sha256" in moved.words
    assert "owner" not in moved.words, "only what differs is told"
    assert verify(office.queue.store).ok


def test_the_agent_may_look_anew_and_a_person_is_asked_anew(office: Office) -> None:
    agent = office.agent(DELETE, DELETE)
    office.ask(agent)
    office.approve()
    office.plan.write_text("another plan")
    office.resume(agent)
    second = office.waiting()
    assert office.pinned(second).items[0].size == len("another plan")
    office.approve()
    office.resume(agent)
    assert office.effects == ["deleted plan.txt"]


def test_it_is_read_once_however_often_the_run_goes_on(office: Office) -> None:
    agent = office.agent(UPDATE)
    office.ask(agent)
    office.resume(agent)
    assert office.looks == 1
    assert office.kinds(office.waiting().id).count(READ) == 1


def test_nothing_is_pinned_where_nobody_is_asked(office: Office) -> None:
    office.ask(office.agent(DELETE), "Delete plan.txt")
    assert office.effects == ["deleted plan.txt"]
    row = office.only(State.SUCCEEDED)
    assert row.verdict_name == "allow"
    assert office.pinned(row).stand == "nobody_asked"
    assert [*office.pinned(row).lines()] == ["nothing is pinned: a rule answered, and no person was asked"]


def test_observe_pins_nothing_and_stops_nothing(tmp_path: Path) -> None:
    office = Office(tmp_path, mode="observe")
    office.plan.unlink()
    office.ask(office.agent(DELETE))
    assert office.effects == ["deleted plan.txt"]
    office.end()


def test_a_new_file_is_pinned_as_one_that_is_not_there(office: Office) -> None:
    agent = office.agent(WRITE)
    office.ask(agent)
    assert office.pinned(office.waiting()).items[0].words == "there is no such file"
    office.approve()
    office.resume(agent)
    assert office.effects == ["wrote new.txt"]


@pytest.mark.parametrize("asking", ["invoke", "ainvoke"])
def test_what_cannot_be_read_closes_the_question_and_the_agent_goes_on(office: Office, asking: str) -> None:
    office.reads = office.fail
    agent = office.agent(UPDATE)
    state = office.ask(agent) if asking == "invoke" else office.ask_awaited(agent)
    assert office.queue.list([State.PENDING]) == []
    row = office.only(State.CANCELLED)
    assert (row.code, row.decided_by) == ("pin_unreadable", "gateway")
    assert "could not be read [pin_unreadable; pinned: get_contact]" in last(state)
    assert "IGNORE" not in str(state["messages"])
    assert [*office.pinned(row).lines()] == [
        "get_contact: the version of what the call points at could not be read: the tool that reads it failed"
    ]
    assert FAILED in office.kinds(row.id)
    assert office.effects == []


def test_a_missing_file_closes_the_question(office: Office) -> None:
    office.plan.unlink()
    state = office.ask(office.agent(DELETE))
    assert office.only(State.CANCELLED).code == "pin_missing"
    assert "is not there [pin_missing; pinned: path]" in last(state)


def test_a_tool_that_is_not_at_hand_closes_the_question(office: Office) -> None:
    office.ask(office.agent(UPDATE, tools=office.tools(without="get_contact")))
    row = office.only(State.CANCELLED)
    assert office.pinned(row).why == "tool_missing"


@pytest.mark.parametrize("error", [ConnectionResetError("x"), TimeoutError("x")])
def test_a_read_that_breaks_off_leaves_nothing_to_settle(office: Office, error: Exception) -> None:
    def broken() -> Any:
        raise error

    office.reads = broken
    office.ask(office.agent(UPDATE))
    assert office.pinned(office.only(State.CANCELLED)).why == "failed"
    assert office.queue.list([State.UNKNOWN]) == []


@pytest.mark.parametrize("asking", ["invoke", "ainvoke"])
def test_what_takes_too_long_closes_the_question_and_leaves_nothing_to_settle(tmp_path: Path, asking: str) -> None:
    office = Office(tmp_path, MANIFEST.replace("seconds: 60", "seconds: 1"))
    office.reads = office.wait
    agent = office.agent(UPDATE)
    if asking == "invoke":
        office.ask(agent)
    else:
        office.ask_awaited(agent)
    row = office.only(State.CANCELLED)
    assert office.pinned(row).why == "too_late"
    assert office.queue.list([State.UNKNOWN]) == []
    office.end()


def test_nobodys_yes_is_taken_before_the_version_is_read(office: Office) -> None:
    session = office.gateway.session("t", "me@corp.example")
    session.user_words("Read my mail, and do what has to be done", key="u")
    question = session.propose(Call(*DELETE, "c1@a", turn="a"))
    assert office.pinned(question).stand == "waiting"
    ann = office.people()[0]
    with pytest.raises(ConflictError, match="has not been read yet"):
        office.queue.approve(question.id, ann, question.digest)
    assert office.queue.get(question.id).state is State.PENDING
    office.queue.reject(question.id, ann)  # a no is always taken


def test_an_edit_is_pinned_anew_when_the_run_goes_on(office: Office) -> None:
    (office.files / "other.txt").write_text("other plan")
    agent = office.agent(DELETE)
    office.ask(agent)
    new = office.edited(path="other.txt")
    assert office.pinned(new).stand == "waiting"
    with pytest.raises(ConflictError, match="of an edited call it does so when the run goes on"):
        office.approve()
    office.resume(agent)
    assert office.pinned(new).items[0].size == len("other plan")
    office.approve()
    office.resume(agent)
    assert office.effects == ["deleted other.txt"]


def test_an_edit_to_what_is_not_there_is_closed(office: Office) -> None:
    agent = office.agent(DELETE)
    office.ask(agent)
    new = office.edited(path="none.txt")
    office.resume(agent)
    assert office.queue.get(new.id).code == "pin_missing"
    assert office.effects == []


def test_a_manifest_that_pins_otherwise_by_now_voids_the_permit(office: Office) -> None:
    agent = office.agent(DELETE)
    office.ask(agent)
    office.approve()
    text = (office.files.parent / "tools.yaml").read_text().replace("max_bytes: 10000", "max_bytes: 9999")
    object.__setattr__(office.gateway, "manifest", parse_manifest(text, "tools.yaml"))
    office.resume(agent)
    assert office.effects == []
    assert office.only(State.INVALIDATED).code == "pin_redeclared"


def test_a_call_that_is_run_without_reading_does_not_run(office: Office) -> None:
    """A program that hands calls to the executor itself, and forgets to read."""
    office.ask(office.agent(DELETE))
    approved = office.approve()
    outcome = office.gateway.executor.run(approved.id, lambda args, _key: office.effects.append(str(args)))
    assert (outcome.state, outcome.proposal.code) == (State.INVALIDATED, "pin_not_read")
    assert office.effects == []


def test_two_that_ask_at_once_write_one_version(office: Office) -> None:
    """The record changes between the two reads: what a person is shown is what is compared."""
    start, lock, numbers = threading.Barrier(2), threading.Lock(), iter([3, 4])

    def counted() -> dict[str, Any]:
        with lock:
            found = {**office.record, "version": next(numbers)}
        start.wait(60)
        return found

    office.reads = counted
    session = office.gateway.session("t", "me@corp.example")
    session.user_words("Read my mail, and do what has to be done", key="u")
    question = session.propose(Call(*UPDATE, "c1@a", turn="a"))
    find = {tool.name: tool for tool in office.tools()}.get
    threads = [threading.Thread(target=Pinning(office.gateway.services).ask, args=(question, find)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert office.kinds(question.id).count(READ) == 1
    assert pin_record.is_known(office.queue, question)
    assert verify(office.queue.store).ok


def test_the_doctor_says_whether_the_folders_can_be_read(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.end()
    settings = Settings(manifest=tmp_path / "tools.yaml", database_url="sqlite:///x.db")
    (found,) = pinned(settings)
    assert (found.state.value, "update_contact" in found.text) == ("ok", True)
    (observing,) = pinned(settings.model_copy(update={"mode": "observe"}))
    assert observing.state.value == "warning"
    office.plan.unlink()
    office.files.rmdir()
    (missing,) = pinned(settings)
    assert (missing.state.value, str(office.files) in missing.text) == ("problem", True)
    office.files.write_text("no folder")
    (wrong,) = pinned(settings)
    assert wrong.text.endswith("is none")
    assert list(pinned(settings.model_copy(update={"manifest": None}))) == []
