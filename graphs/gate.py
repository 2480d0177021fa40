"""The node ``gate``: decide, record, and pause. It runs nothing, and nothing but it leads to the executor.

1. On the first visit of a turn, for each request: put the references in, read first what the manifest names, decide,
record; each is a proposal of its own under an id that follows from thread, call and arguments. What cannot be expanded
or parsed is refused with a code. Of a question the version of what it points at is read, and it is tried what the call
would do, where its tool offers that.
2. What may run is ready; what was denied or withdrawn is told as a code. 3. When nothing is ready and a person has to
decide, pause with the id of one approval and nothing else. What the pause is resumed with decides nothing: the store
is read again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from langgraph.types import interrupt

from checkvalve.approvals.edits import current
from checkvalve.approvals.pins import CODES
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.responding import response_of
from checkvalve.filters.errors import HostileInputError
from checkvalve.graphs.calls import Call
from checkvalve.graphs.codes import BY_STATE, REMEDIES, RUNNABLE
from checkvalve.graphs.desk import Desk, agent_of, thread_of
from checkvalve.graphs.edited import changed_names
from checkvalve.graphs.errors import CodedError, PipelineError
from checkvalve.graphs.events import Decided, Waiting, emit
from checkvalve.graphs.looking import alook_first, look_first
from checkvalve.graphs.pinning import Pinning
from checkvalve.graphs.previewing import Previewing
from checkvalve.graphs.requesting import call_of, refuse_unregistered
from checkvalve.graphs.session import GuardSession
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused


class GateNode:
    """The node ``gate`` of one pipeline."""

    def __init__(self, desk: Desk) -> None:
        """Decide with the services of ``desk``."""
        self._desk = desk
        self._previewing, self._pinning = Previewing(desk.services), Pinning(desk.services)

    def run(self, state: PipelineState) -> PipelineState:
        """Decide the new requests of the turn, or look again at those that wait."""
        requests = [dict(item) for item in state.get("requests", [])]
        items, fresh = _open(requests)
        for session, call in self._to_read(state, items):
            look_first(self._desk.services, session, call, self._desk.tools_of(call.server).get)
        log = self._step(state, items)
        self._show(items)
        while not fresh and items and all(item["status"] == "pending" for item in items):
            pause(state, awaited(items[0])[0])
            log = self._step(state, items)
            self._show(items)
        return {"requests": requests, "log": log}

    async def arun(self, state: PipelineState) -> PipelineState:
        """Do what :meth:`run` does, with tools that are awaited."""
        requests = [dict(item) for item in state.get("requests", [])]
        items, fresh = _open(requests)
        for session, call in await asyncio.to_thread(self._to_read, state, items):
            await alook_first(self._desk.services, session, call, self._desk.tools_of(call.server).get)
        log = await asyncio.to_thread(self._step, state, items)
        await self._ashow(items)
        while not fresh and items and all(item["status"] == "pending" for item in items):
            pause(state, awaited(items[0])[0])
            log = await asyncio.to_thread(self._step, state, items)
            await self._ashow(items)
        return {"requests": requests, "log": log}

    def _to_read(self, state: PipelineState, items: list[JsonObject]) -> list[tuple[GuardSession, Call]]:
        """Return the new calls of whose record the manifest says that it is read first."""
        found = []
        for item in items:
            spec = self._desk.toolbox.specs.get(str(item["tool"]))
            if item["status"] == "new" and spec is not None and spec.look_first is not None:
                with suppress(CodedError):  # deciding it says what is wrong
                    found.append((self._desk.thread(state).session, call_of(self._desk, state, item)))
        return found

    def _step(self, state: PipelineState, items: list[JsonObject]) -> list[JsonObject]:
        """Decide what is new, or look again at what waits."""
        waiting = [item for item in items if item["status"] == "pending"]
        require_own(self._desk, state, [name for item in waiting for name in awaited(item)])
        return [
            entry
            for item in items
            for entry in (self._look(item) if item["status"] == "pending" else self._decide(state, item))
        ]

    def _show(self, items: list[JsonObject]) -> None:
        """Let whoever is asked see what the call would do, where its tool offers that."""
        for question in self._to_preview(items):
            find = self._desk.tools_of(question.server).get
            self._previewing.show(self._pinning.ask(question, find), find)

    async def _ashow(self, items: list[JsonObject]) -> None:
        for question in await asyncio.to_thread(self._to_preview, items):
            find = self._desk.tools_of(question.server).get
            await self._previewing.ashow(await self._pinning.aask(question, find), find)

    def _to_preview(self, items: list[JsonObject]) -> list[Proposal]:
        specs, queue = self._desk.toolbox.specs, self._desk.services.queue
        waiting = [item for item in items if item["status"] == "pending" and not item.get("waits")]
        known = [(item, specs.get(str(item["tool"]))) for item in waiting]
        offered = [item for item, spec in known if spec is not None and (spec.preview or spec.pin)]
        return [queue.get(str(item["approval"])) for item in offered]

    def _decide(self, state: PipelineState, item: JsonObject) -> list[JsonObject]:
        """Do step 1 for one request, and step 2 for what was decided at once."""
        tool = self._desk.toolbox.public_name(str(item["tool"]))
        try:
            call = call_of(self._desk, state, item)
            session = self._desk.thread(state).session
            proposal = session.propose(call, refuse_unregistered(self._desk, str(item["tool"])))
        except CodedError as error:
            return self._refuse(state, item, error.code, error.remedy)
        except HostileInputError:
            return self._refuse(state, item, "hostile_input", REMEDIES["hostile_input"])
        verdict, rule = proposal.verdict_name, proposal.rule
        emit(Decided(thread_of(state), agent_of(state), tool, item["call"], verdict, rule, proposal.id))
        item["approval"] = proposal.id
        return self._look(item)

    @staticmethod
    def _refuse(state: PipelineState, item: JsonObject, code: str, remedy: str) -> list[JsonObject]:
        emit(Decided(thread_of(state), agent_of(state), "", item["call"], "deny", code))
        item["status"] = "done"
        return [observed(item["call"], refused(code, remedy))]

    def _look(self, item: JsonObject) -> list[JsonObject]:
        """Do step 2 for a request that waits for a person, here or inside a sub-agent."""
        queue = self._desk.services.queue
        if item.get("waits"):
            rows = [queue.get(name) for name in awaited(item)]
            item["status"] = "ready" if any(row.state is not State.PENDING for row in rows) else "pending"
            return []
        proposal = standing(queue, item)
        if response_of(proposal):
            item["status"] = "ran"  # what a person answered enters like a result
            return []
        return settle(item, proposal)


def _open(requests: list[JsonObject]) -> tuple[list[JsonObject], bool]:
    """Return the requests that are new, and that there are such; else those that wait."""
    fresh = [item for item in requests if item["status"] == "new"]
    return (fresh, True) if fresh else ([item for item in requests if item["status"] == "pending"], False)


def standing(queue: Queue, item: JsonObject) -> Proposal:
    """Return how the call of a request stands now; where a person edited it, the edit takes its place.

    The actor is told which of its arguments were changed, and no value: a person who typed one has seen content.
    """
    proposal = current(queue, str(item["approval"]))
    if proposal.id != item["approval"]:
        names = changed_names(queue.get(str(item["approval"])).args(), proposal.args())
        known = [name for name in names if name in item.get("args", {})]
        item["edited"] = sorted({*item.get("edited", []), *known})
        item["approval"] = proposal.id
    return proposal


def require_own(desk: Desk, state: PipelineState, names: list[str]) -> None:
    """Refuse to go on with approvals of another thread: nothing may happen to those from here.

    Raises:
        PipelineError: the state names one.
    """
    if any(desk.services.queue.get(name).thread != thread_of(state) for name in names):
        raise PipelineError(
            "this checkpoint names an approval of another thread", "restore a backup of the checkpoints"
        )


def awaited(item: JsonObject) -> list[str]:
    """Return the approvals that a waiting request waits for."""
    return [str(name) for name in item.get("waits") or [item["approval"]]]


def settle(item: JsonObject, proposal: Proposal) -> list[JsonObject]:
    """Set the status of a request by its record; return what the actor is told when it will not run."""
    if proposal.state is State.PENDING:
        item["status"] = "pending"
    elif proposal.state in RUNNABLE:
        item["status"] = "ready"
    else:
        item["status"] = "done"
        return [observed(item["call"], withdrawn(proposal))]
    return []


def withdrawn(proposal: Proposal) -> JsonObject:
    """Return what the actor is told of a call that was denied, or whose permit never came or is void."""
    if proposal.state is State.DENIED:
        return refused(proposal.reason, proposal.remedy, rule=proposal.rule)
    code = proposal.code if proposal.code in CODES else BY_STATE[proposal.state]
    return refused(code, REMEDIES[code])


def pause(state: PipelineState, approval: str) -> None:
    """Pause the graph for one approval; returns when the graph was resumed, whatever with."""
    emit(Waiting(thread_of(state), agent_of(state), approval))
    interrupt({"approval_id": approval})


def next_after_gate(state: PipelineState) -> Literal["executor", "gate", "ingest"]:
    """Return where the graph goes from the gate."""
    statuses = {item["status"] for item in state.get("requests", [])}
    if "ready" in statuses:
        return "executor"
    return "gate" if "pending" in statuses else "ingest"


def questions(state: PipelineState) -> list[str]:
    """Return the approvals that a paused state waits for, decided by now or not."""
    items = [item for item in state.get("requests", []) if item["status"] == "pending"]
    answer = state.get("answer") or {}
    own = [str(answer["approval"])] if answer.get("status") == "pending" else []
    return [*(name for item in items for name in awaited(item)), *own]


def open_questions(state: PipelineState, queue: Queue) -> list[str]:
    """Return those of :func:`questions` that nobody has decided yet, under the name that an edit has given them."""
    rows = [current(queue, name) for name in questions(state)]
    return [row.id for row in rows if row.state is State.PENDING]
