"""How a transaction begins on a server: in one message, on a connection that is alive."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from checkvalve.approvals.store import Store
from tests.databases import Server

pytestmark = pytest.mark.postgres


@pytest.fixture
def databases() -> None:
    """Only one kind of database here: this hides the fixture that makes each."""


@pytest.fixture
def url(postgres_server: Server) -> str:
    return postgres_server.url(postgres_server.empty("ready"))


def test_a_connection_that_died_in_the_pool_is_replaced_before_anything_is_done(
    store: Store, postgres_server: Server
) -> None:
    for block in (store.read, store.write):
        with block() as connection:
            first = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        postgres_server.run(f"SELECT pg_terminate_backend({first})")
        with block() as connection:
            assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() != first


def test_one_message_begins_a_transaction_and_sets_its_limits(store: Store) -> None:
    sent = list[str]()
    sa.event.listen(store._engine, "before_cursor_execute", lambda *call: sent.append(call[2]))
    with store.write() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    assert len(sent) == 2
    assert sent[0].startswith("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ")
    assert sent[0].endswith("FOR UPDATE")
