"""Attacks through standing in, through breaking the glass, and through the clock. Attack 11 of the list, and around it.

Whoever asked for a call wants it approved: by a colleague who stands in, by a second account, by an emergency that is
none. Whoever broke a glass wants nobody to look. And whoever can stop the clock wants people to hear nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals.clock import micros
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    NotAllowedError,
    QueueError,
    StepUpError,
    StoreCorruptError,
)
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.ladder import Ladder
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import afterlooks, plans
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, REASON, RULES, add, broken, busy, looks, proven
from tests.approvals.made import Desk, HandClock

ONE = RULES.replace("approver: 2", "approver: 1")
WEEK = micros(timedelta(days=7))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield busy(store, HandClock(), rules=ONE)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Desk]:
    """Questions take two approvers."""
    with Store.open(f"sqlite:///{tmp_path}/pair.db") as store:
        yield busy(store, HandClock())


def hand(desk: Desk, giver: Reviewer, taker: str) -> str:
    handing = Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)
    return handing.give(giver, taker, reason="on holiday", expires_at=desk.clock() + WEEK).id


def asked_by(desk: Desk, requester: str) -> Proposal:
    return desk.propose(request=desk.request(requester=requester))


def waits(desk: Desk, row: Proposal) -> bool:
    return desk.queue.get(row.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_whoever_asked_approves_through_a_colleague_who_stands_in(desk: Desk) -> None:
    """Mallory asks, and hands over to Cem, who is no approver: Mallory's voice is not lent to Mallory's own call."""
    mallory, cem = add(desk, "mallory", Role.APPROVER), add(desk, "cem", Role.RESPONDER)
    hand(desk, mallory, "cem")
    row, other = asked_by(desk, "mallory"), asked_by(desk, "bob")
    with pytest.raises(NotAllowedError):
        desk.queue.approve(row.id, cem, row.digest)
    assert waits(desk, row)
    assert desk.queue.approve(other.id, cem, other.digest).state is State.APPROVED  # for others Cem does stand in
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", ["mallory", "MALLORY", "mall\u043ery", " mallory\u200b"])
def test_whoever_asked_is_given_a_colleagues_voice(desk: Desk, name: str) -> None:
    """Ann hands over to Mallory, who asked under this spelling of the same name."""
    mallory = add(desk, "mallory", Role.RESPONDER)
    hand(desk, desk.reviewer, "mallory")
    row = asked_by(desk, name)
    with pytest.raises(NotAllowedError, match=r"yourself|nobody knows"):
        desk.queue.approve(row.id, mallory, row.digest)
    assert waits(desk, row)


@pytest.mark.claim("C4")
def test_whoever_asked_hands_over_to_a_second_account_of_their_own(desk: Desk) -> None:
    mallory = add(desk, "mallory", Role.APPROVER)
    second = add(desk, "m2", Role.RESPONDER, person="mallory")
    with pytest.raises(NotAllowedError, match="stand in for oneself"):
        hand(desk, mallory, "m2")
    hand(desk, desk.reviewer, "m2")
    row = asked_by(desk, "mallory")
    with pytest.raises(NotAllowedError):
        desk.queue.approve(row.id, second, row.digest)
    assert waits(desk, row)


@pytest.mark.claim("C4")
def test_one_person_fills_two_places_with_a_voice_that_was_handed_over(pair: Desk) -> None:
    """Ben approves with his own voice, then with Ann's, then Ann comes back: never two from one voice."""
    ben, cem = add(pair, "ben", Role.APPROVER), add(pair, "cem", Role.RESPONDER)
    hand(pair, pair.reviewer, "ben")
    row = asked_by(pair, "bob")
    assert pair.queue.approve(row.id, ben, row.digest).state is State.PENDING
    with pytest.raises(ConflictError):
        pair.queue.approve(row.id, ben, row.digest)
    assert waits(pair, row)
    other = asked_by(pair, "bob")
    hand(pair, ben, "cem")
    assert pair.queue.approve(other.id, cem, other.digest).state is State.PENDING  # for Ben
    with pytest.raises(ConflictError, match="cem for ben"):
        pair.queue.approve(other.id, ben, other.digest)
    with pytest.raises(ConflictError):
        pair.queue.approve(other.id, cem, other.digest)
    assert waits(pair, other)
    assert pair.approve(other).state is State.APPROVED
    assert verify(pair.queue.store).ok


@pytest.mark.claim("C4")
def test_a_voice_is_passed_on_along_a_chain(desk: Desk) -> None:
    """Ann to Ben, Ben to Cem: Cem has nothing of Ann's, and Ben has nothing to pass on."""
    ben, cem = add(desk, "ben", Role.RESPONDER), add(desk, "cem", Role.RESPONDER)
    hand(desk, desk.reviewer, "ben")
    with pytest.raises(NotAllowedError, match="only an approver"):
        hand(desk, ben, "cem")
    row = asked_by(desk, "bob")
    with pytest.raises(NotAllowedError):
        desk.queue.approve(row.id, cem, row.digest)
    assert waits(desk, row)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("who", ["giver", "taker"])
