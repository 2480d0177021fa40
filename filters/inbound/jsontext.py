"""The strings of JSON with their exact places: found by reading the text once, without building the value.

Guarantees: linear; broken JSON gives the strings it has; an escape is undone and maps back to its own characters.
Values stand together in one view with a paragraph between any two; a long one that may be a page, a mail or JSON gets
a view of its own. Keys are metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import Channel

_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"?(\s*+:)?', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_BETWEEN: Final = re.compile(r"[\s\[\]{},:0-9.eE+-]|true|false|null|NaN|Infinity")
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_STRUCTURED: Final = re.compile(
    r"(?:\s|\\[nrt])*+(?:[\[{]|BEGIN:V|[A-Za-z-]{2,40}: [^\n\\]{1,400}(?:\\r)?\\n[A-Za-z-]{2,40}: )"
)
_LONG: Final = 120
"""Characters from which a value may be a document of its own."""


def is_json(text: str) -> bool:
    """Say whether ``text`` is nothing but strings, numbers and the signs between them; a dump of Python is not."""
    return text.lstrip()[:1] in "[{" and text.rstrip()[-1:] in "]}" and not _BETWEEN.sub("", _STRING.sub("", text))


def leaves(view: View) -> Iterator[View]:
    """Yield the values of JSON text, then its keys."""
    values, keys = Builder(view), Builder(view)
    for found in _STRING.finditer(view.text):
        start, end = found.span(1)
        if found[2]:
            _append(keys, start, end)
        elif end - start >= _LONG and _may_be_more(view.text, start, end):
            own = Builder(view)
            _append(own, start, end)
            yield own.view()
        elif end > start:
            _append(values, start, end)
    if values:
        yield values.view()
    if keys:
        yield keys.view(Channel.METADATA, "keys")


def _may_be_more(text: str, start: int, end: int) -> bool:
    """Say whether a value may be a page, a mail, a calendar or JSON; what it says first shows it."""
    return text.find("<", start, end) >= 0 or _STRUCTURED.match(text, start, end) is not None


def _append(builder: Builder, start: int, end: int) -> None:
    """Append the string between the quotes at ``start`` and ``end``, its escapes undone."""
    builder.joint(start)
    text, position = builder.parent.text, start
    if "\\" in text[start:end]:
        for found in _ESCAPE.finditer(text, start, end):
            builder.copy(position, found.start())
            builder.put(_meant(found), *found.span())
            position = found.end()
    builder.copy(position, end)


def _meant(found: re.Match[str]) -> str:
    if found[1] is None:
        return _PLAIN.get(found[3], found[3])
    high = int(found[1], 16)
    if found[2] is None or not 0xD800 <= high < 0xDC00:  # noqa: PLR2004  # the halves of UTF-16 pairs
        return chr(high) + (chr(int(found[2], 16)) if found[2] else "")
    return chr(0x10000 + ((high - 0xD800) << 10) + (int(found[2], 16) - 0xDC00))
