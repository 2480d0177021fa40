"""What a person accepted: endorsements of data, and what a call may rely on instead of the user's words.

Guarantees: an endorsement covers exactly one value from one source in one role for one tool. It says nothing of who may
read the data. Mandates, which cover a source ahead of time, are in ``mandates``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.origin_words import NO_SOURCE
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.origins import Attribution
from checkvalve.filters.values import canonical

KEY: Final = ("value", "source", "role", "tool", "kind")
"""What makes an endorsement the one it is, inside its thread."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a call relied on: an ``endorsement`` or a ``mandate`` by its id, and how much of a mandate it uses up.

    ``amount`` is a plain decimal, empty where nothing is counted.
    """

    kind: str
    id: str
    amount: str = ""


class Cover(Protocol):
    """Something that answers for values beside the user's words."""

    @property
    def use(self) -> Use:
        """Return what a call that relies on it uses up."""

    @property
    def delegates(self) -> bool:
        """Say whether it also answers for the effect, which the user's words need not ask for then."""

    def covers(self, attribution: Attribution, role: Role, tool: str) -> bool:
        """Say whether it answers for a value that is about to be used."""


@dataclass(frozen=True, slots=True)
class Endorsement:
    """A person accepts this value, from this source, in this role, for this tool, for the rest of the task."""

    value: str
    source: str
    role: str
    tool: str
    kind: str = "text"
    id: str = field(default="", compare=False)

    @property
    def use(self) -> Use:
        """What a call that relies on it uses: it is counted, and never used up."""
        return Use("endorsement", self.id)

    @property
    def delegates(self) -> bool:
        """Say no: data was accepted, and no effect."""
        return False

    def to_json(self) -> dict[str, str]:
        """Return its key."""
        return {name: getattr(self, name) for name in KEY}

    def covers(self, attribution: Attribution, role: Role, tool: str) -> bool:
        """Say whether this endorsement answers for a value that is about to be used."""
        sources = {origin.source for origin in attribution.origins} or {NO_SOURCE}
        same = canonical(self.kind, self.value) == canonical(attribution.kind, attribution.value) is not None
        return (
            same
            and self.kind == attribution.kind
            and self.role == role
            and self.tool == tool
            and self.source in sources
        )


def answering(given: Iterable[Cover], attribution: Attribution, role: Role, tool: str) -> Cover | None:
    """Return the first of ``given`` that answers for a value in this role of a tool."""
    return next((item for item in given if item.covers(attribution, role, tool)), None)


def endorsable(attribution: Attribution, role: Role, spec: ToolSpec) -> Endorsement:
    """Return the endorsement a person would give by accepting this value: bound to the first place it came from."""
    source = attribution.origins[0].source if attribution.origins else NO_SOURCE
    return Endorsement(attribution.value, source, role.value, full_name(spec), attribution.kind)


def full_name(spec: ToolSpec) -> str:
    """Return a tool as what was accepted names it: two servers may have a tool of one name."""
    return f"{spec.server}/{spec.name}" if spec.server else spec.name


__all__ = ["KEY", "Cover", "Endorsement", "Mandate", "Use", "answering", "endorsable", "full_name"]
