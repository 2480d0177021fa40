"""Writers of one SQLite file take turns: first come, first served, and nothing hangs on it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import sqlite_file, turns
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head
from checkvalve.approvals.turns import SUFFIX, turn
from tests.waiting import LONG, until

HOLD = """
import sys, time
from pathlib import Path
from checkvalve.approvals.turns import turn
with turn(Path(sys.argv[1]), 60.0):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def line(database: Path) -> turns._Line:
    return turns._LINES[os.path.realpath(database)]


def holder(database: Path) -> subprocess.Popen[str]:
    """Return another process that waits for the turn, and keeps it until it is told a line."""
    command = [sys.executable, "-c", HOLD, str(database)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def is_locked(database: Path, byte: int) -> bool:
    """Say whether another process has this byte of the file."""
    try:
        fcntl.lockf(line(database)._place, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        return True
    fcntl.lockf(line(database)._place, fcntl.LOCK_UN, 1, byte)
    return False


def test_threads_are_served_in_the_order_in_which_they_came(database: Path) -> None:
    order, threads = list[int](), list[threading.Thread]()

    def write(number: int) -> None:
        with turn(database, LONG):
            order.append(number)

    with turn(database, LONG):
        for number in range(8):
            threads.append(threading.Thread(target=write, args=(number,)))
            threads[-1].start()
            until(lambda: len(line(database)._waiting) == len(threads))
        assert order == []
    for thread in threads:
        thread.join(LONG)
    assert order == list(range(8))


def test_who_has_just_written_does_not_overtake_another_process(database: Path) -> None:
    with turn(database, LONG):
        other = holder(database)
        until(lambda: is_locked(database, turns._NEXT))
    waiting = threading.Thread(target=lambda: other.communicate("go\n", timeout=LONG))
    assert said(other) == "mine\n"
    with pytest.raises(BlockingIOError):
        fcntl.lockf(line(database)._place, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, turns._NOW)
    waiting.start()
    with turn(database, LONG):
        assert line(database).is_mine()
    waiting.join(LONG)
    assert other.wait(LONG) == 0


def test_a_turn_inside_a_turn_does_not_wait_for_itself(database: Path) -> None:
    with turn(database, LONG), turn(database, LONG):
        assert line(database).is_mine()
    assert not line(database).is_mine()


def test_who_waits_in_vain_goes_on_without_a_turn_and_leaves_no_trace(database: Path) -> None:
    went = list[bool]()

    def write() -> None:
        with turn(database, 0.01):
            went.append(line(database).is_mine())

    with turn(database, LONG):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(LONG)
        assert (went, list(line(database)._waiting)) == ([False], [])
    other = holder(database)
    assert said(other) == "mine\n"
    write()
    assert went == [False, False]
    other.communicate("go\n", timeout=LONG)
    write()
    assert went == [False, False, True]


def test_a_turn_ends_with_its_process_however_that_ends(database: Path) -> None:
    other = holder(database)
    assert said(other) == "mine\n"
    other.send_signal(signal.SIGKILL)
    other.communicate(timeout=LONG)
    with turn(database, LONG):
        assert line(database).is_mine()


def test_a_turn_ends_with_an_error_in_it(database: Path) -> None:
    with pytest.raises(ZeroDivisionError), turn(database, LONG):
        raise ZeroDivisionError
    other = holder(database)
    assert said(other) == "mine\n"
    other.communicate("go\n", timeout=LONG)


def test_a_file_that_was_deleted_is_made_again(database: Path) -> None:
    file = Path(f"{database}{SUFFIX}")
    with turn(database, LONG):
        assert file.stat().st_mode & 0o777 == 0o600
        file.unlink()
    with turn(database, LONG):
        assert line(database).is_mine()
        assert file.exists()


def test_where_no_file_can_be_made_everybody_writes_as_before(database: Path) -> None:
    Path(f"{database}{SUFFIX}").mkdir()
    with turn(database, LONG):
        assert not line(database).is_mine()
    with Store.open(f"sqlite:///{database}") as store, store.write() as connection:
        connection.execute(sa.update(audit_head).values(seq=7))
    Path(f"{database}2{SUFFIX}").symlink_to(database)
    with turn(Path(f"{database}2"), LONG):
        assert not line(Path(f"{database}2")).is_mine()


def test_a_forked_child_has_no_turn_and_takes_none_away(database: Path) -> None:
    with turn(database, LONG):
        child = os.fork()
        if child == 0:
            code = 3
            try:
                with turn(database, 0.01):
                    code = 4 if line(database).is_mine() else 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        other = holder(database)
        until(lambda: is_locked(database, turns._NEXT))
    assert said(other) == "mine\n"
    other.communicate("go\n", timeout=LONG)


def test_more_threads_than_connections_write_one_after_the_other(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_MS", 120_000)

    def add() -> None:
        with store.write() as connection:
            seq = connection.execute(sa.select(audit_head.c.seq)).scalar_one()
            connection.execute(sa.update(audit_head).values(seq=seq + 1))

    with Store.open(f"sqlite:///{database}") as store:
        threads = [threading.Thread(target=add) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.read() as connection:
            assert connection.execute(sa.select(audit_head.c.seq)).scalar() == 40


def test_of_many_databases_only_some_files_stay_open_and_none_that_is_held(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.db" for number in range(turns.MAX_LINES + 5)]
    with turn(files[0], LONG):
        for file in files[1:]:
            with turn(file, LONG):
                pass
        assert line(files[0]).is_mine()
        assert len(turns._LINES) <= turns.MAX_LINES
    for file in files:
        with turn(file, LONG):
            assert line(file).is_mine(), "one that was closed is opened again"
