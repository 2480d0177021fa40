"""A pipeline's services without a database: the queue, the executor and the content store of one process's memory.

Guarantees: deciding is not touched, and a call moves through the same states as in the store; a careful person answers
a question as soon as it is looked at again. Nothing is recorded for an auditor and nothing survives: this is for
measuring thousands of runs, and a test holds that the verdicts are those of the real store.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Literal, TypeAlias

from checkvalve.approvals.asked_by import Owners
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.content import HistoryItem, SqlContentStore
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.endorsing import offered
from checkvalve.approvals.executor import Effect, Executor, Keep
from checkvalve.approvals.flood import Flood
from checkvalve.approvals.intake import Beside
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_store import Mandates
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.pins import Found
from checkvalve.approvals.policy import Policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.records import Proposal, State, proposal_id
from checkvalve.approvals.reproposals import REFUSED_BEFORE
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.snapshot import Earlier, Snapshot
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.standing_rules import StandingRules
from checkvalve.approvals.toolspec import Idempotency, Manifest
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.labels import UNKNOWN, Label
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.services import Services

Person: TypeAlias = Callable[[Proposal], bool]
"""Who answers questions: true for yes."""

_Rows: TypeAlias = list[Proposal]
_Accepted: TypeAlias = list[Endorsement]
_Granted: TypeAlias = list[MandateEntry]
_Rules: TypeAlias = list[StandingEntry]


class MemoryContent(SqlContentStore):
    """Histories of threads, in memory. Values take the form that the database gives them: members in sorted order."""

    def __init__(self) -> None:
        self._threads: dict[str, list[HistoryItem]] = defaultdict(list)

    def append_item(self, thread: str, key: str, kind: str, value: JSON, label: Label = UNKNOWN) -> int:
        """Add one item to a thread's history and return its number; the same item is added once."""
        stored = json.loads(json.dumps(value, allow_nan=False, sort_keys=True))
        items = self._threads[thread]
        for item in items:
            if item.key == key and item.value == stored:
                return item.seq
        items.append(HistoryItem(len(items) + 1, key, kind, stored, label))
        return len(items)

    def items(self, thread: str, *, after: int = 0) -> list[HistoryItem]:
        """Return the history of a thread from the item after number ``after`` on."""
        return self._threads[thread][after:]

    def forget(self, thread: str) -> None:
        """Drop a thread whose run is over."""
        self._threads.pop(thread, None)


class _NoMandates(Mandates):
    """Nobody grants any here."""

    def __init__(self) -> None:
        """Keep nothing."""

    def in_force(self, thread: str, requester: str, *, without: str = "", only_used: bool = False) -> _Granted:  # noqa: ARG002  # Mandates' own
        """Return nothing."""
        return []


class _NoRules(StandingRules):
    """Nobody makes any here."""

    def __init__(self) -> None:
        """Keep nothing."""

    def in_force(self, tool: str, *, without: str = "", only_used: bool = False) -> _Rules:  # noqa: ARG002  # StandingRules' own
        """Return nothing."""
        return []


class MemoryQueue(Queue):
    """Proposals in memory. A question is answered by ``person`` when it is looked at after it was asked."""

    def __init__(self, person: Person, clock: Clock = system_clock) -> None:
        self.clock = clock
        self.store = None  # type: ignore[assignment]  # nothing here is kept
        self.mandates = _NoMandates()
        self.standing_rules = _NoRules()
        self.owners = Owners()
        self._person = person
        self._rows: dict[str, Proposal] = {}
        self._accepted: dict[str, _Accepted] = defaultdict(list)

    def propose(
        self,
        request: ActionRequest,
        decision: Decision,
        *,
        mode: Literal["enforce", "observe"] = "enforce",
        idempotency: Idempotency = Idempotency.NONE,
        beside: Beside | None = None,  # noqa: ARG002  # a Queue; nothing is kept beside a call here
    ) -> Proposal:
        """Keep a decided call; the id follows from thread, call and digest, as in the store."""
        name = proposal_id(request.thread, request.call_id, request.digest)
        if name not in self._rows:
            known = replace(decision, verdict=self._verdict(request, decision.verdict))
            self._rows[name] = _row(name, request, known, mode, idempotency)
        return self._rows[name]

    def _verdict(self, request: ActionRequest, verdict: Verdict) -> Verdict:
        """Return the verdict, or a refusal where the person refused this very call: the user speaks once here."""
        same = [row for row in self._rows.values() if (row.thread, row.digest) == (request.thread, request.digest)]
        refused = [row for row in same if row.state is not State.DENIED][-1:]
        if not isinstance(verdict, Review) or not refused or refused[0].state is not State.REJECTED:
            return verdict
        return Deny(REFUSED_BEFORE, REFUSED_BEFORE, remedy_for(REFUSED_BEFORE))

    def get(self, proposal_id: str) -> Proposal:
        """Return a proposal; if it waits, the person answers now."""
        row = self._rows[proposal_id]
        if row.state is State.PENDING:
            yes = self._person(row)
            row = self.move(row, State.APPROVED if yes else State.REJECTED)
            if yes:
                self._accepted[row.thread] += [Endorsement(**offer) for offer in row.endorsable]
        return row

    def list(self, states: Iterable[State] | None = None, *, thread: str = "") -> _Rows:
        """Return the proposals of a thread, oldest first."""
        wanted = None if states is None else set(states)
        rows = (row for row in self._rows.values() if not thread or row.thread == thread)
        return [row for row in rows if wanted is None or row.state in wanted]

    def endorsements(self, thread: str) -> _Accepted:
        """Return what the person has accepted in this thread."""
        return self._accepted[thread]

    def flood(self, thread: str) -> Flood:
        """Return that no task is paused: the cap on questions holds all the same."""
        return Flood(thread)

    def move(self, row: Proposal, state: State) -> Proposal:
        """Move a proposal on."""
        self._rows[row.id] = replace(row, state=state, version=row.version + 1)
        return self._rows[row.id]

    def forget(self, thread: str) -> None:
        """Drop a thread whose run is over."""
        self._rows = {name: row for name, row in self._rows.items() if row.thread != thread}
        self._accepted.pop(thread, None)


