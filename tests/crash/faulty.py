"""One small life of a gateway, in a process to which system calls are made to fail: open, propose, decide, run, seal.

It begins when it is told to, so that somebody can attach to it first. Every step is tried whatever became of the one
before, and a witness hears what the store has promised: ``asked ID``, ``yes ID``, ``no ID``, ``effect KEY``,
``done ID``, ``sealed SIZE``; and of what failed ``refused STEP TYPE``, or ``fell STEP TYPE`` for an error that is not
ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import socket
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a program it is in no package

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, REVIEW, decided, people
from tests.approvals.sealed import QUICK_KEY
from tests.crash import broken, nursery
from tests.crash.witness import Teller

PR_SET_PTRACER = 0x59616D61  # for kernels on which only a parent may attach
ANYBODY = ctypes.c_ulong(-1)


class Life:
    """What one process does, and what it says of it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.teller = Teller(job["witness"])
        self.name = ""

    def attempt(self, name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except ApprovalError as error:
            self.teller.tell("refused", name, type(error).__name__)
        except Exception as error:  # noqa: BLE001  # told to the test
            self.teller.tell("fell", name, type(error).__name__, str(error).replace("\n", " ")[:300])
        return None

    def live(self) -> None:
        """Open the store, and do one of everything in it; then a little more, on what is open by then."""
        opened = self.attempt("open", partial(Store.open, self.job["store"], create=False))
        if opened is None:
            return
        with opened as store:
            queue = Queue(store)
            people(queue)
            for calls in ("abc", "d"):
                self.round(store, queue, calls)

    def round(self, store: Store, queue: Queue, calls: str) -> None:
        reviewer = Reviewer(*self.job["reviewer"])
        for call in calls:
            request = ActionRequest.build("send", {"n": call}, thread="t", call_id=call, requester="bob")
            row = self.attempt("propose", partial(queue.propose, request, decided(ALLOW if call == "c" else REVIEW)))
            if row is not None:
                self.teller.tell("asked", row.id)
                self.decide(queue, reviewer, row, yes=call != "b")
        for row in self.attempt("list", partial(queue.list, [State.APPROVED])) or ():
            self.attempt("run", partial(self.run, queue, row))
        sealer = Sealer(store, QUICK_KEY, Path(self.job["signed"]))
        sealed = self.attempt("seal", sealer.seal)
        if sealed is not None:
            self.teller.tell("sealed", sealed.checkpoint.size)

    def decide(self, queue: Queue, reviewer: Reviewer, row: Proposal, *, yes: bool) -> None:
        says = partial(queue.approve, row.id, reviewer, row.digest) if yes else partial(queue.reject, row.id, reviewer)
        if row.state is State.APPROVED or self.attempt("decide", says):
            self.teller.tell("yes" if yes else "no", row.id)

    def run(self, queue: Queue, row: Proposal) -> None:
        def effect(_: dict[str, JSON], key: str) -> JSON:
            self.teller.tell("effect", key)
            return key

        outcome = Executor(queue, wait=timedelta()).run(row.id, effect)
        if outcome.ran_here:
            self.teller.tell("done", row.id)


def begin(job: dict[str, Any]) -> int:
    """Wait for the word, then live."""
    broken.apply(job["broken"], job)
    life = Life(job)
    if job["go"]:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYBODY, 0, 0, 0)
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        door.connect(job["go"])
        door.recv(1)
        with contextlib.suppress(OSError):  # closing it may be the first call that fails, and is nobody's promise
            door.close()
    if job["file_size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], resource.RLIM_INFINITY))
    life.live()
    return 0


if __name__ == "__main__":
    nursery.serve(begin)
