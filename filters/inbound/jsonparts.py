"""JSON cut at its quotes: its strings, and of what stands between them what that says of the strings beside it.

A text is cut at once, not string by string. What stands between two strings has few forms once a digit is like any
other digit, so that each form is read once. Where a text has an unusual sign outside of its strings, or a string that
nobody closes, it is cut by a pattern instead, with the same result. Guarantees: linear; the pieces and the quotes are
all of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count, groupby
from operator import add
from typing import Final

STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"?(\s*+:)?', re.DOTALL)
BETWEEN: Final = re.compile(r"[\s\[\]{},:0-9.eE+-]|true|false|null|NaN|Infinity")
_ALL_BETWEEN: Final = re.compile(rf"(?:{BETWEEN.pattern})*+")
_LISTED: Final = " \t\r\n,[]"
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_ESCAPED: Final = '\\"'
_MANY: Final = 1_000  # escaped quotes up to which looking at each is faster than the pattern
_KNOWN: Final = 4_096  # forms that are remembered
_SHORT: Final = 80  # characters of such a form

COLON: Final = b"kK"
"""A colon follows, so that the string before it is a key. The large letter of two says that a list begins as well."""
IN_LIST: Final = b"cB"
"""Nothing but commas, blanks and brackets."""
OTHER: Final = b"ob"
HAS_COLON: Final = bytes(code in COLON for code in range(256))
NO_COLON: Final = bytes(code not in COLON for code in range(256))
"""Letters as truth values, for ``bytes.translate``."""
_ODD: Final = ord("x")  # no JSON


@dataclass(frozen=True)
class Parts:
    """The strings of a text as they are written, and a letter for each stretch before, between and behind them.

    ``pieces`` are such stretches and the strings in turn: with the quotes between them they are all of the text.
    """

    pieces: Sequence[str]
    letters: bytes

    @cached_property
    def strings(self) -> Sequence[str]:
        """The strings alone."""
        return self.pieces[1::2]

    @cached_property
    def starts(self) -> list[int]:
        """The place of the first character of each string."""
        ends = list(accumulate(map(len, self.pieces)))
        return list(map(add, ends[:-1:2], count(1, 2)))  # a quote before each piece but the first


def letter(between: str) -> int:
    """Return what stands between two strings as one letter of :data:`COLON`, :data:`IN_LIST` or :data:`OTHER`."""
    kind = COLON if between.lstrip().startswith(":") else OTHER if between.strip(_LISTED) else IN_LIST
    return kind["[" in between]


class _Forms(dict[bytes, int]):
    """The letter of each form met so far."""

    def __missing__(self, form: bytes) -> int:
        between = form.decode()
        found = letter(between) if _ALL_BETWEEN.fullmatch(between) else _ODD
        if len(self) < _KNOWN and len(form) < _SHORT:
            self[form] = found
        return found


_FORMS: Final = _Forms()


def cut(text: str) -> Parts | None:
    """Return the parts of ``text`` where it is JSON without anything unusual."""
    pieces = text.split('"')
    if _ESCAPED in text:
        if text.count(_ESCAPED) > _MANY:
            return None
        pieces = _rejoined(pieces, _escaped(text))
    if not len(pieces) % 2 or not (outside := '"'.join(pieces[::2])).isascii():
        return None
    letters = bytes(map(_FORMS.__getitem__, outside.encode().translate(_DIGITS).split(b'"')))
    return None if _ODD in letters or letters[0] in COLON else Parts(pieces, letters)


def _escaped(text: str) -> list[int]:
    """Return the numbers of the quotes that a backslash keeps from ending a string."""
    found: list[int] = []
    count = place = 0
    at = text.find(_ESCAPED)
    while at >= 0:
        first = at
        while first and text[first - 1] == "\\":
            first -= 1
        if (at - first) % 2 == 0:
            count += text.count('"', place, at + 1)
            place = at + 1
            found.append(count)
        at = text.find(_ESCAPED, at + 2)
    return found


def _rejoined(pieces: list[str], quotes: Sequence[int]) -> list[str]:
    """Return ``pieces`` with those put together again that are divided by the quotes of these numbers."""
    whole: list[str] = []
    done = 0  # pieces that are in ``whole``
    for _, row in groupby(enumerate(quotes), lambda item: item[1] - item[0]):  # numbers that follow each other
        run = [quote for _, quote in row]
        whole += pieces[done : run[0]]
        done = run[-1] + 2
        whole.append('"'.join(pieces[run[0] : done]))
    return whole + pieces[done:]


def parts(text: str) -> Parts:
    """Return the parts of any text, JSON or not."""
    found = cut(text)
    if found is not None:
        return found
    cut_up = STRING.split(text)  # what divides two strings, a string, and the colon that makes it a key, over and over
    pieces = cut_up[:1] * (1 + len(cut_up) // 3 * 2)
    pieces[1::2] = cut_up[1::3]
    pieces[2::2] = [(colon or "") + rest for colon, rest in zip(cut_up[2::3], cut_up[3::3], strict=True)]
    letters = bytearray(map(letter, pieces[::2]))
    if letters[0] in COLON:  # there is no string before it
        letters[0] = OTHER[COLON.index(letters[0])]
    return Parts(pieces, bytes(letters))