class MemoryExecutor(Executor):
    """Runs an approved call once. Nothing changes between the decision and the effect here: nothing is decided anew."""

    def __init__(self, queue: MemoryQueue) -> None:
        self._queue = queue
        self._results: dict[str, JSON] = {}

    def run(
        self,
        proposal_id: str,
        effect: Effect,
        *,
        revalidate: Callable[[], Verdict] | None = None,  # noqa: ARG002  # an Executor
        keep: Keep | None = None,  # noqa: ARG002  # an Executor; nothing is undone here
        pinned: Found | None = None,  # noqa: ARG002  # an Executor; nothing changes here
    ) -> Outcome:
        """Run the effect with the arguments of the record."""
        row = self._queue.get(proposal_id)
        if row.state is not State.APPROVED:
            return Outcome(row)
        result = effect(row.args(), proposal_id)
        self._results[proposal_id] = result
        return Outcome(self._queue.move(row, State.SUCCEEDED), result=result, ran_here=True)

    def look(self, proposal_id: str) -> Outcome:
        """Return how a proposal stands, with its result."""
        return Outcome(self._queue.get(proposal_id), result=self._results.get(proposal_id))


def memory_services(manifest: Manifest, policy: Policy, profile: str, person: Person) -> Services:
    """Return services that decide as every other surface does, and keep nothing."""
    queue = MemoryQueue(person)
    return Services(
        manifest=manifest,
        policy=policy,
        queue=queue,
        executor=MemoryExecutor(queue),
        content=MemoryContent(),
        profile=profile,
        sandbox=True,  # as in every corpus: what a manifest declares is there
        standing=_standing,
    )


def _standing(queue: Queue, thread: str) -> Snapshot:
    """Return how a thread stands in memory, as the store would."""
    rows = queue.list(thread=thread)
    names = [member.name for member in fields(Earlier)]
    earlier = [Earlier(**{name: getattr(row, name) for name in names}) for row in rows]
    return Snapshot(earlier, queue.endorsements(thread), queue.flood(thread))


def _row(name: str, request: ActionRequest, decision: Decision, mode: str, idempotency: Idempotency) -> Proposal:
    verdict = decision.verdict
    waits = State.PENDING if isinstance(verdict, Review) else State.DENIED
    return Proposal(
        id=name,
        thread=request.thread,
        call_id=request.call_id,
        requester=request.requester,
        server=request.server,
        tool=request.tool,
        canonical=request.canonical_form,
        digest=request.digest,
        mode=mode,
        idempotency=idempotency,
        verdict_name=verdict.name,
        rule=verdict.rule,
        reason="" if isinstance(verdict, Allow) else verdict.reason,
        remedy="" if isinstance(verdict, Allow) else verdict.remedy,
        decision={},
        endorsable=offered(decision),
        state=State.APPROVED if isinstance(verdict, Allow) else waits,
        version=1,
        created_at=0,
        updated_at=0,
        decide_by=0,
        execute_by=None,
        decided_by="",
        code="",
        note="",
        self_approved=False,
    )
