"""What the pipeline has shown to a scripted actor, beside what the ground truth lets it know of the values.

Guarantees: every reference in here stands in a message that the actor was sent. A real actor sees the tree of
references alone; the scripted one also looks at the stored values, since its part is to know the ground truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.contents import Item


@dataclass(frozen=True)
class Seen:
    """One reference: the value it stands for, and where it is in its result."""

    ref: str
    value: JSON
    tool: str
    call: str
    path: tuple[str | int, ...]  # shown names of members, numbers of list items
    kind: str = ""
    verified: bool = False

    @property
    def shape(self) -> tuple[str | int, ...]:
        """The path without the numbers of list items: equal for the same field of different records."""
        return tuple("*" if isinstance(step, int) else step for step in self.path)


@dataclass
class Shown:
    """Everything shown in one run, oldest first."""

    seen: list[Seen] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # calls with a result, oldest first

    def take(self, call: str, tree: Mapping[str, Any], parts: Sequence[Item]) -> None:
        """Note the tree that was shown for a result, which is stored in ``parts``."""
        if not parts:
            return
        value = parts[0].value if len(parts) == 1 else [part.value for part in parts]
        self.calls.append(call)
        self.seen += _walk(tree, value, parts[0].tool, call, ())

    def latest(self) -> Iterator[Seen]:
        """Yield everything, the latest result first, each result in its own order."""
        for call in reversed(self.calls):
            yield from (item for item in self.seen if item.call == call)

    def alike(self, item: Seen) -> list[Seen]:
        """Return the same field of every record of the same result."""
        return [other for other in self.seen if other.call == item.call and other.shape == item.shape]

    def at(self, call: str, path: tuple[str | int, ...]) -> Seen | None:
        """Return what stands at ``path`` of a result."""
        return next((item for item in self.seen if item.call == call and item.path == path), None)

    def whole(self, call: str) -> Seen:
        """Return the reference to a whole result."""
        return next(item for item in self.seen if item.call == call)


def _walk(node: Mapping[str, Any], value: JSON, tool: str, call: str, path: tuple[str | int, ...]) -> Iterator[Seen]:
    if "ref" not in node:
        return
    yield Seen(node["ref"], value, tool, call, path, node.get("kind", ""), node.get("trust") == "verified")
    if isinstance(value, list):
        for number, below in enumerate(node.get("items", ())):
            yield from _walk(below, value[number], tool, call, (*path, number))
    elif isinstance(value, dict):
        for (name, below), member in zip(node.get("fields", {}).items(), value.values(), strict=False):
            yield from _walk(below, member, tool, call, (*path, name))
