"""The patterns as one machine: linear-time matching over canonical text, and the weighing of what was found.

1. A sieve for each script says which patterns can match at all; most texts end here. 2. The patterns that can are run
for their places, a bounded number of times. 3. In each window the weights of different families are added up; at
:data:`ENOUGH` the window is flagged. A window, not a text: what stands far apart is not one act, and a long text
neither dilutes nor adds up. Guarantees: linear in the text whatever it holds (RE2 has no backtracking).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final

from checkvalve.filters import forms
from checkvalve.filters.inbound.canonical import folded
from checkvalve.filters.inbound.letters import foreign
from checkvalve.filters.inbound.phrases_english import PHRASES, TOOL_PHRASES, table
from checkvalve.filters.inbound.phrases_world import SCRIPTS, world
from checkvalve.filters.inbound.sieve import APART, BLIND, TOGETHER, Sieve, sieving, written_blind
from checkvalve.filters.inbound.wider import GAP, rarest, rotated
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.swift import arm

ENOUGH: Final = 3
"""The weight at which a window is flagged."""
WINDOW: Final = 700
"""Characters that count as one place: a paragraph."""
MAX_HITS: Final = 40
"""Places of one pattern that are looked at."""
_GAP: Final = GAP
_RUN_ON: Final = bytes.maketrans(b"\n", b" ")
_CONTINUING: Final = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that begin no character."""
_NEAR: Final = 16  # characters in which a negation stands beside its verb
_POLITE: Final = r" ?(?:(?:to|se|le|lo|je|vous|sie|please|dare|simply|just) )?$"
_NOT_BEFORE: Final = re.compile(
    folded(
        r"(?:\b(?:not|never|cannot|dont|não|nao|nunca|jamais|nicht|niet|inte|ikke|nie|jangan|đừng|huwag)"
        r"|n't|не|不要|别|不|勿|لا|אל|อย่า)"
    )
    + _POLITE
)
_NOT_BEFORE_IN: Final = {  # words that mean something else, or less, in English
    language: re.compile(rf"(?:\b{folded(words)}){_POLITE}")
    for language, words in {"es": "no", "it": "(?:non|mai)", "fr": "(?:ne |n')", "ro": "nu", "hi": "(?:न|मत)"}.items()
}
_NOT_WITHIN: Final = re.compile(r"\w+ (?:sie |bitte |dus |ook )?(?:nicht|niet|inte|ikke|pas)\b")
_NOT_AFTER: Final = re.compile(folded(r"(?:し?ない|し?ず|지 ?(?:마|말|않)|하지 ?(?:마|말|않)|ma(?:yin|yiniz|yiz)?\b)"))


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a pattern matches, in characters of the text that was matched."""

    family: str
    weight: int
    start: int
    end: int

    @property
    def act(self) -> str:
        """The family without its language."""
        return re.sub(r"-[a-z]{2}(?:-latn)?$", "", self.family)


@dataclass(frozen=True, slots=True)
class Flagged:
    """One window in which enough came together."""

    families: tuple[str, ...]
    weight: int
    start: int
    end: int


class RuleSet:
    """A row of patterns: together for the question whether, and one by one for the question where."""

    def __init__(self, phrases: Iterable[tuple[str, int, str]], together: int = TOGETHER, apart: int = APART) -> None:
        self._phrases = [(family, weight, pattern.replace("~", _GAP)) for family, weight, pattern in phrases]
        self._sieve = Sieve([pattern for _, _, pattern in self._phrases], together, apart)

    def candidates(self, text: bytes) -> list[int]:
        """Return the patterns that may match the UTF-8 ``text``, with its marks of emphasis or without."""
        return self._sieve.candidates(text)

    def seen(self, text: bytes) -> list[int]:
        """Return the same for a text whose marks of emphasis are blanks already."""
        return self._sieve.seen(text)

    def hits(self, text: bytes, candidates: Iterable[int] | None = None) -> Iterator[Hit]:
        """Yield every place where a pattern matches the UTF-8 ``text``, in bytes of it."""
        for number in self._sieve.candidates(text) if candidates is None else candidates:
            family, weight, pattern = self._phrases[number]
            for start, end in islice(_compiled(pattern).places(text), MAX_HITS):
                yield Hit(family, weight, start, end)


@cache
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)


@cache
def rule_set(script: str, least: int = 1) -> RuleSet:
    """Return the patterns of one script from weight ``least`` on; ``latin`` has English, ``tool`` tool descriptions."""
    if script == "tool":
        phrases = table(TOOL_PHRASES)
    else:
        phrases = [*table(PHRASES), *world(script)] if script == "latin" else [*world(script)]
    if least > 1:  # asked of texts turned round, which hardly ever come near a match: one machine does
        return RuleSet([row for row in phrases if row[1] >= least], len(phrases), len(phrases))
    return RuleSet(phrases)


_SCRIPT_NAMES: Final = tuple(SCRIPTS)
_SCRIPT_LETTERS: Final = PatternSet(f"[{letters}]" for letters in SCRIPTS.values())


@cache
def _turned_set() -> PatternSet:
    """Return what the patterns that are enough alone come from when letters are moved by thirteen, or turned round."""
    rows = [row for row in (*table(PHRASES), *world("latin")) if row[1] >= ENOUGH]
    groups = [sieving(pattern.replace("~", _GAP)) for _, _, pattern in rows]
    rare = [rarest(group) for group in groups]
    wide = [written_blind(group) for group in (*map(rotated, rare), *map(forms.turned, rare))]
    return PatternSet(dict.fromkeys(wide), swift=True)


@dataclass(frozen=True, slots=True)
class Looked:
    """What one canonical text may hold, found in one go: candidates of each set; its UTF-8 has paragraphs divided."""

    text: str
    data: bytes
    candidates: Mapping[str, Sequence[int]]
    turned: bool
    tools: bool

    def may_be_enough(self, letters: bytes) -> bool:
        """Say whether a pattern that is enough alone may match with ASCII signs exchanged; none that divides lines."""
        line = self.data.translate(letters.translate(BLIND))
        return any(rule_set(name, ENOUGH).seen(line) for name in (("latin", "tool") if self.tools else ("latin",)))

    def may_match(self) -> bool:
        """Say whether an English or tool pattern may match, with marks of emphasis or without."""
        return bool(self.candidates.get("latin") or self.candidates.get("tool"))


def looked(text: str, scripts: Sequence[str], *, tools: bool) -> Looked:
    """Look which patterns can match canonical ``text`` at all, as it stands, without emphasis, or turned."""
    data = _divided(text)
    line = data.translate(BLIND)
    names = [*scripts, "tool"] if tools else scripts
    found = {name: rule_set(name).seen(line) for name in names}
    # a line end before another sign turns into another break, and of tool patterns no turned ones are made
    turned = tools or "\r" in text or bool(_turned_set().candidates(line))
    return Looked(text, data, found, turned, tools)


def prepare() -> None:
    """Compile every set now, so that no item's deadline pays for it, and let machines be built between items."""
    arm()
    for script in ("latin", "tool", *SCRIPTS):
        rule_set(script)
    for script in ("latin", "tool"):
        rule_set(script, ENOUGH)
    _turned_set()


