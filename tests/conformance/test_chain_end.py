"""The end of the event chain in one transaction: read once, stored once, and only where it still is what was read."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, events
from checkvalve.approvals.verify import verify


def test_many_events_of_one_transaction_read_and_store_the_end_once(store: Store) -> None:
    sent = list[str]()
    with store.write() as connection:
        sa.event.listen(store._engine, "before_cursor_execute", lambda *call: sent.append(call[2]))
        heads = [audit.append(connection, at=n, kind="test", body={"n": n}) for n in range(5)]
    assert [head.seq for head in heads] == [1, 2, 3, 4, 5]
    assert len([one for one in sent if "audit_head" in one]) == 2
    assert audit.head(store) == heads[-1]
    assert verify(store).ok


@pytest.mark.claim("C9")
def test_a_head_that_something_else_wrote_ends_the_transaction(store: Store) -> None:
    def two_ways() -> None:
        with store.write() as connection:
            audit.append(connection, at=1, kind="test", body={})
            connection.execute(sa.update(audit_head).values(seq=7))

    with pytest.raises(StoreCorruptError, match="head"):
        two_ways()
    with store.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(events)).scalar() == 0
    assert audit.head(store).seq == 0


def test_outside_of_the_store_each_event_stores_its_own_end(store: Store) -> None:
    with sa.create_engine(store._engine.url, poolclass=sa.NullPool).begin() as connection:
        for number in (1, 2):
            head = audit.append(connection, at=number, kind="test", body={})
            row = connection.execute(sa.select(audit_head.c.seq, audit_head.c.hash)).one()
            assert tuple(row) == (head.seq, head.hash)
    assert verify(store).ok
