"""What stays of earlier items of a task, so that a payload cut into several of them is seen when it comes together.

Guarantees: bounded (the last :data:`KEPT` items, :data:`EDGE` characters of each end); a finding says only that text
across a border flags while its parts alone do not; state only ever adds findings.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.rules import find, scripts_of, weigh

KEPT: Final = 6
EDGE: Final = 300


@dataclass(slots=True)
class Carry:
    """The ends of the items that one task has read so far, oldest first."""

    _tails: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))

    def across(self, plain: str) -> tuple[str, ...]:
        """Return the families that ``plain``, a new item's canonical text, shows only together with earlier ones."""
        head = plain[:EDGE]
        if not self._tails or not head:
            return ()
        before = [*self._tails]
        apart = {name for text in (*before, head) for name in _flagged(text)}
        found: set[str] = set()
        for glue in (" ", ""):
            found |= _flagged(glue.join(text.strip() for text in (*before, head)))
        found |= _flagged(f"{before[-1].strip()} {head.strip()}") if len(before) > 1 else set()
        return tuple(sorted(found - apart))

    def keep(self, plain: str) -> None:
        """Remember the end of an item."""
        if plain.strip():
            self._tails.append(plain[-EDGE:])


def _flagged(text: str) -> set[str]:
    hits = find(text, ["latin", *scripts_of(text)[1:]])
    return {family for window in weigh(hits) for family in window.families}
