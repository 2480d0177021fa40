"""Characters that nobody sees: what they spell is read, what languages and emoji need is kept, the rest is taken out.

Kept: joiners between pictographs or between letters of scripts that join, variation selectors after one visible
character, the three subdivision flags, a soft hyphen inside a word, a mark at the very start, and direction marks and
isolates in a text with right-to-left letters. Read: tag characters, bytes in variation selectors, bits in zero-width
characters. Guarantees: linear; a text of ASCII alone costs nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.letters import foreign
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.linear import Pattern
from checkvalve.filters.outcomes import Channel, Severity

_RUN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_ANY: Final = Pattern(_RUN.pattern)
_SMUGGLED: Final = re.compile("[\U000e0020-\U000e007e]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_FLAG: Final = re.compile(
    "\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_TAGS: Final = 0xE0000
_BITS: Final = frozenset("\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u200e\u200f\u180e")
_FEWEST_BITS: Final = 16
MAX_BITS: Final = 16_384
"""Invisible characters that are read as bits: two thousand letters."""
MAX_HIDDEN: Final = 60
"""Hidden texts of one view that are read; one that is cut into more shows the cutting."""
_JOINERS: Final = frozenset("\u200c\u200d")
_SELECTORS: Final = frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B, 0x180C, 0x180D, 0x180F))
)
_DIRECTION: Final = frozenset("\u061c\u200e\u200f\u2066\u2067\u2068\u2069")
_OVERRIDES: Final = re.compile("[\u202d\u202e]([^\u202a-\u202e\n]{1,4000})")
_RTL: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINING: Final = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0e00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]")


def look(view: View, notes: Notes, others: str | None = None) -> list[View]:
    """Note what is invisible in ``view`` and how to take it out; return what it spells, as hidden views.

    ``others`` are its characters outside plain ASCII, where they are known.
    """
    others = foreign(view.text) if others is None else others
    if others.isascii() or not _ANY.found(others):
        return []
    hidden: list[View] = []
    rtl = _RTL.search(view.text) is not None
    bits = 0
    first_stray = None
    for found in _RUN.finditer(view.text):
        start, end = found.span()
        if _is_language(view.text, start, end, rtl=rtl):
            continue
        for spelled, begin, stop, code in _smuggled(found[0], start):
            notes.find(code, view, begin, stop, Severity.HIGH, channel=Channel.HIDDEN)
            if spelled:
                hidden.append(view.whole(spelled, begin, stop, note=code, channel=Channel.HIDDEN))
        notes.drop(view, start, end, "invisible")
        bits += sum(char in _BITS for char in found[0])
        first_stray = first_stray or (start, end)
    if first_stray:
        notes.find("invisible", view, *first_stray, Severity.LOW, channel=Channel.HIDDEN)
    if bits >= _FEWEST_BITS:
        hidden += _from_bits(view, notes)
    hidden += _reversed(view, notes)
    return hidden[:MAX_HIDDEN]


def _is_language(text: str, start: int, end: int, *, rtl: bool) -> bool:
    """Say whether the invisible run ``text[start:end]`` is something that writing needs."""
    run = text[start:end]
    before = text[start - 1] if start else ""
    after = text[end] if end < len(text) else ""
    if run == "\ufeff":
        return start == 0
    if run == "\u00ad":
        return before.isalpha() and after.isalpha()
    if before == "\U0001f3f4" and _FLAG.fullmatch(run):
        return True
    if set(run) <= _DIRECTION and len(run) <= 2:  # noqa: PLR2004  # an isolate may close as another one opens
        return rtl or run in {"\u200e", "\u200f"}
    core = run[1:] if run[0] in _SELECTORS else run
    if not core:  # one selector after a character that can have a form
        return _has_forms(before)
    if len(core) > 1 or core not in _JOINERS:
        return False
    if _JOINING.match(before or " ") or _JOINING.match(after or " "):
        return True
    return core == "\u200d" and _is_picture(before) and _is_picture(after)


def _has_forms(char: str) -> bool:
    letter = unicodedata.category(char)[0] in "LNS" and not (char.isascii() and char.isalpha()) if char else False
    return letter or _is_picture(char)


def _is_picture(char: str) -> bool:
    return bool(char) and (
        unicodedata.category(char) in {"So", "Sk", "Mn", "Me", "Cn"}
        or char in "#*0123456789"
        or ord(char) in range(0x2190, 0x3300)
    )


def _smuggled(run: str, at: int) -> Iterator[tuple[str, int, int, str]]:
    """Yield what tags and variation selectors in a run spell, with their place and code."""
    for found in _SMUGGLED.finditer(run):
        start, end = at + found.start(), at + found.end()
        if ord(found[0][0]) < _TAGS or ord(found[0][0]) >= _TAGS + 0x100:
            yield _text(bytes(_byte(char) for char in found[0])), start, end, "hidden-selectors"
        else:
            yield "".join(chr(ord(char) - _TAGS) for char in found[0]), start, end, "hidden-tags"


def _byte(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < _TAGS else code - 0xE0100 + 16


def _text(data: bytes) -> str:
    return "".join(char for char in data.decode("utf-8", "ignore") if char.isprintable() or char == " ")


def _from_bits(view: View, notes: Notes) -> list[View]:
    """Read the two commonest invisible characters as bits, either way round, eight or seven to a character."""
    counts: dict[str, int] = {}
    places: list[int] = []
    for found in _RUN.finditer(view.text):
        if len(places) > MAX_BITS:
            break
        for offset, char in enumerate(found[0][:MAX_BITS]):
            if char in _BITS:
                counts[char] = counts.get(char, 0) + 1
                places.append(found.start() + offset)
    pair = sorted(counts, key=lambda char: -counts[char])[:2]
    start, end = places[0], places[-1] + 1
    if len(pair) < 2:  # noqa: PLR2004  # one kind alone spells nothing
        return []
    digits = [view.text[at] == pair[0] for at in places if view.text[at] in pair]
    if len(digits) < _FEWEST_BITS:
        return []
    spelled = [_from_digits(digits, width, one=one) for width in (8, 7) for one in (True, False)]
    best = max(spelled, key=lambda text: sum(char.isalpha() or char == " " for char in text))
    if end - start < 2 * len(places):
        notes.find("hidden-bits", view, start, end, Severity.HIGH, channel=Channel.HIDDEN)
    return [view.whole(best, start, end, note="hidden-bits", channel=Channel.HIDDEN)] if best else []


def _from_digits(digits: list[bool], width: int, *, one: bool) -> str:
    groups = (digits[at : at + width] for at in range(0, len(digits) - width + 1, width))
    data = bytes(sum((bit is one) << (width - 1 - place) for place, bit in enumerate(group)) for group in groups)
    return _text(data)


def _reversed(view: View, notes: Notes) -> list[View]:
    """Read text under a direction override as a person sees it: from its end."""
    found = []
    for match in _OVERRIDES.finditer(view.text):
        start, end = match.span(1)
        notes.find("direction-override", view, match.start(), end, Severity.MEDIUM, channel=Channel.HIDDEN)
        found.append(view.whole(match[1][::-1], start, end, note="reversed"))
    return found
