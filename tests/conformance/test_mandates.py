"""Mandates and endorsements in the store: granted, used up, ended; the same on every database."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from checkvalve.approvals.clock import micros
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.errors import ConflictError, CredentialError, MandateError, MandateSpentError, NotFoundError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import MAIL, Desk, HandClock

BILL = Mandate("read_file(path=bill.txt)", "pay", ("target", "amount"), 100, max_total=150, max_calls=3)


def give(desk: Desk, *mandates: Mandate, thread: str = "t", requester: str = "bob", key: str = "") -> list[str]:
    granted = desk.queue.mandates.grant(mandates, thread=thread, requester=requester, by="host:bob", key=key)
    return [item.id for item in granted]


def kinds(desk: Desk, subject: str) -> list[str]:
    from checkvalve.approvals import audit

    with desk.queue.store.read() as connection:
        return [event.kind for event in audit.read_events(connection, subject=subject)]


def test_a_mandate_comes_back_as_it_was_granted(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    (found,) = desk.queue.mandates.in_force("t", "bob")
    assert (found.id, found.mandate, found.granted_by) == (name, BILL, "host:bob")
    assert (found.calls_left, str(found.amount_left)) == (3, "150")
    assert found.expires_at == desk.clock() + micros(timedelta(hours=24))
    assert kinds(desk, name) == ["mandate.granted"]


def test_it_is_for_its_thread_requester_and_tenant_only(desk: Desk, store: Store) -> None:
    give(desk, BILL)
    assert desk.queue.mandates.in_force("u", "bob") == []
    assert desk.queue.mandates.in_force("t", "ann") == []
    assert desk.queue.mandates.in_force("t", "") == []
    other = Queue(store, desk.clock, tenant="other")
    assert other.mandates.in_force("t", "bob") == []
    assert other.mandates.list() == []
    with pytest.raises(NotFoundError):
        other.mandates.take_back(desk.queue.mandates.list()[0].id, by="client:bob")


@pytest.mark.claim("C4")
def test_supplied_again_it_is_the_same_one_also_after_it_was_taken_back(desk: Desk) -> None:
    first, again = give(desk, BILL), give(desk, BILL)
    assert first == again
    desk.queue.revoke_mandate(first[0], desk.reviewer)
    assert give(desk, BILL) == first
    assert desk.queue.mandates.in_force("t", "bob") == []
    new = desk.queue.grant_mandate(BILL, desk.reviewer, thread="t", requester="bob")
    assert [item.id for item in desk.queue.mandates.in_force("t", "bob")] == [new.id]


@pytest.mark.parametrize("days", [-1, 0, 31])
def test_a_deadline_that_is_over_or_too_far_is_refused(desk: Desk, days: int) -> None:
    until = desk.clock() + micros(timedelta(days=days))
    with pytest.raises(MandateError, match="deadline"):
        give(desk, Mandate("read_file", "pay", ("target",), expires_at=until))


def test_a_task_has_a_bounded_number_of_mandates(desk: Desk) -> None:
    some = [Mandate(f"read_{number}", "pay", ("target",)) for number in range(101)]
    with pytest.raises(MandateError, match="at most 100"):
        give(desk, *some)
    assert desk.queue.mandates.list() == []


@pytest.mark.claim("C4")
def test_it_ends_exactly_at_its_deadline(desk: Desk, clock: HandClock) -> None:
    until = clock() + micros(timedelta(hours=1))
    (name,) = give(desk, Mandate("read_file", "pay", ("target",), expires_at=until))
    clock.now = until - 1
    assert [item.id for item in desk.queue.mandates.in_force("t", "bob")] == [name]
    clock.now = until
    assert desk.queue.mandates.in_force("t", "bob") == []
    with pytest.raises(MandateSpentError):
        desk.use(Use("mandate", name, "0"))
    assert desk.queue.mandates.list()[0].state(clock()) == "expired"
    assert kinds(desk, name) == ["mandate.granted", "mandate.expired"]
    assert verify(desk.queue.store).ok


def test_a_use_is_written_with_the_permit_and_its_event(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    proposal = desk.use(Use("mandate", name, "98.70"))
    (found,) = desk.queue.mandates.in_force("t", "bob")
    assert (found.calls_left, str(found.amount_left)) == (2, "51.30")
    assert kinds(desk, name) == ["mandate.granted", "mandate.used"]
    (own,) = desk.queue.mandates.in_force("t", "bob", without=proposal.id, only_used=True)
    assert (own.calls_left, str(own.amount_left)) == (3, "150")
    assert desk.queue.mandates.in_force("t", "bob", without="another", only_used=True) == []
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize("amount", ["100.01", "150", "-1"])
def test_more_than_is_left_is_not_taken_and_nothing_is_recorded(desk: Desk, amount: str) -> None:
    (name,) = give(desk, BILL)
    with pytest.raises(MandateSpentError):
        desk.use(Use("mandate", name, amount))
    assert desk.queue.list() == []
    assert kinds(desk, name) == ["mandate.granted"]


@pytest.mark.claim("C4")
def test_totals_and_calls_are_used_up(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    desk.use(Use("mandate", name, "100"))
    with pytest.raises(MandateSpentError):
        desk.use(Use("mandate", name, "50.01"))
    desk.use(Use("mandate", name, "50"))
    assert desk.queue.mandates.list()[0].state(desk.clock()) == "used up"
    (other,) = give(desk, Mandate("read_mail", "send", ("target",), max_calls=1))
    desk.use(Use("mandate", other, "0"))
    with pytest.raises(MandateSpentError):
        desk.use(Use("mandate", other, "0"))


@pytest.mark.claim("C4")
def test_of_racing_calls_one_gets_the_last_of_it(desk: Desk) -> None:
    (name,) = give(desk, Mandate("read_file", "pay", ("amount",), 100, max_calls=8))
    start, ended = threading.Barrier(4), list[str]()
    requests = [desk.request(call_id=f"race{number}") for number in range(4)]

    def race(number: int) -> None:
        start.wait()
        try:
            desk.use(Use("mandate", name, "60"), request=requests[number])
            ended.append("used")
        except MandateSpentError:
            ended.append("spent")

    threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["spent", "spent", "spent", "used"]
    assert str(desk.queue.mandates.list()[0].spent) == "60"
    assert verify(desk.queue.store).ok


def test_a_permit_that_was_never_used_gives_back_what_it_had_taken(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    proposal = desk.use(Use("mandate", name, "100"))
    desk.queue.invalidate(proposal.id, "not_wanted")
    (found,) = desk.queue.mandates.in_force("t", "bob")
    assert (found.calls_left, str(found.amount_left)) == (3, "150")
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_what_was_used_by_another_thread_or_person_is_not_there(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    for request in (desk.request(thread="u"), desk.request(requester="eve")):
        with pytest.raises(MandateSpentError):
            desk.use(Use("mandate", name, "1"), request=request)


@pytest.mark.claim("C4")
def test_a_call_that_waits_to_run_does_not_run_after_its_mandate_was_revoked(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    proposal, ran = desk.use(Use("mandate", name, "10")), list[object]()
    desk.queue.revoke_mandate(name, desk.reviewer)
    outcome = Executor(desk.queue).run(proposal.id, lambda args, key: ran.append(args))
    assert (outcome.state, outcome.proposal.code, ran) == (State.INVALIDATED, "withdrawn", [])
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_a_call_that_waits_to_run_does_not_run_after_its_mandate_expired(desk: Desk, clock: HandClock) -> None:
    until = clock() + micros(timedelta(minutes=5))
    (name,) = give(desk, Mandate("read_file", "pay", ("target",), expires_at=until))
    proposal, ran = desk.use(Use("mandate", name, "0")), list[object]()
    clock.now = until
    outcome = Executor(desk.queue).run(proposal.id, lambda args, key: ran.append(args))
    assert (outcome.state, ran) == (State.INVALIDATED, [])


def test_harmless_twin_a_call_runs_while_its_mandate_is_in_force(desk: Desk) -> None:
    (name,) = give(desk, BILL)
    proposal = desk.use(Use("mandate", name, "10"))
    assert Executor(desk.queue).run(proposal.id, lambda args, key: "paid").result == "paid"


def test_only_a_reviewer_grants_and_revokes_by_hand(desk: Desk) -> None:
    nobody = Reviewer("mallory", "0123456789abcdef")
    with pytest.raises(CredentialError):
        desk.queue.grant_mandate(BILL, nobody, thread="t", requester="bob")
    (name,) = give(desk, BILL)
    with pytest.raises(CredentialError):
        desk.queue.revoke_mandate(name, nobody)
    desk.queue.revoke_mandate(name, desk.reviewer)
    with pytest.raises(ConflictError, match="revoked"):
        desk.queue.revoke_mandate(name, desk.reviewer)


@pytest.mark.claim("C4")
def test_accepted_data_ends_at_its_deadline_and_is_accepted_anew(desk: Desk, clock: HandClock) -> None:
    desk.approve(desk.propose())
    (first,) = desk.queue.endorsed.list()
    assert first.expires_at == clock() + micros(timedelta(days=7))
    clock.now = first.expires_at - 1
    assert desk.queue.endorsements("t") == [MAIL]
    clock.now += 1
    assert desk.queue.endorsements("t") == []
    desk.approve(desk.propose())
    assert desk.queue.endorsements("t") == [MAIL]
    old, new = desk.queue.endorsed.list()
    assert (old.state(clock()), new.state(clock())) == ("expired", "in force")
    assert old.id != new.id
    assert kinds(desk, first.proposal_id)[-1] == "endorsement.expired"
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_revoked_data_counts_no_more_also_for_a_call_that_waits_to_run(desk: Desk) -> None:
    desk.approve(desk.propose())
    (accepted,) = desk.queue.endorsements("t")
    proposal, ran = desk.use(accepted.use), list[object]()
    assert desk.queue.endorsed.list()[0].used == 1
    with pytest.raises(CredentialError):
        desk.queue.revoke_endorsement(accepted.id, Reviewer("mallory", "0123456789abcdef"))
    desk.queue.revoke_endorsement(accepted.id, desk.reviewer)
    assert desk.queue.endorsements("t") == []
    outcome = Executor(desk.queue).run(proposal.id, lambda args, key: ran.append(args))
    assert (outcome.state, ran) == (State.INVALIDATED, [])
    with pytest.raises(MandateSpentError):
        desk.use(accepted.use)
    with pytest.raises(ConflictError, match="revoked"):
        desk.queue.revoke_endorsement(accepted.id, desk.reviewer)
    assert verify(desk.queue.store).ok


def test_an_endorsement_is_found_by_the_start_of_its_id_in_its_thread_only(desk: Desk) -> None:
    desk.approve(desk.propose())
    (item,) = desk.queue.endorsed.list()
    assert desk.queue.endorsed.find(item.id[:7]).id == item.id
    with pytest.raises(NotFoundError):
        desk.queue.endorsed.take_back(item.id, thread="u", by="client:bob")


def test_a_paused_task_is_let_go_on_by_a_reviewer(desk: Desk) -> None:
    from checkvalve.approvals.intake import FLOODED
    from tests.approvals.made import decided

    assert not desk.queue.flood("t").paused
    for number in range(2):
        desk.queue.propose(desk.request(call_id=f"f{number}"), decided(FLOODED))
    assert [item.thread for item in desk.queue.paused()] == ["t"]
    assert kinds(desk, "task:t") == ["task.paused"]
    with pytest.raises(CredentialError):
        desk.queue.let_go_on("t", Reviewer("mallory", "0123456789abcdef"), more=5)
    desk.queue.let_go_on("t", desk.reviewer, more=5)
    assert (desk.queue.flood("t").paused, desk.queue.flood("t").more, desk.queue.paused()) == (False, 5, [])
    with pytest.raises(ConflictError):
        desk.queue.let_go_on("t", desk.reviewer, more=5)
    assert verify(desk.queue.store).ok
