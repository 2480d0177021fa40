"""The node ``executor``: run what has a grant, once, through the one executor. Results stay in its record.

1. For each request that is ready: the executor checks everything again, takes the grant, and calls the tool with the
arguments of the record; where nobody knows how it ended, its probe is read. 2. The request is marked as having run; the
result is picked up by ``ingest``. 3. A sub-agent that waits for a person makes its request wait. Tools are not traced
with the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool

from checkvalve.approvals.edits import first_of
from checkvalve.approvals.executor import AsyncEffect, Effect, Keep
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.pins import Found
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.verdicts import Deny, Verdict
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.desk import Desk, agent_of, full_name, thread_of
from checkvalve.graphs.detached import detached, keyed
from checkvalve.graphs.edited import changed_names, recheck
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.events import Executed, emit
from checkvalve.graphs.gate import require_own
from checkvalve.graphs.keeping import Keeping
from checkvalve.graphs.pinning import Pinning
from checkvalve.graphs.probing import Probing
from checkvalve.graphs.references import REF
from checkvalve.graphs.repeating import while_promised
from checkvalve.graphs.requesting import call_of
from checkvalve.graphs.state import JsonObject, PipelineState
from checkvalve.graphs.stored_results import declared_value
from checkvalve.graphs.subagents import GIVEN, LITERAL, Errand, SubAgent, SubAgentPausedError
from checkvalve.graphs.tool_results import returned

CHANGED = Deny("changed-arguments", "changed_arguments", "propose the call again")
"""The verdict right before the effect when the request is no longer the one that was decided."""


def _missing() -> None:
    raise LookupError("this pipeline was not given such a tool")


_MISSING: Final = StructuredTool.from_function(
    _missing, name="missing", description="stands for a tool that is not there"
)


class ExecutorNode:
    """The node ``executor`` of one pipeline."""

    def __init__(self, desk: Desk) -> None:
        """Run the tools of ``desk`` through the executor of its services."""
        self._desk = desk

    def run(self, state: PipelineState) -> PipelineState:
        """Run every request that is ready, one after the other."""
        requests = self._begin(state)
        for item in requests:
            if item["status"] == "ready":
                check = self._revalidation(state, item)
                keeping = self._keeping(state, item)
                effect = self._effect(state, item, keeping)
                keep = self._keep(keeping, item)
                pinned = self._pinned(item)
                services = self._desk.services
                outcome = services.executor.run(item["approval"], effect, revalidate=check, keep=keep, pinned=pinned)
                if keeping is not None:
                    keeping.after(outcome)
                find = self._desk.tools_of(outcome.proposal.server).get
                self._end(state, item, Probing(services).after(outcome, find))
        return {"requests": requests}

    async def arun(self, state: PipelineState) -> PipelineState:
        """Do what :meth:`run` does, with all requests at once."""
        requests = await asyncio.to_thread(self._begin, state)

        async def one(item: JsonObject) -> None:
            check = self._revalidation(state, item)
            keeping = await asyncio.to_thread(self._keeping, state, item)
            effect = self._async_effect(state, item, keeping)
            keep = self._keep(keeping, item)
            pinned = await self._apinned(item)
            run = self._desk.services.executor.arun
            outcome = await run(item["approval"], effect, revalidate=check, keep=keep, pinned=pinned)
            if keeping is not None:
                await keeping.aafter(outcome)
            find = self._desk.tools_of(outcome.proposal.server).get
            self._end(state, item, await Probing(self._desk.services).aafter(outcome, find))

        await asyncio.gather(*(one(item) for item in requests if item["status"] == "ready"))
        return {"requests": requests}

    def _begin(self, state: PipelineState) -> list[JsonObject]:
        """Return the requests; attempts that a dead process has left behind are made known as such first."""
        requests = [dict(item) for item in state.get("requests", [])]
        queue = self._desk.services.queue
        ready = [item for item in requests if item["status"] == "ready"]
        require_own(self._desk, state, [str(item["approval"]) for item in ready])
        if any(queue.get(item["approval"]).state is State.EXECUTING for item in ready):
            self._desk.services.executor.recover()
        return requests

    def _end(self, state: PipelineState, item: JsonObject, outcome: Outcome) -> None:
        paused = outcome.raised if isinstance(outcome.raised, SubAgentPausedError) else None
        item["status"] = "pending" if paused else "ran"
        item["waits"] = paused.waits if paused else []
        tool = self._desk.toolbox.public_name(str(item["tool"]))
        where = (thread_of(state), agent_of(state))
        emit(Executed(*where, tool, item["call"], item["approval"], outcome.state.value))

    def _revalidation(self, state: PipelineState, item: JsonObject) -> Callable[[], Verdict]:
        """Return the check right before the effect: still the same arguments, and still the same verdict."""

        def check() -> Verdict:
            session = self._desk.thread(state).session
            try:
                call = call_of(self._desk, state, item)
                decided = self._desk.services.queue.get(item["approval"])
                first = first_of(self._desk.services.queue, decided)
                if (session.request(call).digest, session.thread) != (first.digest, first.thread):
                    return CHANGED
            except (CodedError, HostileInputError):
                return CHANGED
            if first.id == decided.id:
                return session.revalidation(call)()
            if isinstance(self._tool(item), SubAgent) and GIVEN in changed_names(first.args(), decided.args()):
                return CHANGED  # what a sub-agent is given are references, which nobody types
            return recheck(self._desk.services, decided, call)()

        return while_promised(self._desk.services, str(item["approval"]), check)

    def _pinned(self, item: JsonObject) -> Found | None:
        """Read again what a request points at, where a person was asked about its version."""
        row = self._to_pin(item)
        return None if row is None else Pinning(self._desk.services).again(row, self._desk.tools_of(row.server).get)

    async def _apinned(self, item: JsonObject) -> Found | None:
        row = await asyncio.to_thread(self._to_pin, item)
        if row is None:
            return None
        return await Pinning(self._desk.services).aagain(row, self._desk.tools_of(row.server).get)

    def _to_pin(self, item: JsonObject) -> Proposal | None:
        spec = self._desk.toolbox.specs.get(str(item["tool"]))
        return self._desk.services.queue.get(item["approval"]) if spec is not None and spec.pin else None

    def _keeping(self, state: PipelineState, item: JsonObject) -> Keeping | None:
        """Return what keeps the undoing of a request, where its tool says how it is undone."""
        spec = self._desk.toolbox.specs.get(str(item["tool"]))
        if spec is None or spec.undo_with is None:
            return None
        try:
            call = call_of(self._desk, state, item)
        except CodedError:
            return None  # its arguments are others by now: the check before the effect refuses it
        session, tools = self._desk.thread(state).session, self._desk.toolbox.tools
        return Keeping.of(self._desk.services, session, call, tools.get)

    def _keep(self, keeping: Keeping | None, item: JsonObject) -> Keep | None:
        if keeping is None:
            return None
        spec = self._desk.toolbox.specs.get(str(item["tool"]))
        return lambda record: keeping.keep(declared_value(record, spec))

    def _effect(self, state: PipelineState, item: JsonObject, keeping: Keeping | None) -> Effect:
        tool = self._tool(item)

        def effect(args: dict[str, JSON], key: str) -> JSON:
            if keeping is not None:
                keeping.begin(args)
            with detached(), keyed(key, thread_of(state)):
                if isinstance(tool, SubAgent):
                    return tool.run(self._errand(state, item, args))
                return returned(tool.invoke(_tool_call(tool, args, item)), str(item["id"]))

        return effect

    def _async_effect(self, state: PipelineState, item: JsonObject, keeping: Keeping | None) -> AsyncEffect:
        tool = self._tool(item)

        async def effect(args: dict[str, JSON], key: str) -> JSON:
            if keeping is not None:
                await keeping.abegin(args)
            with detached(), keyed(key, thread_of(state)):
                if isinstance(tool, SubAgent):
                    return await tool.arun(self._errand(state, item, args))
                return returned(await tool.ainvoke(_tool_call(tool, args, item)), str(item["id"]))

        return effect

    def _tool(self, item: JsonObject) -> Any:
        """Return the tool of a request; in observe mode one that this pipeline does not have gets this far."""
        return self._desk.toolbox.tools.get(item["tool"]) or _MISSING

    def _errand(self, state: PipelineState, item: JsonObject, args: dict[str, JSON]) -> Errand:
        """Return what a sub-agent is sent to do. Its task is checked to be free of references before it is decided."""
        book = self._desk.book(state)
        given = item["args"].get(GIVEN, [])
        given = given if isinstance(given, list) else [given]
        inputs = tuple(book.entry(ref[REF]).to_json() for ref in given if isinstance(ref, dict) and REF in ref)
        return Errand(
            task=str(args.get(LITERAL, "")),
            thread=thread_of(state),
            agent=full_name(state, item["call"]),
            requester=state.get("requester", self._desk.requester),
            inputs=inputs,
        )


def _tool_call(tool: BaseTool, args: dict[str, JSON], item: JsonObject) -> dict[str, Any]:
    return {"name": tool.name, "args": args, "id": str(item["id"]), "type": "tool_call"}


__all__ = ["CHANGED", "ExecutorNode", "returned"]
