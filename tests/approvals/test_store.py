from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from checkvalve.approvals import sqlite_file
from checkvalve.approvals.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnreachableError,
    StoreVersionError,
)
from checkvalve.approvals.faults import as_store_error
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import SCHEMA_REVISION, audit_head, metadata
from tests import paid_once


def database(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def test_the_file_is_private_and_durable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paid_once.wait_for_the_disk(monkeypatch)
    path = database(url)
    with Store.open(url) as store, store.write() as connection:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
        connection.execute(sa.update(audit_head).values(seq=audit_head.c.seq))
        wal = path.with_name(path.name + "-wal")
        assert stat.S_IMODE(wal.stat().st_mode) == 0o600
    assert settings == ["wal", 2, 1]


def test_a_file_that_others_can_read_becomes_private(store: Store, url: str) -> None:
    database(url).chmod(0o644)
    Store.open(url).close()
    assert stat.S_IMODE(database(url).stat().st_mode) == 0o600


def test_the_migrations_make_the_tables(store: Store) -> None:
    scripts = ScriptDirectory(str(Path(sqlite_file.__file__).parent / "migrations"))
    assert scripts.get_current_head() == SCHEMA_REVISION
    with store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.write() as connection:
            connection.execute(sa.update(audit_head).values(seq=9))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.read() as connection:
        assert connection.execute(sa.select(audit_head.c.seq)).scalar() == 0


@pytest.mark.claim("C9")
@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\x00" + b"\x99" * 5000])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="nothing was changed"):
        Store.open(f"sqlite:///{path}")
    assert path.read_bytes() == content


@pytest.mark.claim("C9")
def test_a_damaged_page_is_found_when_opening(url: str) -> None:
    with Store.open(url) as store, store.write() as connection:
        connection.execute(
            sa.text("INSERT INTO content SELECT hex(randomblob(16)), 't', 'text', hex(randomblob(9000)), 1, '', 0")
        )
    path = database(url)
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 12] = os.urandom(4096 * 10)
    path.write_bytes(data)
    with pytest.raises(StoreCorruptError, match="restore a backup"):
        Store.open(url)
    assert path.read_bytes() == data


@pytest.mark.claim("C9")
def test_a_held_database_is_busy_and_says_so(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_MS", 50)
    holder = sqlite3.connect(database(url), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with Store.open(url) as other:  # reading goes on
            with other.read() as connection:
                assert connection.execute(sa.select(audit_head.c.seq)).scalar() == 0
            with pytest.raises(StoreBusyError, match="another process"), other.write():
                pass
    finally:
        holder.close()


def test_missing_and_unusable_addresses_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachableError, match="no database at"):
        Store.open(f"sqlite:///{tmp_path}/none.db", create=False)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "file").write_text("")
    for address in (f"sqlite:///{tmp_path}/file/x.db", "sqlite://", "sqlite:///:memory:", "mysql://x/y", "nonsense"):
        with pytest.raises(StoreUnreachableError) as caught:
            Store.open(address)
        assert caught.value.remedy
    with pytest.raises(StoreError):
        Store.open(f"sqlite:///{tmp_path}")  # a folder


def test_the_databases_of_others_are_left_alone(tmp_path: Path, url: str) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreVersionError, match="another program"):
        Store.open(f"sqlite:///{path}")
    Store.open(url).close()
    connection = sqlite3.connect(database(url))
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreVersionError, match="newer version"):
        Store.open(url)


def test_many_openings_at_once_make_one_database(url: str) -> None:
    program = "import sys; from checkvalve.approvals.store import Store; Store.open(sys.argv[1]).close()"
    started = [subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.PIPE) for _ in range(4)]
    errors = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], errors
    with Store.open(url) as store, store.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(audit_head)).scalar() == 1


def test_writers_of_one_process_wait_for_each_other(store: Store) -> None:
    def add(_: int) -> None:
        with store.write() as connection:
            seq = connection.execute(sa.select(audit_head.c.seq)).scalar_one()
            connection.execute(sa.update(audit_head).values(seq=seq + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(60)))
    with store.read() as connection:
        assert connection.execute(sa.select(audit_head.c.seq)).scalar() == 60


def test_a_forked_child_uses_its_own_connections(store: Store) -> None:
    with store.read() as connection:
        connection.execute(sa.select(audit_head.c.seq)).scalar()
    child = os.fork()
    if child == 0:
        try:
            with store.write() as connection:
                connection.execute(sa.update(audit_head).values(seq=7))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with store.read() as connection:
        assert connection.execute(sa.select(audit_head.c.seq)).scalar() == 7


def test_errors_never_show_values(store: Store) -> None:
    with pytest.raises(StoreCorruptError) as caught, store.read() as connection:
        connection.execute(sa.text("SELECT :secret FROM nowhere"), {"secret": "s3cret-value"})
    assert "s3cret-value" not in f"{caught.value} {caught.value.__cause__}"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != folder)  # root may write everywhere
    with pytest.raises(StoreUnreachableError, match=f"in the folder {folder}: Permission denied") as stopped:
        Store.open(f"sqlite:///{folder}/gate.db")
    assert "CHECKVALVE_DATABASE_URL" in (stopped.value.remedy or "")


def test_a_folder_where_a_file_stands_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreachableError, match=f"in the folder {tmp_path / 'file'}: "):
        Store.open(f"sqlite:///{tmp_path}/file/gate.db")


def test_a_database_beside_which_nothing_can_be_written_names_its_folder(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorname = "SQLITE_READONLY_DIRECTORY"
    found = as_store_error(error, tmp_path / "gate.db")
    assert str(tmp_path / "gate.db") in str(found)
    assert f"the folder {tmp_path}:" in (found.remedy or "")
