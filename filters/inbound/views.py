"""A text that was made from another one, with the way back: every stage works on views, every finding is traced home.

Guarantees: a view is a row of pieces, and each piece either is a copy of the same number of characters of its parent
(exact) or stands for a whole stretch of it; :meth:`View.origin` follows the parents to the item's own text and returns
the smallest stretch there that the asked characters were made from.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from typing import Final

from checkvalve.filters.outcomes import Channel

JOINT: Final = "\n\n"
"""What stands between texts that are not one text: no rule reaches across a paragraph."""
_LOOSE: Final = 16_384  # pieces that a builder holds before it puts them where they take little memory


class Trail:
    """The pieces of one view: where each starts, and what stretch of the parent it came from."""

    __slots__ = ("_exact", "_firsts", "_lasts", "_size", "_starts")

    def __init__(self) -> None:
        self._starts: MutableSequence[int] = array("q")
        self._firsts: MutableSequence[int] = array("q")
        self._lasts: MutableSequence[int] = array("q")
        self._exact = bytearray()
        self._size = 0

    def extend(self, texts: Sequence[str], places: Sequence[int]) -> None:
        """Append pieces: of each its text, and three numbers: where it came from, and whether it is a copy of that."""
        if "" in texts:  # an empty piece leaves no trace
            kept = [number for number, text in enumerate(texts) if text]
            places = [place for number in kept for place in places[3 * number : 3 * number + 3]]
            texts = [texts[number] for number in kept]
        starts = list(accumulate(map(len, texts), initial=self._size))
        self._size = starts.pop()
        self._starts.extend(array("q", starts))  # an array is copied at once
        self._firsts.extend(array("q", places[0::3]))
        self._lasts.extend(array("q", places[1::3]))
        self._exact += bytes(places[2::3])

    def fill(self, texts: Sequence[str], firsts: list[int], lasts: list[int], same: list[int]) -> None:
        """Append pieces as :meth:`extend` does, their numbers in three rows."""
        sizes = list(map(len, texts))
        if 0 in sizes:
            firsts, lasts, same = (list(compress(row, sizes)) for row in (firsts, lasts, same))
            sizes = list(filter(None, sizes))
        starts = list(accumulate(sizes, initial=self._size))
        self._size = starts.pop()
        if not self._starts:
            self._starts, self._firsts, self._lasts = starts, firsts, lasts
        else:
            for row, numbers in ((self._starts, starts), (self._firsts, firsts), (self._lasts, lasts)):
                row.extend(numbers)
        self._exact += bytes(same)

    @property
    def is_whole(self) -> bool:
        """Say whether all of the view stands for one stretch of the parent."""
        return len(self._starts) == 1 and not self._exact[0]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the parent that characters ``start`` to ``end`` of the view were made from."""
        if not self._starts:
            return 0, 0
        left = max(bisect_right(self._starts, start) - 1, 0)
        right = max(bisect_left(self._starts, end) - 1, left)
        first, behind, same = self._stretch(left)
        if same:
            first = min(first + (start - self._starts[left]), behind)
        before, last, same = self._stretch(right)
        if same:
            last = min(before + max(end - self._starts[right], 0), last)
        return first, max(first, last)

    def _stretch(self, number: int) -> tuple[int, int, int]:
        """Return the stretch of the parent that a piece came from, and 1 where it is those characters."""
        return self._firsts[number], self._lasts[number], self._exact[number]


class LateTrail(Trail):
    """A trail that is put together the first time that somebody asks: of most views nobody does."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Trail]) -> None:
        self._make = make
        self._made: Trail | None = None

    def _trail(self) -> Trail:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def is_whole(self) -> bool:
        """Say whether all of the view stands for one stretch of the parent."""
        return self._trail().is_whole

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the parent that characters ``start`` to ``end`` of the view were made from."""
        return self._trail().place(start, end)


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

    def within(self, start: int) -> tuple[View, int] | None:
        """Return the text of a file or of an encoding that character ``start`` stands in, and where in it.

        All of such a text comes from one stretch of the item, so that :meth:`origin` does not tell its places apart.
        """
        view: View | None = self
        while view is not None and view.parent is not None:
            if view.trail is None:
                start += view.shift
            elif view.trail.is_whole:
                return view, start
            else:
                start = view.trail.place(start, start + 1)[0]
            view = view.parent
        return None

    def part(self, start: int, end: int, channel: Channel | None = None, note: str = "") -> View:
        """Return the stretch ``start`` to ``end`` of this view as a view of its own."""
        return View(self.text[start:end], channel or self.channel, self, None, start, note or self.note)

    def same(self, text: str, *, channel: Channel | None = None, note: str = "") -> View:
        """Return a view whose characters stand for this one's, one by one."""
        return View(text, channel or self.channel, self, None, 0, note or self.note)

    def made(self, text: str, later: Callable[[], Trail], channel: Channel | None = None, note: str = "") -> View:
        """Return a view that was made from pieces of this one, which ``later`` tells where it is asked."""
        return View(text, channel or self.channel, self, LateTrail(later), 0, note or self.note)

    def whole(self, text: str, start: int, end: int, *, note: str, channel: Channel = Channel.DECODED) -> View:
        """Return a view that was decoded from the stretch ``start`` to ``end`` as a whole."""
        trail = Trail()
        trail.extend([text], [start, end, 0])
        return View(text, channel, self, trail, 0, note)


