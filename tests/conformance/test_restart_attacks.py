"""A log that was closed and begun anew is attacked: forged links, databases put back, and people who may not."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals.errors import (
    CredentialError,
    LogError,
    LogTamperedError,
    NotAllowedError,
    StoreCorruptError,
)
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.sessions import Sessions
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from tests.conformance.restart_world import NEW, OLD, Place, assert_good, log

__all__ = ["log"]  # the fixture


@pytest.mark.claim("C5", "C4")
def test_from_the_named_event_on_nothing_is_relied_on(log: Place) -> None:
    desk = log.desk
    kept_open = desk.approve(desk.propose())
    size = log.seal()
    later = desk.approve(desk.propose())
    ben = desk.queue.reviewers.add("ben", by=desk.reviewer)
    log.seal()
    done = log.restart(before=size + 2)
    assert (done.closed.size, done.closed.doubted_from) == (size, size + 1)
    assert_good(log)
    assert {log.state(one.id) for one in (kept_open, later)} == {State.INVALIDATED}
    with pytest.raises(CredentialError):
        desk.queue.reviewers.authenticate(ben)
    with log.store.read() as connection, pytest.raises(StoreCorruptError, match="in doubt"):
        require_recorded(connection, later.id)


@pytest.mark.claim("C5")
def test_an_older_database_that_was_put_back_is_closed_where_it_ends(log: Place, tmp_path: Path) -> None:
    desk = log.desk
    desk.propose()
    size = log.seal()
    rows = _events(log.store)
    desk.approve(desk.propose())
    more = log.seal()
    _put_back(log, rows, size)
    assert not log.verify().ok
    with pytest.raises(LogTamperedError):
        log.seal()
    done = log.restart()
    assert (done.closed.size, done.closed.body["signed"]) == (size, more)
    assert log.count() > more, "a number that was shown is never used again"
    assert any(f"{more} events of {OLD} were signed once" in note for note in assert_good(log).notes)


def _events(store: Store) -> list[dict[str, object]]:
    with store.read() as connection:
        return [dict(row) for row in connection.execute(sa.text("SELECT * FROM events")).mappings()]


def _put_back(log: Place, rows: list[dict[str, object]], size: int) -> None:
    """Do to the log what restoring an older copy does; the checkpoint of then stands in the anchor."""
    last = max(rows, key=lambda row: int(str(row["seq"])))
    log.tamper("DELETE FROM events WHERE seq > :seq", seq=last["seq"])
    log.tamper("UPDATE audit_head SET seq = :seq, hash = :hash", seq=last["seq"], hash=last["hash"])
    log.tamper("DELETE FROM checkpoints")
    log.tamper("DELETE FROM tiles")


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE kind = 'log.restarted'",
        "UPDATE events SET body = replace(body, 'backup', 'drawer') WHERE kind = 'log.restarted'",
        "UPDATE events SET kind = 'log.heartbeat' WHERE kind = 'log.restarted'",
        "UPDATE events SET kind = 'log.restarted', subject = 'log.keys' WHERE seq = 2",
        "UPDATE events SET at = at + 1 WHERE seq = 2",
        "UPDATE put_aside SET body = '{}' WHERE id = (SELECT min(id) FROM put_aside)",
        "DELETE FROM put_aside WHERE id = (SELECT max(id) FROM put_aside)",
        "UPDATE put_aside SET body = '' WHERE id = (SELECT min(id) FROM put_aside)",
    ],
)
def test_a_forged_or_missing_link_is_found(log: Place, statement: str) -> None:
    log.desk.propose()
    log.desk.propose()
    log.seal()
    log.tamper("UPDATE events SET at = at + 1 WHERE seq = 3")
    log.tamper("INSERT INTO passwords (name, password_hash, set_at) VALUES ('ann', 'x', 1)")
    log.restart()
    assert_good(log)
    log.tamper(statement)
    assert not log.verify().ok


@pytest.mark.claim("C5")
def test_a_database_from_before_the_restart_is_found_and_nothing_is_signed(log: Place) -> None:
    log.desk.propose()
    log.seal()
    rows = {name: _rows(log.store, name) for name in ("events", "audit_head", "tiles", "checkpoints")}
    log.restart()
    log.seal()
    for name, kept in rows.items():
        log.tamper(f"DELETE FROM {name}")  # names of our own tables
        for row in kept:
            names = ", ".join(row)
            values = ", ".join(f":{one}" for one in row)
            log.tamper(f"INSERT INTO {name} ({names}) VALUES ({values})", **row)  # the same
    assert not log.verify().ok
    with pytest.raises(LogTamperedError, match=f"{NEW} follows {OLD}"):
        log.seal()
    log.place.signed_file.unlink()
    log.tamper("DELETE FROM checkpoints")
    with pytest.raises(LogTamperedError, match=f"{NEW} follows {OLD}"):  # nothing is left to compare with but the key
        log.seal()


@pytest.mark.claim("C5")
def test_after_that_only_a_newer_database_helps(log: Place) -> None:
    log.desk.propose()
    log.seal()
    rows = {name: _rows(log.store, name) for name in ("events", "audit_head", "tiles", "checkpoints")}
    log.restart()
    for name, kept in rows.items():
        log.tamper(f"DELETE FROM {name}")  # names of our own tables
        for row in kept:
            values = ", ".join(f":{one}" for one in row)
            log.tamper(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({values})", **row)  # the same
    with pytest.raises(LogTamperedError, match="an older one was put back"):
        log.restart(origin="log.example/third")


def _rows(store: Store, name: str) -> list[dict[str, object]]:
    with store.read() as connection:
        return [dict(row) for row in connection.execute(sa.text(f"SELECT * FROM {name}")).mappings()]


@pytest.mark.claim("C5")
def test_only_an_administrator_of_what_is_good_closes_a_log(log: Place) -> None:
    people = log.desk.queue.reviewers
    ben = people.authenticate(people.add("ben", by=log.desk.reviewer, roles=[Role.APPROVER]))
    log.seal()
    cas = people.authenticate(people.add("cas", by=log.desk.reviewer))
    with pytest.raises(NotAllowedError):
        log.restart(by=ben)
    log.tamper("UPDATE events SET at = at + 1 WHERE seq = (SELECT max(seq) FROM events)")
    before = log.count()
    for who in (ben, cas):  # cas is an administrator by an event that was not signed
        with pytest.raises(CredentialError, match="can be relied on"):
            log.restart(by=who)
    assert log.count() == before
    assert log.place.load().origin == OLD
    log.restart()
    assert_good(log)


@pytest.mark.claim("C4", "C5")
def test_nobody_else_comes_in_before_the_administrator_says_so(log: Place) -> None:
    desk, people = log.desk, log.desk.queue.reviewers
    token = people.add("ben", by=desk.reviewer)
    log.seal()
    ben = people.authenticate(token)
    name = Sessions(log.store, desk.clock, idle=3600, absolute=36000).start(Proof(ben, "token", desk.clock()))
    log.tamper(
        "INSERT INTO reviewers (name, selector, token_hash, added_by, added_at) VALUES ('eve', 'aaaa', 'x', 'ann', 1)"
    )
    log.tamper("INSERT INTO passwords (name, password_hash, set_at) VALUES ('ben', 'x', 1)")
    log.tamper("INSERT INTO seed_consents (reviewer, agreed_at) VALUES ('ben', 1)")
    log.restart()
    assert_good(log)
    assert Sessions(log.store, desk.clock, idle=3600, absolute=36000).find(name) is None
    with pytest.raises(CredentialError):
        people.authenticate(token)
    assert {one.name: one.disabled for one in people.accounts()} == {"ann": False, "ben": False, "eve": True}
    assert people.authenticate(desk.token) == desk.reviewer


@pytest.mark.claim("C5")
def test_whoever_still_has_the_old_key_signs_and_runs_nothing_more(log: Place) -> None:
    log.desk.propose()
    sealer = log.place.sealer(log.store)
    sealer.seal()
    old = log.place.public_keys()
    log.restart()
    with pytest.raises(LogTamperedError):
        sealer.seal()
    with pytest.raises(LogError, match="was closed"):
        log.verify(old)
