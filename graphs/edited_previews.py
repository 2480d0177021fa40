"""Trying anew what a person made of a call, while its run waits: an edit is another call, and may do something else.

Guarantees: only calls of this agent's own tools, since a sub-agent's questions are tried where its tools are.
"""

from __future__ import annotations

import asyncio

from checkvalve.approvals.edits import current
from checkvalve.approvals.records import Proposal
from checkvalve.graphs.desk import Desk
from checkvalve.graphs.pinning import Pinning
from checkvalve.graphs.previewing import Previewing
from checkvalve.graphs.state import PipelineState


def show_edits(desk: Desk, state: PipelineState) -> None:
    """Pin the edits that wait, and make their previews."""
    for question in _edits(desk, state):
        find = desk.tools_of(question.server).get
        Previewing(desk.services).show(Pinning(desk.services).ask(question, find), find)


async def ashow_edits(desk: Desk, state: PipelineState) -> None:
    """Do what :func:`show_edits` does, for tools that are awaited."""
    for question in await asyncio.to_thread(_edits, desk, state):
        find = desk.tools_of(question.server).get
        await Previewing(desk.services).ashow(await Pinning(desk.services).aask(question, find), find)


def _edits(desk: Desk, state: PipelineState) -> list[Proposal]:
    waiting = [item for item in state.get("requests", []) if item["status"] == "pending" and not item.get("waits")]
    offered = [item for item in waiting if _offers(desk, str(item["tool"]))]
    named = [str(item["approval"]) for item in offered]
    return [row for name in named if (row := current(desk.services.queue, name)).id != name]


def _offers(desk: Desk, tool: str) -> bool:
    spec = desk.toolbox.specs.get(tool)
    return spec is not None and bool(spec.preview or spec.pin)


__all__ = ["ashow_edits", "show_edits"]
