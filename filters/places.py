"""Where values stand, for all fields of one rank (authority and trust): the tables behind the attribution index.

Guarantees: a word costs eight bytes and a form one number, and texts are kept once; a look-up touches the places of
the rarest word alone, and stops when it has what was asked for. Fields come in ascending numbers, so every list of
places is sorted.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, NamedTuple

from checkvalve.filters.analysis import Analysis
from checkvalve.filters.normalise import Normalised, normal_text
from checkvalve.filters.origins import MatchKind
from checkvalve.filters.sameness import PLAIN, is_same
from checkvalve.filters.values import canonical
from checkvalve.filters.words import split

MAX_EXAMINED: Final = 256
"""Places looked at per value and rank, each way of finding it: what stands at more is common, and further places of
the same rank could only repeat it."""
MAX_TRIED: Final = 4_096
"""Places of its rarest word at which a row of common words is tried. Whole values are found by their form, so what this
can miss is a mention in a long text, and a place that is not found trusts nothing."""
_LONG: Final = 16
"""Words of a row from which on it is compared as a text, once the words around its rarest one fit."""
_LONG_TEXT: Final = 2_048
_PART: Final = 400
"""Characters of a text of which parts are looked for first, and of such a part."""
_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_ORDER: Final = {match: position for position, match in enumerate(MatchKind)}


class Place(NamedTuple):
    """One place: number of the field, and characters of its normalised text; ``whole`` is a field, line or member."""

    field: int
    start: int
    end: int
    whole: bool


Found = tuple[MatchKind, Place]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that is looked for: its canonical forms, and its words, each of them once in ``unique``."""

    value: str
    kind: str
    forms: tuple[tuple[str, str], ...]
    words: list[str]
    unique: dict[str, None]

    @classmethod
    def of(cls, value: str, kind: str) -> Wanted:
        """Return ``value`` with everything it is found by."""
        normal = normal_text(value)
        family = kind.partition(":")[0]
        text = " ".join(normal.split())
        special = None if family in PLAIN else canonical(family, value)
        forms = (("text", text),) if text else ()
        said = split(normal)
        return cls(value, kind, (*forms, (family, special)) if special else forms, said, dict.fromkeys(said))