@dataclass(slots=True)
class Builder:
    """Puts a view together from pieces of its parent; their places are in one list first, which is fast."""

    parent: View
    _texts: list[str] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)
    _packed: list[str] = field(default_factory=list)
    _trail: Trail = field(default_factory=Trail)

    def copy(self, start: int, end: int) -> None:
        """Append characters of the parent as they are."""
        self._texts.append(self.parent.text[start:end])
        self._places += (start, end, 1)
        if len(self._texts) > _LOOSE:
            self._pack()

    def put(self, text: str, start: int, end: int) -> None:
        """Append ``text``, which stands for the stretch ``start`` to ``end`` of the parent."""
        self._texts.append(text)
        self._places += (start, end, 0)

    def even(self, text: str, start: int, end: int) -> None:
        """Append ``text``, whose characters stand for those of the parent one by one."""
        self._texts.append(text)
        self._places += (start, end, 1)

    def undone(self, sign: re.Pattern[str], meant: Callable[[re.Match[str]], str], start: int, end: int) -> None:
        """Append characters of the parent, with what ``meant`` says in the place of each match of ``sign``."""
        for found in sign.finditer(self.parent.text, start, end):
            first, last = found.span()
            if start < first:
                self.copy(start, first)
            self._texts.append(meant(found))
            self._places += (first, last, 0)
            start = last
        if start < end:
            self.copy(start, end)

    def line(self, at: int) -> None:
        """Append a line end, unless there is one."""
        before = self._texts or self._packed
        if before and not before[-1].endswith("\n"):
            self.put("\n", at, at)

    def joint(self, at: int) -> None:
        """Append the border between two texts."""
        if self._texts or self._packed:
            self._texts.append(JOINT)
            self._places += (at, at, 0)

    def paragraphs(self, texts: Sequence[str], starts: Sequence[int]) -> None:
        """Append texts, each the characters of the parent from its start on, as texts of their own: all at once."""
        if not texts:
            return
        pieces, places = [JOINT] * (2 * len(texts)), [0] * (6 * len(texts))  # a border and a text, three numbers each
        pieces[1::2] = texts
        places[0::6] = places[1::6] = places[3::6] = starts
        places[4::6] = map(int.__add__, starts, map(len, texts))
        places[5::6] = [1] * len(texts)
        first = not (self._texts or self._packed)  # nothing stands before it
        self._texts += pieces[1:] if first else pieces
        self._places += places[3:] if first else places
        if len(self._texts) > _LOOSE:
            self._pack()

    def row(self, texts: Sequence[str], firsts: list[int], lasts: list[int], same: list[int]) -> None:
        """Append pieces, each with its stretch of the parent, and 1 where it is those characters: all at once."""
        self._pack()
        self._trail.fill(texts, firsts, lasts, same)
        self._packed.append("".join(texts))

    def _pack(self) -> None:
        if self._texts:
            self._trail.extend(self._texts, self._places)
            self._packed.append("".join(self._texts))
            self._texts.clear()
            self._places.clear()

    def __bool__(self) -> bool:
        return bool(self._texts or self._packed)

    def trail(self) -> Trail:
        """Return where all of it came from."""
        self._pack()
        return self._trail

    def view(self, channel: Channel | None = None, note: str = "") -> View:
        """Return what was put together."""
        self._pack()
        text = "".join(self._packed)
        return View(text, channel or self.parent.channel, self.parent, self._trail, 0, note or self.parent.note)


def stretches(view: View, groups: Sequence[Sequence[tuple[int, int]]], channel: Channel | None = None) -> View:
    """Return the given stretches of ``view``: those of one group run on, and a border stands between any two groups."""

    def trail() -> Trail:
        builder = Builder(view)
        for group in groups:
            for number, (start, end) in enumerate(group):
                if number:
                    builder.put(" ", start, start)
                else:
                    builder.joint(start)
                builder.copy(start, end)
        return builder.trail()

    joined = (" ".join([view.text[start:end] for start, end in group]) for group in groups)
    return view.made(JOINT.join(joined), trail, channel)
