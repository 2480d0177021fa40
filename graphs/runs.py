"""Running a pipeline: start, resume, watch; in any process, one at a time for each thread.

1. A message of the user is stored in the thread's history before anything runs. 2. The thread's lease is taken. 3. The
graph goes on from where it stands: from the start, from a step that a dead process has left, or from a pause of which
something was decided. Resuming decides nothing. 4. When it has ended and a message came in the meantime, it goes on.

Guarantees: a second run of a thread is refused with a coded error while one is at work; whoever takes over from a dead
process repeats no effect, since the executor's record says what was done; a thread in which the user has said nothing
is no run, and a :class:`PipelineError` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from checkvalve.approvals.leases import Leases
from checkvalve.approvals.mandates import Mandate
from checkvalve.graphs.desk import Desk, OnNewMessage
from checkvalve.graphs.edited_previews import ashow_edits, show_edits
from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.events import Event, from_json
from checkvalve.graphs.gate import open_questions, questions
from checkvalve.graphs.saying import Saying
from checkvalve.graphs.standing import Run, RunResult, brief, errand_run, has_ended, owner_of
from checkvalve.graphs.state import PipelineOutput, PipelineState
from checkvalve.graphs.subagents import Errand, SubAgent

_STEPS_PER_TURN: Final = 8  # supersteps that one turn can take; the turns themselves are bounded by the limits

PipelineGraph = CompiledStateGraph[PipelineState, None, PipelineState, PipelineOutput]


class Pipeline:
    """A built pipeline. ``graph`` is the compiled graph, which may be a node of a bigger one."""

    def __init__(
        self,
        graph: PipelineGraph,
        desk: Desk,
        on_new_message: OnNewMessage,
        callbacks: Sequence[BaseCallbackHandler] = (),
    ) -> None:
        """Run ``graph`` with the services of ``desk``."""
        self.graph = graph
        self._desk = desk
        self._saying = Saying(desk, on_new_message)
        self._callbacks = list(callbacks)
        self._leases = Leases(desk.services.queue.store, desk.services.queue.clock)

    @property
    def tools(self) -> list[BaseTool]:
        """The tools that this pipeline was given; a sub-agent is none."""
        return [tool for tool in self._desk.toolbox.tools.values() if isinstance(tool, BaseTool)]

    def start(
        self,
        task: str,
        *,
        thread: str,
        requester: str = "",
        message_id: str = "",
        mandates: Iterable[Mandate] = (),
    ) -> RunResult:
        """Give the thread a message of the user and run until it is answered, waits, or stops.

        ``message_id`` makes a repeated start of the same message harmless. ``task`` must be the user's own words. Where
        another run is at work on this thread (:class:`LeaseHeldError`) the message is kept, and that run takes it in.
        The result names the thread that has the message, see :meth:`tell`.
        ``mandates`` are the user's, given for this thread and requester before anything runs: see :meth:`give`.
        """
        context = self._saying.context_for(thread, message_id)
        self.give(mandates, thread=context, requester=requester)
        self._saying.keep(task, context, message_id)
        return self.resume(context, requester=requester)

    def give(self, mandates: Iterable[Mandate], *, thread: str, requester: str = "", by: str = "") -> None:
        """Grant mandates that the host declares as the user's; one that was taken back stays so.

        Raises:
            MandateError: the deadline of one is over or too far away.
        """
        who = requester or self._desk.requester
        granted = self._desk.services.queue.mandates
        granted.grant(mandates, thread=thread, requester=who, by=by or f"host:{who}")

    def tell(self, task: str, *, thread: str, message_id: str = "") -> str:
        """Do step 1 alone, for the next run to take in, and return the thread that has the message; see :mod:`saying`.

        Raises:
            PipelineError: too many tasks of this conversation wait for people, or other words were said under this id;
                nothing was kept.
        """
        context = self._saying.context_for(thread, message_id)
        self._saying.keep(task, context, message_id)
        return context

    def context_for(self, thread: str, message_id: str = "") -> str:
        """Return the thread that a new message would go to, and keep nothing.

        Raises:
            PipelineError: as for :meth:`tell`.
        """
        return self._saying.context_for(thread, message_id)

    def resume(self, thread: str, *, requester: str = "") -> RunResult:
        """Go on where the thread stands, in any process. Where everything still waits, nothing happens."""
        for _ in self.stream(thread=thread, requester=requester):
            pass
        return self.look(thread)

    def stream(
        self, task: str | None = None, *, thread: str, requester: str = "", message_id: str = ""
    ) -> Iterator[Event]:
        """Do what :meth:`start` does (:meth:`resume` without a task), and yield what happens as it happens."""
        if task is not None:
            thread = self.tell(task, thread=thread, message_id=message_id)
        self._known(thread)
        yield from self._drive(self._run(thread, requester))

    async def astart(
        self,
        task: str,
        *,
        thread: str,
        requester: str = "",
        message_id: str = "",
        mandates: Iterable[Mandate] = (),
    ) -> RunResult:
        """Do what :meth:`start` does; the checkpointer has to be one that can be awaited."""
        context = await asyncio.to_thread(self._saying.context_for, thread, message_id)
        await asyncio.to_thread(self.give, mandates, thread=context, requester=requester)
        await asyncio.to_thread(self._saying.keep, task, context, message_id)
        return await self.aresume(context, requester=requester)

    async def aresume(self, thread: str, *, requester: str = "") -> RunResult:
        """Do what :meth:`resume` does."""
        async for _ in self.astream(thread=thread, requester=requester):
            pass
        return await self.alook(thread)

    async def astream(
        self, task: str | None = None, *, thread: str, requester: str = "", message_id: str = ""
    ) -> AsyncIterator[Event]:
        """Do what :meth:`stream` does."""
        if task is not None:
            thread = await asyncio.to_thread(self.tell, task, thread=thread, message_id=message_id)
        await asyncio.to_thread(self._known, thread)
        async for event in self._adrive(self._run(thread, requester)):
            yield event

    def look(self, thread: str) -> RunResult:
        """Return how a thread stands, and run nothing."""
        self._known(thread)
        return self._result(thread, self.graph.get_state(self._config(thread)))

    async def alook(self, thread: str) -> RunResult:
        """Do what :meth:`look` does."""
        await asyncio.to_thread(self._known, thread)
        snapshot = await self.graph.aget_state(self._config(thread))
        return await asyncio.to_thread(self._result, thread, snapshot)

    def cancel(self, thread: str, *, by: str) -> list[str]:
        """Take back every open question and every unused permit of a thread; resumed, the actor is told so.

        Of a conversation with several tasks, those of all of them.
        """
        return self._saying.cancel(thread, by)

    def as_tool(self, name: str) -> SubAgent:
        """Return this pipeline as a tool for another one with the same services, under the manifest's ``name``."""
        return SubAgent(name, self)

    def run_errand(self, errand: Errand) -> tuple[str | None, list[str], str]:
        """Go on with the errand of a sub-agent."""
        run = errand_run(errand)
        for _ in self._drive(run):
            pass
        return brief(self._result(errand.thread, self.graph.get_state(self._config(run.name))))

    async def arun_errand(self, errand: Errand) -> tuple[str | None, list[str], str]:
        """Do what :meth:`run_errand` does."""
        run = errand_run(errand)
        async for _ in self._adrive(run):
            pass
        snapshot = await self.graph.aget_state(self._config(run.name))
        return brief(await asyncio.to_thread(self._result, errand.thread, snapshot))

    def _known(self, thread: str) -> None:
        """Refuse a thread in which the user has said nothing: most often its name is mistyped."""
        if not self._desk.thread(self._run(thread, "").begin).contents.messages():
            raise PipelineError(f"there is no run {thread!r}", "check its name, or start it with a task")

    def _run(self, thread: str, requester: str) -> Run:
        return Run(thread, {"thread": thread, "agent": "", "requester": requester or self._desk.requester})

    def _config(self, name: str) -> RunnableConfig:
        limit = self._desk.limits.max_turns * _STEPS_PER_TURN
        return {"configurable": {"thread_id": name}, "recursion_limit": limit, "callbacks": self._callbacks}

    def _drive(self, run: Run) -> Iterator[Event]:
        """Do steps 2 to 4."""
        config = self._config(run.name)
        with self._leases.hold(run.name) as lease:
            while (entry := self._entry(run, snapshot := self.graph.get_state(config))) is not None:
                stream = self.graph.stream(entry.value, config, stream_mode="custom", durability="sync")
                for chunk in stream:
                    lease.check()
                    yield from_json(chunk)
            show_edits(self._desk, cast(PipelineState, snapshot.values))

    async def _adrive(self, run: Run) -> AsyncIterator[Event]:
        config = self._config(run.name)
        async with self._leases.ahold(run.name) as lease:
            while True:
                snapshot = await self.graph.aget_state(config)
                entry = await asyncio.to_thread(self._entry, run, snapshot)
                if entry is None:
                    await ashow_edits(self._desk, cast(PipelineState, snapshot.values))
                    return
                stream = self.graph.astream(entry.value, config, stream_mode="custom", durability="sync")
                async for chunk in stream:
                    lease.check()
                    yield from_json(chunk)

    def _entry(self, run: Run, snapshot: StateSnapshot) -> _Entry | None:
        """Return what the graph is to be invoked with, or None when there is nothing to do."""
        state = cast(PipelineState, snapshot.values)
        if not any(state.values()):
            return _Entry(run.begin)  # a process died before its input was taken in: channels have empty values then
        if any(state.get(name, "") != run.begin.get(name, "") for name in ("thread", "agent")):
            raise PipelineError("this checkpoint is of another thread", "restore a backup of the checkpoints")
        if has_ended(snapshot):
            return _Entry(run.begin) if self._unread(run, state) else None
        if not any(task.interrupts for task in snapshot.tasks):
            return _Entry(None)  # a process died in the middle, or a model could not be reached
        if self._all_wait(state):
            return None
        return _Entry(Command(resume=True))

    def _unread(self, run: Run, state: PipelineState) -> bool:
        if not run.top:
            return False
        contents = self._desk.thread({**run.begin}).contents
        return len(contents.messages()) > state.get("messages", 0)

    def _all_wait(self, state: PipelineState) -> bool:
        """Say whether nothing that a paused run waits for has been decided."""
        waiting = questions(state)
        return bool(waiting) and len(waiting) == len(open_questions(state, self._desk.services.queue))

    def _result(self, thread: str, snapshot: StateSnapshot) -> RunResult:
        state = cast(PipelineState, snapshot.values)
        services = self._desk.services
        ended = has_ended(snapshot)
        waiting = () if ended else tuple(open_questions(state, services.queue))
        status = "waiting" if waiting else "running" if not ended or not state else state.get("status", "running")
        answer = None
        if status == "answered":
            recorded = services.executor.look(state["answer_id"]).result
            answer = str(recorded["text"]) if isinstance(recorded, dict) else None
        return RunResult(
            thread=thread,
            status=status,
            answer=answer,
            waiting=waiting,
            code=state.get("code", ""),
            turns=state.get("turns", 0),
            calls=state.get("calls", 0),
            bits=tuple(sorted(self._desk.thread(owner_of(thread, state)).contents.accounts().items())),
        )


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a graph is invoked with: an input, None to go on, or a command to resume."""

    value: Any


__all__ = ["Pipeline", "PipelineGraph", "RunResult"]
