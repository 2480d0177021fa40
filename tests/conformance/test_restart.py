"""Closing a log that was tampered with or whose key was stolen, and going on under a new key, on every database."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.anchors import FileAnchor
from checkvalve.approvals.bundles import parse_bundle, verify_bundle, write_bundle
from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.errors import (
    CredentialError,
    LogError,
    LogTamperedError,
    NotAllowedError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.outcome import Ending
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.receipts import make_receipt, parse_receipt, verify_receipt
from checkvalve.approvals.records import State
from checkvalve.approvals.restart import Order, Restarted, restart
from checkvalve.approvals.roles import Role
from checkvalve.approvals.sessions import Sessions
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.verify import VerifyReport, verify
from tests.approvals.made import ALLOW, Desk

OLD, NEW = "log.example/old", "log.example/new"


@dataclass
class Place:
    """A queue with a signed log."""

    desk: Desk
    place: LogPlace

    @property
    def store(self) -> Store:
        return self.desk.queue.store

    def seal(self) -> int:
        """Sign what there is, and return the size of the checkpoint."""
        return self.place.sealer(self.store).seal().checkpoint.size

    def restart(self, *, before: int | None = None, origin: str = NEW, by: object = None) -> Restarted:
        who = by or self.desk.reviewer
        order = Order(who, "a key lay in a backup", origin, before)  # type: ignore[arg-type]  # a reviewer
        return restart(self.store, self.place, self.desk.queue.reviewers, order)

    def verify(self, keys: tuple[PublicKey, ...] = ()) -> VerifyReport:
        outside = list(self.place.outside())
        return verify(self.store, keys=keys or self.place.public_keys(), outside=outside)

    def tamper(self, statement: str, **values: object) -> None:
        with self.store.write() as connection:
            assert connection.execute(sa.text(statement), values).rowcount

    def count(self) -> int:
        return audit.head(self.store).seq

    def state(self, name: str) -> State:
        return self.desk.queue.get(name).state


@pytest.fixture
def log(desk: Desk, tmp_path: Path) -> Place:
    place = LogPlace(tmp_path / "key.json", anchors=(FileAnchor(tmp_path / "anchor"),))
    place.save(LogKey.new(OLD))
    return Place(desk, place)


def assert_good(log: Place) -> VerifyReport:
    report = log.verify()
    assert (report.ok, report.is_judged) == (True, True), report.findings
    return report


def bundle(log: Place, origin: str = "") -> bytes:
    out = StringIO()
    with log.store.read() as connection:
        write_bundle(connection, out, origin)
    return out.getvalue().encode()


@pytest.mark.claim("C5")
def test_a_whole_log_is_closed_and_everything_else_stays(log: Place) -> None:
    desk, old = log.desk, log.place.public_keys()
    pending, approved = desk.propose(), desk.approve(desk.propose())
    size = log.seal()
    done = log.restart()
    assert (done.closed.origin, done.closed.size, done.closed.doubted_from, done.counts) == (OLD, size, None, {})
    report = assert_good(log)
    assert report.closed[0]["followed_by"] == NEW
    assert any(OLD in note and "a key lay in a backup" in note and NEW in note for note in report.notes)
    assert (log.state(pending.id), log.state(approved.id)) == (State.PENDING, State.APPROVED)
    assert Executor(desk.queue).run(approved.id, lambda args, key: "sent").proposal.state is State.SUCCEEDED
    log.seal()
    assert_good(log)
    new = log.place.public_keys()
    assert not {key.id for key in new} & {key.id for key in old}
    assert (log.place.key_file().with_name("key.json.pub.closed-1")).read_text().count(OLD) >= 2


@pytest.mark.claim("C5")
def test_both_logs_verify_offline_and_the_new_key_alone_shows_the_link(log: Place) -> None:
    old = log.place.public_keys()
    approved = log.desk.approve(log.desk.propose())
    size = log.seal()
    with log.store.read() as connection:
        before = list(audit.read_events(connection, subject=approved.id))
    log.restart()
    log.desk.propose()
    log.seal()
    new = log.place.public_keys()
    closed = verify_bundle(parse_bundle(bundle(log, OLD)), old)
    assert (closed.ok, closed.events) == (True, size)
    follows = verify_bundle(parse_bundle(bundle(log)), new)
    assert follows.ok
    assert any(OLD in note and f"{size} events" in note for note in follows.notes)
    with log.store.read() as connection:
        first = list(audit.read_events(connection, after=size, limit=1))
        last = list(audit.read_events(connection, after=log.count() - 1))
        now, then = make_receipt(connection, last), make_receipt(connection, before)
    assert [event.kind for event, _ in now.items] == ["log.restarted", last[0].kind]
    assert verify_receipt(parse_receipt(_text(now)), new).checkpoint.origin == NEW
    assert verify_receipt(parse_receipt(_text(then)), old).checkpoint.size == size
    with pytest.raises(LogTamperedError):  # at its old place it is no event of the new log
        verify_receipt(replace(now, items=now.items[1:]), new)
    assert first[0].kind == "log.restarted"


def _text(receipt: object) -> str:
    return json.dumps(receipt.to_json())  # type: ignore[attr-defined]  # a receipt


@pytest.mark.claim("C5")
def test_a_log_that_follows_a_closed_one_is_closed_in_turn(log: Place) -> None:
    log.desk.propose()
    log.seal()
    log.restart()
    log.desk.propose()
    done = log.restart(origin="log.example/third")
    assert (done.closed.number, done.closed.origin) == (2, NEW)
    report = assert_good(log)
    assert [one["origin"] for one in report.closed] == [OLD, NEW]
    with pytest.raises(LogError, match="was called"):
        log.restart(origin=OLD)


@pytest.mark.claim("C5", "C4")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET at = at + 1 WHERE seq = 4",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq > 6",
        "UPDATE events SET body = '', salt = NULL WHERE seq = 4",
        "UPDATE proposals SET requester = 'eve' WHERE state = 'approved'",
        "UPDATE audit_head SET seq = 1000000, hash = ''",
        "UPDATE tiles SET hashes = substr(hashes, 1, 32)",
        "DELETE FROM tiles",
        "UPDATE checkpoints SET note = 'nothing'",
    ],
)
def test_nothing_that_was_approved_runs_after_a_tampered_log_was_closed(log: Place, statement: str) -> None:
    desk = log.desk
    log.seal()  # the account of the administrator is signed
    done = desk.propose(ALLOW)
    Executor(desk.queue).run(done.id, lambda args, key: "sent")
    pending, approved, mandate = desk.propose(), desk.approve(desk.propose()), desk.grant()
    log.seal()
    log.tamper(statement)
    assert not log.verify().ok or "tiles" in statement  # tiles are only a cache, until something is signed
    told = log.restart()
    assert told.closed.doubted_from is not None
    assert told.left == ()
    report = assert_good(log)
    assert any("in doubt" in note for note in report.notes)
    ran: list[int] = []
    for name in (pending.id, approved.id):
        try:
            Executor(desk.queue).run(name, lambda args, key: ran.append(1))
        except (StoreCorruptError, QueueError):
            continue
    assert not ran
    assert log.state(pending.id) is State.CANCELLED
    assert log.state(approved.id) is State.INVALIDATED
    assert not desk.queue.mandates.in_force("t", "bob")
    assert desk.queue.mandates.find(mandate.id).ended_at is not None
    assert desk.queue.flood("t").paused
    assert "asked too many" not in desk.queue.flood("t").verdict.remedy
    log.seal()
    assert_good(log)


@pytest.mark.claim("C5", "C4")
def test_what_was_running_is_unknown_and_a_person_can_settle_it(log: Place) -> None:
    desk = log.desk
    log.seal()
    good, bad = desk.propose(ALLOW), desk.propose(ALLOW)
    claims = Claims(desk.queue, timedelta(minutes=1), lambda _: None)
    taken = [claims.take(one.id, None) for one in (good, bad)]
    log.seal()
    log.tamper("UPDATE proposals SET requester = 'eve' WHERE id = :id", id=bad.id)
    log.restart()
    assert [log.state(one.id) for one in (good, bad)] == [State.UNKNOWN, State.UNKNOWN]
    for claim in taken:
        assert isinstance(claim, Claim)
        claims.record(claim, Ending(State.SUCCEEDED, "ok", result='"late"'))
    assert_good(log)
    desk.queue.settle(bad.id, desk.reviewer, done=True)
    desk.queue.settle(good.id, desk.reviewer, done=False)
    assert_good(log)
    with pytest.raises(StoreCorruptError, match="in doubt"):  # its result is handed to nobody
        claims.look(bad.id)


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
def test_a_restart_that_was_interrupted_is_finished_by_running_it_again(
    log: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.desk.propose()
    log.seal()
    before = log.count()

    def fails(*_: object, **__: object) -> None:
        raise OSError("no more power")

    with monkeypatch.context() as patch:  # the key is written, nothing commits
        patch.setattr(LogPlace, "save", _after(LogPlace.save, fails))
        with pytest.raises(OSError, match="power"):
            log.restart()
    assert (log.count(), log.place.load().origin) == (before, NEW)
    with pytest.raises(LogTamperedError):
        log.seal()
    with monkeypatch.context() as patch:  # it commits, and is not signed
        patch.setattr(LogPlace, "keep_signed", fails)
        with pytest.raises(OSError, match="power"):
            log.restart()
    assert log.count() > before
    done = log.restart()
    assert done.closed.origin == OLD
    assert log.place.load().origin == NEW
    assert len(assert_good(log).closed) == 1


def _after(real: object, then: object) -> object:
    def both(*args: object, **rest: object) -> None:
        real(*args, **rest)  # type: ignore[operator]  # a function
        then()  # type: ignore[operator]  # the same

    return both


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
