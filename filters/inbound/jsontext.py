"""The strings of JSON with their exact places: found by cutting the text once, without building the value.

Guarantees: linear; broken JSON gives the strings it has; an escape is undone and maps back to its own characters.
Values stand together in one view with a paragraph between any two; a long one that may be a page, a mail or JSON gets
a view of its own. Keys are metadata. The way back is put together when somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Final

from checkvalve.filters.inbound import neighbours
from checkvalve.filters.inbound.jsonparts import BETWEEN, HAS_COLON, NO_COLON, STRING, Parts, cut, parts
from checkvalve.filters.inbound.views import JOINT, Builder, Trail, View
from checkvalve.filters.linear import Pattern
from checkvalve.filters.outcomes import Channel

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_WHOLE: Final = Pattern(rf'(?s)(?:"(?:[^"\\]|\\.)*"|{BETWEEN.pattern})*')
_CUT: Final = Pattern(rf'(?s)(?:"(?:[^"\\]|\\.)*"|{BETWEEN.pattern})*(?:"(?:[^"\\]|\\.)*\\?|[^"\\]{{0,100}})')
_OPENS: Final = re.compile(r'\s*+[\[{][\s\[{]*+"')
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_FREQUENT: Final = (("\\n", "\n"), ('\\"', '"'), ("\\r", "\r"), ("\\t", "\t"), ("\\/", "/"))
"""Escapes that stand for themselves alone, and can be undone all at once where no backslash is written itself."""
_MANY: Final = 200  # escapes from which it is faster to do so
_STRUCTURED: Final = re.compile(
    r"(?:\s|\\[nrt])*+(?:[\[{]|BEGIN:V|[A-Za-z-]{2,40}: [^\n\\]{1,400}(?:\\r)?\\n[A-Za-z-]{2,40}: )"
)
_LONG: Final = 120
"""Characters from which a value may be a document of its own."""
_HINTS: Final = ("<", "{", "[", "\\n", "BEGIN:V")
"""One of them is in a value that may be a document of its own."""


def is_json(text: str) -> bool:
    """Say whether ``text`` is nothing but strings, numbers and the signs between them; a dump of Python is not."""
    return read(text) is not None


def read(text: str) -> Parts | None:
    """Return the parts of ``text`` where it is JSON.

    A text without anything odd is known at once; in others (blanks of other scripts, a string cut in two) the strings
    are taken out first. A dump that a program cut is JSON too: it ends within a string, or in a short note.
    """
    if text.lstrip()[:1] not in "[{":
        return None
    if text.rstrip()[-1:] not in "]}":
        return parts(text) if _OPENS.match(text) is not None and _CUT.is_all(text) else None
    found = cut(text)
    if found is None and (_WHOLE.is_all(text) or not BETWEEN.sub("", STRING.sub("", text))):
        return parts(text)
    return found


def leaves(view: View, found: Parts | None = None) -> Iterator[View]:
    """Yield the values of JSON text, then its keys, then values that stand side by side as one text.

    ``found`` are the parts of the text, where they are known.
    """
    if found is None:
        found = parts(view.text)
    strings = found.strings
    keys, values = found.letters[1:].translate(HAS_COLON), bytearray(found.letters[1:].translate(NO_COLON))
    said = list(filter(None, compress(strings, values)))
    together = JOINT.join(said)
    long = [item for item in said if len(item) >= _LONG] if any(hint in together for hint in _HINTS) else []
    if any(map(_may_be_more, long)):
        for at in [number for number, item in enumerate(strings) if len(item) >= _LONG]:
            if values[at] and _may_be_more(strings[at]):
                values[at] = 0
                yield _strings(view, [strings[at]], partial(_one, found, at))
        said = list(filter(None, compress(strings, values)))
        together = JOINT.join(said)
    if said:
        yield view.made(undone(together), lambda: _trail(view, said, _starts(found, values)))
    if any(keys):
        yield _strings(view, list(compress(strings, keys)), lambda: list(compress(found.starts, keys)), keys=True)
    if rows := neighbours.rows(found):
        joined = neighbours.text(rows, undone)
        yield view.made(joined, lambda: neighbours.trail(view, rows, found, _append_from), note=neighbours.NOTE)


def _strings(view: View, said: list[str], starts: Callable[[], list[int]], *, keys: bool = False) -> View:
    """Return strings as texts of their own, their escapes undone."""
    channel, note = (Channel.METADATA, "keys") if keys else (None, "")
    return view.made(undone(JOINT.join(said)), lambda: _trail(view, said, starts()), channel, note)


def _one(found: Parts, at: int) -> list[int]:
    return [found.starts[at]]


def _starts(found: Parts, values: bytearray) -> list[int]:
    """Return where the chosen strings start that are not empty."""
    return [start for start, said in compress(zip(found.starts, found.strings, strict=True), values) if said]


def _trail(view: View, said: Sequence[str], starts: Sequence[int]) -> Trail:
    """Return where strings came from: those without an escape are put together at once."""
    builder, done = Builder(view), 0
    for at in [number for number, item in enumerate(said) if "\\" in item]:
        builder.paragraphs(said[done:at], starts[done:at])
        builder.joint(starts[at])
        builder.undone(_ESCAPE, _meant, starts[at], starts[at] + len(said[at]))
        done = at + 1
    builder.paragraphs(said[done:], starts[done:])
    return builder.trail()


def _may_be_more(said: str) -> bool:
    """Say whether a value may be a page, a mail, a calendar or JSON; what it says first shows it."""
    return "<" in said or _STRUCTURED.match(said) is not None


def undone(text: str) -> str:
    """Return ``text`` with its escapes undone."""
    if "\\" not in text:
        return text
    if text.count("\\") > _MANY and "\\\\" not in text:
        for written, sign in _FREQUENT:
            text = text.replace(written, sign)
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


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
