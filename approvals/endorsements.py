"""What a person accepted beforehand: endorsements of data, and mandates for a source.

Guarantees: an endorsement covers exactly one value from one source in one role for one tool; a mandate covers named
roles of one tool from one source, within its limit. Neither says anything about who may read the data.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.toolspec import Role, ToolSpec
from checkvalve.filters.origins import Attribution
from checkvalve.filters.values import canonical

NO_SOURCE = "none"
"""The source of a value that stands nowhere: the model made it up, and a person accepted it all the same."""


@dataclass(frozen=True, slots=True)
class Endorsement:
    """A person accepts this value, from this source, in this role, for this tool, for the rest of the task."""

    value: str
    source: str
    role: str
    tool: str
    kind: str = "text"

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


@dataclass(frozen=True, slots=True)
class Mandate:
    """The user, ahead of time, lets one source fill named roles of one tool, up to ``max_amount``.

    ``source`` is the name of the tool whose results are meant (``read_file``) or a full source (``tool:read_file/c1``).
    """

    source: str
    tool: str
    roles: tuple[str, ...]
    max_amount: float | None = None

    def covers(self, attribution: Attribution, role: Role, tool: str) -> bool:
        """Say whether this mandate lets the value be used in ``role`` of ``tool``."""
        if self.tool != tool or role not in self.roles:
            return False
        if role is Role.AMOUNT and (self.max_amount is None or not _within(attribution.value, self.max_amount)):
            return False
        return any(
            self.source in {origin.source, origin.source.removeprefix("tool:").partition("/")[0]}
            for origin in attribution.origins
        )


def _within(value: str, bound: float) -> bool:
    number = canonical("number", value)
    return number is not None and 0 <= float(number) <= bound


def endorsable(attribution: Attribution, role: Role, spec: ToolSpec) -> Endorsement:
    """Return the endorsement a person would give by accepting this value: bound to the first place it came from."""
    source = attribution.origins[0].source if attribution.origins else NO_SOURCE
    return Endorsement(attribution.value, source, role.value, spec.name, attribution.kind)
