"""Text in which something is not shown: every bracket in it is ours, so no content can forge a mark.

Guarantees: pure; a bracket of the content stands as its code point, like everything else that misleads; what was cut
off from such a text any other way than by :func:`part` is plain text again, in which brackets are shown by code point:
ugly, and never a mark that nobody made. Size and warnings are those of the text before anything was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

OPEN: Final = "\u27e8"
CLOSE: Final = "\u27e9"
MARK: Final = re.compile(f"{OPEN}redacted: ([0-9]+) characters, mark ([0-9a-f]{{8}}){CLOSE}")
"""What stands where something is not shown: its length, and a keyed digest that only tells equal ones from others."""
_BRACKET: Final = {OPEN: f"{OPEN}U+27E8{CLOSE}", CLOSE: f"{OPEN}U+27E9{CLOSE}"}
_BRACKETS: Final = re.compile(f"[{OPEN}{CLOSE}]")
_POINTS: Final = re.compile(f"{OPEN}U\\+27E([89]){CLOSE}")


class Veiled(str):
    """A text whose brackets are ours. Made by :func:`veiled` and :func:`part` alone."""

    __slots__ = ("size", "warned")
    size: int
    warned: tuple[str, ...]

    def __str__(self) -> str:
        """Return itself: a plain copy would no longer know whose its brackets are."""
        return self


@dataclass(frozen=True, slots=True)
class Hidden:
    """A stretch of a text that is not shown, in characters, and what stands in its place."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where the characters of a text went to: ``steps`` are starts in it and in what is shown, and if it is as it was.

    A place inside of something that is not shown becomes the start or the end of its mark.
    """

    steps: tuple[tuple[int, int, bool], ...]

    def start(self, place: int) -> int:
        """Return where something begins now that began at ``place``."""
        at = self._at(place)
        first, shown, kept = self.steps[at]
        return shown + (place - first if kept else 0)

    def end(self, place: int) -> int:
        """Return where something ends now that ended before ``place``."""
        at = self._at(place)
        first, shown, kept = self.steps[at]
        if kept or place == first:
            return shown + place - first
        return self.steps[at + 1][1]

    def _at(self, place: int) -> int:
        low, high = 0, len(self.steps)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.steps[middle][0] <= place else (low, middle)
        return low


def veiled(text: str, hidden: Sequence[Hidden], warned: Sequence[str] = ()) -> tuple[Veiled, Places]:
    """Return a text without its hidden stretches, which are in order and apart, and where its characters went."""
    cuts = [*hidden, *(Hidden(m.start(), m.end(), _BRACKET[m[0]]) for m in _BRACKETS.finditer(text))]
    shown: list[str] = []
    steps: list[tuple[int, int, bool]] = []
    at = length = 0
    for cut in sorted(cuts, key=lambda one: (one.start, -one.end)):
        if cut.start < at:
            continue  # a bracket inside of what is not shown
        steps += [(at, length, True), (cut.start, length + cut.start - at, False)]
        shown += [text[at : cut.start], cut.mark]
        length += cut.start - at + len(cut.mark)
        at = cut.end
    steps += [(at, length, True), (len(text) + 1, length + len(text) - at + 1, True)]
    found = Veiled("".join([*shown, text[at:]]))
    found.size, found.warned = len(text.encode("utf-8", "surrogatepass")), tuple(warned)
    return found, Places(tuple(steps))


def part(text: str, start: int, end: int) -> str:
    """Return a piece of a text; of a veiled one it is veiled, and no bracket in it stands without its other half."""
    if not isinstance(text, Veiled):
        return text[start:end]
    for match in re.finditer(f"{OPEN}[^{CLOSE}]*{CLOSE}", text):
        if match.start() < start < match.end():
            start = match.end()
        if match.start() < end < match.end():
            end = match.start()
    found = Veiled(text[start : max(start, end)])
    found.size, found.warned = len(found.encode("utf-8", "surrogatepass")), text.warned
    return found


def as_veiled(text: str) -> Veiled:
    """Return any text as one whose brackets are ours."""
    return text if isinstance(text, Veiled) else veiled(text, ())[0]


def joined(pieces: Iterable[str]) -> str:
    """Return pieces as one text, whose brackets are ours where those of one piece were."""
    found = [*pieces]
    if not any(isinstance(piece, Veiled) for piece in found):
        return "".join(found)
    text = Veiled("".join(map(as_veiled, found)))
    text.size, text.warned = len(text.encode("utf-8", "surrogatepass")), ()
    return text


def bare(text: str) -> str:
    """Return what somebody typed over a veiled text, with the brackets of the content as themselves again."""
    return _POINTS.sub(lambda found: OPEN if found[1] == "8" else CLOSE, text)


__all__ = ["CLOSE", "MARK", "OPEN", "Hidden", "Places", "Veiled", "as_veiled", "bare", "joined", "part", "veiled"]
