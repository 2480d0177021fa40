"""One row that was damaged beside the log is in the way of no other call, and never becomes a call that runs."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import moves, overdue
from checkvalve.approvals.damaged import list_readable
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.overdue import close_overdue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.made import Desk


def damage(store: Store, row: Proposal) -> None:
    with store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == row.id).values(endorsable="x{"))


@pytest.mark.claim("C9")
def test_a_damaged_question_whose_time_is_over_keeps_no_other_one_open(desk: Desk, store: Store) -> None:
    first, damaged, last = (desk.propose() for _ in range(3))
    desk.clock.advance(hours=12)
    young = desk.propose()
    damage(store, damaged)
    desk.clock.advance(hours=13)
    assert desk.queue.sweep() == 2
    assert {desk.queue.get(row.id).state for row in (first, last)} == {State.EXPIRED}
    assert desk.queue.get(young.id).state is State.PENDING
    assert close_overdue(store, desk.clock).damaged == (damaged.id,)
    assert desk.queue.sweep() == 0
    with pytest.raises(StoreCorruptError):
        desk.queue.get(damaged.id)
    with pytest.raises(StoreCorruptError):
        desk.approve(damaged)
    found = verify(store)
    assert not found.ok
    assert any(damaged.id in finding.text for finding in found.findings)


@pytest.mark.claim("C9")
def test_however_many_are_over_no_transaction_closes_more_than_a_few(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "BATCH", 3)
    rows = list[Proposal]()
    for _ in range(11):
        rows.append(desk.propose())
        desk.clock.advance(seconds=1)  # or their order is that of their ids
    for row in (rows[0], rows[1], rows[2], rows[6]):  # a whole batch of them at the front
        damage(store, row)
    desk.clock.advance(hours=25)
    closed = list[list[str]]()
    write, move = store.write, moves.close_overdue

    def counted() -> Any:
        closed.append([])
        return write()

    def noted(connection: sa.Connection, proposal: Proposal, now: int) -> Proposal:
        closed[-1].append(proposal.id)
        return move(connection, proposal, now)

    monkeypatch.setattr(store, "write", counted)
    monkeypatch.setattr(moves, "close_overdue", noted)
    found = close_overdue(store, desk.clock)
    assert (found.count, set(found.damaged)) == (7, {rows[at].id for at in (0, 1, 2, 6)})
    assert [len(part) for part in closed] == [3, 2, 2]
    assert {name for part in closed for name in part} == {row.id for row in rows} - set(found.damaged)
    closed.clear()
    again = close_overdue(store, desk.clock)
    assert (again.count, set(again.damaged), closed) == (0, set(found.damaged), []), (
        "and no write lock is taken in vain"
    )


@pytest.mark.claim("C9")
def test_a_list_has_what_can_be_read_and_names_the_rest(desk: Desk, store: Store) -> None:
    first, damaged, last = (desk.propose() for _ in range(3))
    damage(store, damaged)
    found = list_readable(desk.queue, [State.PENDING])
    assert {row.id for row in found.rows} == {first.id, last.id}
    assert found.damaged == [damaged.id]
    assert list_readable(desk.queue, [State.UNKNOWN]).damaged == []
    with pytest.raises(StoreCorruptError):  # a program that has to have all of them is told
        desk.queue.list([State.PENDING])


def test_an_approved_call_lapses_beside_a_damaged_one(desk: Desk, store: Store) -> None:
    good, damaged = desk.propose(), desk.propose()
    desk.approve(good)
    desk.approve(damaged)
    damage(store, damaged)
    desk.clock.advance(hours=2)
    assert desk.queue.sweep() == 1
    assert desk.queue.get(good.id).state is State.LAPSED
