"""When a stretch of text is really a given value, and not just the same words.

Guarantees: a value with a canonical form is the same only by that form; everything else by its letters (case folded
simply, quotes and dashes unified), with the same punctuation inside, and not as a part of a longer name.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from checkvalve.filters.normalise import FOLD, Normalised
from checkvalve.filters.values import MULTIPLIER, TRAILING, canonical, spoken_number, unglued

PLAIN: Final = frozenset({"text", "name", "id", "user", "channel"})
"""Kinds without a canonical form of their own."""
_REACHING: Final = frozenset({"email", "url", "host", "path"})
"""Kinds whose values reach to the next white space or quote: a part of one is another value."""
_STOPS: Final = frozenset(" \t\n\r'\"<>(),;\u00b7")
_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3002: "."}
"""Full-width signs of an East Asian keyboard: what people type there is plain ASCII to them."""
_WIDE: Final = re.compile("[\uff01-\uff5e\u3002]").search
_QUOTES: Final = str.maketrans(FOLD)
_GROUPED: Final = frozenset({"account", "phone", "number"})
"""Kinds written in groups of digits: one group of several is another value."""
_ENDS_IN_DIGITS: Final = re.compile(r"\d[ ,.-]?$")
_BEGINS_WITH_DIGITS: Final = re.compile(r"[ ,.-]?\d")
_JOINTS: Final = frozenset("@./\\-_+")


def is_same(text: Normalised, start: int, end: int, value: str, kind: str) -> bool:
    """Say whether ``text[start:end]`` is ``value`` as a value of ``kind``.

    "../notes.txt" and "notes/txt" have the words of "notes.txt"; "bob" stands in "bob@example.com".
    """
    family = kind.partition(":")[0]
    whole = not start and end == len(text.text)
    said = _half(text.source(start, end))
    if family in {"channel", "user"}:
        value = value.lstrip("#@")
    wanted = canonical(family, value) if family not in PLAIN else None
    if wanted is None:
        part = _is_part(text.text, start, end)
        start, end = _with_signs(text.text, start, end, value)
        said = _half(text.source(start, end))
        part = part or _is_part(text.text, start, end)
        if family in {"url", "host"}:  # "://shop.example/a" is no address, and a part of one
            part = part or _half(text.source(*_reach(text.text, start, end))).rstrip(TRAILING) != value.rstrip(TRAILING)
        return (whole or not part) and (said == value or _letters(said) == _letters(value))
    if family in _REACHING and not whole:
        said = _half(text.source(*_reach(text.text, start, end)))
        if family == "url" and "//" not in said:
            wanted = wanted.removeprefix("http:")  # who leaves the scheme out means either
        bare = said.rstrip(TRAILING)
        if wanted in {canonical(family, form) for form in {said, bare}}:
            return True
        open_end = unglued(bare)
        return open_end is not None and wanted == canonical(family, open_end)
    found = spoken_number(said) if family == "number" else canonical(family, said)
    torn = family in _GROUPED and (
        _ENDS_IN_DIGITS.search(text.text, max(0, start - 20), start)
        or _BEGINS_WITH_DIGITS.match(text.text, end)
        or MULTIPLIER.match(text.text, end)
    )
    return found == wanted and not torn and (whole or not _is_part(text.text, start, end))


def _half(text: str) -> str:
    return text.translate(_FULL_WIDTH) if _WIDE(text) else text


def _with_signs(text: str, start: int, end: int, value: str) -> tuple[int, int]:
    """Take in the signs that the value itself begins and ends with: the plus of "+49 30", the brackets of "(a)"."""
    body = value.strip()
    first = next((index for index, char in enumerate(body) if char.isalnum()), len(body))
    last = next((index for index, char in enumerate(reversed(body)) if char.isalnum()), 0)
    if first and text[max(0, start - first) : start] == body[:first]:
        start -= first
    if last and text[end : end + last] == body[len(body) - last :]:
        end += last
    return start, end


def _letters(text: str) -> str:
    """Fold case simply and unify quotes: letters that one standard maps together stay apart ("\u00df", "\u00b2")."""
    plain = unicodedata.normalize("NFC", text).translate(_QUOTES)
    return " ".join(plain.lower().split())


def _reach(text: str, start: int, end: int) -> tuple[int, int]:
    while start and text[start - 1] not in _STOPS:
        start -= 1
    while end < len(text) and text[end] not in _STOPS:
        end += 1
    return start, end


def _is_part(text: str, start: int, end: int) -> bool:
    return _joined(text, start - 1, -1) or _joined(text, end, 1)


def _joined(text: str, position: int, step: int) -> bool:
    """Say whether a joint at ``position`` ties a run of words to further ones: "report" in "report-final"."""
    if not 0 <= position < len(text) or text[position] not in _JOINTS:
        return False
    beyond = position + step
    return 0 <= beyond < len(text) and text[beyond].isalnum()
