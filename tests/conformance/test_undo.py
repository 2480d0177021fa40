"""Undoing on every database: kept with the success, asked for once, run once, and found when a row was edited."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from langchain_core.tools import BaseTool

from checkvalve.approvals import undos
from checkvalve.approvals.errors import ConflictError, StoreCorruptError
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import undos as rows
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.approvals.verify import verify
from tests.undo_world import MANIFEST, Office


@pytest.fixture
def office(store: Store, tmp_path: Path) -> Office:
    return Office(store, tmp_path)


def kinds(office: Office, subject: str) -> list[str]:
    query = sa.select(events.c.kind).where(events.c.subject == subject).order_by(events.c.seq)
    with office.store.read() as connection:
        return list(connection.execute(query).scalars())


@pytest.mark.claim("C4", "C5")
def test_an_update_is_undone_with_the_old_value_by_another_person(office: Office) -> None:
    done = office.act("update_note", id="n1", text="eggs")
    assert done.state is State.SUCCEEDED
    undo = office.undoing.ask(done.proposal.id, "carl", office.tools())
    assert (undo.state, undo.rule, undo.args(), undo.requester) == (
        *(State.PENDING, "undo", {"id": "n1", "text": "milk"}, "carl"),
    )
    assert undo.endorsable == []
    assert office.undoing.run(undo.id, office.tools()).state is State.PENDING, "nobody has decided"
    office.approve(undo)
    assert office.undoing.run(undo.id, office.tools()).state is State.SUCCEEDED
    assert office.undoing.run(undo.id, office.tools()).ran_here is False
    assert office.notebook.effects == ["update n1 eggs", "update n1 milk"]
    told = kinds(office, done.proposal.id)
    assert told[-3:] == ["proposal.succeeded", "undo.asked", "effect.undone"]
    assert told.index("undo.kept") < told.index("proposal.succeeded"), "in the transaction of the success"
    assert verify(office.store).ok


@pytest.mark.claim("C4")
def test_a_second_undoing_of_an_effect_is_refused_until_the_first_came_to_nothing(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    first = office.undoing.ask(done, "carl")
    with pytest.raises(ConflictError, match="its undoing is pending"):
        office.undoing.ask(done, "dora")
    office.queue.reject(first.id, office.person())
    second = office.undoing.ask(done, "dora")
    assert second.id != first.id
    office.approve(second)
    assert office.undoing.run(second.id, office.tools()).state is State.SUCCEEDED
    with pytest.raises(ConflictError, match="it was undone"):
        office.undoing.ask(done, "carl")
    assert verify(office.store).ok


@pytest.mark.claim("C4")
def test_of_people_who_ask_at_once_one_gets_it(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    gate, won, lost = threading.Barrier(6), [], []

    def ask(name: str) -> None:
        gate.wait()
        try:
            won.append(office.undoing.ask(done, name).id)
        except ConflictError as error:
            lost.append(str(error))

    racers = [threading.Thread(target=ask, args=(name,)) for name in ("carl", "dora", "emil", "fred", "gert", "hans")]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert (len(won), len(lost)) == (1, 5)
    assert [row.id for row in office.queue.list(thread=undos.thread_for(done, 1))] == won
    assert verify(office.store).ok


@pytest.mark.claim("C4")
def test_of_processes_that_run_one_undoing_at_once_one_does(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    gate, ran = threading.Barrier(4), []
    tools = [office.tools() for _ in range(4)]  # made before: warnings are switched off for all threads meanwhile

    def run(own: list[BaseTool]) -> None:
        gate.wait()
        ran.append(office.undoing.run(undo.id, own).ran_here)

    racers = [threading.Thread(target=run, args=(own,)) for own in tools]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(ran) == [False, False, False, True]
    assert [line for line in office.notebook.effects if line.startswith("delete")] == ["delete n2"]
    assert kinds(office, done).count("effect.undone") == 1


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        {"body": json.dumps({"tool": "delete_note", "server": "", "args": {"id": "n1"}, "from": {}, "declared": "x"})},
        {"expires_at": None},
        {"why": "too_large"},
        {"undo_id": "", "asks": 7},
    ],
)
def test_an_edited_undoing_is_found_and_undoes_nothing(office: Office, change: dict[str, object]) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    with office.store.write() as connection:
        connection.execute(sa.update(rows).where(rows.c.proposal_id == done).values(change))
    assert "row_differs" in {found.code for found in verify(office.store).findings}
    with pytest.raises(StoreCorruptError, match="what undoes proposal"):
        office.undoing.ask(done, "carl")


@pytest.mark.claim("C5")
def test_a_planted_undoing_and_a_removed_one_are_found(office: Office) -> None:
    sent = office.act("send_note", id="n1", to="x@corp.example").proposal.id
    kept = office.act("create_note", title="a", text="b").proposal.id
    with office.store.write() as connection:
        connection.execute(sa.update(rows).where(rows.c.proposal_id == kept).values(proposal_id=sent))
    assert {found.code for found in verify(office.store).findings} == {"row_differs", "row_missing"}
    for name in (sent, kept):
        with pytest.raises(StoreCorruptError):
            office.undoing.ask(name, "carl")


def test_it_can_be_undone_until_its_deadline(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    undo = office.undoing.ask(done, "carl")
    office.queue.reject(undo.id, office.person())
    office.clock.advance(days=30)
    with pytest.raises(ConflictError, match="it could be undone until"):
        office.undoing.ask(done, "carl")


@pytest.mark.claim("C4")
def test_an_approved_undoing_whose_deadline_passes_does_not_run(office: Office) -> None:
    done = office.act("create_note", title="a", text="b").proposal.id
    office.clock.advance(days=29, hours=23, minutes=59)
    undo = office.undoing.ask(done, "carl")
    office.approve(undo)
    office.clock.advance(minutes=2)
    outcome = office.undoing.run(undo.id, office.tools())
    assert (outcome.state, outcome.proposal.code) == (State.INVALIDATED, "revalidation")
    assert office.notebook.effects == ["create n2"]


def test_a_success_is_recorded_even_where_nothing_can_be_kept(office: Office) -> None:
    done = office.act("create_note", title="a", text="b", services=office.serve(MANIFEST.replace("$.id", "$.number")))
    assert done.state is State.SUCCEEDED
    with office.store.read() as connection:
        row = undos.read(connection, done.proposal.id)
    assert row is not None
    assert (row.why, row.body) == ("no_such_field", "")
    with pytest.raises(ConflictError, match="the result of the call has no such field"):
        office.undoing.ask(done.proposal.id, "carl")
    assert verify(office.store).ok


def test_what_is_too_large_to_keep_says_so(office: Office) -> None:
    notes = {"n1": {"title": "t", "text": "x" * 250_000}}
    office.notebook.write(notes, "begin")
    notes["n1"]["title"] = "y" * 20_000
    office.notebook.write(notes, "begin")
    done = office.act("delete_note", id="n1")
    assert done.state is State.SUCCEEDED
    assert office.undoing.standing(done.proposal.id).why_not.endswith("too large")
