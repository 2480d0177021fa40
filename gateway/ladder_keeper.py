"""The thread that does what the clock asks for: expire, remind, escalate, and say what nobody can decide.

It also finds calls whose process died in the middle: nobody else may be there to look.

Guarantees: several processes may do this over one store, and each rung is climbed once; a database that does not answer
now is asked again; nothing here decides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from checkvalve.approvals.executor import Executor
from checkvalve.approvals.ladder import Ladder, Look
from checkvalve.approvals.queue import Queue
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.seed_keeper import SeedKeeper

EVERY: Final = 1.0
"""Seconds between looks."""
SEED_EVERY: Final = 60
"""Looks after which seeded items are looked after once: their moments are days apart."""


class LadderKeeper:
    """Looks after the ladders of one queue in a thread of this process."""

    def __init__(self, queue: Queue, *, every: float = EVERY, seeding: SeedKeeper | None = None) -> None:
        """:meth:`start` begins; ``seeding`` is what makes seeded items, where this process does."""
        self._seeding = seeding
        self._looks = 0
        self._ladder = Ladder(queue)
        self._executor = Executor(queue)
        self._every = every
        self._stop = threading.Event()
        self._said: set[str] = set()  # what lasts is logged once
        self._thread = threading.Thread(target=self._watch, name="checkvalve-ladder", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            # each on its own: what goes wrong with one may not keep the others from their time
            self._try(self._climb, "the clocks of the queue cannot be looked at now")
            self._try(self._find_lost, "calls whose process died cannot be looked for now")
            if self._seeding is not None and self._looks % SEED_EVERY == 0:
                self._try(self._seeding.tick, "seeded items cannot be looked after now")
            self._looks += 1
            self._stop.wait(self._every)

    def _try(self, work: Callable[[], object], otherwise: str) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # a store that does not answer now may do so in a second
            self._complain(otherwise, type(error).__name__)
        else:
            self._said.discard(otherwise)

    def _climb(self) -> None:
        self._tell(self._ladder.tick())

    def _find_lost(self) -> None:
        damaged = list[str]()
        for lost in self._executor.recover(damaged=damaged):
            get_logger().error("the process that ran a call is gone: checkvalve approvals unknown", approval=lost.id)
        self._tell_damaged(damaged)

    def _tell(self, look: Look) -> None:
        for item in look.done:
            said = "nobody can decide a call: too few enabled reviewers may, or can be reached"
            if item.what == "unreachable":
                get_logger().error(said, approval=item.proposal_id)
            else:
                codes = sorted(set(item.why.values()))  # why a step came early
                get_logger().info(f"ladder.{item.what}", approval=item.proposal_id, who=len(item.who), codes=codes)
            if item.cannot:
                codes = sorted(set(item.cannot.values()))
                get_logger().error("who is on call cannot approve a call", approval=item.proposal_id, codes=codes)
        self._tell_damaged(look.damaged)
        for name, error in look.failed.items():
            if f"{name} {error}" not in self._said:
                self._said.add(f"{name} {error}")
                get_logger().error("the clock of a call cannot be looked at", approval=name, error=error)

    def _tell_damaged(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._said:
                self._said.add(name)
                get_logger().error("a call was changed beside the log: checkvalve audit verify", approval=name)

    def _complain(self, text: str, error: str) -> None:
        if text not in self._said:
            self._said.add(text)
            get_logger().warning(text, error=error)


__all__ = ["EVERY", "LadderKeeper"]
