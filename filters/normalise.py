"""The first normaliser: text in a form that compares, with a map back to the original.

Guarantees: letter case, compatibility forms (NFKC), invisible and format characters, and typographic quotes and
dashes no longer matter; ``offsets`` gives for every character of the result its index in the original, so that a
match can always be shown where it really stands.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

FOLD: Final = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("    ", " "),
}

# Default-ignorable code points outside category Cf, which str.isprintable() misses (Unicode 15,
# DerivedCoreProperties).
_IGNORABLE_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)

# Characters whose form is remembered: every script in daily use fits, and hostile text cannot fill the memory.
_REMEMBERED: Final = 1 << 16


@lru_cache(maxsize=_REMEMBERED)
def is_invisible(char: str) -> bool:
    """Say whether ``char`` leaves no mark on a screen: format, private, unassigned, control or default-ignorable."""
    if char in "\t\n\r":
        return False
    code = ord(char)
    if any(low <= code <= high for low, high in _IGNORABLE_RANGES):
        return True
    return unicodedata.category(char) in {"Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


_PLAIN: Final = r"\t\n\r\x20-\x5f\x61-\x7e"  # ASCII that nothing but lower-casing changes
_NOT_PLAIN: Final = re.compile(f"([^{_PLAIN}]+)")


@lru_cache(maxsize=64)  # one decision asks of the same text several times
def has_invisible(text: str) -> bool:
    """Say whether ``text`` holds a character that leaves no mark on a screen."""
    return not (text.isascii() and text.isprintable()) and any(map(is_invisible, set(text)))


def visible(text: str) -> str:
    """Return ``text`` without the characters that leave no mark on a screen."""
    if not has_invisible(text):
        return text
    return text.translate(dict.fromkeys(ord(char) for char in set(text) if is_invisible(char)))


@dataclass(frozen=True, slots=True)
class Normalised:
    """Normalised ``text``; ``offsets`` has one entry more than ``text`` and is None where nothing moved."""

    text: str
    original: str
    offsets: Sequence[int] | None = None

    def source(self, start: int, end: int) -> str:
        """Return the stretch of the original that ``text[start:end]`` came from."""
        first, last = self._range(start, end)
        return self.original[first:last]

    def _range(self, start: int, end: int) -> tuple[int, int]:
        if self.offsets is None:
            return start, end
        return self.offsets[start], self.offsets[end]

    def origin_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the byte range in the original's UTF-8 form that ``text[start:end]`` came from."""
        first, last = self._range(start, end)
        if self.original.isascii():
            return first, last
        prefix = len(self.original[:first].encode("utf-8", "surrogatepass"))
        return prefix, prefix + len(self.original[first:last].encode("utf-8", "surrogatepass"))


def normalise(text: str) -> Normalised:
    """Return the comparable form of ``text``."""
    if text.isascii():
        # Lower-casing ASCII moves nothing; control characters but white space are dropped by the tokeniser.
        return Normalised(text.lower(), text)
    pieces = [_fold(char) for char in text]
    folded = "".join(pieces)
    if len(folded) == len(text) and len(max(pieces, key=len)) == 1:
        return Normalised(folded, text)
    offsets = array("I", [index for index, piece in enumerate(pieces) for _ in piece])
    offsets.append(len(text))
    return Normalised(folded, text, offsets)


def normal_text(text: str) -> str:
    """Return the comparable form of ``text`` alone, where nobody asks for the way back."""
    if text.isascii():
        return text.lower()
    parts = _NOT_PLAIN.split(text)
    parts[::2] = [part.lower() for part in parts[::2]]
    parts[1::2] = [part.translate(_TABLE) for part in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=_REMEMBERED)
def _fold(char: str) -> str:
    """Return what one character becomes: nothing when it is invisible, and sometimes several."""
    if is_invisible(char):
        return ""
    return "".join(FOLD.get(piece, piece) for piece in unicodedata.normalize("NFKC", char)).casefold()


class _Table(dict[int, str]):
    """What every character becomes, worked out when it is met first, as :meth:`str.translate` asks for it."""

    def __missing__(self, code: int) -> str:
        form = _fold(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = form
        return form


_TABLE: Final = _Table()
