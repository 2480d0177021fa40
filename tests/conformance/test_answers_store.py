"""Edits, remarks, snoozes and cancelling in the store, on every database: races, bounds, and rows that were planted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import plans, remarks, responding, snoozes
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.decide import Decision
from checkvalve.approvals.edits import MAX_EDITS, current, edit, edited, first_of, lineage
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    DigestError,
    EditRefusedError,
    NotAllowedError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import remarks as remark_rows
from checkvalve.approvals.review_tables import snoozes as snooze_rows
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, DENY, REVIEW, Desk, decided

HOUR = 3_600_000_000
ARGS: dict[str, JSON] = {"to": "ann@corp.example", "n": 1}


def by(verdict: Any) -> Callable[[Proposal, Mapping[str, JSON]], Decision]:
    return lambda _old, _args: decided(verdict)


def another(desk: Desk, name: str) -> Reviewer:
    return desk.queue.reviewers.authenticate(desk.queue.reviewers.add(name, by=desk.reviewer))


@pytest.fixture(autouse=True)
def ben(desk: Desk) -> Reviewer:
    """Add a second reviewer: an editor's yes does not count alone."""
    return another(desk, "ben")


def kinds(desk: Desk, row: Proposal) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in read_events(connection, subject=row.id)]


@pytest.mark.claim("C4")
def test_an_edit_is_another_call_with_a_question_of_its_own(desk: Desk, ben: Reviewer) -> None:
    old = desk.propose()
    new = edit(desk.queue, old.id, ben, old.digest, ARGS, by(ALLOW))
    assert (new.state, new.call_id, new.args()) == (State.PENDING, f"{old.call_id}~1", ARGS)
    assert (new.rule, new.verdict_name) == ("edited", "review")  # what a rule would allow waits for a person
    same = ("tool", "server", "thread", "requester", "idempotency", "mode")
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    gone = desk.queue.get(old.id)
    assert (gone.state, gone.code, gone.decided_by) == (State.SUPERSEDED, "edited", "reviewer:ben")
    assert current(desk.queue, old.id) == new
    assert first_of(desk.queue, new) == gone
    assert lineage(desk.queue, new) == (gone, None)
    assert lineage(desk.queue, gone) == (None, new)
    assert [(item.path, item.before, item.after, item.kind) for item in edited(gone, new)] == [
        ("to", "eve@evil.example", "ann@corp.example", "changed")
    ]
    with desk.queue.store.read() as connection:
        plan = plans.read(connection, new.id)
    assert (plan.parent, plan.edited_by) == (old.id, "ben")
    with pytest.raises(ConflictError, match="superseded by reviewer:ben"):
        desk.approve(old)
    with pytest.raises(DigestError):
        desk.queue.approve(new.id, desk.reviewer, old.digest)
    assert desk.queue.approve(new.id, desk.reviewer, new.digest).state is State.APPROVED
    assert desk.queue.grant(old.id) is None
    assert verify(desk.queue.store).ok


def test_edits_of_edits_are_followed_and_bounded(desk: Desk) -> None:
    first = row = desk.propose()
    for number in range(MAX_EDITS):
        row = edit(desk.queue, row.id, desk.reviewer, row.digest, {"to": f"a{number}@corp.example"}, by(REVIEW))
    assert row.call_id == f"{first.call_id}~{MAX_EDITS}"
    assert current(desk.queue, first.id) == row
    assert first_of(desk.queue, row).id == first.id
    with pytest.raises(ConflictError, match="edited 20 times"):
        edit(desk.queue, row.id, desk.reviewer, row.digest, ARGS, by(REVIEW))
    assert desk.queue.get(row.id).state is State.PENDING
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("args", "digest", "decide", "error"),
    [
        (ARGS, "", by(REVIEW), DigestError),
        (ARGS, "sha256:" + "0" * 64, by(REVIEW), DigestError),
        ({"to": "eve@evil.example", "n": 1}, None, by(REVIEW), EditRefusedError),  # nothing was changed
        ({"to": float("nan")}, None, by(REVIEW), EditRefusedError),
        ({"to": {1: 2}}, None, by(REVIEW), EditRefusedError),
        (ARGS, None, by(DENY), EditRefusedError),
    ],
)
def test_an_edit_that_cannot_be_leaves_the_question_as_it_was(
    args: dict[str, Any], digest: str | None, decide: Any, error: type[Exception], desk: Desk
) -> None:
    old = desk.propose()
    with pytest.raises(error):
        edit(desk.queue, old.id, desk.reviewer, old.digest if digest is None else digest, args, decide)
    assert desk.queue.get(old.id) == old
    assert len(desk.queue.list()) == 1
    assert kinds(desk, old)[1:] in ([], ["edit.refused"])
    assert desk.approve(old).state is State.APPROVED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C5")
