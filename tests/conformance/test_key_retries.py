"""`idempotency: key`: an unknown call runs again with the same key and the same bytes, within bounds, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import pytest
import sqlalchemy as sa

from checkvalve.approvals import attempts, audit
from checkvalve.approvals.claims import Claim, Claims
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import ConflictError, NotStartedError, OutcomeUnknownError, StoreCorruptError
from checkvalve.approvals.executor import LEASE, Executor
from checkvalve.approvals.outcome import Ending, Outcome, returned
from checkvalve.approvals.records import Proposal, State, idempotency_key
from checkvalve.approvals.retries import INTENT, LATE, MAX_TRIES, WITHIN, end_tries, tries_of
from checkvalve.approvals.revoking import revoke
from checkvalve.approvals.tables import attempts as rows
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.undo_call import Kept
from checkvalve.approvals.undos import read as read_undo
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, DENY, Desk, HandClock

pytestmark = pytest.mark.claim("C4")

NOTHING: Final = timedelta()
HOUR: Final = timedelta(hours=1)


@dataclass
class Remote:
    """A remote system that knows a repeated call by its key; ``fails`` is raised after the effect."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)
    fails: BaseException | None = None

    def __call__(self, args: dict[str, JSON], key: str) -> JSON:
        text = json.dumps(args, sort_keys=True)
        self.asked.append((key, text))
        self.done.setdefault(key, text)
        if self.fails is not None:
            raise self.fails
        return {"done": key}


def keyed(desk: Desk, **more: Any) -> Proposal:
    return desk.approve(desk.propose(idempotency=Idempotency.KEY, **more))


def run(desk: Desk, row: Proposal, remote: Callable[[dict[str, JSON], str], JSON], **more: Any) -> Outcome:
    return Executor(desk.queue, wait=NOTHING).run(row.id, remote, **more)


def lost(desk: Desk, remote: Remote, error: BaseException | None = None) -> Proposal:
    """Return a call that had its effect, and of which nobody knows."""
    row = keyed(desk)
    remote.fails = error or ConnectionResetError()
    assert run(desk, row, remote).state is State.UNKNOWN
    remote.fails = None
    return row


def left(desk: Desk, clock: HandClock, row: Proposal) -> Claim:
    """Claim a call in the name of somebody who is never heard of again."""
    claim = Claims(desk.queue, LEASE, lambda _: None).take(row.id, None)
    assert isinstance(claim, Claim)
    clock.now = claim.attempt.lease_until
    return claim


def kinds(desk: Desk, row: Proposal) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in audit.read_events(connection, subject=row.id)]


def codes(desk: Desk, row: Proposal, kind: str) -> list[str]:
    with desk.queue.store.read() as connection:
        found = [event for event in audit.read_events(connection, subject=row.id) if event.kind == kind]
    return [str(json.loads(event.body or "{}")["code"]) for event in found]


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), OutcomeUnknownError("half sent")], ids=repr)
def test_the_second_try_has_the_same_key_and_bytes_and_one_effect(desk: Desk, error: Exception) -> None:
    remote = Remote()
    row = lost(desk, remote, error)
    outcome = run(desk, row, remote)
    assert (outcome.state, outcome.ran_here) == (State.SUCCEEDED, True)
    assert len(set(remote.asked)) == 1
    assert remote.asked[0][0] == idempotency_key(row.id)
    assert (len(remote.asked), len(remote.done)) == (2, 1)
    assert codes(desk, row, "proposal.executing") == ["intent", "retry_with_key"]
    assert run(desk, row, remote).result == outcome.result
    assert len(remote.asked) == 2
    assert verify(desk.queue.store).ok


def test_a_call_whose_owner_died_is_tried_again(desk: Desk, clock: HandClock) -> None:
    remote, row = Remote(), keyed(desk)
    left(desk, clock, row)
    assert run(desk, row, remote).state is State.SUCCEEDED
    assert len(remote.asked) == 1
    assert kinds(desk, row).count(INTENT) == 2
    assert verify(desk.queue.store).ok


def test_after_so_many_tries_it_stays_for_a_person(desk: Desk) -> None:
    remote = Remote()
    row = lost(desk, remote)
    remote.fails = TimeoutError()
    for number in range(2, MAX_TRIES + 3):
        assert run(desk, row, remote).state is State.UNKNOWN
        assert len(remote.asked) == min(number, MAX_TRIES)
    with desk.queue.store.read() as connection:
        found = tries_of(connection, desk.queue.get(row.id))
    assert found is not None
    assert (found.count, found.left) == (MAX_TRIES, 0)
    assert desk.queue.settle(row.id, desk.reviewer, done=True).state is State.CONFIRMED_DONE
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize(("late", "asked"), [(-1, 2), (0, 1), (1, 1)])
def test_a_day_after_the_first_try_no_other_begins(desk: Desk, clock: HandClock, late: int, asked: int) -> None:
    """Remote sides forget keys; and the day is counted from the first try, not from the last."""
    remote = Remote()
    desk.queue._intake = replace(desk.queue._intake, execute_within=micros(3 * WITHIN))
    row = lost(desk, remote)
    clock.advance(seconds=WITHIN.total_seconds())
    clock.now += late
    run(desk, row, remote)
    assert len(remote.asked) == asked


