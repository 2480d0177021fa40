from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.attempts import claim
from checkvalve.approvals.errors import NotFoundError, OutcomeUnknownError, StoreBusyError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outcome import NOT_KEPT, Outcome
from checkvalve.approvals.ownership import Owner, is_dead
from checkvalve.approvals.records import State, idempotency_key
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import grants, proposals
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Verdict
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, DENY, REVIEW, Desk, HandClock
from tests.waiting import LONG

Args: TypeAlias = dict[str, JSON]


@pytest.fixture
def executor(desk: Desk) -> Executor:
    return Executor(desk.queue, wait=timedelta(seconds=0.2))


def never(args: Args, key: str) -> NoReturn:
    pytest.fail("the effect ran")


def works(args: Args, key: str) -> JSON:
    return {"args": args, "key": key}


@pytest.mark.claim("C2")
def test_the_effect_gets_the_recorded_arguments_and_a_stable_key(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(ALLOW, request=desk.request(to="a@b.example"))
    outcome = executor.run(proposal.id, works)
    expected = {"args": {"to": "a@b.example", "n": 1}, "key": idempotency_key(proposal.id)}
    assert (outcome.state, outcome.result, outcome.ran_here, outcome.executed) == (
        State.SUCCEEDED,
        expected,
        True,
        True,
    )
    again = executor.run(proposal.id, never)
    assert (again.state, again.result, again.ran_here) == (State.SUCCEEDED, expected, False)
    grant = desk.queue.grant(proposal.id)
    assert grant is not None
    assert grant.used_at == desk.clock.now


@pytest.mark.claim("C2", "C9")
@pytest.mark.parametrize("verdict", [REVIEW, DENY])
def test_without_a_permit_nothing_runs(desk: Desk, executor: Executor, verdict: Verdict) -> None:
    proposal = desk.propose(verdict)
    outcome = executor.run(proposal.id, never)
    assert (outcome.proposal, outcome.executed) == (proposal, False)
    with pytest.raises(NotFoundError):
        executor.run("00000000-0000-0000-0000-000000000000", never)


@pytest.mark.claim("C2")
def test_a_state_without_a_stored_permit_runs_nothing(desk: Desk, executor: Executor) -> None:
    """An attacker who flips the state alone has no permit; neither has a permit for another digest."""
    proposal = desk.propose(REVIEW)
    flipped = sa.update(proposals).where(proposals.c.id == proposal.id).values(state="approved")
    with desk.queue.store.write() as connection:
        connection.execute(flipped)
    with pytest.raises(StoreCorruptError):
        executor.run(proposal.id, never)
    assert not verify(desk.queue.store).ok
    other = desk.propose(ALLOW, request=desk.request(to="x@y.example"))
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(grants).where(grants.c.proposal_id == other.id).values(digest=proposal.digest))
    with pytest.raises(StoreCorruptError):
        executor.run(other.id, never)


@pytest.mark.claim("C4")
def test_after_its_deadline_a_permit_is_worth_nothing(desk: Desk, executor: Executor, clock: HandClock) -> None:
    proposal = desk.approve(desk.propose())
    clock.advance(hours=1)
    assert executor.run(proposal.id, never).state is State.LAPSED


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("first", "now", "runs"),
    [
        (ALLOW, ALLOW, True),
        (REVIEW, REVIEW, True),
        (REVIEW, ALLOW, True),
        (ALLOW, REVIEW, False),
        (ALLOW, DENY, False),
        (REVIEW, DENY, False),
    ],
)
def test_looking_again_can_only_make_it_stricter(
    desk: Desk, executor: Executor, first: Verdict, now: Verdict, runs: bool
) -> None:
    proposal = desk.propose(first)
    if first is REVIEW:
        desk.approve(proposal)
    outcome = executor.run(proposal.id, works if runs else never, revalidate=lambda: now)
    assert outcome.state is (State.SUCCEEDED if runs else State.INVALIDATED)
    assert executor.run(proposal.id, never).state is outcome.state


