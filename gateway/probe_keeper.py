"""The thread that looks for the effects of calls whose end nobody knows, where nobody comes back to them.

1. An unknown call of a tool with a probe, once "it is not there" would count (:data:`checkvalve.approvals.probes.PAUSE`
after the lease of who made it). 2. Its probe is made, once in the life of this process. What it says settles the call,
or leaves it to a person.

Guarantees: several processes may do this over one store, and a call is settled once; a store or a tool that does not
answer holds up nothing else; no call is run again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final, Self

from checkvalve.approvals import attempts
from checkvalve.approvals.clock import micros
from checkvalve.approvals.damaged import list_readable
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.probe_record import is_open
from checkvalve.approvals.probes import PAUSE
from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway.logs import get_logger
from checkvalve.graphs.bound_tools import bound
from checkvalve.graphs.probing import Probing
from checkvalve.graphs.services import Services

EVERY: Final = 30.0
"""Seconds between looks."""


class ProbeKeeper:
    """Looks for the effects of lost calls with the tools of one pipeline, in a thread of this process."""

    def __init__(self, services: Services, tools: Iterable[Any], *, every: float = EVERY) -> None:
        """Entering it begins."""
        self._services = services
        self._tools = bound(tools, services.manifest, None)
        self._every = every
        self._asked: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="checkvalve-probes", daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def tick(self) -> None:
        """Do steps 1 and 2 once."""
        for row in list_readable(self._services.queue, [State.UNKNOWN]).rows:
            if self._stop.is_set():
                return
            if row.id not in self._asked and is_open(row):
                self._look_at(row)

    def _look_at(self, row: Proposal) -> None:
        """Ask about one call that is due; one that was damaged beside the log is left alone, and keeps none waiting."""
        try:
            if self._is_due(row):
                self._asked.add(row.id)
                self._ask(row)
        except StoreCorruptError:
            self._asked.add(row.id)
            get_logger().warning("a lost call was damaged beside the log, and is not looked up", approval=row.id)

    def _is_due(self, row: Proposal) -> bool:
        with self._services.queue.store.read() as connection:
            attempt = attempts.read(connection, row.id)
        return attempt is not None and self._services.queue.clock() >= attempt.lease_until + micros(PAUSE)

    def _ask(self, row: Proposal) -> None:
        outcome = self._services.executor.look(row.id)
        found = Probing(self._services).after(outcome, lambda name: self._tools.get((row.server, name)))
        if found.state is not State.UNKNOWN:
            get_logger().info("a lost call was looked up", approval=row.id, state=found.state.value)

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.tick()
            except Exception as error:  # noqa: BLE001  # a store that does not answer now may do so in a while
                get_logger().warning("lost calls cannot be looked up now", error=type(error).__name__)


__all__ = ["EVERY", "ProbeKeeper"]
