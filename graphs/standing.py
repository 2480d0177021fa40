"""How a run stands, read from its checkpoint: whether it has ended, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.types import StateSnapshot

from checkvalve.graphs.errors import PipelineError
from checkvalve.graphs.state import PipelineState
from checkvalve.graphs.subagents import Errand


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run stands: ``answered``, ``waiting`` for the approvals named, ``stopped`` with a code, or ``running``.

    ``running`` means that it was left in the middle; :meth:`Pipeline.resume` goes on. ``bits`` are what each source has
    decided of the actor's view so far.
    """

    thread: str
    status: str
    answer: str | None = None
    waiting: tuple[str, ...] = ()
    code: str = ""
    turns: int = 0
    calls: int = 0
    bits: tuple[tuple[str, float], ...] = ()


def has_ended(snapshot: StateSnapshot) -> bool:
    """Say whether the graph has nothing left to do.

    A process that dies when a step's results are saved and the step is not leaves no ``next``, only the step's task.
    """
    return not snapshot.next and not snapshot.tasks


def owner_of(thread: str, state: PipelineState) -> PipelineState:
    """Return what opens a thread: its name, and on whose behalf it is, as far as its state says."""
    named: PipelineState = {"requester": state["requester"]} if "requester" in state else {}
    return {"thread": thread, **named}


@dataclass(frozen=True)
class Run:
    """One checkpoint thread, with what a fresh graph is begun with. Sub-agents have threads of their own."""

    name: str
    begin: PipelineState

    @property
    def top(self) -> bool:
        """Say whether this is the run of a task, and none of a sub-agent."""
        return not self.begin.get("agent")


def errand_run(errand: Errand) -> Run:
    """Return the run of an errand of a sub-agent."""
    begin: PipelineState = {
        "thread": errand.thread,
        "agent": errand.agent,
        "requester": errand.requester,
        "task": errand.task,
        "inputs": list(errand.inputs),
    }
    return Run(f"{errand.thread}/{errand.agent}", begin)


def brief(result: RunResult) -> tuple[str | None, list[str], str]:
    """Return what a sub-agent hands back.

    Raises:
        PipelineError: it was left in the middle.
    """
    if result.status == "running":
        raise PipelineError("the sub-agent was left in the middle", "resume the outer run")
    return result.answer, list(result.waiting), result.code