def test_a_voice_is_used_after_its_account_was_disabled(desk: Desk, who: str) -> None:
    giver, taker = add(desk, "mallory", Role.APPROVER), add(desk, "cem", Role.RESPONDER)
    hand(desk, giver, "cem")
    row = asked_by(desk, "bob")
    desk.queue.reviewers.disable("mallory" if who == "giver" else "cem", by=desk.reviewer)
    with pytest.raises((NotAllowedError, CredentialError)):
        desk.queue.approve(row.id, taker, row.digest)
    with pytest.raises(CredentialError):
        hand(desk, giver if who == "giver" else taker, "ann")
    assert waits(desk, row)


@pytest.mark.claim("C4")
def test_a_voice_is_used_after_it_was_taken_back_or_its_time_is_over_and_the_clock_is_put_back(desk: Desk) -> None:
    giver, taker = add(desk, "gina", Role.APPROVER), add(desk, "cem", Role.RESPONDER)
    name = hand(desk, giver, "cem")
    desk.clock.advance(hours=2)
    Delegations(desk.queue.store, desk.clock, desk.queue.reviewers).end(name, giver)
    desk.clock.advance(hours=-1)
    row = asked_by(desk, "bob")
    with pytest.raises(NotAllowedError):
        desk.queue.approve(row.id, taker, row.digest)
    hand(desk, giver, "cem")
    desk.clock.advance(days=7)
    late = asked_by(desk, "bob")
    with pytest.raises(NotAllowedError):
        desk.queue.approve(late.id, taker, late.digest)
    assert waits(desk, late)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("requester", ["eve", "EVE", "\u0435ve", "", "\u2800"])
def test_the_glass_is_broken_by_whoever_asked(tmp_path: Path, requester: str, single: bool) -> None:
    """Also where a single-user setting lets people approve for themselves."""
    with Store.open(f"sqlite:///{tmp_path}/g.db") as store:
        desk = busy(store, HandClock(), single=single)
        eve = add(desk, "eve", Role.BREAKER)
        row = asked_by(desk, requester)
        with pytest.raises(NotAllowedError, match="a call of their own"):
            broken(desk, eve, row)
        assert waits(desk, row)
        second = add(desk, "e2", Role.BREAKER, person="eve")
        if requester:
            with pytest.raises(NotAllowedError):
                broken(desk, second, row)


@pytest.mark.claim("C4")
def test_the_glass_is_broken_with_a_role_that_was_handed_over(desk: Desk) -> None:
    boss = add(desk, "boss", Role.APPROVER, Role.BREAKER)
    cem = add(desk, "cem", Role.RESPONDER)
    hand(desk, boss, "cem")
    row = asked_by(desk, "bob")
    with pytest.raises(NotAllowedError, match="takes the role breaker"):
        broken(desk, cem, row)
    assert waits(desk, row)


@pytest.mark.claim("C4")
def test_the_proof_of_a_yes_or_of_another_glass_breaks_this_one(pair: Desk) -> None:
    """Attack 12: a second factor that is not bound to the item and to what was decided."""
    from checkvalve.approvals.breakglass import break_glass

    eve = add(pair, "eve", Role.BREAKER)
    row, other = asked_by(pair, "bob"), asked_by(pair, "bob")
    for proof in (proven(pair, eve, row, decision="approve"), proven(pair, eve, other), None):
        with pytest.raises(StepUpError):
            break_glass(pair.queue, row.id, eve, row.digest, reason=REASON, step_up=proof)
    once = proven(pair, eve, other)
    break_glass(pair.queue, other.id, eve, other.digest, reason=REASON, step_up=once)
    with pytest.raises(StepUpError):
        break_glass(pair.queue, row.id, eve, row.digest, reason=REASON, step_up=once)
    assert waits(pair, row)


@pytest.mark.claim("C4")
def test_a_broken_glass_runs_twice_or_something_else(pair: Desk) -> None:
    eve, row = add(pair, "eve", Role.BREAKER), asked_by(pair, "bob")
    broken(pair, eve, row)
    ran = list[str]()
    for _ in range(3):
        Executor(pair.queue, wait=timedelta()).run(row.id, lambda args, key: ran.append(str(args["to"])))
    assert ran == ["eve@evil.example"]
    twin = asked_by(pair, "bob")  # the very same call, asked for again: it waits like any other
    assert waits(pair, twin)
    assert pair.queue.endorsements("t") == []


