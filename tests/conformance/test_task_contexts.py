"""Tasks beside a conversation, on every database: which there are, which wait, and where a message goes."""

from __future__ import annotations

import pytest

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.conversations import contexts_of, name_of
from checkvalve.approvals.erasure import erase_thread
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.records import State
from checkvalve.approvals.task_contexts import MAX_CONTEXTS, for_message, is_busy
from checkvalve.approvals.verify import verify
from checkvalve.filters.labels import CLEAN
from tests.approvals.made import Desk

pytestmark = pytest.mark.claim("C3")


def test_a_task_is_busy_from_the_question_until_its_permit_is_used(desk: Desk) -> None:
    assert for_message(desk.queue, "t") == "t"
    question = desk.propose()
    assert for_message(desk.queue, "t") == "t~2"
    desk.approve(question)
    assert is_busy(desk.queue, "t")
    Executor(desk.queue).run(question.id, lambda _args, _key: "sent")
    assert not is_busy(desk.queue, "t")
    assert for_message(desk.queue, "t") == "t"


def test_a_question_whose_time_is_over_waits_no_more(desk: Desk) -> None:
    desk.propose()
    desk.clock.advance(days=2)
    assert for_message(desk.queue, "t") == "t"


def test_the_newest_free_task_is_taken_and_else_a_new_one(desk: Desk) -> None:
    desk.propose()
    SqlContentStore(desk.queue.store).append_item("t~2", "k", "words", {}, CLEAN)
    assert for_message(desk.queue, "t") == "t~2"
    desk.propose(request=desk.request(thread="t~2"))
    assert for_message(desk.queue, "t") == "t~3"
    assert contexts_of(desk.queue.store, "t") == ["t", "t~2"]


def test_they_are_in_the_order_of_their_numbers_and_no_others_are_among_them(desk: Desk) -> None:
    for thread in ("t~10", "t~9", "t~2", "t~x", "t~1", "t~02", "tt~3", "t~2~2", "T~4", "t~1000"):
        desk.propose(request=desk.request(thread=thread))
    assert contexts_of(desk.queue.store, "t") == ["t", "t~2", "t~9", "t~10"]


def test_there_is_a_bound(desk: Desk) -> None:
    for number in range(1, MAX_CONTEXTS + 1):
        desk.propose(request=desk.request(thread=name_of("t", number)))
    assert for_message(desk.queue, "t") is None


@pytest.mark.claim("C5")
def test_erasing_a_task_erases_those_beside_it_or_none(desk: Desk) -> None:
    first, second = desk.propose(), desk.propose(request=desk.request(thread="t~2"))
    desk.queue.reject(first.id, desk.reviewer)
    with pytest.raises(ConflictError, match="not over yet"), desk.queue.store.write() as connection:
        erase_thread(connection, "t", at=desk.clock.now, by="ann", reason="asked to")
    desk.queue.reject(second.id, desk.reviewer)
    with desk.queue.store.write() as connection:
        found, _ = erase_thread(connection, "t", at=desk.clock.now, by="ann", reason="asked to")
    assert found == 2
    assert [row.args() for row in desk.queue.list([State.REJECTED])] == [{}, {}]
    assert verify(desk.queue.store).ok