def test_a_refused_edit_is_in_the_log_with_who_tried_it(desk: Desk) -> None:
    old = desk.propose()
    with pytest.raises(EditRefusedError, match="refused by the rule unknown-tool"):
        edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(DENY))
    with desk.queue.store.read() as connection:
        event = list(read_events(connection, subject=old.id))[-1]
    assert (event.kind, '"by":"reviewer:ann"' in event.body, '"rule":"unknown-tool"' in event.body) == (
        "edit.refused",
        True,
        True,
    )
    assert "ann@corp.example" not in event.body


@pytest.mark.claim("C4")
def test_of_an_edit_and_a_yes_at_once_one_wins_and_nothing_of_the_other_is_stored(desk: Desk) -> None:
    """Ten rounds: the call is approved as it was, or replaced; never both, and never neither."""
    won = set()
    for _ in range(10):
        old = desk.propose()
        barrier, outcomes = threading.Barrier(2), dict[str, str]()

        def race(name: str, act: Callable[[], Any], at: threading.Barrier, told: dict[str, str]) -> None:
            at.wait()
            try:
                act()
                told[name] = "won"
            except ConflictError:
                told[name] = "late"

        yes = lambda row=old: desk.queue.approve(row.id, desk.reviewer, row.digest)  # noqa: E731
        other = lambda row=old: edit(desk.queue, row.id, desk.reviewer, row.digest, ARGS, by(REVIEW))  # noqa: E731
        workers = [
            threading.Thread(target=race, args=(name, act, barrier, outcomes))
            for name, act in (("yes", yes), ("edit", other))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(outcomes.values()) == ["late", "won"]
        end, after = desk.queue.get(old.id), current(desk.queue, old.id)
        edit_won = outcomes["edit"] == "won"
        won.add(edit_won)
        assert end.state is (State.SUPERSEDED if edit_won else State.APPROVED)
        assert (desk.queue.grant(old.id) is None) == edit_won
        assert (after.id != old.id) == edit_won
        if edit_won:
            desk.queue.reject(after.id, desk.reviewer)
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_two_edits_of_one_question_leave_one_successor(desk: Desk) -> None:
    old = desk.propose()
    told: list[str] = []
    barrier = threading.Barrier(2)

    def race(to: str) -> None:
        barrier.wait()
        try:
            told.append(edit(desk.queue, old.id, desk.reviewer, old.digest, {"to": to}, by(REVIEW)).id)
        except ConflictError:
            told.append("late")

    workers = [threading.Thread(target=race, args=(f"{name}@corp.example",)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert told.count("late") == 1
    (pending,) = desk.queue.list([State.PENDING])
    assert pending.id in told
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_an_agent_that_named_its_call_like_an_edit_is_no_edit(desk: Desk) -> None:
    planted = desk.queue.propose(desk.request(to="x@corp.example", call_id="c~1"), decided(REVIEW))
    old = desk.queue.propose(desk.request(call_id="c"), decided(REVIEW))
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    assert new.call_id == "c~2"
    assert current(desk.queue, old.id).id == new.id
    assert current(desk.queue, planted.id).id == planted.id
    assert desk.queue.get(planted.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_changed_arguments_of_the_agent_also_close_the_edit_of_what_they_replace(desk: Desk, ben: Reviewer) -> None:
    old = desk.queue.propose(desk.request(call_id="c"), decided(REVIEW))
    new = edit(desk.queue, old.id, ben, old.digest, ARGS, by(REVIEW))
    desk.queue.approve(new.id, desk.reviewer, new.digest)
    other = desk.queue.propose(desk.request(to="zoe@corp.example", call_id="c"), decided(REVIEW))
    assert desk.queue.get(new.id).state is State.INVALIDATED
    assert other.state is State.PENDING


@pytest.mark.claim("C5")
def test_a_planted_link_is_not_followed(desk: Desk) -> None:
    old, other = desk.propose(), desk.propose()
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    with desk.queue.store.write() as connection:
        connection.execute(sa.text("UPDATE plans SET parent='' WHERE proposal_id=:id"), {"id": new.id})
        connection.execute(
            sa.text("UPDATE plans SET parent=:old, edited_by='ann' WHERE proposal_id=:id"),
            {"old": old.id, "id": other.id},
        )
    with pytest.raises(StoreCorruptError):
        current(desk.queue, old.id)
    assert not verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_the_editor_alone_does_not_carry_a_grave_edit(desk: Desk, ben: Reviewer) -> None:
    old = desk.propose()  # its effect is not known, so it is grave
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    assert desk.queue.approve(new.id, desk.reviewer, new.digest).state is State.PENDING
    assert desk.queue.approve(new.id, ben, new.digest).state is State.APPROVED
    assert verify(desk.queue.store).ok


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
    from checkvalve.approvals.content import SqlContentStore  # noqa: PLC0415  # nothing else here needs it

    content = SqlContentStore(desk.queue.store, desk.clock)
    content.append_item("t", f"k{authority}", "words", {"text": text, "authority": authority, "uri": ""})
