"""Text that nobody sees, in what leaves or is kept: which signs of it may go, and what they spell.

1. The inbound chain says which invisible signs writing and emoji need, and reads tags, selectors and bits. 2. Stricter
than there: a direction mark needs right-to-left letters near it, a rare selector a letter that has variants, and many
rare selectors one by one are bytes. A break between letters of scripts without blanks stays. 3. All tags of a text are
read together, all selectors, and all bits, since they may stand one by one between visible letters.

Guarantees: pure and linear; ASCII costs nothing. Presence or absence of a joiner where a script needs one is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from checkvalve.filters.inbound import invisible
from checkvalve.filters.inbound.invisible import MAX_BITS
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Severity

_POSSIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MARKS: Final = re.compile("[\u061c\u200e\u200f\u2066-\u2069]+")
_RTL: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_RARE: Final = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
_HAS_VARIANTS: Final = re.compile(
    "[\u2190-\u23ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\u1000-\u109f\ua840-\uaadf\U00020000-\U000323af]"
)
_MANY_RARE: Final = 6  # selectors of kinds that hardly any text has: as many as that are bytes
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_BREAK: Final = re.compile("(?<=[\u0e00-\u109f\u1780-\u17ff])\u200b(?=[\u0e00-\u109f\u1780-\u17ff])")
_BITS: Final = re.compile("[\u200b-\u200f\u2060-\u2064\u180e\ufeff]")
_FEWEST_BITS: Final = 40  # five letters
_TAG_BASE: Final = 0xE0000
AS_LETTERS: Final = {_TAG_BASE + code: code for code in range(0x20, 0x7F)}
"""What each tag character spells."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A hidden text with the stretch, in characters, that its first and last sign stand in."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unseen:
    """``strays`` may go without a reader missing them, ``smuggled`` of them are text; ``spelled`` is what they say."""

    strays: tuple[tuple[int, int], ...] = ()
    smuggled: tuple[tuple[int, int], ...] = ()
    spelled: tuple[Spelled, ...] = ()


NOTHING: Final = Unseen()


@lru_cache(maxsize=8)  # a piece is asked for its values, for its links, and for what has to go
def unseen(text: str) -> Unseen:
    """Return what nobody sees of ``text``."""
    if text.isascii() or not _POSSIBLE.search(text):
        return NOTHING
    notes, view = Notes(), View(text)
    spelled = [
        Spelled(one.text, *one.origin(0, len(one.text)))
        for one in invisible.look(view, notes)
        if one.note != "reversed"
    ]
    needed = {match.start() for match in _BREAK.finditer(text)}
    strays = sorted({(one.start, one.end) for one in notes.edits if one.start not in needed} | set(_stricter(text)))
    if not strays:
        return NOTHING
    hidden = [place for start, end in strays for place in range(start, end)]
    spelled += [*_together(text, hidden)]
    rare = {place for place in hidden if _SELECTORS.match(text[place]) or _TAGS.match(text[place])}
    smuggled = [one for one in strays if len(rare.intersection(range(*one))) > 1 or _TAGS.search(text, *one)]
    if any(finding.code == "hidden-bits" and finding.severity is Severity.HIGH for finding in notes.findings):
        smuggled = strays
    return Unseen(tuple(_joined(strays)), tuple(smuggled), tuple(spelled))


def _stricter(text: str) -> Iterator[tuple[int, int]]:
    """Yield what the inbound chain lets pass in what a model reads, and what leaves does not need."""
    if not _RTL.search(text):
        yield from (match.span() for match in _MARKS.finditer(text))
    rare = [match.start() for match in _RARE.finditer(text)]
    many = len(rare) >= _MANY_RARE and len({text[place] for place in rare}) > _MANY_RARE // 2
    for place in rare:
        if many or not (place and _HAS_VARIANTS.match(text[place - 1])):
            yield place, place + 1


def _together(text: str, hidden: list[int]) -> Iterator[Spelled]:
    """Yield all hidden tags as one text, and all hidden selectors."""
    tags = [place for place in hidden if _TAGS.match(text[place])]
    if tags:
        yield Spelled("".join(text[place] for place in tags).translate(AS_LETTERS), tags[0], tags[-1] + 1)
    selectors = [place for place in hidden if _SELECTORS.match(text[place])]
    if len(selectors) > 1:
        data = bytes(_byte(text[place]) for place in selectors)
        yield Spelled(data.decode("utf-8", "ignore"), selectors[0], selectors[-1] + 1)
    bits = [place for place in hidden if _BITS.match(text[place])][:MAX_BITS]
    kinds = Counter(text[place] for place in bits).most_common(2)
    if len(kinds) > 1 and len(bits) >= _FEWEST_BITS:
        row = "".join("01"[text[place] == kinds[0][0]] for place in bits if text[place] in {kinds[0][0], kinds[1][0]})
        for digits in (row, row.translate(_TURNED)):
            for width in (8, 7):
                codes = (int(digits[at : at + width], 2) for at in range(0, len(digits) - width + 1, width))
                yield Spelled(bytes(codes).decode("utf-8", "ignore"), bits[0], bits[-1] + 1)


_TURNED: Final = str.maketrans("01", "10")


def _byte(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < _TAG_BASE else code - 0xE0100 + 16


def _joined(stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in stretches:
        if last is not None and start <= last[1]:
            last = last[0], max(end, last[1])
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last