@pytest.mark.claim("C9")
def test_a_crash_while_looking_again_runs_nothing(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(ALLOW)

    def crash() -> NoReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        executor.run(proposal.id, never, revalidate=crash)
    assert desk.queue.get(proposal.id).state is State.APPROVED


def test_observing_is_not_looked_at_again(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(DENY, observe=True)
    assert executor.run(proposal.id, works, revalidate=lambda: DENY).state is State.SUCCEEDED


@pytest.mark.claim("C4")
def test_a_changed_record_never_runs(desk: Desk, executor: Executor) -> None:
    proposal = desk.approve(desk.propose())
    with desk.queue.store.write() as connection:
        changed = proposal.canonical.replace(b"eve@evil", b"me@evil2")
        connection.execute(sa.update(proposals).where(proposals.c.id == proposal.id).values(canonical=changed))
    with pytest.raises(StoreCorruptError):
        executor.run(proposal.id, never)
    assert desk.queue.get(proposal.id).state is State.INVALIDATED


@pytest.mark.parametrize(
    ("error", "idempotency", "state"),
    [
        (ValueError("no such account"), Idempotency.NONE, State.FAILED),
        (ConnectionRefusedError(), Idempotency.NONE, State.FAILED),
        (TimeoutError(), Idempotency.NONE, State.UNKNOWN),
        (ConnectionResetError(), Idempotency.KEY, State.UNKNOWN),
        (TimeoutError(), Idempotency.READ, State.FAILED),
        (OutcomeUnknownError("half sent"), Idempotency.NONE, State.UNKNOWN),
    ],
)
def test_how_an_effect_that_raised_is_recorded(
    desk: Desk, executor: Executor, error: Exception, idempotency: Idempotency, state: State
) -> None:
    proposal = desk.propose(ALLOW, idempotency=idempotency)

    def fails(args: Args, key: str) -> JSON:
        raise error

    outcome = executor.run(proposal.id, fails)
    assert (outcome.state, outcome.raised, outcome.ran_here) == (state, error, True)
    assert outcome.error == {"type": type(error).__name__, "text": str(error)}
    if idempotency is Idempotency.NONE:
        again = executor.run(proposal.id, never)
        assert (again.state, again.error, again.raised) == (state, outcome.error, None)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_effect_is_unknown_and_the_interrupt_goes_on(
    desk: Desk, executor: Executor, error: type[BaseException]
) -> None:
    proposal = desk.propose(ALLOW)

    def interrupted(args: Args, key: str) -> JSON:
        raise error

    with pytest.raises(error):
        executor.run(proposal.id, interrupted)
    assert executor.run(proposal.id, never).state is State.UNKNOWN


@pytest.mark.parametrize("value", [object(), float("nan"), {1: {2}}], ids=["object", "nan", "set"])
def test_a_result_that_cannot_be_kept_still_succeeded(desk: Desk, executor: Executor, value: Any) -> None:
    proposal = desk.propose(ALLOW)
    assert executor.run(proposal.id, lambda args, key: value).result is value
    again = executor.run(proposal.id, never)
    assert again.state is State.SUCCEEDED
    assert isinstance(again.result, dict)
    assert list(again.result) == [NOT_KEPT]


def test_a_huge_result_is_not_kept_and_says_so(desk: Desk, executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkvalve.approvals.outcome.MAX_RESULT", 100)
    proposal = desk.propose(ALLOW)
    executor.run(proposal.id, lambda args, key: "x" * 101)
    assert executor.run(proposal.id, never).result == {NOT_KEPT: "too_long"}


@pytest.mark.claim("C4")
def test_a_loser_waits_for_the_winner_and_gets_its_result(desk: Desk) -> None:
    executor = Executor(desk.queue)
    proposal = desk.propose(ALLOW)
    started, finish = threading.Event(), threading.Event()

    def slow(args: Args, key: str) -> JSON:
        started.set()
        finish.wait(LONG)
        return "done"

    with ThreadPoolExecutor(2) as pool:
        winner = pool.submit(executor.run, proposal.id, slow)
        assert started.wait(LONG)
        loser = pool.submit(Executor(desk.queue).run, proposal.id, never)
        time.sleep(0.1)
        assert not loser.done()
        finish.set()
        assert (winner.result().result, loser.result().result) == ("done", "done")
    assert (winner.result().ran_here, loser.result().ran_here) == (True, False)


def test_a_loser_does_not_wait_for_ever(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(ALLOW)
    inner: list[Outcome] = []

    def slow(args: Args, key: str) -> JSON:
        inner.append(executor.run(proposal.id, never))
        return asyncio.run(wait_too())

    async def wait_too() -> JSON:
        outcome = await executor.arun(proposal.id, never)
        inner.append(outcome)
        return "done"

    assert executor.run(proposal.id, slow).result == "done"
    assert [outcome.state for outcome in inner] == [State.EXECUTING, State.EXECUTING]


async def answer(args: Args, key: str) -> JSON:
    await asyncio.sleep(0)
    return args["n"]


def test_an_awaited_effect(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(ALLOW)

    async def both() -> tuple[Outcome, Outcome]:
        return await asyncio.gather(executor.arun(proposal.id, answer), executor.arun(proposal.id, answer))

    outcomes = asyncio.run(both())
    assert [outcome.result for outcome in outcomes] == [1, 1]
    assert sorted(outcome.ran_here for outcome in outcomes) == [False, True]


@pytest.mark.claim("C4")
def test_cancelled_in_the_effect_it_is_unknown(desk: Desk, executor: Executor) -> None:
    proposal = desk.propose(ALLOW)

    async def cancelled() -> None:
        reached = asyncio.Event()

        async def hangs(args: Args, key: str) -> None:
            reached.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(executor.arun(proposal.id, hangs))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert desk.queue.get(proposal.id).state is State.UNKNOWN


@pytest.mark.parametrize("step", ["read", "claim:moved", "claim:written"])
def test_cancelled_while_claiming_nothing_was_started(desk: Desk, step: str) -> None:
    proposal = desk.propose(ALLOW)
    here, go = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        if name == step:
            here.set()
            go.wait(LONG)

    executor = Executor(desk.queue, on_step=wait)

    async def cancelled() -> None:
        task = asyncio.create_task(executor.arun(proposal.id, never))
        assert await asyncio.to_thread(here.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    asyncio.run(cancelled())  # ends only when its threads have
    stored = desk.queue.get(proposal.id)
    assert (stored.state, stored.code) == (State.FAILED, "not_started")
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4", "C9")
def test_an_end_that_cannot_be_recorded_is_unknown_not_tried_again(
    desk: Desk, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = desk.propose(ALLOW)

    def lose_the_store(args: Args, key: str) -> JSON:
        monkeypatch.setattr(Store, "write", lambda self: (_ for _ in ()).throw(StoreBusyError("busy")))
        return "sent"

    with pytest.raises(OutcomeUnknownError, match="could not be recorded"):
        executor.run(proposal.id, lose_the_store)
    monkeypatch.undo()
    assert executor.run(proposal.id, never).state is State.UNKNOWN


@pytest.mark.claim("C9")
def test_an_unreachable_store_runs_nothing(desk: Desk, executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = desk.propose(ALLOW)
    monkeypatch.setattr(Store, "write", lambda self: (_ for _ in ()).throw(StoreBusyError("busy")))
    with pytest.raises(StoreBusyError):
        executor.run(proposal.id, never)


def orphan(desk: Desk, owner: str, lease_until: int, idempotency: Idempotency = Idempotency.NONE) -> str:
    """Leave an attempt behind that another process seems to run."""
    proposal = desk.propose(ALLOW, idempotency=idempotency)
    with desk.queue.store.write() as connection:
        claim(connection, proposal, owner=owner, at=desk.clock(), lease_until=lease_until, step=lambda _: None)
    return proposal.id


def test_an_owner_elsewhere_is_dead_when_its_lease_is_over(desk: Desk, executor: Executor, clock: HandClock) -> None:
    name = orphan(desk, "other-boot/pid:[1]/1/1/x", clock.now + 60_000_000)
    assert executor.recover() == []
    assert executor.run(name, never).state is State.EXECUTING
    clock.advance(minutes=1)
    assert [(found.id, found.code) for found in executor.recover()] == [(name, "owner_died")]
    assert executor.recover() == []


def test_a_late_end_is_kept_as_evidence_and_changes_no_state(desk: Desk, executor: Executor, clock: HandClock) -> None:
    proposal = desk.propose(ALLOW)

    def overtaken(args: Args, key: str) -> JSON:
        clock.advance(minutes=15)
        assert [found.id for found in Executor(desk.queue).recover()] == [proposal.id]
        return "sent"

    outcome = executor.run(proposal.id, overtaken)
    assert (outcome.state, outcome.result, outcome.ran_here) == (State.UNKNOWN, "sent", True)
    assert executor.run(proposal.id, never).result == "sent"
    with desk.queue.store.read() as connection:
        assert [event.kind for event in audit.read_events(connection, subject=proposal.id)][-1] == "attempt.late"
    assert verify(desk.queue.store).ok


def test_an_old_owner_cannot_record_over_a_retry(desk: Desk, executor: Executor, clock: HandClock) -> None:
    proposal = desk.propose(ALLOW, idempotency=Idempotency.READ)

    def overtaken(args: Args, key: str) -> JSON:
        clock.advance(minutes=15)
        assert Executor(desk.queue).run(proposal.id, lambda args, key: "second").result == "second"
        return "first"

    executor.run(proposal.id, overtaken)
    assert executor.run(proposal.id, never).result == "second"
    assert verify(desk.queue.store).ok


def test_a_person_settles_what_nobody_knows(desk: Desk, executor: Executor, clock: HandClock) -> None:
    for done, end in ((True, State.CONFIRMED_DONE), (False, State.CONFIRMED_NOT_DONE)):
        name = orphan(desk, "other-boot/pid:[1]/1/1/x", clock.now)
        executor.recover()
        settled = desk.queue.settle(name, desk.reviewer, done=done, note="called them")
        assert (settled.state, settled.decided_by, settled.note) == (end, "reviewer:ann", "called them")
        assert executor.run(name, never).state is end


def test_owners() -> None:
    me = Owner.me()
    assert Owner.parse(str(me)) == me
    assert not is_dead(str(me), lease_until=2, now=1)
    assert is_dead(str(me), lease_until=1, now=1)
    reused = Owner(me.boot, me.namespace, me.pid, "1")
    assert is_dead(str(reused), lease_until=2, now=1)
    for text in ("", "x", "a/b/c/d", "other/ns/1/1/x"):
        assert not is_dead(text, lease_until=2, now=1)
