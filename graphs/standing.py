"""How a run stands, read from its checkpoint: whether it has ended, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.types import StateSnapshot

from checkvalve.graphs.state import PipelineState


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
