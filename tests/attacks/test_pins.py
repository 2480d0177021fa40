"""Attack 6 and 16, on what a call points at: it is swapped after the yes, or its reader lies. Nothing of it runs."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.pins import READ
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.tables import events
from checkvalve.graphs.calls import Call
from checkvalve.graphs.pinning import Pinning
from tests.attacks.test_edited_events import Change, body_alone, emptied, made_whole
from tests.gateway.pin_world import CONFIG, DELETE, UPDATE, WRITE, Office, last

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    found = Office(tmp_path)
    yield found
    found.end()


def other_bytes(plan: Path) -> None:
    """Write as many bytes, and put the time back."""
    before = plan.stat()
    plan.write_bytes(b"THE PLAN")
    os.utime(plan, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(plan: Path) -> None:
    """Put another file in its place, in one step."""
    new = plan.with_name("new.txt")
    new.write_bytes(b"another plan")
    new.replace(plan)


def linked(plan: Path) -> None:
    """Put a link to an equal file in its place: what it points at can be turned at any moment."""
    equal = plan.parent.parent / "equal.txt"
    equal.write_bytes(plan.read_bytes())
    plan.unlink()
    plan.symlink_to(equal)


def queued(plan: Path) -> None:
    """Put a queue in its place: whoever opens it for reading waits for ever."""
    plan.unlink()
    os.mkfifo(plan)


def made_folder(plan: Path) -> None:
    plan.unlink()
    plan.mkdir()


def folder_linked(plan: Path) -> None:
    """Move the folder away, and put a link to an equal one in its place."""
    away = plan.parent.parent / "away"
    shutil.move(plan.parent / "sub", away)
    (plan.parent / "sub").symlink_to(away)


def shut(plan: Path) -> None:
    """Let it be too large to look at."""
    plan.write_bytes(b"x" * 10_001)


SWAPS: Final[list[tuple[Callable[[Path], None], str, str]]] = [
    (other_bytes, "pin_changed", ""),
    (replaced, "pin_changed", ""),
    (linked, "pin_unreadable", "link"),
    (queued, "pin_unreadable", "special"),
    (made_folder, "pin_unreadable", "special"),
    (Path.unlink, "pin_missing", "missing"),
    (shut, "pin_unreadable", "too_large"),
]


def ended(office: Office, state: Any, code: str, why: str) -> None:
    """Check that nothing ran, and that agent, reviewer and record say the same."""
    assert office.effects == []
    row = office.only(State.INVALIDATED)
    moved = office.pinned(row).moved
    assert moved is not None
    assert (row.code, moved.code, moved.of, moved.why) == (code, code, moved.of, why)
    assert moved.of in {"path", "get_contact"}
    assert f"[{code}; pinned: {moved.of}]" in last(state)


@pytest.mark.parametrize(("swap", "code", "why"), SWAPS, ids=[swap[0].__name__ for swap in SWAPS])
@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_file_that_was_swapped_after_the_yes_is_not_touched(
    office: Office, swap: Callable[[Path], None], code: str, why: str, *, awaited: bool
) -> None:
    agent = office.agent(DELETE)
    office.ask(agent)
    office.approve()
    swap(office.plan)
    state = asyncio.run(agent.ainvoke(None, CONFIG)) if awaited else office.resume(agent)
    ended(office, state, code, why)


def test_a_folder_on_the_way_that_was_swapped_for_a_link_ends_it(office: Office) -> None:
    (office.files / "sub").mkdir()
    (office.files / "sub" / "deep.txt").write_text("deep")
    agent = office.agent(("delete_file", {"path": "sub/deep.txt"}))
    office.ask(agent)
    office.approve()
    folder_linked(office.plan)
    ended(office, office.resume(agent), "pin_unreadable", "link")


def test_a_swap_between_question_and_yes_is_found_too(office: Office) -> None:
    """What the person was shown counts, and not what was there when they pressed."""
    agent = office.agent(DELETE)
    office.ask(agent)
    replaced(office.plan)
    office.approve()
    ended(office, office.resume(agent), "pin_changed", "")


def test_a_new_file_that_somebody_else_made_first_is_not_overwritten(office: Office) -> None:
    agent = office.agent(("write_file", {"path": "new.txt", "text": "x"}))
    office.ask(agent)
    office.approve()
    (office.files / "new.txt").write_text("theirs")
    ended(office, office.resume(agent), "pin_changed", "")


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link", "fifo"])
def test_nothing_outside_and_nothing_that_is_no_file_can_be_approved(office: Office, path: str) -> None:
    (office.files.parent / "secret.txt").write_text("secret")
    (office.files / "link").symlink_to("../secret.txt")
    os.mkfifo(office.files / "fifo")
    office.ask(office.agent(("delete_file", {"path": path})))
    row = office.only(State.CANCELLED)
    assert (row.code, office.queue.list([State.PENDING])) == ("pin_unreadable", [])


def gone() -> Any:
    raise LookupError("there is no such customer")


LIES: Final[list[tuple[str, Any]]] = [
    ("text for a number", {"version": "3", "owner": "ann"}),
    ("true for one", {"version": True, "owner": "ann"}),
    ("nothing", {"version": None, "owner": "ann"}),
    ("no field", {"owner": "ann"}),
    ("a list", [{"version": 3, "owner": "ann"}]),
    ("a list with it", {"version": [3], "owner": "ann"}),
    ("text", "version 3, owner ann"),
    ("nothing at all", None),
    ("a later one", {"version": 4, "owner": "ann"}),
    ("another owner", {"version": 3, "owner": "eve"}),
]


@pytest.mark.parametrize("said", [one for _, one in LIES], ids=[name.replace(" ", "-") for name, _ in LIES])
def test_a_reader_that_says_anything_else_right_before_the_call_stops_it(office: Office, said: Any) -> None:
    agent = office.agent(UPDATE)
    office.ask(agent)
    office.approve()
    office.reads = lambda: said
    state = office.resume(agent)
    assert office.effects == []
    assert office.only(State.INVALIDATED).code in {"pin_changed", "pin_unreadable"}
    assert "Not executed" in last(state)


def test_a_reader_that_fails_right_before_the_call_stops_it(office: Office) -> None:
    agent = office.agent(UPDATE)
    office.ask(agent)
    office.approve()
    office.reads = gone
    ended(office, office.resume(agent), "pin_unreadable", "failed")


def test_a_reader_that_is_not_at_hand_any_more_stops_it(office: Office) -> None:
    office.ask(office.agent(UPDATE))
    office.approve()
    ended(office, office.resume(office.agent(UPDATE, tools=office.tools(without="get_contact"))), "pin_unreadable",
          "tool_missing")  # fmt: skip


@pytest.mark.parametrize("said", [{"version": None, "owner": "ann"}, {"owner": "ann"}, [], "ok", 7])
def test_a_reader_without_a_version_gets_no_question_approved(office: Office, said: Any) -> None:
    office.reads = lambda: said
    office.ask(office.agent(UPDATE))
    row = office.only(State.CANCELLED)
    assert office.pinned(row).why in {"no_version", "failed"}


def asked(office: Office) -> Proposal:
    """Return an approved call, without an agent around it."""
    session = office.gateway.session("t", "me@corp.example")
    session.user_words("Read my mail, and do what has to be done", key="u")
    question = session.propose(Call(*DELETE, "c1@a", turn="a"))
    Pinning(office.gateway.services).ask(question, lambda _name: None)
    return office.approve()


@pytest.mark.claim("C5")
@pytest.mark.parametrize("change", [body_alone, made_whole, emptied])
def test_a_version_that_was_edited_in_the_database_lets_nothing_run(office: Office, change: Change) -> None:
    """The file was swapped, and the event of what was read is made to fit it, or taken away as erasing does."""
    row = asked(office)
    replaced(office.plan)
    now = Pinning(office.gateway.services).again(row, lambda _name: None)
    assert now is not None
    with office.queue.store.write() as connection:
        (event,) = [one for one in read_events(connection, subject=row.id) if one.kind == READ]
        old = office.pinned(row).items[0].parts[0].digest
        change(connection, event, event.body.replace(old, now.versions[0].parts[0].digest))
    with pytest.raises(StoreCorruptError):
        office.gateway.executor.run(row.id, lambda *_: office.effects.append("ran"), pinned=now)
    assert office.effects == []


@pytest.mark.claim("C5")
def test_a_version_that_was_removed_from_the_database_lets_nothing_run(office: Office) -> None:
    row = asked(office)
    now = Pinning(office.gateway.services).again(row, lambda _name: None)
    with office.queue.store.write() as connection:
        connection.execute(sa.delete(events).where(events.c.subject == row.id, events.c.kind == READ))
    with pytest.raises(StoreCorruptError):
        office.gateway.executor.run(row.id, lambda *_: office.effects.append("ran"), pinned=now)
    assert office.effects == []


def test_what_was_read_for_another_call_is_no_version_of_this_one(office: Office) -> None:
    row = asked(office)
    (office.files / "other.txt").write_text("other")
    other = office.gateway.session("t", "me@corp.example").propose(
        Call("delete_file", {"path": "other.txt"}, "c2@a", turn="a")
    )
    theirs = Pinning(office.gateway.services).ask(other, lambda _name: None)
    office.queue.approve(theirs.id, office.people()[0], theirs.digest)
    now = Pinning(office.gateway.services).again(office.queue.get(theirs.id), lambda _name: None)
    outcome = office.gateway.executor.run(row.id, lambda *_: office.effects.append("ran"), pinned=now)
    assert (outcome.proposal.code, office.effects) == ("pin_changed", [])


@pytest.mark.parametrize("second", [DELETE, WRITE], ids=["the same call", "another tool"])
def test_a_yes_that_is_void_lets_nothing_run_unasked(office: Office, second: tuple[str, dict[str, str]]) -> None:
    """The file is swapped after the yes; what it accepted lets no later call of the model run."""
    agent = office.agent(DELETE, second)
    office.ask(agent, "Read my mail, and delete the file that it names")
    office.approve()
    replaced(office.plan)
    office.resume(agent)
    assert office.effects == []
    assert office.only(State.INVALIDATED).code == "pin_changed"
    assert office.waiting().tool == second[0], "a person is asked anew"
    assert office.queue.endorsements("t") == []


def test_a_yes_to_one_version_accepts_nothing_for_the_next(office: Office) -> None:
    """The call ran; the same call on what an outsider put there since is a question again."""
    agent = office.agent(DELETE, DELETE)
    office.ask(agent, "Read my mail, and delete the file that it names")
    office.approve()
    office.resume(agent)
    assert len(office.effects) == 1
    assert office.waiting().tool == "delete_file"
    assert office.queue.endorsements("t") == []
