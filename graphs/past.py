"""Decide a recorded call again as of when it was proposed: over the thread's stored history up to then.

Guarantees: nothing is written, neither to the queue nor to the history; what entered the thread later does not count.
Not known any more: which references were put in (such calls are left to their recorded facts, see :func:`can_replay`),
and in which state earlier calls were at that moment; one that ended later counts as it ended, which is stricter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import sqlalchemy as sa

from checkvalve.approvals import endorsing, flood
from checkvalve.approvals.asked_by import Owners
from checkvalve.approvals.content import HistoryItem, SqlContentStore
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.intake import Beside
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.tables import history
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.filters.labels import UNKNOWN, Label
from checkvalve.filters.origins import MatchKind
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call, turn_suffix
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession


class _PastContent(SqlContentStore):
    """The history of a thread up to a moment, without the results of the turn that is decided."""

    def __init__(self, queue: Queue, row: Proposal) -> None:
        super().__init__(queue.store, queue.clock)
        query = sa.select(history.c.seq).where(history.c.thread == row.thread, history.c.stored_at <= row.created_at)
        with queue.store.read() as connection:
            self._then = frozenset(connection.execute(query).scalars())
        self._turn = turn_suffix(row.call_id)

    def items(self, thread: str, *, after: int = 0) -> list[HistoryItem]:
        """Return what had entered by then."""
        found = super().items(thread, after=after)
        return [item for item in found if item.seq in self._then and not self._in_turn(item)]

    def append_item(self, thread: str, key: str, kind: str, value: JSON, label: Label = UNKNOWN) -> int:  # noqa: ARG002
        """Refuse: the past stays as it was."""
        raise QueueError("a replay writes nothing")

    def _in_turn(self, item: HistoryItem) -> bool:
        if item.kind != "result" or not self._turn or not isinstance(item.value, dict):
            return False
        return turn_suffix(str(item.value.get("call", ""))) == self._turn


class _PastQueue(Queue):
    """The queue as of one proposal; what is proposed to it is kept and not recorded."""

    def __init__(self, queue: Queue, row: Proposal, earlier: Iterable[Proposal]) -> None:
        super().__init__(queue.store, queue.clock)
        self._row, self._earlier = row, list(earlier)
        self.mandates = queue.mandates.as_of(row.created_at, row.id)
        self.standing_rules = queue.standing_rules.as_of(row.created_at, row.id)
        self.owners = Owners(of_task=lambda _thread: row.behind)
        self.decision: Decision | None = None

    def list(self, states: Iterable[State] | None = None, *, thread: str = "") -> list[Proposal]:  # noqa: ARG002
        """Return the calls proposed before; none when somebody asks for open ones, as each is decided anew."""
        return [] if states is not None else list(self._earlier)

    def endorsements(self, thread: str) -> list[Endorsement]:  # type: ignore[valid-type]  # `list` is the method here
        """Return what had been accepted by then."""
        then = self._row.created_at
        with self.store.read() as connection:
            return endorsing.read(connection, thread, then, past=True)

    def flood(self, thread: str) -> flood.Flood:
        """Return that the task was not paused: a replay asks nobody."""
        return flood.Flood(thread)

    def propose(
        self,
        request: ActionRequest,  # noqa: ARG002
        decision: Decision,
        *,
        mode: Literal["enforce", "observe"] = "enforce",  # noqa: ARG002
        idempotency: Idempotency = Idempotency.NONE,  # noqa: ARG002
        beside: Beside | None = None,  # noqa: ARG002
    ) -> Proposal:
        """Keep the decision."""
        self.decision = decision
        return self._row


def can_replay(queue: Queue, row: Proposal) -> bool:
    """Say whether the thread's history is stored, and the call carries nothing that was put in for references."""
    arguments = row.decision.get("arguments")
    if not isinstance(arguments, list) or any(_put_in(item) for item in arguments):
        return False
    query = sa.select(sa.exists().where(history.c.thread == row.thread, history.c.stored_at <= row.created_at))
    with queue.store.read() as connection:
        return bool(connection.execute(query).scalar())


def _put_in(argument: JSON) -> bool:
    origins = argument.get("origins") if isinstance(argument, dict) else None
    listed = origins if isinstance(origins, list) else []
    return any(isinstance(item, dict) and item.get("match") == MatchKind.REFERENCE.value for item in listed)


def decide_again(services: Services, row: Proposal, rows: Iterable[Proposal]) -> Decision:
    """Return the decision on a recorded call under the manifest, policy and profile of ``services``.

    ``rows`` are the calls of the same thread. The live tool is not known any more: its schema counts as the pinned
    one, and its code as run in the sandbox where the manifest says so.
    """
    earlier = [item for item in rows if item.thread == row.thread and item.created_at < row.created_at]
    queue = _PastQueue(services.queue, row, earlier)
    past = replace(services, queue=queue, content=_PastContent(services.queue, row))
    spec = services.manifest.find(row.tool, row.server)
    pinned = spec.schema_digest if spec is not None and row.rule != "changed-schema" else None
    call = Call(row.tool, row.args(), row.call_id, server=row.server, schema_digest=pinned, sandboxed=True)
    GuardSession(past, row.thread, row.requester).propose(call)
    if queue.decision is None:
        raise QueueError("the call could not be decided again")
    return queue.decision
