"""How the undoing of one effect stands: what was kept, whether it may be asked for, and which states were read.

Guarantees: everything here reads; what it relies on is compared with the log first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkvalve.approvals import undos
from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.records import Proposal, State, proposal_id
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.undo_call import UndoCall, declared_digest, differences
from checkvalve.approvals.undos import AFTER, LOOK, RULE, Undo, beside, thread_for
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.services import Services
from checkvalve.graphs.stored_results import NOTHING, declared_value


@dataclass(frozen=True, slots=True)
class Standing:
    """How the undoing of one effect stands.

    ``why_not`` says in words why nobody can ask for it now. ``left`` and ``present`` are records where they were read;
    ``changes`` are the leaves in which they differ. ``holds`` says that the manifest still declares what it did then.
    """

    proposal: Proposal
    row: Undo | None
    call: UndoCall | None
    why_not: str
    words: str = ""
    holds: bool = False
    undo: Proposal | None = None
    left: object = NOTHING
    present: object = NOTHING

    @property
    def looked(self) -> bool:
        """Say whether there are two states to compare."""
        return self.left is not NOTHING and self.present is not NOTHING

    @property
    def changes(self) -> list[tuple[str, JSON, JSON]]:
        """Return every leaf in which the present state is not what the effect left."""
        return differences(self.left, self.present) if self.looked else []  # type: ignore[arg-type]  # both are JSON


class Standings:
    """Looks at the undoings in one store, with the manifest of this process."""

    def __init__(self, services: Services) -> None:
        """Read the queue of ``services``."""
        self._services = services
        self._queue = services.queue

    def of(self, name: str) -> Standing:
        """Return how the undoing of a call stands; ``name`` is the call's id, or that of its undoing.

        Raises:
            NotFoundError: there is no such call.
            StoreCorruptError: a row was edited beside the log.
        """
        proposal = self._queue.get(name)
        if (undone := self.undone(proposal)) is not None:
            proposal = self._queue.get(undone.proposal_id)
        with self._queue.store.read() as connection:
            require_recorded(connection, proposal.id)
            row = undos.read(connection, proposal.id)
            why_not = undos.refusal(connection, proposal, row, now=self._queue.clock())
        spec = self._services.manifest.find(proposal.tool, proposal.server)
        call = row.call() if row is not None and row.body else None
        declared = None if spec is None or spec.undo_with is None else declared_digest(spec.undo_with)
        holds = call is not None and declared == call.declared
        if call is not None and not holds and not why_not:
            why_not = "the manifest no longer says that it is undone like this"
        undo = self._undo(row)
        found = Standing(proposal, row, call, why_not, "" if spec is None else spec.undo, holds, undo)
        if call is None or call.look is None:
            return found
        left = self._read(proposal, AFTER, call)
        return replace(found, left=left, present=NOTHING if undo is None else self._read(undo, LOOK, call))

    def without_row(self, proposal: Proposal) -> Standing:
        """Return the same of a call that has not run; nothing of it is looked up."""
        with self._queue.store.read() as connection:
            why_not = undos.refusal(connection, proposal, None, now=self._queue.clock())
        spec = self._services.manifest.find(proposal.tool, proposal.server)
        return Standing(proposal, None, None, why_not, "" if spec is None else spec.undo)

    def undone(self, undo: Proposal) -> Undo | None:
        """Return what a call undoes, if it is the one that was asked for."""
        with self._queue.store.read() as connection:
            found = undos.of_undo(connection, undo.id) if undo.rule == RULE else None
        return found if found is not None and undo.thread == thread_for(found.proposal_id, found.asks) else None

    def _undo(self, row: Undo | None) -> Proposal | None:
        try:
            return self._queue.get(row.undo_id) if row is not None and row.undo_id else None
        except NotFoundError:
            return None

    def _read(self, proposal: Proposal, word: str, call: UndoCall) -> object:
        """Return what the read beside a call gave, or nothing where it was not made."""
        tool, args = call.look or ("", {})
        request = ActionRequest.build(tool, args, server=call.server)
        try:
            name = proposal_id(proposal.thread, beside(proposal.call_id, word), request.digest)
            outcome = self._services.executor.look(name)
        except NotFoundError:
            return NOTHING
        spec = self._services.manifest.find(tool, call.server)
        return declared_value(outcome.result, spec) if outcome.state is State.SUCCEEDED else NOTHING


__all__ = ["Standing", "Standings"]