def parts_of(value: str, kind: str) -> list[list[str]]:
    """Return the words of three parts of a long text without a form of its own; of anything else nothing.

    Most of what a model writes stands nowhere, and then three parts show it without reading the whole. A part begins
    and ends at a blank, which every form of a text keeps, so its words are words of the whole in a row.
    """
    if len(value) < _LONG_TEXT or kind.partition(":")[0] not in PLAIN:
        return []
    found = []
    for start in (len(value) * quarter // 4 for quarter in range(1, 4)):
        _, _, part = value[start : start + _PART].partition(" ")
        part, _, _ = part.rpartition(" ")
        found.append(split(normal_text(part)))
    return [part for part in found if part]


class Places:
    """The texts of one rank, with their words, and the canonical forms of the values in them."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Normalised, Sequence[int]]] = {}
        self._words: dict[str, array[int]] = {}
        self._forms: dict[str, dict[str, int | list[int]]] = {}

    def add_text(self, field: int, analysis: Analysis) -> None:
        """Add the text of a field with the addresses and numbers in it."""
        self._texts[field] = analysis.text, analysis.starts
        for kind, form, start, end in analysis.entities:
            self._add_form(kind, form, Place(field, start, end, whole=False))
            if kind == "url" and (host := canonical("host", form)):
                self._add_form("host", host, Place(field, start, end, whole=False))

    def add_words(self, field: int, analysis: Analysis) -> None:
        """Add the words of a field, and the values that are the whole field or a line of it."""
        known, base = self._words, field << _BITS
        for position, word in enumerate(analysis.words, base):
            found = known.get(word)
            if found is None:
                known[word] = array("Q", (position,))
            else:
                found.append(position)
        for kind, form, start, end in analysis.members:
            self._add_form(kind, form, Place(field, start, end, whole=True))

    def text(self, field: int) -> Normalised:
        """Return the text of a field."""
        return self._texts[field][0]

    def best(self, wanted: Wanted, decoded: Sequence[Wanted], room: int) -> list[Found]:
        """Return the best ``room`` places of a value: best match first, then whole ones, then in the order they came.

        What is found by one of its ``decoded`` forms never counts as the value itself.
        """
        if not decoded and not self._may_hold(wanted):
            return []
        hits: dict[tuple[int, int, int], Found] = {}
        for whole, hunt in ((True, self._find(wanted)), (False, self._phrase(wanted))):
            enough = 0
            for place in islice(hunt, MAX_EXAMINED):
                known = hits.get(place[:3])
                if known is not None and (known[1].whole or not place.whole):
                    continue
                match = self._match(place, wanted)
                _keep(hits, match, place)
                enough += match is MatchKind.EXACT and place.whole is whole
                if enough >= room:  # nothing that follows could be better
                    return sorted(hits.values(), key=_quality)[:room]
        for view in decoded:
            for place in islice(chain(self._find(view), self._phrase(view)), MAX_EXAMINED):
                _keep(hits, MatchKind.DERIVED, place)
        return sorted(hits.values(), key=_quality)[:room]

    def holds(self, part: list[str]) -> bool:
        """Say whether these words may stand in a row somewhere; a value stands nowhere where a part of it does not."""
        if all(len(self._words.get(word, ())) > MAX_TRIED for word in part):
            return True  # more places than are tried
        return any(True for _ in self._rows(part, dict.fromkeys(part)))

    def sizes(self) -> tuple[int, int]:
        """Return how many places of words and of forms are kept: what the memory grows with."""
        forms = (found for known in self._forms.values() for found in known.values())
        return sum(map(len, self._words.values())), sum(1 if isinstance(found, int) else len(found) for found in forms)

    def _add_form(self, kind: str, form: str, place: Place) -> None:
        packed = (((place.field << _BITS | place.start) << _BITS | place.end) << 1) | place.whole
        known = self._forms.setdefault(kind, {})
        found = known.get(form)
        if found is None:
            known[form] = packed
        elif isinstance(found, int):
            known[form] = [found, packed]
        else:
            found.append(packed)

    def _may_hold(self, wanted: Wanted) -> bool:
        """Say whether one of the forms of a value is known, or each of its words."""
        for kind, form in wanted.forms:
            if kind in self._forms and form in self._forms[kind]:
                return True
        return bool(wanted.unique) and all(map(self._words.__contains__, wanted.unique))

    def _find(self, wanted: Wanted) -> Iterator[Place]:
        """Yield whole fields, lines and addresses that equal a value."""
        for kind, form in wanted.forms:
            yield from self._of_form(kind, form)

    def _of_form(self, kind: str, form: str) -> Iterator[Place]:
        found = self._forms.get(kind, {}).get(form, ())
        for packed in (found,) if isinstance(found, int) else found:
            yield Place(packed >> 2 * _BITS + 1, (packed >> _BITS + 1) & _MASK, (packed >> 1) & _MASK, bool(packed & 1))

    def _phrase(self, wanted: Wanted) -> Iterator[Place]:
        """Yield where the words of a value stand in a row."""
        length = len(wanted.words) - 1
        for place in self._rows(wanted.words, wanted.unique):
            starts = self._texts[place >> _BITS][1]
            first = place & _MASK
            yield Place(place >> _BITS, starts[first], starts[first + length] + len(wanted.words[-1]), whole=False)

    def _rows(self, said: list[str], unique: Iterable[str]) -> Iterator[int]:
        get, fewest, rarest = self._words.get, None, ""
        for word in unique:
            if (known := get(word)) is None:
                return
            if fewest is None or len(known) < len(fewest):
                fewest, rarest = known, word
        if fewest is None:
            return
        first = said.index(rarest)
        steps = (*range(1, len(said) - first), *range(-1, -first - 1, -1))
        near = [(self._words[said[first + step]], step) for step in steps[:_LONG]]
        for place in fewest[:MAX_TRIED]:
            if place & _MASK < first or not _hold(near, place):
                continue
            if len(steps) <= _LONG or self._reads(place - first, said):
                yield place - first

    def _reads(self, place: int, said: list[str]) -> bool:
        """Say whether the words from a place on are those that were said."""
        normal, starts = self._texts[place >> _BITS]
        first, behind = place & _MASK, (place & _MASK) + len(said)
        if behind > len(starts):
            return False
        return split(normal.text[starts[first] : starts[behind] if behind < len(starts) else None]) == said

    def _match(self, place: Place, wanted: Wanted) -> MatchKind:
        text = self.text(place.field)
        if not is_same(text, place.start, place.end, wanted.value, wanted.kind):
            return MatchKind.DERIVED
        return MatchKind.EXACT if text.source(place.start, place.end) == wanted.value else MatchKind.NORMALISED


def _hold(near: Sequence[tuple[array[int], int]], place: int) -> bool:
    """Say whether each of the lists holds the place so many steps from ``place``."""
    for places, step in near:
        position = bisect_left(places, place + step)
        if position == len(places) or places[position] != place + step:
            return False
    return True


def _keep(hits: dict[tuple[int, int, int], Found], match: MatchKind, place: Place) -> None:
    """Keep what was found first at a place, unless it is whole only now."""
    known = hits.get(place[:3])
    if known is None or (place.whole and not known[1].whole):
        hits[place[:3]] = match, place


def _quality(found: Found) -> tuple[int, int]:
    match, place = found
    return _ORDER[match], 0 if place.whole else 1
