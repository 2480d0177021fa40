"""The outbox, the budget and the weekly report, on every database that the store supports."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals import attention, audit
from checkvalve.approvals.clock import micros
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import BudgetError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.notices import KINDS, Notice
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import State
from checkvalve.approvals.report import report
from checkvalve.approvals.request_keys import remember
from checkvalve.approvals.selection import mark, page
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verdicts import Review
from checkvalve.approvals.verify import verify
from tests.approvals.made import ALLOW, DENY, Desk, HandClock

HOLD = micros(timedelta(minutes=1))


def anything(_: Notice) -> bool:
    return True


def kinds(box: Outbox, channel: str = "ops") -> list[str]:
    """Take everything that is due, as if it had arrived."""
    found = []
    while (delivery := box.claim(channel, hold=HOLD)) is not None:
        notice = box.notice(delivery.seq)
        assert notice is not None
        found.append(notice.kind)
        box.arrived(delivery)
    return found


@pytest.fixture
def box(store: Store, clock: HandClock) -> Outbox:
    return Outbox(store, clock)


def test_a_channel_hears_what_happens_from_its_first_look_on(desk: Desk, box: Outbox) -> None:
    desk.propose()
    box.collect("ops", anything)
    assert kinds(box) == []
    executor = Executor(desk.queue, wait=timedelta())
    executor.run(desk.approve(desk.propose()).id, lambda args, key: "sent")
    executor.run(desk.propose(ALLOW).id, lambda args, key: "sent")
    desk.queue.reject(desk.propose().id, desk.reviewer)
    desk.propose(DENY)
    desk.propose(DENY, observe=True)
    desk.clock.advance(days=2)
    desk.queue.sweep()
    box.collect("ops", anything)
    heard = kinds(box)
    assert heard == ["asked", "approved", "succeeded", "succeeded", "asked", "rejected", "denied", "expired"]
    assert set(heard) <= set(KINDS)
    assert box.collect("ops", anything) == 0


def test_a_channel_gets_only_what_it_wants_and_each_has_a_cursor_of_its_own(desk: Desk, box: Outbox) -> None:
    for channel in ("ops", "mail"):
        box.collect(channel, anything)
    desk.queue.reject(desk.propose().id, desk.reviewer)
    box.collect("ops", lambda notice: notice.kind == "rejected")
    box.collect("mail", anything)
    assert (kinds(box), kinds(box, "mail")) == (["rejected"], ["asked", "rejected"])


def test_a_sender_that_dies_is_followed_by_another_and_the_id_stays(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    desk.propose()
    box.collect("ops", anything)
    first = box.claim("ops", hold=HOLD)
    assert first is not None
    assert box.claim("ops", hold=HOLD) is None  # somebody has it
    desk.clock.advance(minutes=2)
    second = box.claim("ops", hold=HOLD)
    assert second is not None
    assert (second.seq, second.tries) == (first.seq, 2)
    box.failed(first, "timeout", wait=None)  # the dead one wakes up: it is not its any more
    assert box.dead() == []
    assert box.notice(first.seq) == box.notice(second.seq)


def test_what_is_given_up_is_kept_until_somebody_looks(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    desk.propose()
    box.collect("ops", anything)
    delivery = box.claim("ops", hold=HOLD)
    assert delivery is not None
    box.failed(delivery, "status_500", wait=None)
    desk.clock.advance(days=30)
    assert box.claim("ops", hold=HOLD) is None
    assert [(item.seq, item.code) for item in box.dead("ops")] == [(delivery.seq, "status_500")]
    assert [(item.waiting, item.dead) for item in box.standing()] == [(0, 1)]
    assert box.revive("ops", delivery.seq + 1) == 0
    assert box.revive("ops") == 1
    assert kinds(box) == ["asked"]


def test_two_processes_collect_each_event_once(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    for _ in range(15):
        desk.propose()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while box.collect("ops", anything, limit=4):
                pass
        except BaseException as error:  # noqa: BLE001  # shown by the assertion
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    box.collect("ops", anything)
    assert kinds(box) == ["asked"] * 15


@pytest.mark.claim("C4")
def test_a_yes_beyond_the_budget_is_no_yes_and_the_question_waits_for_others(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    ben = desk.queue.reviewers.authenticate(desk.queue.reviewers.add("ben", by=desk.reviewer))
    desk.queue.budget = 3
    for _ in range(3):
        desk.approve(desk.propose())
    waiting = desk.propose()
    with pytest.raises(BudgetError, match="3 times within the hour"):
        desk.approve(waiting)
    assert desk.queue.get(waiting.id).state is State.PENDING
    assert desk.queue.grant(waiting.id) is None
    until = attention.spent(desk.queue.store, ["ann", "ben"], 3, desk.clock())
    assert set(until) == {"ann"}
    box.collect("ops", lambda notice: notice.kind == "budget")
    assert kinds(box) == ["budget"]
    desk.queue.reject(desk.propose().id, desk.reviewer)  # a no is always possible
    assert desk.queue.approve(waiting.id, ben, waiting.digest).state is State.APPROVED
    desk.clock.now = until["ann"]
    assert desk.approve(desk.propose()).state is State.APPROVED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_a_flood_of_questions_is_never_approved_by_being_many(desk: Desk) -> None:
    """200 questions from 20 tasks: each yes is a person's, and after the budget there is none."""
    desk.queue.budget = 12
    given = refused = 0
    for number in range(200):
        call = desk.request(thread=f"t{number % 20}")
        proposal = desk.propose(request=call)
        if proposal.state is not State.PENDING:
            continue
        try:
            desk.approve(proposal)
            given += 1
        except BudgetError:
            refused += 1
    approved = desk.queue.list([State.APPROVED])
    assert given == len(approved) == 12
    assert refused > 100
    assert {row.decided_by for row in approved} == {"reviewer:ann"}


