"""A gateway replica that does everything at once, and a racer: programs for processes that somebody else kills.

A replica proposes, decides, executes, recovers, seals and notifies in whatever order, and tells a witness in another
process what the store has promised it: ``asked ID``, ``yes ID``, ``no ID``, ``enter KEY`` (claimed), ``effect KEY``,
``left KEY`` (recorded), ``lost KEY`` (the end could not be recorded), ``notice SEQ``, and before it kills itself
``dying PID STEP KEY``. It looks like this on the store's side of the world, so a test can compare the two.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a program it is in no package

from checkvalve.approvals.errors import ConflictError, NotAllowedError, OutcomeUnknownError, StoreError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State, idempotency_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, REVIEW, decided, people
from tests.approvals.sealed import QUICK_KEY
from tests.crash import broken, nursery
from tests.crash.witness import Teller

CHANNEL = "fleet"
PAUSE = 0.003  # seconds before and after each effect, so that kills hit there too
HOLD = 200_000  # microseconds that one process may keep a notice to itself
STEPS_BEFORE = ("read", "revalidated", "claim:moved", "claim:granted", "claim:written")
STEPS_INSIDE = ("claimed", "effect:before", "effect:after", "effect_done", "record:written")
STEPS_AFTER = ("recorded",)
DONE, STOPPED = 0, 3
_TRIES = 40  # of something that another process holds up


class Replica:
    """One process of the fleet."""

    def __init__(self, store: Store, job: dict[str, Any]) -> None:
        self.job = job
        self.teller = Teller(job["witness"])
        self.random = random.Random(job["seed"])
        self.queue = Queue(store)
        people(self.queue)
        self.reviewer = Reviewer(*job["reviewer"])
        self.key = ""
        self.executor = Executor(self.queue, wait=timedelta(), on_step=self.step)
        self.sealer = Sealer(store, QUICK_KEY, Path(job["signed"]))
        self.outbox = Outbox(store)
        self.made = 0
        again = job["idempotency"] == Idempotency.KEY.value  # whoever comes back to an unknown call tries it again
        self.runs = [State.APPROVED, State.UNKNOWN] if again else [State.APPROVED]

    def step(self, name: str) -> None:
        """Die here if this is the step to die at; tell what the store has promised."""
        if name == self.job["die_at"]:
            self.teller.tell("dying", os.getpid(), name, self.key)
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "claimed":
            self.teller.tell("enter", self.key)
        elif name == "recorded":
            self.teller.tell("left", self.key)

    def propose(self) -> None:
        thread = f"{os.getpid()}-{self.random.randrange(10**9)}"  # one question each: no cap, and ids that never meet
        self.made += 1
        request = ActionRequest.build("send", {"to": "a@b.example"}, thread=thread, call_id="c", requester="bob")
        verdict = ALLOW if self.random.random() < 0.2 else REVIEW
        row = self.queue.propose(request, decided(verdict), idempotency=Idempotency(self.job["idempotency"]))
        self.teller.tell("asked", row.id)
        if row.state is State.APPROVED:
            self.teller.tell("yes", row.id)

    def decide(self) -> None:
        for row in self.some(State.PENDING):
            with suppress(ConflictError):
                if self.random.random() < 0.15:
                    self.queue.reject(row.id, self.reviewer)
                    self.teller.tell("no", row.id)
                else:
                    self.queue.approve(row.id, self.reviewer, row.digest)
                    self.teller.tell("yes", row.id)

    def execute(self) -> None:
        for state in self.runs:
            for row in self.some(state):
                self.run(row.id)

    def run(self, name: str) -> None:
        self.key = idempotency_key(name)

        def effect(_: dict[str, JSON], key: str) -> JSON:
            self.step("effect:before")
            time.sleep(PAUSE)
            self.teller.tell("effect", key)
            time.sleep(PAUSE)
            self.step("effect:after")
            return key

        try:
            self.executor.run(name, effect)
        except OutcomeUnknownError:
            self.teller.tell("lost", self.key)

    def recover(self) -> None:
        self.executor.recover()

    def seal(self) -> None:
        self.sealer.seal()

    def notify(self) -> None:
        self.outbox.collect(CHANNEL, lambda notice: notice.kind == "asked")
        for _ in range(3):
            taken = self.outbox.claim(CHANNEL, hold=HOLD)
            if taken is None:
                return
            self.teller.tell("notice", taken.seq)
            self.outbox.arrived(taken)

    def some(self, state: State) -> list[Proposal]:
        found = self.queue.list([state])
        return self.random.sample(found, min(3, len(found)))

    def work(self) -> None:
        """Do something, again and again, until the file says stop; a store that is away is tried again later."""
        does: list[Callable[[], None]] = [self.propose, self.decide, self.execute, self.execute, self.seal, self.notify]
        while not Path(self.job["stop"]).exists():
            what = self.recover if self.random.random() < 0.05 else self.random.choice(does)
            if what == self.propose and self.made >= self.job["proposals"]:
                what = self.execute
            try:
                what()
            except StoreError:
                if not self.job["patient"]:
                    raise
                time.sleep(0.05)

    def drain(self) -> None:
        """Finish what was promised: every yes is run or found unknown, every notice arrives, the log is sealed."""
        for _ in range(_TRIES):
            self.recover()
            for row in self.queue.list(self.runs):
                self.run(row.id)
            self.notify()
            if not self.queue.list([State.APPROVED, State.EXECUTING]) and not self.waiting():
                break
            time.sleep(0.05)
        self.seal()

    def waiting(self) -> int:
        return sum(standing.waiting for standing in self.outbox.standing())


def race(replica: Replica, names: Iterable[str]) -> None:
    """Decide every call and run every call, in an order of one's own, against all the others."""
    mine = list(names)
    replica.random.shuffle(mine)
    while not Path(replica.job["go"]).exists():
        time.sleep(0.002)
    for name in mine:
        with suppress(ConflictError):
            row = patiently(replica.queue.get, name)
            if row.state is not State.PENDING:
                continue
            if replica.random.random() < 0.5:
                patiently(replica.queue.reject, name, replica.reviewer)
                replica.teller.tell("no", name)
            else:
                patiently(replica.queue.approve, name, replica.reviewer, row.digest)
                replica.teller.tell("yes", name)
    replica.random.shuffle(mine)
    for name in mine:
        patiently(replica.run, name)


def patiently(work: Callable[..., Any], *given: Any) -> Any:
    """Do it, also when fifty others are in the way for longer than the store waits."""
    for _ in range(_TRIES):
        try:
            return work(*given)
        except (ConflictError, NotAllowedError):
            raise
        except StoreError:
            time.sleep(0.1)
    return work(*given)


def opened(job: dict[str, Any]) -> Store:
    """Open the store; a patient process begins its life also while the server is away."""
    for _ in range(_TRIES * 30):
        try:
            return Store.open(job["store"], create=False)
        except StoreError:
            if not job["patient"]:
                raise
            time.sleep(0.05)
    return Store.open(job["store"], create=False)


def live(job: dict[str, Any]) -> int:
    """Be one process of the fleet."""
    broken.apply(job["broken"], job)
    with opened(job) as store:
        replica = Replica(store, job)
        if job["what"] == "race":
            race(replica, job["names"])
        elif job["what"] == "drain":
            replica.drain()
        else:
            replica.work()
    return DONE


if __name__ == "__main__":
    nursery.serve(live)
