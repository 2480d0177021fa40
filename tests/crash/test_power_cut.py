"""The power goes right after each promise: what the disk had not been made to keep is gone, and the promise holds."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from tests.approvals.made import people
from tests.crash.nursery import Nursery
from tests.crash.powercut import TRACE, Did, Disk, events
from tests.crash.test_syscall_faults import PROGRAM, Bench
from tests.crash.witness import Witness

pytestmark = [pytest.mark.strace, pytest.mark.claim("C4", "C5")]
KEEPS = ("nothing", "some", "everything")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    nursery = Nursery(PROGRAM, tmp_path / "errors")
    file = tmp_path / "gate.db"
    with Store.open(f"sqlite:///{file}") as store:
        queue = Queue(store)
        people(queue)
        reviewer = queue.reviewers.authenticate(queue.reviewers.add("ann"))
    with Witness(tmp_path) as witness:
        build = os.environ.get("CHECKVALVE_TEST_BUILD", "")
        yield Bench(nursery, (file, [reviewer.name, reviewer.selector]), witness, tmp_path, build)
        nursery.end()
    nursery.close()


def test_a_promise_outlives_the_power(bench: Bench, tmp_path: Path) -> None:
    """Every promise is a moment of its own, and each is tried with three disks."""
    trace, seed = tmp_path / "trace", random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"\nseed {seed}\n")
    chance = random.Random(seed)
    kept = tmp_path / "kept"
    bench.keep = kept
    bench.live(trace=[*TRACE, "-o", str(trace)])
    disk, said, cuts = Disk(kept), list[list[str]](), 0
    for did in events(trace.read_text()):
        disk.do(_moved(did, bench.place, kept))
        if did.what == "said":
            said.append(did.said.split())
            for keeps in KEEPS:
                place = tmp_path / f"after{cuts}"
                place.mkdir()
                disk.lose_power(place, keeps, chance)
                try:
                    bench.judge(place, said)
                except Exception as problem:
                    raise AssertionError(
                        f"a promise was lost with {keeps} kept, after {said[-1]}: {problem}"
                    ) from problem
                cuts += 1
    assert {line[0] for line in said} == {"asked", "yes", "no", "effect", "done", "sealed"}
    shutil.rmtree(kept)


def _moved(did: Did, place: Path, kept: Path) -> Did:
    """Let a call have happened where the copy of the files at the start is."""
    return Did(
        did.what,
        did.path.replace(str(place), str(kept)),
        did.other.replace(str(place), str(kept)),
        did.data,
        did.offset,
    )
