"""A text that was made from another one, with the way back: every stage works on views, every finding is traced home.

Guarantees: a view is a row of pieces, and each piece either is a copy of the same number of characters of its parent
(exact) or stands for a whole stretch of it; :meth:`View.origin` follows the parents to the item's own text and returns
the smallest stretch there that the asked characters were made from.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.outcomes import Channel

JOINT: Final = "\n\n"
"""What stands between texts that are not one text: no rule reaches across a paragraph."""


class Trail:
    """The pieces of one view: where each starts, and what stretch of the parent it came from."""

    __slots__ = ("_exact", "_firsts", "_lasts", "_size", "_starts")

    def __init__(self) -> None:
        self._starts = array("q")
        self._firsts = array("q")
        self._lasts = array("q")
        self._exact = bytearray()
        self._size = 0

    def add(self, length: int, first: int, last: int, *, exact: bool) -> None:
        """Append a piece of ``length`` characters; an empty one leaves no trace."""
        if not length:
            return
        self._starts.append(self._size)
        self._firsts.append(first)
        self._lasts.append(last)
        self._exact.append(exact)
        self._size += length

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the parent that characters ``start`` to ``end`` of the view were made from."""
        if not self._starts:
            return 0, 0
        left = max(bisect_right(self._starts, start) - 1, 0)
        right = max(bisect_left(self._starts, end) - 1, left)
        first, last = self._firsts[left], self._lasts[right]
        if self._exact[left]:
            first = min(first + (start - self._starts[left]), self._lasts[left])
        if self._exact[right]:
            last = min(self._firsts[right] + max(end - self._starts[right], 0), last)
        return first, max(first, last)


@dataclass(frozen=True, slots=True)
class View:
    """One text to scan. Without a trail it is its parent, character by character, from ``shift`` on."""

    text: str
    channel: Channel = Channel.VISIBLE
    parent: View | None = None
    trail: Trail | None = None
    shift: int = 0
    note: str = ""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the item's own text that ``text[start:end]`` came from."""
        view: View | None = self
        while view is not None and view.parent is not None:
            if view.trail is None:
                start, end = start + view.shift, end + view.shift
            else:
                start, end = view.trail.place(start, end)
            view = view.parent
        return start, end

    def part(self, start: int, end: int, channel: Channel | None = None, note: str = "") -> View:
        """Return the stretch ``start`` to ``end`` of this view as a view of its own."""
        return View(self.text[start:end], channel or self.channel, self, None, start, note or self.note)

    def same(self, text: str, *, channel: Channel | None = None, note: str = "") -> View:
        """Return a view whose characters stand for this one's, one by one."""
        return View(text, channel or self.channel, self, None, 0, note or self.note)

    def whole(self, text: str, start: int, end: int, *, note: str, channel: Channel = Channel.DECODED) -> View:
        """Return a view that was decoded from the stretch ``start`` to ``end`` as a whole."""
        trail = Trail()
        trail.add(len(text), start, end, exact=False)
        return View(text, channel, self, trail, 0, note)


@dataclass(slots=True)
class Builder:
    """Puts a view together from pieces of its parent."""

    parent: View
    _texts: list[str] = field(default_factory=list)
    _trail: Trail = field(default_factory=Trail)

    def copy(self, start: int, end: int) -> None:
        """Append characters of the parent as they are."""
        self._texts.append(self.parent.text[start:end])
        self._trail.add(end - start, start, end, exact=True)

    def put(self, text: str, start: int, end: int) -> None:
        """Append ``text``, which stands for the stretch ``start`` to ``end`` of the parent."""
        self._texts.append(text)
        self._trail.add(len(text), start, end, exact=False)

    def even(self, text: str, start: int, end: int) -> None:
        """Append ``text``, whose characters stand for those of the parent one by one."""
        self._texts.append(text)
        self._trail.add(end - start, start, end, exact=True)

    def line(self, at: int) -> None:
        """Append a line end, unless there is one."""
        if self._texts and not self._texts[-1].endswith("\n"):
            self.put("\n", at, at)

    def joint(self, at: int) -> None:
        """Append the border between two texts."""
        if self._texts:
            self.put(JOINT, at, at)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def view(self, channel: Channel | None = None, note: str = "") -> View:
        """Return what was put together."""
        text = "".join(self._texts)
        return View(text, channel or self.parent.channel, self.parent, self._trail, 0, note or self.parent.note)


def stretches(view: View, groups: Iterable[Sequence[tuple[int, int]]], channel: Channel | None = None) -> View:
    """Return the given stretches of ``view``: those of one group run on, and a border stands between any two groups."""
    builder = Builder(view)
    for group in groups:
        for number, (start, end) in enumerate(group):
            if number:
                builder.put(" ", start, start)
            else:
                builder.joint(start)
            builder.copy(start, end)
    return builder.view(channel)
