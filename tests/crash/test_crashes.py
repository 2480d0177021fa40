"""Kill -9 at any moment of a long task with pauses and parallel calls: it ends, nothing happens twice or is lost."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import people
from tests.crash.nursery import Nursery, has_ended
from tests.crash.office import End, checkpointer
from tests.databases import Databases

PROGRAM = Path(__file__).with_name("office.py")
MAX_PROCESSES = 400  # of one task: it must have ended by then


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(PROGRAM, tmp_path_factory.mktemp("nursery") / "errors")
    yield made
    made.close()


@dataclass
class Figures:
    """What was done to one store."""

    tasks: int = 0
    processes: int = 0
    kills: int = 0
    waits: int = 0
    refused: int = 0
    effects: int = 0
    approvals: int = 0
    unknown: int = 0
    seconds: float = 0.0


@dataclass
class Torture:
    """One store, a reviewer who decides now and then, and a killer."""

    nursery: Nursery
    store: Store
    reviewer: Reviewer
    queue: Queue
    address: str
    checkpoints: str
    folder: Path
    random: random.Random
    rounds: int
    figures: Figures = field(default_factory=Figures)
    usual: float = 0.5  # seconds that a process takes which nobody kills, as far as we have seen

    def run(self, cycles: int) -> Figures:
        """Run tasks until so many processes were killed, and look at each task when it has ended."""
        began = time.monotonic()
        while self.figures.kills < cycles:
            self.task(f"task{self.figures.tasks}")
            self.figures.tasks += 1
        self.figures.seconds = round(time.monotonic() - began, 1)
        return self.figures

    def task(self, thread: str) -> None:
        decided: dict[str, State] = {}
        effects = self.folder / f"{thread}.effects"
        for _ in range(MAX_PROCESSES):
            ends = self.processes(thread, effects)
            assert not ends & {End.CRASHED, End.STOPPED}, self.nursery.errors.read_text()[-3_000:]
            if End.ANSWERED in ends:
                break
            self.decide(thread, decided, everything=End.WAITING in ends and self.random.random() < 0.5)
        else:
            pytest.fail("the task did not end")
        self.check(thread, effects, decided)

    def job(self, thread: str, effects: Path, *, awaited: bool) -> dict[str, Any]:
        return {
            "store": self.address,
            "checkpoints": self.checkpoints,
            "effects": str(effects),
            "rounds": self.rounds,
            "thread": thread,
            "awaited": awaited,
        }

    def processes(self, thread: str, effects: Path) -> set[int]:
        """Let one process go on, or two that race for the thread, and kill each at some moment; return their ends."""
        started = time.monotonic()
        ids = [
            self.nursery.start(self.job(thread, effects, awaited=self.random.random() < 0.5))
            for _ in range(2 if self.random.random() < 0.15 else 1)
        ]
        killed = sorted((started + self.random.uniform(0, 1.5 * self.usual), pid) for pid in ids)
        ends: list[int] = []
        for moment, pid in killed:
            while not (ended := has_ended(pid)) and time.monotonic() < moment:
                time.sleep(0.002)
            took = time.monotonic() - started
            if len(ids) == 1:  # towards what it takes; a kill says only that it takes longer
                self.usual += (took - self.usual) / 3 if ended else max(0.0, took - self.usual)
            os.kill(pid, signal.SIGKILL)
            ends.append(self.nursery.wait(pid))
            self.figures.processes += 1
        self.figures.kills += ends.count(-signal.SIGKILL)
        self.figures.refused += ends.count(End.HELD)
        self.figures.waits += ends.count(End.WAITING)
        return set(ends)

    def decide(self, thread: str, decided: dict[str, State], *, everything: bool) -> None:
        """Say yes to most of what waits, no to some of it, and leave the rest for later."""
        for row in self.queue.list([State.PENDING], thread=thread):
            assert row.id not in decided, "it was decided, and waits again"
            if everything or self.random.random() < 0.5:
                if self.random.random() < 0.2:
                    decided[row.id] = self.queue.reject(row.id, self.reviewer).state
                else:
                    decided[row.id] = self.queue.approve(row.id, self.reviewer, row.digest).state

    def check(self, thread: str, effects: Path, decided: dict[str, State]) -> None:
        """Compare what happened with what is recorded, what was asked for, and what people said."""
        rows = self.queue.list(thread=thread)
        happened = Counter(effects.read_text().splitlines())
        once = {_line(row): row for row in rows if row.tool not in {"answer", "read_box"}}
        assert len(once) == 5 * self.rounds, "each call has one record"
        assert set(happened) <= {*once, "read"}
        for line, row in once.items():
            most = {State.SUCCEEDED: (1,), State.UNKNOWN: (0, 1), State.REJECTED: (0,)}[row.state]
            assert happened[line] in most, f"{line}: {happened[line]} times, and {row.state}"
        reads = [row.state for row in rows if row.tool == "read_box"]
        assert reads == [State.SUCCEEDED] * self.rounds, "a read that was cut off is done again"
        for row in rows:
            if row.id in decided:
                kept = {State.REJECTED} if decided[row.id] is State.REJECTED else {State.SUCCEEDED, State.UNKNOWN}
                assert row.state in kept, "a decision was lost"
        self._check_conversation(thread)
        assert verify(self.store).ok
        self.figures.effects += happened.total()
        self.figures.approvals += len(decided)
        self.figures.unknown += sum(row.state is State.UNKNOWN for row in rows)

    def _check_conversation(self, thread: str) -> None:
        with checkpointer(self.checkpoints) as saver:
            found = saver.get({"configurable": {"thread_id": thread}})
        log = found["channel_values"]["log"]
        asked = [call["id"] for entry in log if entry["by"] == "actor" for call in entry["calls"]]
        told = Counter(entry["call"] for entry in log if entry["by"] == "gateway")
        assert {name: told[name] for name in asked if name != asked[-1]} == dict.fromkeys(asked[:-1], 1)


def _line(row: Proposal) -> str:
    args = row.args()
    return {
        "note": lambda: f"note {args['text']}",
        "send_mail": lambda: f"send {args['to']} {args['body']}",
        "pay": lambda: f"pay {args['to']} {args['amount']}",
    }[row.tool]()


def torture(databases: Databases, nursery: Nursery, folder: Path, *, cycles: int, rounds: int) -> Figures:
    address, checkpoints = databases.make(ready=True), databases.make()
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"\nseed {seed}\n")
    with Store.open(address) as store:
        queue = Queue(store)
        people(queue)
        reviewer = queue.reviewers.authenticate(queue.reviewers.add("boss"))
        chance = random.Random(seed)
        tortured = Torture(nursery, store, reviewer, queue, address, checkpoints, folder, chance, rounds)
        figures = tortured.run(cycles)
    sys.stdout.write(f"{databases.kind}: {figures}\n")
    return figures


@pytest.mark.claim("C4")
def test_killed_at_random_moments_every_task_ends_and_nothing_happens_twice(
    databases: Databases, nursery: Nursery, tmp_path: Path
) -> None:
    assert torture(databases, nursery, tmp_path, cycles=12, rounds=2).kills >= 12


@pytest.mark.nightly
@pytest.mark.claim("C4")
def test_killed_two_hundred_times(databases: Databases, nursery: Nursery, tmp_path: Path) -> None:
    figures = torture(databases, nursery, tmp_path, cycles=200, rounds=5)
    assert figures.kills >= 200
    assert figures.unknown, "not one kill hit an effect: it was no torture"
