"""Events that only say that a log was closed: whoever can write the database can write one, and none moves the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.closed_tables import put_aside
from checkvalve.approvals.closedlogs import RESTARTED
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.judge import KEYS
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from tests.approvals.made import Desk, HandClock
from tests.approvals.sealed import write as plain
from tests.conformance.restart_world import NEW, OLD, Place

pytestmark = pytest.mark.claim("C5")


@pytest.fixture
def log(desk: Desk, tmp_path: Path) -> Place:
    place = LogPlace(tmp_path / "key.json")
    place.save(LogKey.new(OLD))
    return Place(desk, place)


def plant(log: Place, origin: str, behind: str = "evil.example/0") -> int:
    """Write a link that reads like one, and return its number."""
    keys = [str(key) for key in log.place.public_keys()]
    body: dict[str, Any] = {
        "origin": origin,
        "keys": keys,
        "closed": {"size": 0, "root": "", "checkpoint": "", "origin": behind, "keys": keys, "rotations": []},
        "reason": "x",
        "by": "reviewer:ann",
        "in_doubt_from": 1,
        "changed": [],
        "signed": 0,
        "rows_in_doubt": 0,
        "put_aside": {"rows": 0, "digest": digest([])},
    }
    return write(log, body)


def write(log: Place, body: dict[str, Any]) -> int:
    with log.store.write() as connection:
        audit.append(connection, at=log.desk.clock(), kind=RESTARTED, subject=KEYS, body=body)
    return log.count()


def kept(log: Place) -> list[tuple[int, str]]:
    with log.store.read() as connection:
        query = sa.select(put_aside.c.log, put_aside.c.subject).where(put_aside.c.source == events.name)
        return [(row.log, row.subject) for row in connection.execute(query)]


@pytest.mark.parametrize("kind", ["another name", "the name of the log", "unreadable"])
def test_a_planted_link_neither_keeps_a_log_from_being_closed_nor_loses_its_evidence(log: Place, kind: str) -> None:
    waiting = log.desk.propose()
    signed = log.seal()
    planted = (
        write(log, {"x": 1}) if kind == "unreadable" else plant(log, OLD if "the log" in kind else "evil.example/1")
    )
    assert planted == signed + 1
    with pytest.raises(LogTamperedError):
        log.seal()
    done = log.restart(before=None if kind == "another name" else planted)
    assert (done.closed.number, done.closed.base, done.closed.size) == (1, 0, signed)
    assert kept(log) == [(1, KEYS)]
    report = log.verify()
    assert (report.ok, report.is_judged) == (True, True), report.findings
    assert log.state(waiting.id).value == "cancelled"
    log.tamper("delete from put_aside")
    assert not log.verify().ok, "that evidence is gone is seen"


def test_a_planted_link_behind_a_log_that_really_follows_another_one_is_put_aside(log: Place) -> None:
    log.desk.propose()
    log.seal()
    log.restart()
    first = log.restart(origin="log.example/third").closed
    assert (first.number, first.origin, first.next) == (2, NEW, "log.example/third")
    log.desk.propose()
    log.seal()
    plant(log, "log.example/third", behind=NEW)
    last = log.restart(origin="log.example/fourth").closed
    assert (last.number, last.base, last.origin) == (3, first.end, "log.example/third")
    assert kept(log) == [(3, KEYS)]
    report = log.verify()
    assert (report.ok, report.is_judged) == (True, True), report.findings


def test_a_first_event_that_was_made_a_link_is_put_aside_as_well(
    store: Store, clock: HandClock, tmp_path: Path
) -> None:
    """Believed, it would say that this log follows another one."""
    plain(store, 1)
    place = LogPlace(tmp_path / "key.json")
    place.save(LogKey.new(OLD))
    log = Place(Desk.at(store, clock), place)
    waiting = log.desk.propose()
    signed = log.seal()
    planted = plant(log, "evil.example/1")
    with store.write() as connection:
        row = connection.execute(sa.select(events).where(events.c.seq == planted)).mappings().one()
        connection.execute(sa.delete(events).where(events.c.seq == planted))
        values = {name: value for name, value in row.items() if name != "seq"}
        assert connection.execute(sa.update(events).where(events.c.seq == 1).values(values)).rowcount == 1
    done = log.restart()
    assert (done.closed.number, done.closed.base, done.closed.size) == (1, 0, signed)
    assert (1, KEYS) in kept(log)
    report = log.verify()
    assert (report.ok, report.is_judged) == (True, True), report.findings
    assert log.state(waiting.id).value == "cancelled"
