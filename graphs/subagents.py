"""A pipeline as a tool of another one: the same services, the same thread, the same gate for each of its calls.

Guarantees: the task is what the outer actor wrote itself, since references in it would be content in the inner actor's
input; what is given by reference stays a reference there; the answer comes back as the untrusted result of a tool.
Declare the tool with ``effect: read`` and ``idempotency: read``: it is entered again after a pause inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from checkvalve.approvals.errors import OutcomeUnknownError
from checkvalve.filters.strictjson import JSON

LITERAL: Final = "task"
"""The argument of a sub-agent that the outer actor has to write itself."""
GIVEN: Final = "references"
"""The argument that takes references."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What a sub-agent is sent to do: as which agent, in whose thread, with which references."""

    task: str
    thread: str
    agent: str
    requester: str
    inputs: tuple[JSON, ...] = ()


class Runs(Protocol):
    """What a sub-agent needs of a pipeline."""

    def run_errand(self, errand: Errand) -> tuple[str | None, list[str], str]:
        """Go on with an errand; return the answer, the approvals it waits for, and the code it stopped with."""
        ...

    async def arun_errand(self, errand: Errand) -> tuple[str | None, list[str], str]:
        """Do what :meth:`run_errand` does."""
        ...


@dataclass(frozen=True)
class SubAgent:
    """A tool that runs a pipeline. Made by ``Pipeline.as_tool``."""

    name: str
    pipeline: Runs

    def run(self, errand: Errand) -> JSON:
        """Run it.

        Raises:
            SubAgentPausedError: a person has to decide first.
        """
        return _result(*self.pipeline.run_errand(errand))

    async def arun(self, errand: Errand) -> JSON:
        """Do what :meth:`run` does."""
        return _result(*await self.pipeline.arun_errand(errand))


class SubAgentPausedError(OutcomeUnknownError):
    """The errand is not over: one of its calls waits for a person."""

    def __init__(self, waits: Sequence[str]) -> None:
        super().__init__("the sub-agent waits for a person", remedy="decide its approvals")
        self.waits = list(waits)


def _result(answer: str | None, waiting: list[str], code: str) -> JSON:
    if waiting:
        raise SubAgentPausedError(waiting)
    said = answer if answer is not None else f"stopped: {code}"
    return {"ok": answer is not None, "values": [said], "declared": [True]}
