"""The strings of JSON with their exact places: found by reading the text once, without building the value.

Guarantees: linear; broken JSON gives the strings it has; an escape is undone and maps back to its own characters.
Values stand together in one view with a paragraph between any two; a long one that may be a page, a mail or JSON gets
a view of its own. Keys are metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.neighbours import SHORT, WORDS, Neighbours
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.linear import Pattern
from checkvalve.filters.outcomes import Channel

_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"?(\s*+:)?', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_BETWEEN: Final = re.compile(r"[\s\[\]{},:0-9.eE+-]|true|false|null|NaN|Infinity")
_WHOLE: Final = Pattern(rf'(?s)(?:"(?:[^"\\]|\\.)*"|{_BETWEEN.pattern})*')
_CUT: Final = Pattern(rf'(?s)(?:"(?:[^"\\]|\\.)*"|{_BETWEEN.pattern})*(?:"(?:[^"\\]|\\.)*\\?|[^"\\]{{0,100}})')
_OPENS: Final = re.compile(r'\s*+[\[{][\s\[{]*+"')
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_STRUCTURED: Final = re.compile(
    r"(?:\s|\\[nrt])*+(?:[\[{]|BEGIN:V|[A-Za-z-]{2,40}: [^\n\\]{1,400}(?:\\r)?\\n[A-Za-z-]{2,40}: )"
)
_LONG: Final = 120
"""Characters from which a value may be a document of its own."""


def is_json(text: str) -> bool:
    """Say whether ``text`` is nothing but strings, numbers and the signs between them; a dump of Python is not.

    A text without anything odd is known at once; in others (blanks of other scripts, a string cut in two) the strings
    are taken out first. A dump that a program cut is JSON too: it ends within a string, or in a short note.
    """
    if text.lstrip()[:1] not in "[{":
        return False
    if text.rstrip()[-1:] not in "]}":
        return _OPENS.match(text) is not None and _CUT.is_all(text)
    return _WHOLE.is_all(text) or not _BETWEEN.sub("", _STRING.sub("", text))


def leaves(view: View) -> Iterator[View]:
    """Yield the values of JSON text, then its keys, then values that stand side by side as one text."""
    text = view.text
    values, keys, beside = _Strings(view), _Strings(view), Neighbours(text)
    pieces = _STRING.split(text)  # what divides two strings, a string, and the colon that makes it a key, over and over
    start, key = len(pieces[0]) + 1, None
    for number in range(1, len(pieces), 3):
        said, colon = pieces[number], pieces[number + 1]
        end = start + len(said)
        if colon is not None:
            keys.append(said, start)
            key = said
            start = end + len(colon) + len(pieces[number + 2]) + 2
            continue
        if key is None or "[" in pieces[number - 1]:
            beside.listed(start, end)
        elif len(said) <= SHORT and said.count(" ") >= WORDS - 1:
            beside.given(key, start, end)
        key = None
        if end - start >= _LONG and _may_be_more(text, start, end):
            own = _Strings(view)
            own.append(said, start)
            yield own.built().view()
        elif said:
            values.append(said, start)
        start = end + len(pieces[number + 2]) + 2
    if found := values.built():
        yield found.view()
    if found := keys.built():
        yield found.view(Channel.METADATA, "keys")
    joined = beside.joined(view, _append_from)
    if joined is not None:
        yield joined


class _Strings:
    """Strings as texts of their own: those without an escape are put together at once."""

    __slots__ = ("_builder", "_plain", "_starts")

    def __init__(self, view: View) -> None:
        self._builder = Builder(view)
        self._plain: list[str] = []
        self._starts: list[int] = []

    def append(self, said: str, start: int) -> None:
        """Append the string ``said``, which begins at ``start``, its escapes undone."""
        if "\\" not in said:
            self._plain.append(said)
            self._starts.append(start)
        else:
            builder = self.built()
            builder.joint(start)
            builder.undone(_ESCAPE, _meant, start, start + len(said))

    def built(self) -> Builder:
        """Return what was put together so far."""
        self._builder.paragraphs(self._plain, self._starts)
        self._plain, self._starts = [], []
        return self._builder


def _may_be_more(text: str, start: int, end: int) -> bool:
    """Say whether a value may be a page, a mail, a calendar or JSON; what it says first shows it."""
    return text.find("<", start, end) >= 0 or _STRUCTURED.match(text, start, end) is not None


def _append_from(builder: Builder, start: int, end: int) -> None:
    """Append the characters from ``start`` to ``end``, their escapes undone."""
    if builder.parent.text.find("\\", start, end) < 0:
        builder.copy(start, end)
    else:
        builder.undone(_ESCAPE, _meant, start, end)


def _meant(found: re.Match[str]) -> str:
    sign = found[3]
    if sign is not None:
        return _PLAIN.get(sign, sign)
    high = int(found[1], 16)
    if found[2] is None or not 0xD800 <= high < 0xDC00:  # noqa: PLR2004  # the halves of UTF-16 pairs
        return chr(high) + (chr(int(found[2], 16)) if found[2] else "")
    return chr(0x10000 + ((high - 0xD800) << 10) + (int(found[2], 16) - 0xDC00))
