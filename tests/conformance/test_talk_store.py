"""Remarks, snoozes, responses and cancelling in the store, on every database: bounds, and rows that were planted."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import remarks, responding, snoozes
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    NotAllowedError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.notices import FOR_PEOPLE
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import remarks as remark_rows
from checkvalve.approvals.review_tables import snoozes as snooze_rows
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.verify import verify
from tests.approvals.made import REVIEW, Desk, decided
from tests.conformance.test_edits_store import ARGS, another, by, kinds

HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def ben(desk: Desk) -> Reviewer:
    """Add a second reviewer, who may say yes as well."""
    return another(desk, "ben")


def test_a_question_is_asked_answered_and_asked_again_while_the_clock_goes_on(desk: Desk, ben: Reviewer) -> None:
    row = desk.propose()
    with pytest.raises(ConflictError, match="nobody has asked"):
        remarks.answer(desk.queue, row.id, "it is right", means="client", name="bob")
    asked = remarks.ask(desk.queue, row.id, desk.reviewer, "Is this the right address? ")
    assert (asked.kind, asked.by, asked.text) == ("question", "reviewer:ann", "Is this the right address?")
    assert remarks.unanswered(remarks.read_talk(desk.queue, row)) == asked
    remarks.reply(desk.queue, row.id, ben, "I doubt it")
    remarks.answer(desk.queue, row.id, "yes", means="client", name="Bob")
    remarks.ask(desk.queue, row.id, ben, "Who told you?")
    remarks.answer(desk.queue, row.id, "the mail", means="agent", name="bob")
    said = remarks.read_talk(desk.queue, row)
    assert [(item.kind, item.by) for item in said] == [
        ("question", "reviewer:ann"),
        ("reply", "reviewer:ben"),
        ("answer", "client:Bob"),
        ("question", "reviewer:ben"),
        ("answer", "agent:bob"),
    ]
    assert remarks.unanswered(said) is None
    assert desk.queue.get(row.id).decide_by == row.decide_by
    desk.clock.advance(hours=25)
    with pytest.raises(ConflictError, match="expired"):
        remarks.ask(desk.queue, row.id, desk.reviewer, "Still there?")
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_channels_hear_of_questions_and_answers_without_the_words(desk: Desk) -> None:
    box = Outbox(desk.queue.store, desk.clock)
    box.collect("ops", lambda _: True)
    row = desk.propose()
    remarks.ask(desk.queue, row.id, desk.reviewer, "SECRET question")
    remarks.answer(desk.queue, row.id, "SECRET answer", means="client", name="bob")
    snoozes.snooze(desk.queue, row.id, desk.reviewer, desk.clock() + HOUR)
    box.collect("ops", lambda _: True)
    told = []
    while (found := box.claim("ops", hold=HOUR)) is not None:
        notice = box.notice(found.seq)
        assert notice is not None
        assert notice.proposal is not None
        assert notice.proposal.id == row.id
        assert "SECRET" not in str(notice.body)
        told.append(notice.kind)
    assert told == ["asked", "question", "answer"]
    assert {"question", "answer"} <= set(FOR_PEOPLE)


def test_a_requester_who_is_a_reviewer_answers_as_that_person(desk: Desk) -> None:
    bob = another(desk, "bob")
    row = desk.propose()
    remarks.ask(desk.queue, row.id, desk.reviewer, "Really?")
    assert remarks.reply(desk.queue, row.id, bob, "really").kind == "answer"


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", ["", "eve", "bоb"])  # the last one has a Cyrillic letter in it
def test_nobody_answers_or_cancels_in_somebody_elses_name(name: str, desk: Desk) -> None:
    row = desk.propose()
    remarks.ask(desk.queue, row.id, desk.reviewer, "Really?")
    with pytest.raises(NotAllowedError):
        remarks.answer(desk.queue, row.id, "really", means="client", name=name)
    with pytest.raises(NotAllowedError):
        responding.cancel(desk.queue, row.id, means="client", name=name)
    assert desk.queue.get(row.id).state is State.PENDING


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 2_001, "\ud800"])
def test_what_is_no_text_is_no_remark(text: str, desk: Desk) -> None:
    row = desk.propose()
    for act in (remarks.ask, responding.respond):
        with pytest.raises(QueueError):
            act(desk.queue, row.id, desk.reviewer, text)
    assert desk.queue.get(row.id).state is State.PENDING


@pytest.mark.claim("C5")
@pytest.mark.parametrize("change", ["planted", "edited", "removed", "author"])
def test_a_remark_that_nobody_made_stops_the_decision(change: str, desk: Desk) -> None:
    row = desk.propose()
    remarks.ask(desk.queue, row.id, desk.reviewer, "Is it right?")
    remarks.answer(desk.queue, row.id, "no", means="client", name="bob")
    table = remark_rows
    statements: dict[str, Any] = {
        "planted": sa.insert(table).values(proposal_id=row.id, kind="answer", by="client:bob", text="yes", at=1),
        "edited": sa.update(table).where(table.c.text == "no").values(text="yes"),
        "removed": sa.delete(table).where(table.c.text == "no"),
        "author": sa.update(table).where(table.c.text == "no").values(by="reviewer:bob"),
    }
    with desk.queue.store.write() as connection:
        connection.execute(statements[change])
    with pytest.raises(StoreCorruptError, match="asked and answered"):
        remarks.read_talk(desk.queue, row)
    with pytest.raises(StoreCorruptError):
        desk.approve(row)
    assert not verify(desk.queue.store).ok


@pytest.mark.claim("C5")
def test_a_snooze_that_nobody_set_is_found(desk: Desk) -> None:
    row = desk.propose()
    with desk.queue.store.write() as connection:
        values = {"proposal_id": row.id, "reviewer": "ann", "until": desk.clock() + HOUR}
        connection.execute(sa.insert(snooze_rows).values(values))
    assert not verify(desk.queue.store).ok


def hidden(desk: Desk, name: str) -> set[str]:
    with desk.queue.store.read() as connection:
        return set(snoozes.hidden_from(connection, desk.queue, name, desk.clock()))


@pytest.mark.claim("C4")
def test_putting_off_hides_from_one_person_and_never_from_all(desk: Desk, ben: Reviewer) -> None:
    row = desk.propose()
    assert snoozes.snooze(desk.queue, row.id, desk.reviewer, desk.clock() + HOUR)
    assert (hidden(desk, "ann"), hidden(desk, "ben")) == ({row.id}, set())
    assert not snoozes.snooze(desk.queue, row.id, ben, desk.clock() + 2 * HOUR)
    assert (hidden(desk, "ann"), hidden(desk, "ben")) == (set(), set())  # everybody has: it is back at once
    snoozes.wake(desk.queue, row.id, ben)
    assert hidden(desk, "ann") == {row.id}
    desk.clock.advance(hours=1)
    assert hidden(desk, "ann") == set()
    assert desk.queue.get(row.id).decide_by == row.decide_by
    assert desk.queue.approve(row.id, ben, row.digest).state is State.APPROVED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize("offset", [-1, 0, 24 * HOUR, 25 * HOUR])
def test_nothing_is_put_off_past_its_own_time_or_into_the_past(offset: int, desk: Desk, ben: Reviewer) -> None:
    row = desk.propose()
    with pytest.raises(QueueError, match="moment ahead"):
        snoozes.snooze(desk.queue, row.id, desk.reviewer, desk.clock() + offset)
    assert hidden(desk, "ann") == set()
    with pytest.raises(ConflictError):
        snoozes.wake(desk.queue, row.id, desk.reviewer)


@pytest.mark.claim("C4")
def test_who_has_said_yes_already_has_it_in_view_for_nobody_else(desk: Desk, ben: Reviewer) -> None:
    row = edit(desk.queue, desk.propose().id, ben, desk.queue.list([State.PENDING])[0].digest, ARGS, by(REVIEW))
    assert desk.queue.approve(row.id, ben, row.digest).state is State.PENDING
    assert not snoozes.snooze(desk.queue, row.id, desk.reviewer, desk.clock() + HOUR)  # only ann can still decide it
    assert hidden(desk, "ann") == set()


def test_an_only_reviewer_puts_nothing_out_of_sight(desk: Desk) -> None:
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    row = desk.propose()
    assert not snoozes.snooze(desk.queue, row.id, desk.reviewer, desk.clock() + HOUR)
    assert hidden(desk, "ann") == set()


@pytest.mark.claim("C4")
def test_the_requester_takes_an_open_question_back_and_nothing_that_was_decided(desk: Desk) -> None:
    first, second = desk.propose(), desk.propose()
    gone = responding.cancel(desk.queue, first.id, means="client", name="bob")
    assert (gone.state, gone.code, gone.decided_by) == (State.CANCELLED, "cancelled", "client:bob")
    desk.approve(second)
    with pytest.raises(ConflictError):
        responding.cancel(desk.queue, second.id, means="client", name="bob")
    assert desk.queue.get(second.id).state is State.APPROVED


def test_a_response_ends_the_call_with_a_text_for_its_agent(desk: Desk) -> None:
    row = responding.respond(desk.queue, desk.propose().id, desk.reviewer, " Use the form instead. ")
    assert (row.state, row.code, responding.response_of(row)) == (
        State.REJECTED,
        "responded",
        "Use the form instead.",
    )
    other = desk.queue.reject(desk.propose().id, desk.reviewer, reason="a note for the record")
    assert responding.response_of(other) == ""
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_a_call_that_was_refused_is_not_asked_about_again_until_the_user_speaks(desk: Desk) -> None:
    first = again(desk, "c1")
    desk.queue.reject(first.id, desk.reviewer)
    second = again(desk, "c2")
    assert (second.state, second.rule) == (State.DENIED, "refused-before")
    assert first.id in second.remedy
    third = again(desk, "c3")
    assert third.rule == "refused-before"
    assert first.id in third.remedy  # it points to the first, not to the refusal in between
    other = desk.queue.propose(desk.request(to="zoe@corp.example"), decided(REVIEW))
    assert other.state is State.PENDING
    desk.clock.advance(seconds=1)
    say(desk, "NONE", "please do it again")
    assert again(desk, "c4").rule == "refused-before"  # nobody's words count for nothing
    say(desk, "USER", "please do it again")
    assert again(desk, "c5").state is State.PENDING


def test_a_response_and_a_question_nobody_looked_at_may_be_asked_again(desk: Desk) -> None:
    responding.respond(desk.queue, again(desk, "c1").id, desk.reviewer, "ask me after lunch")
    second = again(desk, "c2")
    assert second.state is State.PENDING
    desk.clock.advance(hours=25)
    assert desk.queue.get(second.id).state is State.EXPIRED
    assert again(desk, "c3").state is State.PENDING


def test_who_is_no_reviewer_any_more_takes_part_in_nothing(desk: Desk, ben: Reviewer) -> None:
    row = desk.propose()
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    for act in (
        lambda: edit(desk.queue, row.id, ben, row.digest, ARGS, by(REVIEW)),
        lambda: remarks.ask(desk.queue, row.id, ben, "why?"),
        lambda: snoozes.snooze(desk.queue, row.id, ben, desk.clock() + HOUR),
        lambda: responding.respond(desk.queue, row.id, ben, "no"),
        lambda: responding.cancel_as(desk.queue, row.id, ben),
    ):
        with pytest.raises(CredentialError):
            act()
    assert kinds(desk, row) == ["proposal.recorded"]


def again(desk: Desk, call_id: str) -> Proposal:
    return desk.propose(request=desk.request(call_id=call_id))


def say(desk: Desk, authority: str, text: str) -> None:
    content = SqlContentStore(desk.queue.store, desk.clock)
    content.append_item("t", f"k{authority}", "words", {"text": text, "authority": authority, "uri": ""})