@pytest.mark.claim("C4")
@pytest.mark.parametrize("how", ["breaker", "second account", "requester", "colleague of the requester"])
def test_the_look_is_written_by_somebody_who_has_something_to_hide(pair: Desk, how: str) -> None:
    eve = add(pair, "eve", Role.BREAKER, Role.AUDITOR)
    bob, row = add(pair, "bob"), asked_by(pair, "bob")
    broken(pair, eve, row)
    Executor(pair.queue, wait=timedelta()).run(row.id, lambda args, key: "sent")
    who = {
        "breaker": eve,
        "second account": add(pair, "auditor-7", Role.AUDITOR, person="eve"),
        "requester": bob,
        "colleague of the requester": add(pair, "b2", Role.APPROVER, person="bob"),
    }[how]
    with pytest.raises(NotAllowedError):
        looks(pair).close(row.id, who, FINDING)
    assert [look.is_open for look in looks(pair).list()] == [True]


@pytest.mark.claim("C5")
def test_an_open_look_is_removed_or_closed_beside_the_log(pair: Desk) -> None:
    """So that a further glass could be broken: the bound is counted, and the log has what was."""
    eve = add(pair, "eve", Role.BREAKER)
    for _ in range(3):
        broken(pair, eve, asked_by(pair, "bob"))
    with pair.queue.store.write() as connection:
        connection.execute(sa.update(afterlooks).values(looked_by="ann", looked_at=1, finding=FINDING))
    assert {finding.code for finding in verify(pair.queue.store).findings} == {"row_differs"}
    row = asked_by(pair, "bob")
    with pytest.raises(StoreCorruptError):
        broken(pair, eve, row)
    with pair.queue.store.write() as connection:
        connection.execute(sa.delete(afterlooks))
    with pytest.raises(StoreCorruptError):
        broken(pair, eve, row)
    assert waits(pair, row)


@pytest.mark.claim("C5")
def test_twenty_gateways_remind_at_once(tmp_path: Path) -> None:
    """Twenty processes' worth of ladders over one store: one event and one message for each rung, none lost."""
    url, clock = f"sqlite:///{tmp_path}/race.db", HandClock()
    with Store.open(url) as store:
        desk = busy(store, clock)
        add(desk, "ben", Role.APPROVER)
        box = Outbox(store, clock)
        box.collect("ops", lambda notice: True)
        rows = [asked_by(desk, "bob") for _ in range(4)]
        clock.advance(hours=9, minutes=30)
        gate = threading.Barrier(20)

        def race() -> None:
            with Store.open(url) as own:
                gate.wait()
                Ladder(Queue(own, clock)).tick()

        threads = [threading.Thread(target=race) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = [notice.kind for notice in box.after(0, limit=10_000)[0]]
        assert (told.count("reminder"), told.count("escalated")) == (len(rows), len(rows))
        assert verify(store).ok


@pytest.mark.claim("C5")
def test_a_reminder_is_silenced_by_hand(pair: Desk) -> None:
    """Who can write the database says that everybody was reminded already: the log says otherwise."""
    row = asked_by(pair, "bob")
    with pair.queue.store.write() as connection:
        connection.execute(sa.update(plans).values(step=3, next_at=None))
    assert [finding.code for finding in verify(pair.queue.store).findings] == ["row_differs"]
    ben = add(pair, "ben", Role.APPROVER)
    with pytest.raises(StoreCorruptError):
        pair.queue.approve(row.id, ben, row.digest)


@pytest.mark.claim("C4")
def test_an_expiry_is_taken_for_a_no(pair: Desk) -> None:
    """Attack 17: the words of a timeout and of a person's no differ in state, in who decided, and in the code."""
    late, refused = asked_by(pair, "bob"), asked_by(pair, "bob")
    pair.queue.reject(refused.id, pair.reviewer)
    pair.clock.advance(hours=10)
    Ladder(pair.queue).tick()
    one, other = pair.queue.get(late.id), pair.queue.get(refused.id)
    assert (one.state, one.decided_by, one.code) == (State.EXPIRED, "clock", "expired")
    assert (other.state, other.decided_by) == (State.REJECTED, "reviewer:ann")
    with pytest.raises(ConflictError, match="expired"):
        pair.queue.reject(late.id, pair.reviewer)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("back", [timedelta(minutes=16), timedelta(days=400)])
def test_the_clock_is_put_back_to_use_what_is_over(desk: Desk, back: timedelta) -> None:
    """Both clocks: a question that expired and a permit that lapsed stay so."""
    expired, lapsed = asked_by(desk, "bob"), asked_by(desk, "bob")
    desk.approve(lapsed)
    desk.clock.advance(hours=10)
    Ladder(desk.queue).tick()
    desk.clock.now -= micros(back)
    with pytest.raises(ConflictError):
        desk.approve(expired)
    ran = list[str]()
    found = Executor(desk.queue, wait=timedelta()).run(lapsed.id, lambda args, key: ran.append("ran"))
    assert (found.proposal.state, ran) == (State.LAPSED, [])
    assert desk.queue.get(expired.id).state is State.EXPIRED
    with pytest.raises((ConflictError, QueueError)):
        broken(desk, add(desk, "eve", Role.BREAKER), expired)
    assert verify(desk.queue.store).ok
