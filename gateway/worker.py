"""Runs in the background: what the HTTP API accepted, and every paused run of which something was decided, by whomever.

1. A run is driven by one thread of the pool; its events go into the log as they happen. 2. Every second: a run that
waits and of which an approval was decided (or expired) goes on; one that a dead process has left goes on too.

Guarantees: two servers over one store never work on one thread, since each run holds its lease; a run that fails is
noted with the kind of its error, and goes on only when somebody asks for it.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from checkvalve.approvals.errors import LeaseHeldError, LeaseLostError, QueueError, StoreCorruptError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.run_log import RunLog, RunRecord
from checkvalve.graphs.runs import Pipeline, RunResult

EVERY: Final = 1.0
"""Seconds between looks at what was decided."""
RETRY: Final = 30.0
"""Seconds before a run that should be under way, and is not ours, is tried: its process may have died."""
_LOOKS: Final = 3  # times that a run is let go on before it counts as left in the middle


class Worker:
    """Drives the runs of one pipeline in threads of this process."""

    def __init__(self, pipeline: Pipeline, log: RunLog, queue: Queue, *, max_runs: int, retry: float = RETRY) -> None:
        """Work on ``max_runs`` runs at once; further ones wait for their turn."""
        self._pipeline = pipeline
        self._log = log
        self._queue = queue
        self._retry = retry
        self._pool = ThreadPoolExecutor(max_runs, thread_name_prefix="checkvalve-run")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._tried: dict[str, float] = {}
        self._unreadable: set[str] = set()  # said once
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="checkvalve-worker", daemon=True)

    def start(self) -> None:
        """Begin to look for runs that can go on."""
        self._watcher.start()

    def stop(self) -> None:
        """Begin nothing more, and wait for what runs. Killing the process instead loses nothing either."""
        self._stop.set()
        if self._watcher.ident is not None:
            self._watcher.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, thread: str, requester: str) -> None:
        """Let the run of ``thread`` go on, after what this process is doing for it now."""
        with self._lock:
            if thread in self._busy:
                self._again.add(thread)
                return
            self._busy.add(thread)
        self._pool.submit(self._work, thread, requester)

    def tick(self) -> None:
        """Do step 2 once."""
        now = time.monotonic()
        for record in self._log.under_way():
            if record.thread in self._busy:
                continue
            if record.status == "waiting":
                ready = any(self._is_decided(name) for name in record.waiting)
            else:
                first = self._tried.setdefault(record.thread, now)
                ready = now - first >= self._retry
            if ready:
                self._tried.pop(record.thread, None)
                self.submit(record.thread, record.requester)

    def _is_decided(self, name: str) -> bool:
        """Say whether an approval was decided. One that cannot be read holds up its own run only."""
        try:
            return self._queue.get(name).state is not State.PENDING
        except (QueueError, StoreCorruptError) as error:
            if name not in self._unreadable:
                self._unreadable.add(name)
                get_logger().error("an approval cannot be read", approval=name, error=type(error).__name__)
            return False

    def _watch(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                self.tick()
            except Exception as error:  # noqa: BLE001  # a store that does not answer now may do so in a second
                get_logger().warning("runs cannot be looked at", error=type(error).__name__)

    def _work(self, thread: str, requester: str) -> None:
        while True:
            try:
                self._drive(thread, requester)
            except Exception as error:  # noqa: BLE001  # the store failed: the run is found again by a later look
                get_logger().error("a run cannot be noted", thread=thread, error=type(error).__name__)
            with self._lock:
                if thread not in self._again or self._stop.is_set():
                    self._busy.discard(thread)
                    self._again.discard(thread)
                    return
                self._again.discard(thread)

    def _drive(self, thread: str, requester: str) -> None:
        """Do step 1."""
        before = self._log.find(thread)
        if before is None or before.status != "running":
            self._log.note(RunRecord(thread, requester, "running"))
        try:
            result = self._gone_on(thread, requester)
        except (LeaseHeldError, LeaseLostError):
            return  # another process works on it, and notes how it ends
        except Exception as error:  # noqa: BLE001  # a model, a provider, a tool's server: its words may be content
            get_logger().error("a run failed", thread=thread, error=type(error).__name__)
            self._log.note(RunRecord(thread, requester, "failed", _word(error)))
            return
        status = "failed" if result.status == "running" else result.status
        self._log.note(RunRecord(thread, requester, status, result.code, result.waiting))

    def _gone_on(self, thread: str, requester: str) -> RunResult:
        """Let a run go on as far as it can. What is decided right after a look lets it go on once more."""
        for left in reversed(range(_LOOKS)):
            for event in self._pipeline.stream(thread=thread, requester=requester):
                self._log.event(thread, event)
            result = self._pipeline.look(thread)
            if result.status != "running" or not left:
                return result
        raise AssertionError  # the last look has returned


def _word(error: Exception) -> str:
    """Return a stable word for an error: the name of its class is code's, not content."""
    return f"error:{type(error).__name__}"
