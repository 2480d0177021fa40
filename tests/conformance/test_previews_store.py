"""Previews in the store, on every database: written once, bound to the digest, erased and removed with their call."""

from __future__ import annotations

import threading

import pytest

from checkvalve.approvals import previews
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.previews import FAILED, MADE, preview_of
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verify import verify
from tests.approvals.made import REVIEW, Desk, decided

pytestmark = pytest.mark.claim("C5")
SAYS = "it would reach everybody"


def made(desk: Desk, question: Proposal, says: str = SAYS) -> Proposal:
    """Run a preview as a gateway does, and keep it."""
    args = {**question.args(), "dry_run": True}
    thread = previews.thread_for(question.id)
    request = ActionRequest.build("send", args, thread=thread, call_id=previews.CALL, requester=question.requester)
    decision = previews.as_dry_run(decided(REVIEW), "dry_run")
    call = desk.queue.propose(request, decision, idempotency=Idempotency.READ)
    Executor(desk.queue).run(call.id, lambda _args, _key: previews.kept(says, ok=True))
    previews.note(desk.queue, question, tool="send", dry_run=True, call=call.id)
    return call


def kinds(desk: Desk, name: str) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in read_events(connection, subject=name)]


def test_it_is_read_back_as_it_was_said(desk: Desk) -> None:
    question = desk.propose()
    call = made(desk, question)
    found = preview_of(desk.queue, question)
    assert found is not None
    assert (found.text, found.why, found.call, found.at) == (SAYS, "", call.id, desk.clock.now)
    assert (call.state, call.rule) == (State.APPROVED, "preview")
    assert verify(desk.queue.store).ok


def test_of_many_who_try_at_once_one_is_noted(desk: Desk) -> None:
    question = desk.propose()
    start = threading.Barrier(4)

    def note(number: int) -> None:
        start.wait(60)
        previews.note(desk.queue, question, tool="send", dry_run=True, why="failed" if number % 2 else "too_late")

    threads = [threading.Thread(target=note, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds(desk, question.id).count(FAILED) == 1
    assert previews.is_known(desk.queue, question)
    assert verify(desk.queue.store).ok


def test_what_was_decided_meanwhile_gets_no_preview(desk: Desk) -> None:
    question = desk.propose()
    desk.approve(question)
    previews.note(desk.queue, question, tool="send", dry_run=True, why="failed")
    assert preview_of(desk.queue, question) is None
    assert {MADE, FAILED}.isdisjoint(kinds(desk, question.id))


@pytest.mark.parametrize("what", ["call", "task"])
def test_it_is_erased_with_its_call_and_with_its_task(desk: Desk, what: str) -> None:
    question = desk.propose()
    call = made(desk, question)
    desk.queue.reject(question.id, desk.reviewer)
    at = desk.clock.now
    with desk.queue.store.write() as connection:
        if what == "call":
            erase_call(connection, question.id, at=at, by="ann", reason="asked to")
        else:
            erase_thread(connection, question.thread, at=at, by="ann", reason="asked to")
    assert Executor(desk.queue).look(call.id).result is None
    with desk.queue.store.read() as connection:
        left = str(connection.execute(proposals.select()).all())
    assert "everybody" not in left
    assert "eve@evil.example" not in left
    assert preview_of(desk.queue, desk.queue.get(question.id)) is None
    assert verify(desk.queue.store).ok
