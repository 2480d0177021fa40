"""Each defence of single use and of the log alone, on every database: what the others would catch as well, it catches.

``tests/crash/test_negative_controls.py`` takes them away one by one, and each time one of these must fail.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import attempts, audit, moves
from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.errors import ApprovalError, ConflictError, LogTamperedError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outcome import returned
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import attempts as attempt_rows
from checkvalve.approvals.tables import audit_head, events, grants, proposals
from tests.approvals.made import ALLOW, Desk
from tests.approvals.sealed import Desk as Log
from tests.approvals.sealed import write
from tests.crash import broken

pytestmark = pytest.mark.claim("C4", "C5")


@pytest.fixture
def log(store: Store, tmp_path: Path) -> Log:
    return Log(store, tmp_path)


def claims(desk: Desk) -> Claims:
    return Claims(desk.queue, timedelta(minutes=15), lambda _: None)


def claimed(desk: Desk) -> Claim:
    taken = claims(desk).take(desk.propose(ALLOW).id, None)
    assert isinstance(taken, Claim)
    return taken


def test_who_read_a_row_before_it_moved_on_cannot_move_it(desk: Desk) -> None:
    seen = desk.propose()
    desk.queue.close(seen.id, State.CANCELLED, by="gateway", code="run_ended")
    with desk.queue.store.write() as connection, pytest.raises(ConflictError, match="cancelled by gateway"):
        moves.move(connection, seen, State.APPROVED, at=desk.clock(), by="reviewer:ann")
    assert desk.queue.get(seen.id).state is State.CANCELLED


def test_a_row_whose_digest_is_another_is_not_moved(desk: Desk) -> None:
    seen = desk.propose()
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(proposals).values(digest="sha256:" + "0" * 64))
    with desk.queue.store.write() as connection, pytest.raises(ConflictError):
        moves.move(connection, seen, State.APPROVED, at=desk.clock(), by="reviewer:ann")


def test_a_permit_that_was_used_serves_no_second_claim(desk: Desk) -> None:
    """Everything else is as before the first one: state, version, no attempt."""
    before = desk.propose(ALLOW)
    claims(desk).take(before.id, None)
    with desk.queue.store.write() as connection:
        connection.execute(sa.delete(attempt_rows))
        connection.execute(sa.update(proposals).values(state=before.state.value, version=before.version))
    with pytest.raises(ConflictError, match="no permit"), desk.queue.store.write() as connection:
        attempts.claim(connection, before, owner="o", at=desk.clock(), lease_until=2 * 10**15, step=lambda _: None)


def test_there_is_one_attempt_for_each_call(desk: Desk) -> None:
    """Everything else is as before the first one: state, version, an unused permit."""
    before = desk.propose(ALLOW)
    claims(desk).take(before.id, None)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(grants).values(used_at=None))
        connection.execute(sa.update(proposals).values(state=before.state.value, version=before.version))
    with pytest.raises(sa.exc.IntegrityError), desk.queue.store.write() as connection:
        attempts.claim(connection, before, owner="o", at=desk.clock(), lease_until=2 * 10**15, step=lambda _: None)


def test_who_lost_its_fence_records_nothing(desk: Desk) -> None:
    taken = claimed(desk)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(attempt_rows).values(fence=2))
        attempts.finish(connection, taken.attempt, returned("mine"), at=desk.clock())
    with desk.queue.store.read() as connection:
        left = attempts.read(connection, taken.proposal.id)
    assert left is not None
    assert (left.result, desk.queue.get(taken.proposal.id).state) == (None, State.EXECUTING)


def test_a_call_whose_bytes_were_changed_does_not_run(desk: Desk) -> None:
    row = desk.propose(ALLOW)
    with desk.queue.store.write() as connection:
        evil = row.canonical.replace(b"eve@evil.example", b"bob@evil.example")
        assert evil != row.canonical
        connection.execute(sa.update(proposals).values(canonical=evil))
    with pytest.raises(StoreCorruptError):
        Executor(desk.queue).run(row.id, lambda args, key: pytest.fail(f"it ran with {args}"))


def test_waking_a_call_that_waits_runs_nothing(desk: Desk) -> None:
    row = desk.propose()
    for _ in range(3):
        outcome = Executor(desk.queue, wait=timedelta()).run(row.id, lambda args, key: pytest.fail("it ran"))
        assert outcome.state is State.PENDING


def test_what_was_rolled_back_was_not_signed(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log.store, 3)
    log.sealer.seal()
    monkeypatch.setitem(broken.SIGNS, "signed", log.signed)
    monkeypatch.setitem(broken.SIGNS, "key", log.key)

    def fail() -> None:
        with log.store.write() as connection:
            audit.append(connection, at=9, kind="test", body={"n": 4})
            raise ApprovalError("no room")

    with pytest.raises(ApprovalError, match="no room"):
        fail()
    log.sealer.seal()
    write(log.store, 1, text="another fourth event")
    assert log.sealer.seal().checkpoint.size == 4
    assert log.verify().ok


def test_an_event_that_does_not_follow_the_one_before_is_not_signed(log: Log) -> None:
    """It is whole in itself, and its number is right: only what it follows is somebody else's."""
    write(log.store, 4)
    prev = "sha256:" + "5" * 64
    with log.store.write() as connection:
        row = dict(connection.execute(sa.select(events).where(events.c.seq == 4)).mappings().one())
        row |= {"prev": prev}
        row["hash"] = "sha256:" + hashlib.sha256(audit.Event(**row).form).hexdigest()
        assert audit.Event(**row).is_whole
        connection.execute(sa.update(events).where(events.c.seq == 4).values(row))
        connection.execute(sa.update(audit_head).values(hash=row["hash"]))
    with pytest.raises(LogTamperedError, match="event 4"):
        log.sealer.seal()
