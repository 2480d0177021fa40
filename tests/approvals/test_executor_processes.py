"""The executor against real processes: killed between every two steps, and racing for one approval."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkvalve.approvals import audit
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State, idempotency_key
from checkvalve.approvals.retries import MAX_TRIES
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verify import verify
from tests.approvals.made import ALLOW, Desk, HandClock
from tests.databases import Databases

WORKER = Path(__file__).with_name("worker.py")


@pytest.fixture
def url(databases: Databases) -> str:
    return databases.make(ready=True)


@pytest.fixture
def now_desk(store: Store) -> Desk:
    """A desk at the present time, since the processes use the machine's clock."""
    return Desk.at(store, HandClock(system_clock()))


class Bench:
    """Starts workers over one database and counts effects."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.file = folder / "effects"

    def start(self, *ids: str, die_at: str = "", runs: int = 1) -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), self.url, str(self.file), die_at, str(runs), *ids]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def go(self) -> None:
        self.file.with_suffix(".start").touch()

    def effects(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []


@pytest.fixture
def bench(url: str, tmp_path: Path) -> Bench:
    return Bench(url, tmp_path)


BEFORE = ["read", "revalidated", "claim:moved", "claim:granted", "claim:written"]
AFTER = [
    ("claimed", "executing", 0),
    ("effect:before", "executing", 0),
    ("effect:after", "executing", 1),
    ("effect_done", "executing", 1),
    ("record:written", "executing", 1),
    ("recorded", "succeeded", 1),
]


def kill_at(bench: Bench, step: str, proposal_id: str) -> None:
    process = bench.start(proposal_id, die_at=step)
    bench.go()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.claim("C4", "C9")
@pytest.mark.parametrize("step", BEFORE)
def test_killed_before_the_claim_is_committed_nothing_happened(now_desk: Desk, bench: Bench, step: str) -> None:
    proposal = now_desk.approve(now_desk.propose())
    kill_at(bench, step, proposal.id)
    assert bench.effects() == []
    assert now_desk.queue.get(proposal.id) == proposal
    assert verify(now_desk.queue.store).ok
    outcome = Executor(now_desk.queue).run(proposal.id, lambda args, key: key)
    assert (outcome.state, outcome.ran_here) == (State.SUCCEEDED, True)


@pytest.mark.claim("C4", "C9")
@pytest.mark.parametrize(("step", "left", "count"), AFTER)
def test_killed_after_the_claim_the_state_says_what_is_known(
    now_desk: Desk, bench: Bench, step: str, left: str, count: int
) -> None:
    proposal = now_desk.approve(now_desk.propose())
    kill_at(bench, step, proposal.id)
    assert len(bench.effects()) == count
    assert now_desk.queue.get(proposal.id).state.value == left
    executor = Executor(now_desk.queue)
    assert [found.id for found in executor.recover()] == ([proposal.id] if left == "executing" else [])

    outcome = executor.run(proposal.id, lambda args, key: pytest.fail("it ran again"))

    assert outcome.state is (State.UNKNOWN if left == "executing" else State.SUCCEEDED)
    assert len(bench.effects()) == count
    assert verify(now_desk.queue.store).ok
    if left == "executing":
        settled = now_desk.queue.settle(proposal.id, now_desk.reviewer, done=count == 1, note="looked")
        assert settled.state is (State.CONFIRMED_DONE if count else State.CONFIRMED_NOT_DONE)


@pytest.mark.claim("C4")
def test_running_again_notices_a_dead_owner_without_recovery(now_desk: Desk, bench: Bench) -> None:
    proposal = now_desk.propose(ALLOW)
    kill_at(bench, "effect:after", proposal.id)
    outcome = Executor(now_desk.queue).run(proposal.id, lambda args, key: pytest.fail("it ran again"))
    assert (outcome.state, outcome.proposal.code) == (State.UNKNOWN, "owner_died")


def test_a_read_that_was_cut_off_may_run_again_under_the_same_key(now_desk: Desk, bench: Bench) -> None:
    proposal = now_desk.propose(ALLOW, idempotency=Idempotency.READ)
    kill_at(bench, "effect:after", proposal.id)
    outcome = Executor(now_desk.queue).run(proposal.id, lambda args, key: key)
    assert (outcome.state, outcome.result) == (State.SUCCEEDED, idempotency_key(proposal.id))
    with now_desk.queue.store.read() as connection:
        kinds = [event.kind for event in audit.read_events(connection, subject=proposal.id)]
    assert kinds.count("attempt.intent") == 2
    assert verify(now_desk.queue.store).ok


@pytest.mark.claim("C4", "C9")
@pytest.mark.parametrize("step", ["claim:written", *(step for step, _, _ in AFTER)])
def test_wherever_a_process_dies_a_call_with_a_key_has_one_effect(now_desk: Desk, bench: Bench, step: str) -> None:
    """The remote side of the worker counts lines; one that knows the key would have done it once."""
    proposal = now_desk.approve(now_desk.propose(idempotency=Idempotency.KEY))
    kill_at(bench, step, proposal.id)
    before = len(bench.effects())
    ((name, state, _, result),) = json.loads(bench.start(proposal.id).communicate()[0])
    assert (name, state, result["key"]) == (proposal.id, "succeeded", idempotency_key(proposal.id))
    sent = bench.effects()
    assert len(set(sent)) == 1, "the same key and the same bytes"
    assert len(sent) == (before if step == "recorded" else before + 1)
    assert verify(now_desk.queue.store).ok


@pytest.mark.claim("C4", "C9")
def test_processes_that_keep_dying_try_a_key_three_times_and_no_more(now_desk: Desk, bench: Bench) -> None:
    proposal = now_desk.approve(now_desk.propose(idempotency=Idempotency.KEY))
    for _ in range(MAX_TRIES):
        kill_at(bench, "effect:after", proposal.id)
    ((_, state, here, _),) = json.loads(bench.start(proposal.id).communicate()[0])
    assert (state, here) == ("unknown", False)
    assert len(bench.effects()) == MAX_TRIES
    assert len(set(bench.effects())) == 1
    settled = now_desk.queue.settle(proposal.id, now_desk.reviewer, done=True, note="looked")
    assert settled.state is State.CONFIRMED_DONE
    assert verify(now_desk.queue.store).ok


@pytest.mark.claim("C4")
def test_processes_that_race_for_a_second_try_make_one(now_desk: Desk, bench: Bench) -> None:
    proposal = now_desk.approve(now_desk.propose(idempotency=Idempotency.KEY))
    kill_at(bench, "effect:after", proposal.id)
    workers = [bench.start(proposal.id, runs=2) for _ in range(3)]
    outcomes = [outcome for worker in workers for outcome in json.loads(worker.communicate()[0])]
    assert {outcome[1] for outcome in outcomes} == {"succeeded"}
    assert sum(outcome[2] for outcome in outcomes) == 1
    assert len(bench.effects()) == 2
    assert verify(now_desk.queue.store).ok


@pytest.mark.claim("C4")
def test_processes_that_race_for_one_approval_execute_once_and_agree(now_desk: Desk, bench: Bench) -> None:
    ids = [now_desk.approve(now_desk.propose()).id for _ in range(8)]
    workers = [bench.start(*ids, runs=2) for _ in range(3)]
    bench.go()
    outcomes = [outcome for worker in workers for outcome in json.loads(worker.communicate()[0])]
    assert sorted(line.split()[0] for line in bench.effects()) == sorted(idempotency_key(name) for name in ids)
    assert len(outcomes) == 8 * 3 * 2
    for name in ids:
        mine = [outcome for outcome in outcomes if outcome[0] == name]
        assert {outcome[1] for outcome in mine} == {"succeeded"}
        assert sum(outcome[2] for outcome in mine) == 1, "one process ran it"
        assert len({json.dumps(outcome[3]) for outcome in mine}) == 1, "everybody got the recorded result"
    assert verify(now_desk.queue.store).ok


@pytest.mark.claim("C5")
def test_many_writers_make_one_chain(url: str, store: Store) -> None:
    program = (
        "import sys; from checkvalve.approvals import audit; from checkvalve.approvals.store import Store\n"
        "with Store.open(sys.argv[1]) as store:\n"
        "    for n in range(40):\n"
        "        with store.write() as connection: audit.append(connection, at=n, kind='test', body={'n': n})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    report = verify(store)
    assert (report.ok, report.events) == (True, 160)


def test_a_queue_of_another_process_sees_the_same(now_desk: Desk, url: str) -> None:
    proposal = now_desk.propose()
    with Store.open(url, create=False) as other:
        assert Queue(other).get(proposal.id) == proposal
