"""Where people ask for undoings beside the terminal, and a thread that runs what was approved with the tools there.

Guarantees: the thread runs approved undoings only, one after the other; one that cannot be run stays approved until its
permit lapses, and is named in the log once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checkvalve.approvals.errors import NotAdoptedError
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.rule_services import rule_services
from checkvalve.gateway.rulefiles import load_adopted, rule_files
from checkvalve.gateway.settings import Settings
from checkvalve.graphs.undo_standing import Standing
from checkvalve.graphs.undoing import Undoing

EVERY: Final = 2.0
"""Seconds between looks for an approved undoing: a person has just clicked, and waits."""


@dataclass(frozen=True)
class UndoPoint:
    """One place. Without ``tools`` nobody looks at the present state, and nothing runs here.

    ``servers`` says of which server a tool is, where the manifest leaves that open.
    """

    undoing: Undoing
    tools: Sequence[Any] = ()
    servers: Mapping[str, str] = field(default_factory=dict)

    def standing(self, name: str) -> Standing:
        """Return how the undoing of a call stands."""
        return self.undoing.standing(name)

    def declares(self, proposal: Proposal) -> bool:
        """Say whether the effect of a call could be taken back by another one."""
        return self.undoing.declares(proposal)

    def ask(self, name: str, reviewer: Reviewer) -> Proposal:
        """Ask for the undoing of a call, as a person with a credential; see :meth:`Undoing.ask_as`."""
        return self.undoing.ask_as(name, reviewer, self.tools, self.servers)

    def run(self, name: str) -> Outcome:
        """Run an approved undoing with the tools that are here; see :meth:`Undoing.run`."""
        return self.undoing.run(name, self.tools, self.servers)


def review_point(settings: Settings, queue: Queue, settings_file: Path | None = None) -> UndoPoint | None:
    """Return the place of review pages that are served alone; none where the settings name no manifest.

    Where people adopted other rules than these files, the pages are served all the same, since they are where a change
    is confirmed; what is asked for under such rules is refused.

    Raises:
        ConfigError: manifest or policy cannot be used.
    """
    if settings.manifest is None:
        return None
    rules = rule_files(settings)
    try:
        load_adopted(queue.adopted, queue.store, queue.clock(), rules.texts)
    except NotAdoptedError as error:
        get_logger().error("these rules were not adopted", problem=error.message, remedy=error.remedy)
    return UndoPoint(Undoing(rule_services(queue, settings, settings_file, rules)))


class UndoWorker:
    """Runs approved undoings with the tools of this process, in a thread."""

    def __init__(self, point: UndoPoint, *, every: float = EVERY) -> None:
        """Run what ``point`` can run; :meth:`start` begins."""
        self._point = point
        self._every = every
        self._said: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="checkvalve-undo", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more, and wait for what runs."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def tick(self) -> None:
        """Run everything that was approved by now."""
        for undo in self._point.undoing.due():
            try:
                outcome = self._point.run(undo.id)
            except Exception as error:  # noqa: BLE001  # one that cannot run must not hold up the others
                self._complain(undo, error)
            else:
                get_logger().info("an undoing was run", approval=undo.id, state=outcome.state.value)

    def _complain(self, undo: Proposal, error: Exception) -> None:
        if undo.id not in self._said:
            self._said.add(undo.id)
            remedy = getattr(error, "remedy", "")
            get_logger().warning("an undoing was not run", approval=undo.id, error=type(error).__name__, remedy=remedy)

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.tick()
            except Exception as error:  # noqa: BLE001  # a store that does not answer now may do so in a second
                get_logger().warning("approved undoings cannot be looked for", error=type(error).__name__)


__all__ = ["EVERY", "UndoPoint", "UndoWorker", "review_point"]
