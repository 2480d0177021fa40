"""Answers that are kept while no question changes: right after every change, and shared by nobody else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from checkvalve.approvals import pages_data
from checkvalve.approvals.equal import equals
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.while_unchanged import MAX_KEPT, while_unchanged
from tests.approvals.made import ALLOW, Desk


def seen(desk: Desk) -> tuple[int, list[str], int]:
    store = desk.queue.store
    load = pages_data.load(store, desk.clock())
    return load.open, [row.id for row in pages_data.waiting(store)], len(equals(store, limit=50))


def fresh(desk: Desk) -> list[str]:
    return [row.id for row in desk.queue.list([State.PENDING])]


def test_every_change_is_seen_at_once(desk: Desk) -> None:
    rows = [desk.propose() for _ in range(4)]
    changes: list[Callable[[], object]] = [
        desk.propose,
        lambda: desk.approve(rows[0]),
        lambda: desk.queue.reject(rows[1].id, desk.reviewer),
        lambda: desk.queue.close(rows[2].id, State.CANCELLED, by="gateway", code="run_ended"),
        lambda: Executor(desk.queue, wait=timedelta()).run(desk.propose(ALLOW).id, lambda args, key: "sent"),
        lambda: desk.clock.advance(days=2),
    ]
    for change in changes:
        assert seen(desk) == seen(desk)
        change()
        desk.queue.sweep()
        count, listed, _ = seen(desk)
        assert (count, sorted(listed)) == (len(fresh(desk)), sorted(fresh(desk)))
    assert seen(desk)[0] == 0


def test_what_is_asked_again_is_not_computed_again(store: Store) -> None:
    asked: list[int] = []

    def work() -> int:
        asked.append(1)
        return len(asked)

    assert [while_unchanged(store, (1, 1), "a", work) for _ in range(3)] == [1, 1, 1]
    assert while_unchanged(store, (1, 1), "b", work) == 2
    assert while_unchanged(store, (2, 1), "a", work) == 3
    assert while_unchanged(store, (2, 2), "a", work) == 4
    for number in range(3 * MAX_KEPT):
        while_unchanged(store, (2, 2), number, work)
    assert while_unchanged(store, (2, 2), "a", work) > 4, "a page that nobody asks for is forgotten"


def test_an_error_is_not_kept(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        while_unchanged(store, (9, 9), "e", lambda: 1 // 0)
    assert while_unchanged(store, (9, 9), "e", lambda: 1) == 1
