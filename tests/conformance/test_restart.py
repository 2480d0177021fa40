"""A log that was tampered with is closed and a new one begun: what verifies, what runs, and what a person is left."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest

from checkvalve.approvals import audit
from checkvalve.approvals.bundles import parse_bundle, verify_bundle, write_bundle
from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.errors import (
    LogError,
    LogTamperedError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.outcome import Ending
from checkvalve.approvals.receipts import make_receipt, parse_receipt, verify_receipt
from checkvalve.approvals.records import State
from tests.approvals.made import ALLOW
from tests.conformance.restart_world import NEW, OLD, Place, assert_good, log

__all__ = ["log"]  # the fixture


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
