"""From no tables, and from the first ones with everything in them, to the present ones; on every database."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from checkvalve.approvals import audit, schema
from checkvalve.approvals.errors import StoreVersionError
from checkvalve.approvals.leases import Leases
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import SCHEMA_REVISION, metadata
from checkvalve.approvals.verify import verify
from tests.approvals.made import fill
from tests.databases import Databases


@pytest.fixture
def empty(databases: Databases) -> str:
    return databases.make()


def test_the_migrations_make_the_tables(empty: str) -> None:
    with Store.open(empty) as store, store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_full_database_of_the_first_version_is_brought_up_to_date(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = command.upgrade

    def to_the_first(config: Any, _: str) -> None:
        plain(config, "0001")

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", to_the_first)
        patch.setattr(schema, "NEWEST", "0001")
        with Store.open(empty) as old:
            desk = fill(old)
            before, head = desk.queue.list(), audit.head(old)
            with old.read() as connection:
                assert "leases" not in sa.inspect(connection).get_table_names()

    with Store.open(empty, create=False) as store:
        with store.read() as connection:
            assert schema.revision(connection) == SCHEMA_REVISION
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert Queue(store, desk.clock).list() == before
        assert len(before) > 5
        assert audit.head(store) == head
        assert verify(store, saved=head).ok
        with Leases(store).hold("t") as held:
            assert held.fence == 1


def test_what_others_or_newer_versions_wrote_is_left_alone(empty: str, url: str) -> None:
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE mine (x INT)")
    with pytest.raises(StoreVersionError, match="another program"):
        Store.open(empty)
    Store.open(url).close()
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreVersionError, match="newer version"):
        Store.open(url)


def test_many_openings_at_once_make_one_database(empty: str) -> None:
    program = "import sys; from checkvalve.approvals.store import Store; Store.open(sys.argv[1]).close()"
    started = [subprocess.Popen([sys.executable, "-c", program, empty], stderr=subprocess.PIPE) for _ in range(4)]
    errors = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], errors
    with Store.open(empty, create=False) as store:
        assert audit.head(store).seq == 0