@pytest.mark.parametrize(("late", "asked"), [(-1, 2), (0, 1), (1, 1)])
def test_after_the_deadline_of_the_yes_no_other_try_begins(desk: Desk, clock: HandClock, late: int, asked: int) -> None:
    """The first may never have arrived: then the next would be the first that has an effect, and too late."""
    remote = Remote()
    row = lost(desk, remote)
    assert row.execute_by is not None
    clock.now = row.execute_by + late
    run(desk, row, remote)
    assert len(remote.asked) == asked
    with desk.queue.store.read() as connection:
        found = tries_of(connection, desk.queue.get(row.id))
    assert found is not None
    assert found.until == row.execute_by


@pytest.mark.parametrize("done", [True, False])
def test_who_settled_it_wins(desk: Desk, done: bool) -> None:
    remote = Remote()
    row = lost(desk, remote)
    settled = desk.queue.settle(row.id, desk.reviewer, done=done)
    assert run(desk, row, remote).state is settled.state
    assert len(remote.asked) == 1


def test_what_was_taken_back_stays_so(desk: Desk) -> None:
    remote = Remote()
    other = lost(desk, remote)
    with pytest.raises(ConflictError):
        revoke(desk.queue, other.id, desk.reviewer)  # its permit is used
    row = keyed(desk)
    revoke(desk.queue, row.id, desk.reviewer)
    assert run(desk, row, remote).state is State.REVOKED
    assert len(remote.asked) == 1


def test_a_stricter_verdict_or_a_lost_right_leaves_it_unknown(desk: Desk) -> None:
    remote = Remote()
    row = lost(desk, remote)
    assert run(desk, row, remote, revalidate=lambda: DENY).state is State.UNKNOWN
    other = desk.queue.reviewers.authenticate(desk.queue.reviewers.add("ben", by=desk.reviewer))
    desk.queue.reviewers.disable(desk.reviewer.name, by=other)
    found = run(desk, row, remote)
    assert (found.state, found.ran_here, len(remote.asked)) == (State.UNKNOWN, False, 1)
    assert verify(desk.queue.store).ok


def test_a_changed_record_is_not_sent_again(desk: Desk) -> None:
    remote = Remote()
    row = lost(desk, remote)
    with desk.queue.store.write() as connection:
        changed = sa.update(proposals).where(proposals.c.id == row.id)
        connection.execute(changed.values(canonical=row.canonical.replace(b"evil", b"good")))
    with pytest.raises(StoreCorruptError):
        run(desk, row, remote)
    assert len(remote.asked) == 1


@pytest.mark.parametrize("values", [{"idempotency_key": "another"}, {"fence": 0}, {"started_at": 1}], ids=str)
def test_an_attempt_that_was_edited_is_not_tried_again(desk: Desk, values: dict[str, Any]) -> None:
    remote = Remote()
    row = lost(desk, remote)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(rows).where(rows.c.proposal_id == row.id).values(**values))
    with pytest.raises(StoreCorruptError):
        run(desk, row, remote)
    assert len(remote.asked) == 1


@pytest.mark.parametrize("error", [ValueError("no"), NotStartedError("not begun"), ConnectionRefusedError()], ids=repr)
def test_a_second_try_that_fails_says_nothing_of_the_first(desk: Desk, error: Exception) -> None:
    """A first try that says so has failed; of a second one nobody knows whether the first had its effect."""
    remote = Remote()
    row = lost(desk, remote)
    remote.fails = error
    found = run(desk, row, remote)
    assert (found.state, found.proposal.code) == (State.UNKNOWN, "retry_failed")
    first = keyed(desk)
    assert run(desk, first, remote).state is State.FAILED
    remote.fails = None
    assert run(desk, row, remote).state is State.SUCCEEDED
    assert verify(desk.queue.store).ok