def scripts_of(text: str, others: str | None = None) -> list[str]:
    """Return the scripts whose patterns can match ``text``, before it is folded.

    ``others`` are its characters outside plain ASCII, where they are known.
    """
    if text.isascii():
        return ["latin"]
    others = foreign(text) if others is None else others
    return ["latin", *(_SCRIPT_NAMES[number] for number in _SCRIPT_LETTERS.matching(others))]


def one_line(text: str) -> bytes:
    """Return canonical text in UTF-8 as patterns read it: lines run on, paragraphs do not; no character moves."""
    return _divided(text).translate(_RUN_ON)


def _divided(text: str) -> bytes:
    """Return canonical text in UTF-8 with its paragraphs divided, and its line ends as they are."""
    data = text.encode("utf-8", "surrogatepass")
    if b"\n" not in data:
        return data
    if b"\r" in data:
        data = data.replace(b"\r\n", b" \n")
    return data.replace(b"\n \n", b"\x0b \x0b").replace(b"\n\n", b"\x0b\x0b")


def find(
    text: str, scripts: Sequence[str], *, tools: bool = False, least: int = 1, seen: Looked | None = None
) -> list[Hit]:
    """Return every hit of weight ``least`` or more in canonical ``text``, in characters, in order of place.

    ``seen`` is what :func:`looked` found in it, or in the same text with its marks of emphasis; ``least`` is 1 then.
    """
    names = [*scripts, "tool"] if tools else scripts
    if seen is None:
        data = one_line(text)
        sets = (rule_set(name, least) if least > 1 else rule_set(name) for name in names)
        hits = [hit for one in sets for hit in one.hits(data)]
    else:
        names = [name for name in names if seen.candidates[name]]
        if not names:
            return []
        data = seen.data.translate(_RUN_ON) if text is seen.text else one_line(text)
        hits = [hit for name in names for hit in rule_set(name).hits(data, seen.candidates[name])]
    if not hits:
        return []
    if len(data) != len(text):
        hits = _in_characters(data, hits)
    return sorted((hit for hit in hits if not _negated(text, hit)), key=lambda hit: (hit.start, hit.end))


