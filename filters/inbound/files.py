"""Where in a file, or in a text that was encoded, something stands: all of it comes from one stretch of the item.

The places of what was found in a long file cannot be told apart in the item, so that all its acts would add up as if
they stood in one paragraph. 1. Its texts follow each other, each as long as it is. 2. Only what stands in a window
that is flagged there counts, or where none is, what stands in the heaviest one. Guarantees: a window of a file weighs
as much as in a text; nothing is left out that a window of that text would have flagged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.rules import Hit, counting
from checkvalve.filters.inbound.views import View

NOWHERE: Final[frozenset[int]] = frozenset()


@dataclass(slots=True)
class _File:
    """What was found in the texts of one file: each with its number in the row of all that was found."""

    views: dict[int, tuple[View, int]] = field(default_factory=dict)  # by identity, which needs them kept
    size: int = 0
    hits: list[Hit] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Files:
    """The files of one item so far, by the stretch that they come from."""

    _files: dict[tuple[int, int], _File] = field(default_factory=dict)

    def note(self, place: tuple[View, int] | None, family: str, weight: int, size: int, number: int) -> None:
        """Take in what was found at ``place``, see :meth:`View.within`; ``number`` is its own among all."""
        if place is None:
            return
        view, start = place
        file = self._files.setdefault(view.origin(0, len(view.text)), _File())
        known = file.views.get(id(view))
        if known is None:
            known = file.views[id(view)] = view, file.size
            file.size += len(view.text)
        file.hits.append(Hit(family, weight, known[1] + start, known[1] + start + size))
        file.numbers.append(number)

    def left_out(self) -> frozenset[int]:
        """Return the numbers of what does not count."""
        if not self._files:
            return NOWHERE
        left: set[int] = set()
        for file in self._files.values():
            kept = {file.numbers[at] for at in counting(file.hits)}
            left.update(number for number in file.numbers if number not in kept)
        return frozenset(left)
