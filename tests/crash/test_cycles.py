"""A fleet of gateways on one store, killed again and again: no effect twice, nothing lost, `unknown` where it must be.

What happened is counted by a witness in a process of its own. Half of the replicas kill themselves at a named step of
the executor, so that it is known exactly what must be recorded; the others are killed at random moments.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.lastsigned import read_signed
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.ownership import Owner
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State, idempotency_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.retries import MAX_TRIES
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import attempts
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import REVIEW, decided, people
from tests.approvals.sealed import QUICK_KEY
from tests.crash.fleet import CHANNEL, DONE, STEPS_AFTER, STEPS_BEFORE, STEPS_INSIDE
from tests.crash.nursery import Nursery, has_ended
from tests.crash.witness import Witness
from tests.databases import Databases, Server

PROGRAM = Path(__file__).with_name("fleet.py")
REPLICAS = 3
DEADLINE = 60.0  # seconds that one replica may live; a kill comes much earlier


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(PROGRAM, tmp_path_factory.mktemp("fleet") / "errors")
    yield made
    made.close()


@dataclass
class Fleet:
    """Replicas over one store, a killer, and what the witness has heard."""

    nursery: Nursery
    address: str
    folder: Path
    witness: Witness
    random: random.Random
    build: str = field(default_factory=lambda: os.environ.get("CHECKVALVE_TEST_BUILD", ""))
    patient: bool = False
    idempotency: Idempotency = Idempotency.NONE
    kills: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    killed: set[int] = field(default_factory=set)
    slots: dict[int, int] = field(default_factory=dict)
    lives: int = 0
    deck: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        with Store.open(self.address) as store:
            queue = Queue(store)
            people(queue)
            reviewer = queue.reviewers.authenticate(queue.reviewers.add("ann"))
            Outbox(store).collect(CHANNEL, lambda _: True)  # from here on
        self.reviewer = [reviewer.name, reviewer.selector]

    def start(self, what: str, *, slot: int = 0, die_at: str = "", **more: Any) -> int:
        job = {
            "what": what,
            "store": self.address,
            "witness": self.witness.address,
            "seed": self.random.randrange(10**9),
            "reviewer": self.reviewer,
            "signed": str(self.folder / f"signed-{slot}"),
            "stop": str(self.folder / "stop"),
            "go": str(self.folder / "go"),
            "proposals": 6,
            "patient": self.patient,
            "idempotency": self.idempotency.value,
            "die_at": die_at,
            "broken": self.build,
            **more,
        }
        return self.nursery.start(job)

    def torture(self, cycles: int, between: Callable[[], None] = lambda: None) -> None:
        """Keep the replicas alive until so many were killed, then stop them, then let one finish what is promised.

        ``between`` is called once in a while: after a third of the kills, and after two thirds.
        """
        due: dict[int, float] = {}
        moments = [cycles * 2 // 3, cycles // 3]
        while self.kills < cycles:
            if moments and self.kills >= moments[-1]:
                moments.pop()
                between()
            for slot in range(REPLICAS):
                if slot not in self.slots:
                    step = self.next_step()
                    self.slots[slot] = self.start("work", slot=slot, die_at=step)
                    due[slot] = time.monotonic() + (DEADLINE if step else self.random.uniform(0, 0.6))
            for slot, pid in list(self.slots.items()):
                if has_ended(pid) or time.monotonic() > due[slot]:
                    self.reap(slot, pid)
            time.sleep(0.003)
        (self.folder / "stop").touch()
        for slot, pid in list(self.slots.items()):
            until = time.monotonic() + DEADLINE
            while not has_ended(pid) and time.monotonic() < until:  # one may still kill itself at its step
                time.sleep(0.01)
            self.reap(slot, pid)
        last = self.start("drain")
        assert self.nursery.wait(last) == DONE, self.nursery.told()

    def next_step(self) -> str:
        """Return where the next replica dies: every other one at a step, and at each before one comes again."""
        self.lives += 1
        if self.lives % 2:
            return ""
        if not self.deck:
            self.deck = [*STEPS_BEFORE, *STEPS_INSIDE, *STEPS_AFTER]
            self.random.shuffle(self.deck)
        return self.deck.pop()

    def reap(self, slot: int, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        end = self.nursery.wait(pid)
        assert end in {-signal.SIGKILL, DONE}, self.nursery.told()
        if end == -signal.SIGKILL:
            self.kills += 1
            self.killed.add(pid)
        del self.slots[slot]

    def check(self) -> Counter[State]:
        """Compare what the witness heard with what is recorded; returns how many calls ended how."""
        heard = self.witness.heard()
        said = {kind: [line[1] for line in heard if line[0] == kind] for kind in ("asked", "yes", "no", "notice")}
        keys = {kind: Counter(line[1] for line in heard if line[0] == kind) for kind in ("enter", "effect", "left")}
        lost = {line[1] for line in heard if line[0] == "lost"}
        dying = {line[3]: line[2] for line in heard if line[0] == "dying"}
        with Store.open(self.address, create=False) as store:
            rows = {row.id: row for row in Queue(store).list()}
            with store.read() as connection:
                tried = {row.proposal_id: row for row in connection.execute(sa.select(attempts))}
                events = list(read_events(connection))
        assert set(said["asked"]) <= set(rows), "a question was lost"
        for name in said["yes"]:
            assert rows[name].state in {State.SUCCEEDED, State.UNKNOWN}, f"a yes was lost: {rows[name].state}"
        for name in said["no"]:
            assert rows[name].state is State.REJECTED, f"a no was lost: {rows[name].state}"
        asked = {
            str(event.seq) for event in events if event.kind == "proposal.recorded" and _waits(rows, event.subject)
        }
        assert asked <= set(said["notice"]), "a notice was lost"
        for row in rows.values():
            key = idempotency_key(row.id)
            count = {kind: found[key] for kind, found in keys.items()}
            attempt = tried.get(row.id)
            if self.idempotency is Idempotency.KEY:
                self.check_keyed(row, count, 0 if attempt is None else attempt.fence)
            else:
                owner = "" if attempt is None else attempt.owner
                self.check_row(row, count, dying.get(key, ""), lost=key in lost, owner=owner)
        with Store.open(self.address, create=False) as store:
            self.check_log(store)
        return Counter(row.state for row in rows.values())

    def check_row(self, row: Proposal, count: dict[str, int], dying: str, *, lost: bool, owner: str) -> None:
        told = f"{row.id} {row.state} {count} {dying}"
        assert count["effect"] <= 1, f"two effects of one approval: {told}"
        assert count["enter"] <= 1, f"two attempts of one approval: {told}"
        match row.state:
            case State.SUCCEEDED:
                assert count["effect"] == 1, told
            case State.UNKNOWN:
                assert not count["left"], f"its end was recorded, and is unknown now: {told}"
                who = Owner.parse(owner)
                assert who is not None
                assert self.patient or who.pid in self.killed, f"unknown, and nobody was killed: {told}"
            case _:
                assert row.state in {State.PENDING, State.REJECTED}, told
                assert count["effect"] == count["enter"] == 0, told
        if count["enter"] and not count["effect"]:
            assert row.state is State.UNKNOWN, f"killed inside the window: {told}"
        if dying in STEPS_INSIDE:
            assert row.state is State.UNKNOWN, f"killed inside the window: {told}"
            assert count["effect"] == (dying not in {"claimed", "effect:before"}), told
        if dying in STEPS_AFTER:
            assert row.state is State.SUCCEEDED, told
        assert row.state is not State.UNKNOWN or not lost or self.patient, told

    @staticmethod
    def check_keyed(row: Proposal, count: dict[str, int], tries: int) -> None:
        """Check a call whose remote side knows its key: it was asked within bounds, always with that one key."""
        told = f"{row.id} {row.state} {count} {tries}"
        assert count["effect"] <= count["enter"] <= tries <= MAX_TRIES, f"more tries than there may be: {told}"
        match row.state:
            case State.SUCCEEDED:
                assert count["effect"] >= 1, told
            case State.UNKNOWN:
                assert tries == MAX_TRIES, f"somebody came back, and it was not tried again: {told}"
                assert not count["left"], told
            case _:
                assert row.state in {State.PENDING, State.REJECTED}, told
                assert tries == 0, told

    def check_log(self, store: Store) -> None:
        signed = [read_signed(file) for file in sorted(self.folder.glob("signed-?"))]
        outside = [Outside(f"replica {number}", text) for number, text in enumerate(signed) if text]
        report = verify(store, keys=QUICK_KEY.public, outside=outside)
        assert (report.ok, report.is_judged) == (True, True), report.findings

    def steps_died_at(self) -> Counter[str]:
        return Counter(line[2] for line in self.witness.heard() if line[0] == "dying")


def _waits(rows: dict[str, Proposal], name: str) -> bool:
    return name in rows and rows[name].verdict_name == "review"


def fleet(databases: Databases, nursery: Nursery, folder: Path, witness: Witness, **more: Any) -> Fleet:
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"\nseed {seed}\n")
    return Fleet(nursery, databases.make(ready=True), folder, witness, random.Random(seed), **more)


@pytest.fixture
def witness(nursery: Nursery, tmp_path: Path) -> Iterator[Witness]:
    with Witness(tmp_path) as found:
        yield found
        nursery.end()


@pytest.mark.claim("C4", "C5")
def test_replicas_that_are_killed_at_any_moment_do_nothing_twice_and_lose_nothing(
    databases: Databases, nursery: Nursery, tmp_path: Path, witness: Witness
) -> None:
    found = fleet(databases, nursery, tmp_path, witness)
    found.torture(25)
    ends = found.check()
    assert ends[State.SUCCEEDED] + ends[State.UNKNOWN], "nothing was executed: it was no test"


@pytest.mark.claim("C4", "C5")
def test_replicas_that_are_killed_try_a_key_again_within_bounds(
    databases: Databases, nursery: Nursery, tmp_path: Path, witness: Witness
) -> None:
    found = fleet(databases, nursery, tmp_path, witness, idempotency=Idempotency.KEY)
    found.torture(15)
    ends = found.check()
    assert ends[State.SUCCEEDED], "nothing was executed: it was no test"


@pytest.mark.postgres
@pytest.mark.claim("C4", "C5")
def test_a_server_that_crashes_and_starts_again_under_them_loses_nothing(
    postgres_server: Server, nursery: Nursery, tmp_path: Path, witness: Witness
) -> None:
    """Replicas go on when the server is away; an effect whose end it did not take is unknown, and never repeated."""
    databases = Databases("postgres", tmp_path, postgres_server)
    found = fleet(databases, nursery, tmp_path, witness, patient=True)

    def restart() -> None:
        time.sleep(0.3)
        postgres_server.stop()
        time.sleep(0.2)
        postgres_server.start()

    try:
        found.torture(18, restart)
        ends = found.check()
    finally:
        databases.remove()
    assert ends[State.SUCCEEDED] + ends[State.UNKNOWN], "nothing was executed: it was no test"


@pytest.mark.nightly
@pytest.mark.claim("C4", "C5")
def test_a_thousand_kills(databases: Databases, nursery: Nursery, tmp_path: Path, witness: Witness) -> None:
    found = fleet(databases, nursery, tmp_path, witness)
    began = time.monotonic()
    found.torture(1_000)
    ends = found.check()
    died = found.steps_died_at()
    sys.stdout.write(
        f"{databases.kind}: {found.kills} kills, {dict(ends)}, {dict(died)}, {time.monotonic() - began:.0f} s\n"
    )
    assert set(died) == {*STEPS_BEFORE, *STEPS_INSIDE, *STEPS_AFTER}, "a step was never hit"
    assert ends[State.UNKNOWN] >= sum(died[step] for step in STEPS_INSIDE)


def race(found: Fleet, racers: int, calls: int) -> None:
    """Let processes decide and run the same calls at once, and check that each call had one of everything."""
    with Store.open(found.address) as store:
        queue = Queue(store)
        made = [queue.propose(asked(number), decided(REVIEW)).id for number in range(calls)]
    running = [found.start("race", slot=number, names=made) for number in range(racers)]
    time.sleep(0.5)
    (found.folder / "go").touch()
    for pid in running:
        assert found.nursery.wait(pid) == DONE, found.nursery.told()
    heard = found.witness.heard()
    said = Counter(line[1] for line in heard if line[0] in {"yes", "no"})
    assert said == dict.fromkeys(made, 1), "a call was decided twice, or not at all"
    yes = {line[1] for line in heard if line[0] == "yes"}
    effects = Counter(line[1] for line in heard if line[0] == "effect")
    assert effects == {idempotency_key(name): 1 for name in yes}, "an effect twice, none, or without a yes"
    with Store.open(found.address) as store:
        states = {row.id: row.state for row in Queue(store).list()}
        assert verify(store).ok
    assert states == {name: State.SUCCEEDED if name in yes else State.REJECTED for name in made}
    assert 0 < len(yes) < calls


def asked(number: int) -> ActionRequest:
    """Return a call; ten of them are of one task, since a task may not have many open questions."""
    args: dict[str, JSON] = {"to": "a@b.example", "n": number}
    return ActionRequest.build("send", args, thread=f"t{number // 10}", call_id=f"c{number}", requester="bob")


@pytest.mark.claim("C4")
def test_eight_processes_race_for_forty_approvals(
    databases: Databases, nursery: Nursery, tmp_path: Path, witness: Witness
) -> None:
    race(fleet(databases, nursery, tmp_path, witness), 8, 40)


@pytest.mark.nightly
@pytest.mark.claim("C4")
def test_fifty_processes_race_for_two_hundred_approvals(
    databases: Databases, nursery: Nursery, tmp_path: Path, witness: Witness
) -> None:
    race(fleet(databases, nursery, tmp_path, witness), 50, 200)