def test_a_late_end_of_the_first_owner_is_not_recorded_over_the_second(desk: Desk, clock: HandClock) -> None:
    row = keyed(desk)
    first = left(desk, clock, row)
    second = left(desk, clock, row)
    assert (first.attempt.fence, second.attempt.fence, second.again) == (1, 2, True)
    assert first.key == second.key
    outcome = run(desk, row, Remote())
    assert outcome.result == {"done": first.key}
    for claim in (first, second):
        with desk.queue.store.write() as connection:
            attempts.finish(connection, claim.attempt, returned(f"of try {claim.attempt.fence}"), at=clock.now)
    assert run(desk, row, Remote()).result == outcome.result
    assert kinds(desk, row).count(LATE) == 2
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize("failed", [False, True], ids=["succeeded", "failed"])
def test_a_late_end_of_the_first_try_ends_the_tries_though_a_second_had_begun(
    desk: Desk, clock: HandClock, *, failed: bool
) -> None:
    """It is not recorded as the end; but the log knows how that try ended, so nothing is sent once more."""
    row = keyed(desk)
    first = left(desk, clock, row)
    left(desk, clock, row)
    ending = Ending(State.FAILED, "raised", error={"type": "X", "text": "x"}) if failed else returned("of the first")
    with desk.queue.store.write() as connection:
        attempts.finish(connection, first.attempt, ending, at=clock.now)
    remote = Remote()
    assert (run(desk, row, remote).state, remote.asked) == (State.UNKNOWN, [])
    assert verify(desk.queue.store).ok


def test_a_late_end_that_says_nothing_leaves_the_other_tries(desk: Desk, clock: HandClock) -> None:
    row = keyed(desk)
    first = left(desk, clock, row)
    left(desk, clock, row)
    with desk.queue.store.write() as connection:
        attempts.finish(connection, first.attempt, Ending(State.UNKNOWN, "cut_off"), at=clock.now)
    assert run(desk, row, Remote()).state is State.SUCCEEDED


def test_what_was_taken_back_is_not_tried_again(desk: Desk, clock: HandClock) -> None:
    remote = Remote()
    row, other = lost(desk, remote), keyed(desk)
    assert [end_tries(desk.queue, row.id, by="user", code="new_message") for _ in range(2)] == [True, False]
    assert not end_tries(desk.queue, other.id, by="user", code="new_message")  # it has not begun
    found = run(desk, row, remote)
    assert (found.state, len(remote.asked)) == (State.UNKNOWN, 1)
    claim = left(desk, clock, other)
    assert end_tries(desk.queue, other.id, by="user", code="new_message")
    with desk.queue.store.write() as connection:
        done = attempts.finish(connection, claim.attempt, returned("what had begun goes on"), at=clock.now)
    assert done.state is State.SUCCEEDED
    assert desk.queue.settle(row.id, desk.reviewer, done=True).state is State.CONFIRMED_DONE
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize("error", [None, ValueError("it failed")], ids=["succeeded", "failed"])
def test_an_end_that_came_late_is_looked_at_and_not_tried_again(
    desk: Desk, clock: HandClock, error: Exception | None
) -> None:
    row = keyed(desk)
    claim = left(desk, clock, row)
    Executor(desk.queue, wait=NOTHING).recover()
    ending = returned("sent")
    if error is not None:
        ending = type(ending)(State.FAILED, "raised", error={"type": "ValueError", "text": "it failed"})
    with desk.queue.store.write() as connection:
        attempts.finish(connection, claim.attempt, ending, at=clock.now)
    remote = Remote()
    assert run(desk, row, remote).state is State.UNKNOWN
    assert not remote.asked
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize("kind", [Idempotency.NONE, Idempotency.PROBE])
def test_no_other_tool_is_tried_again(desk: Desk, kind: Idempotency) -> None:
    remote, row = Remote(fails=TimeoutError()), desk.approve(desk.propose(idempotency=kind))
    for _ in range(2):
        assert run(desk, row, remote).state is State.UNKNOWN
    assert len(remote.asked) == 1


def test_what_a_rule_allowed_is_tried_again_too(desk: Desk) -> None:
    remote = Remote(fails=TimeoutError())
    row = desk.propose(ALLOW, idempotency=Idempotency.KEY)
    run(desk, row, remote)
    assert run(desk, row, remote, revalidate=lambda: ALLOW).state is State.UNKNOWN
    remote.fails = None
    assert run(desk, row, remote, revalidate=lambda: ALLOW).state is State.SUCCEEDED


@pytest.mark.parametrize("where", ["before", "argument"])
def test_what_was_read_before_a_second_try_undoes_nothing(desk: Desk, where: str) -> None:
    """It may be what the first try left."""
    body = json.dumps({"tool": "send", "server": "", "args": {}, "from": {"to": {where: "$.to"}}, "declared": "d"})
    remote = Remote()
    row = lost(desk, remote)
    assert run(desk, row, remote, keep=lambda _: Kept(body, within=None)).state is State.SUCCEEDED
    with desk.queue.store.read() as connection:
        kept = read_undo(connection, row.id)
    assert kept is not None
    assert (kept.body, kept.why) == (("", "tried_again") if where == "before" else (body, ""))
    assert verify(desk.queue.store).ok
