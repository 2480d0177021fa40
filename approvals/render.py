"""Untrusted text for a person's eyes: everything that hides, reorders or forges is shown by its code point.

Guarantees: the result of :func:`neutralise` has no control, format, private, unassigned or surrogate character, no
separator but the plain space, no default-ignorable character, no long run of combining marks; an escape in the
result was always put there by this module or by :mod:`veiled`, since the brackets they use are escaped themselves.
Nothing is cut silently: :func:`clip` keeps both ends and says how many bytes are between them.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from checkvalve.approvals.veiled import CLOSE, OPEN, Veiled, part

HEAD_BYTES: Final = 2_000
"""Bytes of a long value that are shown from its start: a page of text."""
TAIL_BYTES: Final = 1_000
"""Bytes shown from its end, where attacks on truncation put their payload."""
MAX_SHORT: Final = 200
"""Bytes of a name in a line of a log: as long as the names that a call may have."""
MAX_COMBINING: Final = 4
"""Combining marks in a row; no language needs more, and piles of them cover the lines around."""
MAX_BREAKS: Final = 40
"""Lines a value may take; further line ends are shown by code point only, so that no value scrolls a card away."""

_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ALWAYS: Final = frozenset({OPEN, CLOSE, "\u2800"})  # our own brackets, and a blank that counts as a symbol
_NEWLINE: Final = f"{OPEN}U+000A{CLOSE}"

_IGNORABLE: Final = (  # Default_Ignorable_Code_Point, Unicode 16: characters that fonts draw as nothing at all
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


@lru_cache(maxsize=4_096)  # a page asks about the same few letters thousands of times
def is_deceptive(character: str) -> bool:
    """Say whether a character must never reach a terminal or a page as it is."""
    category = unicodedata.category(character)
    if category in _CATEGORIES or character in _ALWAYS or (category == "Zs" and character != " "):
        return True
    code = ord(character)
    return any(first <= code <= last for first, last in _IGNORABLE)


def code_point(character: str) -> str:
    """Return the visible form of one character."""
    return f"{OPEN}U+{ord(character):04X}{CLOSE}"


def neutralise(text: str) -> str:
    """Return ``text`` with everything deceptive replaced by its visible code point; marks of ours stay."""
    shown: list[str] = []
    combining, ours = 0, frozenset((OPEN, CLOSE)) if isinstance(text, Veiled) else frozenset[str]()
    for character in text:
        if character.isascii() and character.isprintable():
            combining = 0
            shown.append(character)
            continue
        combining = combining + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        escape = (is_deceptive(character) and character not in ours) or combining > MAX_COMBINING
        shown.append(code_point(character) if escape else character)
    return "".join(shown)


def clip(text: str, *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> tuple[str, int, str]:
    """Return the start of ``text``, the number of UTF-8 bytes left out, and its end; short text is all start."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= head + tail:
        return text, 0, ""
    start = part(text, 0, _fitting(text, head))
    end = part(text, len(text) - _fitting(text[::-1], tail), len(text))
    left_out = len(data) - len(start.encode("utf-8", "surrogatepass")) - len(end.encode("utf-8", "surrogatepass"))
    return start, left_out, end


def _fitting(text: str, limit: int) -> int:
    """Return how many leading characters take at most ``limit`` bytes."""
    used = 0
    for count, character in enumerate(text[:limit]):
        used += len(character.encode("utf-8", "surrogatepass"))
        if used > limit:
            return count
    return min(len(text), limit)


def size_of(text: str) -> int:
    """Return the bytes of a value in UTF-8: of a veiled one those that it has without its veil."""
    return text.size if isinstance(text, Veiled) else len(text.encode("utf-8", "surrogatepass"))


def block(
    text: str, *, full: bool = False, head: int = HEAD_BYTES, tail: int = TAIL_BYTES, lines: int = MAX_BREAKS
) -> str:
    """Return ``text`` for a card: neutralised, both ends of long text, and line ends that also break the line."""
    start, left_out, end = (text, 0, "") if full else clip(text, head=head, tail=tail)
    lines = MAX_BREAKS if full else lines
    shown = _broken(neutralise(start), lines)
    if not left_out:
        return shown
    return (
        f"{shown}\n{OPEN}{left_out:,} bytes not shown here; --full shows them{CLOSE}\n{_broken(neutralise(end), lines)}"
    )


def short(text: str, *, limit: int = MAX_SHORT) -> str:
    """Return a name for one line of a log: neutralised, and cut with a count of what is missing."""
    start, left_out, _ = clip(text, head=limit, tail=0)
    return neutralise(start) + (f"{OPEN}{left_out:,} bytes more{CLOSE}" if left_out else "")


def _broken(shown: str, most: int) -> str:
    """Break the line after the first line ends, a run of them counting once."""
    pieces = shown.split(_NEWLINE)
    lines = [pieces[0]]
    for piece in pieces[1:]:
        lines[-1] += _NEWLINE
        if piece and len(lines) < most:
            lines.append(piece)
        else:
            lines[-1] += piece
    return "\n".join(lines)


def warnings(text: str) -> list[str]:
    """Return what a reader should know of a value that may not be what it looks like."""
    if isinstance(text, Veiled):
        return [*text.warned]
    found = []
    if any(is_deceptive(character) and character not in "\n\t" for character in text):
        found.append("hidden or control characters")
    if unicodedata.normalize("NFKC", text) != text:
        found.append("changes under Unicode normalisation")
    if any(len(_scripts(word)) > 1 for word in text.split()):
        found.append("a word mixes alphabets")
    return found


def _scripts(word: str) -> set[str]:
    names = (unicodedata.name(character, "").split(" ")[0] for character in word if character.isalpha())
    return {name for name in names if name in {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}}
