"""What stays of earlier items of a task, so that a payload cut into several of them is seen when it comes together.

Guarantees: bounded (the last :data:`KEPT` items, :data:`EDGE` characters of each end); a finding says only that text
across a border flags while its parts alone do not; state only ever adds findings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.rules import Hit, find, scripts_of, weigh
from checkvalve.filters.inbound.views import JOINT

KEPT: Final = 6
EDGE: Final = 300
NEAR: Final = 150
"""Characters of each end of two items between which another one stood."""


@dataclass(slots=True)
class Carry:
    """The ends of the items that one task has read so far, oldest first."""

    _tails: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    _apart: deque[set[str]] = field(default_factory=lambda: deque(maxlen=KEPT))  # what each of them flags by itself

    def across(self, plain: str) -> tuple[str, ...]:
        """Return the families that ``plain``, a new item's canonical text, shows only together with earlier ones."""
        head = plain[:EDGE]
        if not self._tails or not head:
            return ()
        before = [*self._tails]
        apart = _flagged(head).union(*self._apart)
        found: set[str] = set()
        for glue in (" ", ""):
            found |= _flagged(glue.join((*before, head.strip())))
        if len(before) > 1:
            found |= _flagged(f"{before[-1]} {head.strip()}")
            found |= _reaching([tail[-NEAR:] for tail in before], head.strip()[:NEAR])
        return tuple(sorted(found - apart))

    def keep(self, plain: str) -> None:
        """Remember the end of an item."""
        if plain.strip():
            self._tails.append(plain[-EDGE:].strip())
            self._apart.append(_flagged(self._tails[-1]))


def _reaching(tails: Sequence[str], head: str) -> set[str]:
    """Return what flags when ``head`` follows one of ``tails`` at once and one pattern reaches from one into the other.

    Of two items that are not neighbours, ordinary talk in both would add up without that. All pairs are one text with
    a paragraph between any two, because a search costs more than what it reads.
    """
    pairs = [(tail, f"{tail}{glue}{head}") for tail in tails for glue in (" ", "")]
    hits, start, found = _hits(JOINT.join(text for _, text in pairs)), 0, set[str]()
    for tail, text in pairs:
        border, end = start + len(tail), start + len(text)
        inside = [hit for hit in hits if start <= hit.start < end]
        if any(hit.start < border < hit.end for hit in inside):
            found.update(family for window in weigh(inside) for family in window.families)
        start = end + len(JOINT)
    return found


def _hits(text: str) -> list[Hit]:
    return find(text, ["latin", *scripts_of(text)[1:]])


def _flagged(text: str) -> set[str]:
    hits = _hits(text)
    return {family for window in weigh(hits) for family in window.families}
