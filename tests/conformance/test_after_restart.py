"""What goes on after a log was closed: erasing, retention, saved heads, receipts of calls from before."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import micros
from checkvalve.approvals.closed_tables import put_aside
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.receipts import make_receipt
from checkvalve.approvals.records import State
from checkvalve.approvals.retention import prune
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verify import verify
from tests.approvals.made import ALLOW
from tests.conformance.restart_world import OLD, Place, assert_good, log

__all__ = ["log"]
pytestmark = pytest.mark.claim("C5")


def ended(place: Place) -> str:
    done = place.desk.propose(ALLOW)
    Executor(place.desk.queue).run(done.id, lambda args, key: "sent")
    return done.id


def test_a_call_of_the_closed_log_is_erased_with_what_was_put_aside_of_it(log: Place) -> None:
    good = ended(log)
    log.seal()
    bad = ended(log)
    log.seal()
    log.tamper("UPDATE events SET at = at + 1 WHERE subject = :id", id=bad)
    log.restart()
    for name in (good, bad):
        with log.store.write() as connection:
            erase_call(connection, name, at=log.desk.clock(), by="ann", reason="asked for")
    with log.store.read() as connection:
        left = connection.execute(sa.select(put_aside.c.body).where(put_aside.c.subject == bad)).scalars().all()
    assert left
    assert not any(left)
    log.seal()
    assert_good(log)


def test_retention_leaves_a_closed_log_alone(log: Place, tmp_path: Path) -> None:
    before = ended(log)
    log.seal()
    log.restart()
    log.desk.clock.advance(days=1)
    after = log.desk.propose(ALLOW, request=log.desk.request(thread="later"))
    Executor(log.desk.queue).run(after.id, lambda args, key: "sent")
    log.desk.clock.advance(days=30)
    log.desk.propose(request=log.desk.request(thread="now"))
    log.seal()
    now, keys = log.desk.clock(), log.place.public_keys()
    done = prune(log.store, keys, tmp_path / "a.jsonl", before=now - micros(timedelta(days=2)), at=now, by="ann")
    assert done.calls == 1
    log.seal()
    assert_good(log)
    assert log.state(before) is State.SUCCEEDED


def test_a_saved_head_of_the_closed_log_still_counts_where_it_is_good(log: Place) -> None:
    ended(log)
    log.seal()
    good = audit.head(log.store)
    ended(log)
    late = audit.head(log.store)
    log.restart(before=good.seq + 1)
    keys = log.place.public_keys()
    assert "the saved head" in verify(log.store, saved=good, keys=keys).compared
    report = verify(log.store, saved=late, keys=keys)
    assert "the saved head" not in report.compared
    assert any("the saved head is event" in note and "in doubt" in note for note in report.notes)


def test_a_call_in_two_logs_has_no_one_receipt(log: Place) -> None:
    pending = log.desk.propose()
    log.seal()
    log.restart()
    log.desk.approve(pending)
    log.seal()
    with log.store.read() as connection:
        found = list(audit.read_events(connection, subject=pending.id))
        with pytest.raises(LogError, match="one signed log"):
            make_receipt(connection, found)
        assert make_receipt(connection, found[:1]).checkpoint.startswith(OLD)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("tries", [1, 2])
def test_a_lost_call_is_not_sent_again_under_a_new_log(log: Place, tries: int) -> None:
    """What is missing from the closed one may be that somebody took the right to it back."""
    sent: list[str] = []

    def send(_args: object, key: str) -> str:
        sent.append(key)
        raise ConnectionResetError

    lost = log.desk.approve(log.desk.propose(idempotency=Idempotency.KEY))
    executor = Executor(log.desk.queue)
    for number in range(1, tries + 1):
        assert executor.run(lost.id, send).state is State.UNKNOWN
        assert len(sent) == number
    log.seal()
    log.restart()
    assert executor.run(lost.id, send).state is State.UNKNOWN
    assert len(sent) == tries