def test_what_was_shown_is_noted_once_for_each_person(desk: Desk) -> None:
    row, store, now = desk.propose(), desk.queue.store, desk.clock()
    assert attention.note_shown(store, row.id, "ann", at=now, now=now)
    assert not attention.note_shown(store, row.id, "ann", at=now, now=now)
    assert attention.note_shown(store, row.id, "ben", at=now, now=now)
    with store.read() as connection:
        told = [event.kind for event in audit.read_events(connection, subject=row.id)]
    assert told.count(attention.SHOWN) == 2
    assert desk.approve(row).state is State.APPROVED
    assert verify(store).ok


def test_the_report_says_what_could_be_a_rule_and_whether_anybody_looked(desk: Desk) -> None:
    start, other = desk.clock(), Review("amount-not-known", "amount-not-known", "say the amount")
    for wait in (1.0, 1.5, 60.0, 90.0, 120.0):
        row = desk.propose(request=desk.request(thread=f"a{wait}"))
        attention.note_shown(desk.queue.store, row.id, "ann", at=desk.clock(), now=desk.clock())
        desk.clock.advance(seconds=wait)
        desk.approve(row)
    for number in range(3):
        desk.queue.reject(desk.propose(other, request=desk.request(thread=f"b{number}")).id, desk.reviewer)
    desk.propose(other, request=desk.request(thread="c"))
    desk.propose(ALLOW)
    found = report(desk.queue.store, since=start, until=desk.clock(), fast=2.0)
    first, second = found.groups
    assert (first.tool, first.source, first.asked, first.approved) == ("send", "tool:read_mail#body", 5, 5)
    assert first.advice.startswith("always approved")
    assert first.median_wait == 60.0
    assert (second.rule, second.asked, second.rejected, second.open) == ("amount-not-known", 4, 3, 1)
    assert second.advice.startswith("never approved")
    (ann,) = found.people
    assert (ann.name, ann.approved, ann.rejected, ann.shown, ann.quick.share) == ("ann", 5, 3, 5, 0.4)
    assert ann.fullest_hour == 8
    assert report(desk.queue.store, since=desk.clock() + 1, until=desk.clock() + 2, fast=2.0).groups == []


def test_one_refusal_among_many_yeses_is_no_rule(desk: Desk) -> None:
    start = desk.clock()
    for number in range(6):
        desk.approve(desk.propose(request=desk.request(thread=f"a{number}")))
    desk.queue.reject(desk.propose(request=desk.request(thread="x")).id, desk.reviewer)
    (group,) = report(desk.queue.store, since=start, until=desk.clock(), fast=2.0).groups
    assert group.advice == ""


def test_a_key_is_its_senders_and_belongs_to_one_request(store: Store, clock: HandClock) -> None:
    assert remember(store, "ann", "k", {"a": 1}, now=clock()) == "new"
    assert remember(store, "ann", "k", {"a": 1}, now=clock()) == "same"
    assert remember(store, "ann", "k", {"a": 2}, now=clock()) == "other"
    assert remember(store, "ben", "k", {"a": 2}, now=clock()) == "new"
    clock.advance(days=3)
    assert remember(store, "ann", "k", {"a": 2}, now=clock()) == "new"


def test_pages_follow_each_other_and_show_a_requester_its_own(desk: Desk) -> None:
    rows = [desk.propose(request=desk.request(requester=name)) for name in ("Bob", "eve", "bob", "BOB", "eve")]
    first = page(desk.queue.store, states=[State.PENDING], requester="bob", limit=2)
    after = first[-1].created_at, first[-1].id
    second = page(desk.queue.store, states=None, requester="bob", after=after, limit=2)
    found = [row.id for row in (*first, *second)]
    assert sorted(found) == sorted(row.id for row in rows if row.requester.lower() == "bob")
    assert page(desk.queue.store, states=None, requester="nobody") == []
    assert mark(desk.queue.store) == audit.head(desk.queue.store).seq


@pytest.mark.claim("C9")
def test_a_damaged_call_keeps_no_channel_from_hearing_of_the_others(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    damaged, whole = desk.propose(), desk.propose()
    with desk.queue.store.write() as connection:
        row = proposals.c
        connection.execute(sa.update(proposals).where(row.id == damaged.id).values(decision="{"))
    box.collect("ops", anything)
    found = {}
    while (delivery := box.claim("ops", hold=HOLD)) is not None:
        notice = box.notice(delivery.seq)
        assert notice is not None
        found[notice.subject] = notice.proposal
        box.arrived(delivery)
    assert found == {damaged.id: None, whole.id: whole}


def test_what_was_erased_is_told_to_nobody(desk: Desk, box: Outbox) -> None:
    box.collect("ops", anything)
    row = desk.propose()
    desk.queue.reject(row.id, desk.reviewer)
    box.collect("ops", anything)
    with desk.queue.store.write() as connection:
        erase_call(connection, row.id, at=desk.clock(), by="ann", reason="asked for")
    delivery = box.claim("ops", hold=HOLD)
    assert delivery is not None
    assert box.notice(delivery.seq) is None
    box.collect("late", anything)
    assert box.after(0)[0] == []
