"""What a page shows, as one text: what stands between its tags, divided as the tags say.

1. Between two words stands nothing, a line end or a paragraph, as the tag says; a line end is not put behind another
one, and nothing stands before the first word. 2. The way back is put together when it is asked for. Guarantees: linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Final

from checkvalve.filters.inbound import references
from checkvalve.filters.inbound.tokens import CDATA, DIVIDES
from checkvalve.filters.inbound.views import JOINT, Builder, Trail, View

_GLUES: Final = ("", "\n", JOINT)
_DIVIDES: Final = bytes(number & DIVIDES for number in range(256))
_IS_CDATA: Final = bytes(bool(number & CDATA) for number in range(256))
OPENING: Final = len("<![CDATA[")
_CLOSING: Final = "]]>"
_LINE: Final = re.compile(b"\1")


@dataclass(frozen=True, slots=True)
class Flow:
    """Stretches of text, and the tokens between any two of them with their numbers: one text more than tokens."""

    texts: Sequence[str]
    tokens: Sequence[str]
    numbers: bytes

    def glues(self) -> list[str]:
        """Return what stands for each token."""
        texts, cdata = self.texts, self.numbers.translate(_IS_CDATA)
        divides = self.numbers.translate(_DIVIDES)
        glues = list(map(_GLUES.__getitem__, divides))
        first = next((at for at, text in enumerate(texts) if text), len(glues))
        if 1 in cdata:
            first = min(first, cdata.index(1))
            for at in [at for at, is_cdata in enumerate(cdata) if is_cdata]:
                glues[at] = content(self.tokens[at])
        for found in _LINE.finditer(divides):
            if self._ends_line(found.start(), divides, cdata):
                glues[found.start()] = ""
        glues[:first] = [""] * len(glues[:first])
        return glues

    def _ends_line(self, at: int, divides: bytes, cdata: bytes) -> bool:
        """Say whether there is a line end before the token of this number, which divides lines, or nothing at all."""
        while at >= 0:
            if self.texts[at]:
                return references.ends_line(self.texts[at])
            at -= 1
            if at >= 0 and cdata[at]:
                return content(self.tokens[at]).endswith("\n")
            if at < 0 or divides[at]:
                break
        return True

    def text(self) -> str:
        """Return the text."""
        pieces = [""] * (2 * len(self.texts) - 1)
        pieces[1::2] = self.glues()
        pieces[::2] = map(references.undone, self.texts) if "&" in "".join(self.texts) else self.texts
        return "".join(pieces)

    def __bool__(self) -> bool:
        return any(self.texts) or any(self.numbers.translate(_IS_CDATA))

    def trail(self, view: View, starts: Sequence[int], places: Sequence[int]) -> Trail:
        """Return where it came from: the texts from ``starts`` and the tokens from ``places`` of ``view``."""
        texts, builder = self.texts, Builder(view)
        if "&" not in "".join(texts):
            return _FlowTrail(self, starts, places)
        pieces, firsts, lasts = [""] * (2 * len(texts) - 1), [0] * (2 * len(texts) - 1), [0] * (2 * len(texts) - 1)
        same = [1] * len(pieces)
        pieces[::2], pieces[1::2] = texts, self.glues()
        firsts[::2], firsts[1::2] = starts, places
        lasts[::2], lasts[1::2] = map(add, starts, map(len, texts)), places
        same[1::2] = [0] * len(places)
        for at in [at for at, is_cdata in enumerate(self.numbers.translate(_IS_CDATA)) if is_cdata]:
            place = 2 * at + 1
            firsts[place] += OPENING
            lasts[place], same[place] = firsts[place] + len(pieces[place]), 1
        done = 0
        for place in [2 * at for at, text in enumerate(texts) if "&" in text]:
            builder.row(pieces[done:place], firsts[done:place], lasts[done:place], same[done:place])
            references.append(builder, firsts[place], lasts[place])
            done = place + 1
        builder.row(pieces[done:], firsts[done:], lasts[done:], same[done:])
        return builder.trail()


class _FlowTrail(Trail):
    """The trail of a page without a character reference: of each piece the stretch is computed when it is asked for."""

    __slots__ = ("_cdata", "_pieces", "_places", "_texts")

    def __init__(self, flow: Flow, texts: Sequence[int], places: Sequence[int]) -> None:
        super().__init__()
        self._pieces = [""] * (2 * len(flow.texts) - 1)
        self._pieces[::2], self._pieces[1::2] = flow.texts, flow.glues()
        while self._pieces and not self._pieces[-1]:
            self._pieces.pop()  # an empty piece leaves no trace, and no other one ends where the text does
        self._texts, self._places, self._cdata = texts, places, flow.numbers.translate(_IS_CDATA)
        self._starts = list(accumulate(map(len, self._pieces), initial=0))
        self._starts.pop()

    @property
    def is_whole(self) -> bool:
        """Say whether all of the view stands for one stretch of the parent."""
        return False  # what divides texts never stands alone

    def _stretch(self, number: int) -> tuple[int, int, int]:
        at, is_token = divmod(number, 2)
        size = len(self._pieces[number])
        if is_token and not self._cdata[at]:
            return self._places[at], self._places[at], 0
        first = self._places[at] + OPENING if is_token else self._texts[at]
        return first, first + size, 1


def content(token: str) -> str:
    """Return what stands in a section of CDATA."""
    return token[OPENING:].removesuffix(_CLOSING)
