"""From no tables, and from the first ones with everything in them, to the present ones; on every database."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import SCHEMA_REVISION, metadata, reviewers
from checkvalve.approvals.verify import verify
from tests.approvals.made import MAIL, Desk, HandClock, given
from tests.databases import Databases

DATA = Path(__file__).resolve().parent / "data"


@pytest.fixture
def empty(databases: Databases) -> str:
    return databases.make()


def test_the_migrations_make_the_tables(empty: str) -> None:
    with Store.open(empty) as store, store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_an_empty_database_of_the_first_version_is_brought_up_to_date(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made_by("0001", empty, monkeypatch) as old, old.read() as connection:
        assert "leases" not in sa.inspect(connection).get_table_names()
    with Store.open(empty, create=False) as store, Leases(store).hold("t") as held:
        assert held.fence == 1


def test_a_full_database_of_the_second_version_is_brought_up_to_date(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``data/filled_0002.json`` is what the program of that version had written."""
    with made_by("0002", empty, monkeypatch) as old:
        restore(old, DATA / "filled_0002.json")
    with Store.open(empty, create=False) as store:
        with store.read() as connection:
            assert schema.revision(connection) == SCHEMA_REVISION
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        clock = HandClock()
        queue = Queue(store, clock)
        assert len(queue.list()) > 5
        assert audit.head(store).seq == 21
        assert verify(store).ok
        (accepted,) = queue.endorsed.list()
        assert (accepted.endorsement, accepted.expires_at, accepted.ended_by) == (MAIL, None, "")
        assert queue.endorsements(accepted.thread) == [MAIL]
        assert queue.mandates.list() == []
        with store.read() as connection:
            ann = connection.execute(sa.select(reviewers).where(reviewers.c.name == "ann")).one()
        given(Desk.over(queue, clock, Reviewer(ann.name, ann.selector)))
        assert verify(store).ok


def test_a_full_database_of_the_third_version_is_brought_up_to_date(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its events keep their hashes, new ones follow them in the same chain, and all become leaves of one tree."""
    with made_by("0003", empty, monkeypatch) as old:
        restore(old, DATA / "filled_0003.json")
    with Store.open(empty, create=False) as store:
        with store.read() as connection:
            assert schema.revision(connection) == SCHEMA_REVISION
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            old_events = list(audit.read_events(connection))
        assert {event.commitment for event in old_events} == {None}
        assert verify(store).ok
        with store.read() as connection:
            ann = connection.execute(sa.select(reviewers).where(reviewers.c.name == "ann")).one()
        clock = HandClock()
        Desk.over(Queue(store, clock), clock, Reviewer(ann.name, ann.selector)).grant()
        with store.read() as connection:
            events = list(audit.read_events(connection))
        assert events[: len(old_events)] == old_events
        assert None not in {event.commitment for event in events[len(old_events) :]}
        assert verify(store).ok


@contextmanager
def made_by(revision: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Give a database with the tables of an older version."""
    plain = command.upgrade

    def to_it(config: Any, _: str) -> None:
        plain(config, revision)

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", to_it)
        patch.setattr(schema, "NEWEST", revision)
        with Store.open(url) as old:
            yield old


def restore(store: Store, file: Path) -> None:
    """Write rows as they were read from another database."""
    saved = json.loads(file.read_text(encoding="utf-8"))["tables"]
    with store.write() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        for table in tables.sorted_tables:
            rows = [{name: _plain(value) for name, value in row.items()} for row in saved.get(table.name, [])]
            if table.name == "audit_head":
                connection.execute(sa.update(table).values(rows[0]))
            elif rows:
                connection.execute(sa.insert(table), rows)
        if connection.dialect.name == "postgresql":  # rows with numbers of their own do not move the counter on
            connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('endorsements', 'id'), 100)")


def _plain(value: Any) -> Any:
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


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
