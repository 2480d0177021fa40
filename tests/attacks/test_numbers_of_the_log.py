"""A number that the log is read by is replaced by something else: nothing runs, and everybody says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals.errors import LogTamperedError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.logwatch import LogWatch
from checkvalve.approvals.records import State
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.log_keeper import LogKeeper
from tests.approvals.made import Desk, HandClock
from tests.approvals.sealed import QUICK_KEY, write
from tests.databases import Databases
from tests.waiting import until

pytestmark = [pytest.mark.claim("C5"), pytest.mark.claim("C9")]
NO_SIZE = ["update checkpoints set size='abc'", "update checkpoints set size=x'00'", "update checkpoints set size=-1"]
NO_SEQ = ["update audit_head set seq='abc'", "update audit_head set seq=x'00'"]
COMMITTED = 7


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Return a desk over SQLite, which keeps anything in any column; a server refuses it."""
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk.at(store, HandClock())


def sealer_of(desk: Desk, folder: Path) -> Sealer:
    return Sealer(desk.queue.store, QUICK_KEY, folder / "signed", clock=desk.clock)


def changed(desk: Desk, statement: str) -> None:
    with desk.queue.store.write() as connection:
        assert connection.exec_driver_sql(statement).rowcount == 1


@pytest.mark.parametrize("statement", NO_SIZE + NO_SEQ)
def test_a_number_that_is_none_is_called_tampering_and_nothing_is_decided_or_run(
    desk: Desk, tmp_path: Path, statement: str
) -> None:
    store = desk.queue.store
    write(store, 300)
    asked, permitted = desk.propose(), desk.approve(desk.propose(request=desk.request(thread="other")))
    sealer = sealer_of(desk, tmp_path)
    sealer.seal()
    changed(desk, statement)
    watch = LogWatch(store)
    looks: list[Callable[[], object]] = [sealer.seal, sealer.beat, sealer.start, watch.step, watch.step]
    for look in looks:
        with pytest.raises(LogTamperedError):
            look()
    assert not verify(store).ok
    assert not verify(store, keys=QUICK_KEY.public).ok
    with pytest.raises(StoreCorruptError):
        desk.approve(asked)
    ran = list[str]()
    with pytest.raises(StoreCorruptError):
        Executor(desk.queue).run(permitted.id, lambda *_: ran.append("x"))
    assert ran == []


@pytest.mark.parametrize("statement", [NO_SIZE[0], NO_SEQ[0]])
@pytest.mark.parametrize("signs", [True, False])
def test_a_gateway_that_finds_it_takes_no_change_any_more(
    desk: Desk, tmp_path: Path, statement: str, *, signs: bool
) -> None:
    """Also one that only looks, since another process signs."""
    store = desk.queue.store
    write(store, COMMITTED)
    sealer = sealer_of(desk, tmp_path)
    sealer.seal()
    keeper = LogKeeper(store, sealer if signs else None, every=0.01)
    keeper.start()
    try:
        changed(desk, statement)

        def refuses() -> bool:
            try:
                with store.write():
                    return False
            except StoreCorruptError:
                return True

        until(refuses)
    finally:
        keeper.stop()


@pytest.mark.parametrize("statement", ["update audit_head set hash=x'00'", "update checkpoints set note=x'00'"])
def test_a_text_that_is_none_is_found_without_a_crash(desk: Desk, tmp_path: Path, statement: str) -> None:
    store = desk.queue.store
    write(store, COMMITTED)
    sealer = sealer_of(desk, tmp_path)
    sealer.seal()
    changed(desk, statement)
    assert not verify(store).ok
    with pytest.raises((LogTamperedError, StoreCorruptError)):
        sealer.start()


@pytest.mark.parametrize("size", [COMMITTED - 1, COMMITTED + 1, 0])
def test_a_size_that_the_checkpoint_does_not_name_is_found_with_and_without_a_key(
    databases: Databases, tmp_path: Path, size: int
) -> None:
    with Store.open(databases.make(ready=True)) as store:
        desk = Desk.at(store, HandClock())
        with store.read() as connection:
            count = connection.exec_driver_sql("select seq from audit_head").scalar_one()
        write(store, COMMITTED - count)
        sealer = sealer_of(desk, tmp_path)
        sealer.seal()
        assert verify(store).ok
        changed(desk, f"update checkpoints set size={size}")
        with pytest.raises(LogTamperedError, match="not the one it names"):
            sealer.seal()
        with store.read() as connection, pytest.raises(LogTamperedError):
            newest(connection)
        found = verify(store)
        assert [finding.code for finding in found.findings] == ["bad_checkpoint"]
        assert not verify(store, keys=QUICK_KEY.public).ok


def test_a_server_takes_no_such_value(databases: Databases, tmp_path: Path) -> None:
    url = databases.make(ready=True)
    with Store.open(url) as store:
        desk = Desk.at(store, HandClock())
        write(store, COMMITTED)
        sealer_of(desk, tmp_path).seal()
        if not url.startswith("sqlite"):
            with pytest.raises(Exception, match=r"22P02|does not answer"), store.write() as connection:
                connection.execute(sa.text("update checkpoints set size='abc'"))
        assert desk.approve(desk.propose()).state is State.APPROVED
        assert verify(store).ok
