"""A call as a framework hands it over, before anything is decided about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.flow import EXTRACTION
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.origins import Field

__all__ = ["EXTRACTION", "PASTED", "RESPONSE", "Call", "refusal", "runs_in_sandbox", "turn_suffix"]

PASTED: Final = "conversation/pasted"
"""The tool whose results the quoted and pasted parts of a user's messages count as."""


RESPONSE: Final = "reviewer/response"
"""The tool whose results the texts count as that people answer a call with: undeclared, so never trusted."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as a framework hands it over. ``turn`` names the model's message that proposed it.

    ``references`` are the stored fields that were put in for references, by dotted path of the argument; ``sandboxed``
    says that the tool's code is one that runs in the gateway's sandbox.
    """

    tool: str
    args: Mapping[str, object]
    id: str
    server: str = ""
    turn: str = ""
    schema_digest: str | None = None
    references: Mapping[str, Sequence[Field]] = field(default_factory=dict)
    sandboxed: bool = False


def runs_in_sandbox(tool: object) -> bool:
    """Say whether a tool is of a class whose code goes through the gateway's sandbox. A declaration alone is none."""
    return getattr(type(tool), "runs_in_sandbox", False) is True


def turn_suffix(call_id: str) -> str:
    """Return the part of a call's name that stands for its turn, or nothing when its turn is not known."""
    return call_id.rpartition("@")[2] if "@" in call_id else ""


def refusal(error: HostileInputError) -> Deny:
    """Return the verdict on a call that could not be parsed. It repeats nothing of the call."""
    return Deny("hostile-input", error.code, "give well-formed arguments of reasonable size")