def _negated(text: str, hit: Hit) -> bool:
    """Say whether an override is the opposite of one: "do not forget to read all instructions"."""
    if hit.act != "override":
        return False
    before, after = text[max(0, hit.start - _NEAR) : hit.start], text[hit.end : hit.end + _NEAR]
    within = text[hit.start : hit.end]
    own = _NOT_BEFORE_IN.get(hit.family.rpartition("-")[2])
    if own is not None and own.search(before):
        return True
    return bool(_NOT_BEFORE.search(before) or _NOT_WITHIN.match(within) or _NOT_AFTER.match(after))


def _in_characters(data: bytes, hits: Sequence[Hit]) -> list[Hit]:
    """Turn byte places into character places, in one pass."""
    places = sorted({place for hit in hits for place in (hit.start, hit.end)})
    characters, last, count = {}, 0, 0
    for place in places:
        count += len(data[last:place].translate(None, _CONTINUING))
        characters[place], last = count, place
    return [Hit(hit.family, hit.weight, characters[hit.start], characters[hit.end]) for hit in hits]


class _Window:
    """The hits inside the sliding window: for each act how many there are of each weight."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def change(self, hit: Hit, step: int) -> None:
        """Take a hit in (1) or out (-1)."""
        self._counts.setdefault(hit.act, [0] * (ENOUGH + 1))[min(hit.weight, ENOUGH)] += step

    def weight(self) -> int:
        """Return the sum over acts of the heaviest hit of each."""
        return sum(max((level for level, count in enumerate(row) if count), default=0) for row in self._counts.values())


def _windows(hits: Sequence[Hit]) -> Iterator[tuple[int, int, int]]:
    """Yield for each hit, in order of place, the first one in its window, itself, and what the window weighs."""
    window = _Window()
    left = 0
    for right, hit in enumerate(hits):
        window.change(hit, 1)
        while hits[left].start < hit.start - WINDOW:
            window.change(hits[left], -1)
            left += 1
        yield left, right, window.weight()


def weigh(hits: Sequence[Hit], *, enough: int = ENOUGH) -> list[Flagged]:
    """Return the windows of ``hits`` (in order of place) whose different acts weigh ``enough`` together."""
    flagged: list[Flagged] = []
    reach = 0
    for left, right, weight in _windows(hits):
        reach = max(reach, hits[right].end)
        if weight < enough:
            continue
        start, families = hits[left].start, {item.family for item in hits[max(left, right - MAX_HITS) : right + 1]}
        if flagged and start <= flagged[-1].end:
            families |= set(flagged[-1].families)
            start, weight = flagged[-1].start, max(weight, flagged[-1].weight)  # noqa: PLW2901
            flagged.pop()
        flagged.append(Flagged(tuple(sorted(families)), weight, start, reach))
    return flagged


def counting(hits: Sequence[Hit], *, enough: int = ENOUGH) -> set[int]:
    """Return the numbers of the hits that stand in a window of weight ``enough``, or else in the heaviest window."""
    order = sorted(range(len(hits)), key=lambda number: (hits[number].start, hits[number].end))
    windows = list(_windows([hits[number] for number in order]))
    heaviest = max((window for window in windows), key=lambda window: window[2], default=(0, -1, 0))
    kept = [window for window in windows if window[2] >= enough] or [heaviest]
    return {number for left, right, _ in kept for number in order[left : right + 1]}
