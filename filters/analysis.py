"""What the index keeps of one text: words, addresses and numbers, and the values that are a whole line of it.

Guarantees: linear in the length of the text; pure, and remembered for the texts seen last, since a session reads the
same records again and again; of long texts only a few are remembered, so that what is kept stays small.
"""

from __future__ import annotations

import base64
import binascii
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from checkvalve.filters.entities import entities
from checkvalve.filters.normalise import Normalised, normalise
from checkvalve.filters.values import canonical, words
from checkvalve.filters.words import tokens

# Longest stretch and argument that is decoded, in characters; longer ones are files, not smuggled addresses.
_MAX_ENCODED: Final = 8192
_ENCODED: Final = re.compile(rf"[A-Za-z0-9+/_-]{{16,{_MAX_ENCODED}}}={{0,2}}")
# Shortest decoded text that counts; shorter ones come out of ordinary words by accident.
_MIN_DECODED: Final = 6
# Texts up to this length, in characters, are remembered by the thousand: they are the fields of records.
_SHORT: Final = 1024
# Longest text that is compared as one value, in characters: the longest URL that clients accept.
_MAX_VALUE: Final = 2048
_TAG_BASE: Final = 0xE0000
_TAG: Final = re.compile("[\U000e0020-\U000e007e]")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_LINE: Final = re.compile(r"[^\n]+")
_BULLET: Final = re.compile(r"\s*(?:[-*•]\s+|\d{1,3}[.)]\s+)?")
_FIELD_LABEL: Final = re.compile(r"[^:\n]{1,80}:\s+")

_HAS_DIGIT: Final = re.compile(r"\d").search
_POSSIBLE: Final[dict[str, Callable[[str], object]]] = {
    "email": lambda text: "@" in text,
    "url": lambda text: "." in text or "//" in text,
    "account": _HAS_DIGIT,
    "phone": _HAS_DIGIT,
    "number": _HAS_DIGIT,
    "path": lambda text: "/" in text or "\\" in text or "." in text,
    "date": _HAS_DIGIT,
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """One text, taken apart. Offsets are characters of the normalised text; ``starts`` are those of ``words``."""

    text: Normalised
    words: tuple[str, ...]
    starts: Sequence[int]
    entities: tuple[tuple[str, str, int, int], ...]
    members: tuple[tuple[str, str, int, int], ...]
    decoded: tuple[str, ...]


def analyse(text: str) -> Analysis:
    """Take ``text`` apart."""
    return _short(text) if len(text) <= _SHORT else _long(text)


def _analyse(text: str) -> Analysis:
    normal = normalise(text)
    found = list(tokens(normal.text))
    return Analysis(
        text=normal,
        words=tuple(word for word, *_ in found),
        starts=array("I", [start for _, start, _ in found]),
        entities=tuple(entities(text if text.isascii() else normal.text)),
        members=tuple(_values(normal.text)),
        decoded=tuple(_hidden(text)),
    )


_short = lru_cache(maxsize=4096)(_analyse)
_long = lru_cache(maxsize=64)(_analyse)


def forget() -> None:
    """Forget every text that was remembered: for measuring, and for a process that is done with a session."""
    _short.cache_clear()
    _long.cache_clear()


def _values(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield ``(kind, form, start, end)`` for the whole text and for each of its lines, as every kind it can be."""
    for start, end in _members(text):
        piece = text[start:end]
        if plain := words(piece):
            yield "text", plain, start, end
        if len(piece) <= _MAX_VALUE:
            for kind, possible in _POSSIBLE.items():
                if possible(piece) and (form := canonical(kind, piece)):
                    yield kind, form, start, end


def _members(text: str) -> Iterator[tuple[int, int]]:
    """Yield the whole text and, where it has several lines, each line without its bullet or label."""
    yield 0, len(text)
    if "\n" not in text and ": " not in text:
        return
    for line in _LINE.finditer(text):
        bullet = _BULLET.match(line[0])
        start = line.start() + (bullet.end() if bullet else 0)
        end = line.start() + len(line[0].rstrip())
        if start < end:
            yield start, end
            label = _FIELD_LABEL.match(text, start, end)
            if label and label.end() < end:
                yield label.end(), end


def decoded_views(value: str) -> Iterator[str]:
    """Yield what an argument says once its percent or base64 encoding is taken off; long texts have none."""
    if len(value) > _MAX_ENCODED:
        return
    if "%" in value and (plain := unquote(value)) != value:
        yield plain
    if _ENCODED.fullmatch(value.strip()) and (hidden := _from_base64(value.strip())):
        yield hidden


def _hidden(text: str) -> Iterator[str]:
    """Yield what a text says to a machine and not to a person: encoded stretches, and letters written as tags."""
    if tagged := "".join(chr(ord(char) - _TAG_BASE) for char in _TAG.findall(text)):
        yield tagged
    for match in _ENCODED.finditer(text):
        if hidden := _from_base64(match[0]):
            yield hidden
    if "%" in text and _PERCENT.search(text) and (plain := unquote(text)) != text:
        yield plain


def _from_base64(text: str) -> str | None:
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        plain = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain if plain.isprintable() and len(plain) >= _MIN_DECODED else None
