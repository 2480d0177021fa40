"""Each system call that touches a file is made to fail in turn: no promise is lost, nothing happens twice, all is told.

``strace`` attaches to a small life of a gateway and lets the n-th call of one kind fail, for every n. Afterwards the
store is opened without faults, judged, and compared with what a witness heard. Two more ways need no tracing: a limit
on the size of files, and a file system that is full.
"""

from __future__ import annotations

import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.executor import Executor
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.lastsigned import parse_size, read_signed
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State, idempotency_key
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import people
from tests.approvals.sealed import QUICK_KEY
from tests.crash.nursery import Nursery
from tests.crash.witness import Witness
from tests.waiting import LONG

PROGRAM = Path(__file__).with_name("faulty.py")
CALLS = (
    "openat",
    "read",
    "pread64",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "ftruncate",
    "close",
    "unlink",
)
"""Calls that touch files; what Python itself opens and reads on the way is among them."""
FEW = 60  # calls of one kind: up to here each of them fails in both ways, beyond it in one of them
ERRORS = ("EIO", "ENOSPC")


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(PROGRAM, tmp_path_factory.mktemp("faulty") / "errors")
    yield made
    made.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a store with one reviewer, and that reviewer."""
    file = tmp_path_factory.mktemp("template") / "gate.db"
    with Store.open(f"sqlite:///{file}") as store:
        queue = Queue(store)
        people(queue)
        reviewer = queue.reviewers.authenticate(queue.reviewers.add("ann"))
    return file, [reviewer.name, reviewer.selector]


@dataclass
class Bench:
    """Lets one life go wrong in one way, and judges what is left."""

    nursery: Nursery
    template: tuple[Path, list[str]]
    witness: Witness
    folder: Path
    build: str = ""
    lives: int = 0
    room: Callable[[], object] = lambda: None  # called before judging: somebody mends the disk
    place: Path = Path()  # of the last life
    keep: Path | None = None  # where the files of a life are copied to before it begins

    def live(
        self, *, trace: list[str] | None = None, file_size: int | None = None, at: Path | None = None
    ) -> Counter[str]:
        """Let one process live in a store of its own; returns what it said, by its first words."""
        self.lives += 1
        place = (at or self.folder) / str(self.lives)
        place.mkdir()
        file, reviewer = self.template
        shutil.copy(file, place / "gate.db")
        self.place = place
        if self.keep is not None:
            shutil.copytree(place, self.keep)
        seen = len(self.witness.heard())
        go = str(self.folder / f"go{self.lives}") if trace is not None else ""
        job = {
            "store": f"sqlite:///{place}/gate.db",
            "signed": str(place / "signed"),
            "witness": self.witness.address,
            "reviewer": reviewer,
            "file_size": file_size,
            "go": go,
            "broken": self.build,
        }
        pid = self._traced(job, trace) if trace is not None else self.nursery.start(job)
        end = self.nursery.wait(pid)
        assert end == 0, f"it ended with {end}: {self.nursery.told()}"
        said = self.witness.heard()[seen:]
        self.room()
        self.judge(place, said)
        return Counter(" ".join(line[:3]) if line[0] in {"refused", "fell"} else line[0] for line in said)

    def _traced(self, job: dict[str, Any], trace: list[str]) -> int:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.bind(job["go"])
            door.listen()
            pid = self.nursery.start(job)
            guest, _ = door.accept()
            tracer = subprocess.Popen(["strace", "-p", str(pid), *trace], stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + LONG
            while not re.search(r"TracerPid:\t[1-9]", Path(f"/proc/{pid}/status").read_text()):
                if tracer.poll() is not None or time.monotonic() > until:
                    assert tracer.stderr is not None
                    pytest.skip(f"the kernel forbids to trace a process: {tracer.stderr.read().strip()}")
                time.sleep(0.002)
            guest.sendall(b"!")
            guest.close()
            tracer.communicate(timeout=120)
        return pid

    def judge(self, place: Path, said: list[list[str]]) -> None:
        """Open the store without faults, and compare it with what was promised."""
        told = {
            kind: [line[1] for line in said if line[0] == kind] for kind in ("asked", "yes", "no", "effect", "done")
        }
        # a module that Python could not read while it was imported is no file of ours
        fell = [line for line in said if line[0] == "fell" and "/lib/python" not in " ".join(line)]
        assert not fell, f"an error that is none of ours: {fell}"
        text = read_signed(place / "signed")
        sealed = [int(line[1]) for line in said if line[0] == "sealed"]
        assert not sealed or (text and parse_size(text) >= max(sealed)), "a signature was lost"
        outside = [Outside("the last signed checkpoint", text)] if text else []
        with Store.open(f"sqlite:///{place}/gate.db", create=False) as store:
            queue = Queue(store)
            report = verify(store, keys=QUICK_KEY.public, outside=outside)
            assert report.ok, report.findings
            Executor(queue).recover()
            rows = {row.id: row for row in queue.list()}
            assert set(told["asked"]) <= set(rows)
            effects = Counter(told["effect"])
            for row in rows.values():
                count = effects[idempotency_key(row.id)]
                assert count <= 1
                expected = (
                    {State.SUCCEEDED, State.UNKNOWN}
                    if count
                    else {State.PENDING, State.REJECTED, State.APPROVED, State.UNKNOWN}
                )
                assert row.state in expected, f"{row.state} after {count} effects"
                assert row.state is not State.UNKNOWN or row.id not in told["done"]
            assert all(rows[name].state in {State.APPROVED, State.SUCCEEDED, State.UNKNOWN} for name in told["yes"])
            assert all(rows[name].state is State.REJECTED for name in told["no"])
            assert all(rows[name].state is State.SUCCEEDED for name in told["done"])
            Sealer(store, QUICK_KEY, place / "signed").seal()
            after = verify(
                store, keys=QUICK_KEY.public, outside=[Outside("signed", read_signed(place / "signed") or "")]
            )
            assert (after.ok, after.is_judged) == (True, True), after.findings
        shutil.rmtree(place)


@pytest.fixture
def bench(nursery: Nursery, template: tuple[Path, list[str]], tmp_path: Path) -> Iterator[Bench]:
    with Witness(tmp_path) as witness:
        yield Bench(nursery, template, witness, tmp_path)
        nursery.end()


def counted(bench: Bench, log: Path) -> Counter[str]:
    """Return how often each of the calls is made in a life without faults."""
    said = bench.live(trace=["-q", "-e", f"trace={','.join(CALLS)}", "-o", str(log)])
    assert not [word for word in said if word.startswith("refused")]
    assert (said["yes"], said["no"], said["effect"], said["done"], said["sealed"]) == (3, 1, 3, 3, 2)
    return Counter(re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE))


def fault(bench: Bench, log: Path, call: str, error: str, number: int) -> Counter[str]:
    inject = f"inject={call}:error={error}:when={number}"
    return bench.live(trace=["-q", "-e", f"trace={call}", "-e", inject, "-o", str(log)])


def torture(bench: Bench, folder: Path, wanted: list[tuple[str, str, int]], total: Counter[str]) -> None:
    refused: Counter[str] = Counter()
    for call, error, number in wanted:
        log = folder / "trace"
        try:
            said = fault(bench, log, call, error, number)
        except AssertionError as problem:
            raise AssertionError(f"{call} number {number} failed with {error}: {problem}") from problem
        assert "(INJECTED)" in log.read_text(), f"{call} was not called {number} times"
        refused.update({call: sum(count for word, count in said.items() if word.startswith("refused"))})
    sys.stdout.write(f"\n{len(wanted)} faults in {dict(total)}; steps refused by call: {dict(refused)}\n")
    assert refused["pwrite64"] or not any(call == "pwrite64" for call, _, _ in wanted), "no fault was felt"


@pytest.mark.strace
@pytest.mark.claim("C4", "C5", "C9")
def test_some_system_calls_that_fail_cost_no_promise(bench: Bench, tmp_path: Path) -> None:
    total = counted(bench, tmp_path / "count")
    chance = random.Random(7)
    kinds = ("openat", "pread64", "fsync", "rename", *("pwrite64",) * 3, *("fdatasync",) * 2)
    wanted = [(call, chance.choice(ERRORS), chance.randint(1, total[call])) for call in kinds]
    torture(bench, tmp_path, wanted, total)


@pytest.mark.nightly
@pytest.mark.strace
@pytest.mark.claim("C4", "C5", "C9")
@pytest.mark.parametrize("call", CALLS)
def test_every_system_call_that_fails_costs_no_promise(call: str, bench: Bench, tmp_path: Path) -> None:
    total = counted(bench, tmp_path / "count")
    wanted = [
        (call, error, number)
        for number in range(1, total[call] + 1)
        for error in (ERRORS if total[call] <= FEW else ERRORS[number % 2 :][:1])
    ]
    torture(bench, tmp_path, wanted, total)


@pytest.mark.claim("C4", "C5", "C9")
def test_files_that_may_not_grow_cost_no_promise(bench: Bench) -> None:
    said = Counter[str]()
    for size in (0, 1, 4_096, 33_000, 60_000, 100_000, 170_000, 250_000, 400_000, 800_000, 1_600_000):
        said += bench.live(file_size=size)
    assert any(word.startswith("refused") for word in said)
    assert said["done"], "the largest limit is none"


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Give a file system of ``size`` bytes."""
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "checkvalve", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"the kernel forbids to mount a small disk: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.claim("C4", "C5", "C9")
def test_a_disk_that_is_full_costs_no_promise(bench: Bench, template: tuple[Path, list[str]], tmp_path: Path) -> None:
    """It is full after some more kilobytes; then somebody makes room, and everything that was promised is there."""
    start = template[0].stat().st_size
    said = Counter[str]()
    for room in (8_192, 90_112, 360_448, 2_000_000):
        folder = tmp_path / str(room)
        folder.mkdir()
        with small_disk(folder, 4 * 1024 * 1024) as disk:
            filler = disk / "filler"
            filler.write_bytes(b"x" * (4 * 1024 * 1024 - start - room - 16_384))
            bench.room = filler.unlink
            said += bench.live(at=disk)
    assert any(word.startswith("refused") for word in said)
    assert said["done"]
