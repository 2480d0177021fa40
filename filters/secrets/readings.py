"""What can be read in a text, as bare letters and digits: the form in which registered values are looked for.

Guarantees: linear; each reading comes with the place of each sign in the text, or without places and much faster.
"""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from checkvalve.filters.inbound.canonical import fold
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.secrets.unseen import AS_LETTERS

_ESCAPES: Final = "%\\=&"  # an escape begins with one of these
_CACHED: Final = 30_000  # code points
_ESCAPE: Final = re.compile(
    r"(?P<hex>(?:%|\\x|=)[0-9A-Fa-f]{2})|\\u\{?(?P<uni>[0-9A-Fa-f]{4,6})\}?|(?P<ent>&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});)"
)


def views(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield what can be read in ``text``, each as bare letters and digits with places.

    1. The text. 2. Without escapes. 3. Without markup, and without the escapes left then. 4. The last of these, with
    letters that look like Latin ones as those, and tags as the letters that they spell.
    """
    yield squeezed(text)
    escaped = _ESCAPE.search(text)
    last: Sequence[tuple[str, int]] | None = None
    if escaped:
        last = list(_unescaped(text))
        yield _squeezed_parts(last, len(text))
    if _has_markup(text):
        shown, places = _without_markup(text)
        last = [(char, places[place]) for char, place in _unescaped(shown)]
        yield _squeezed_parts(last, len(text))
    read = text if last is None else "".join(char for char, _ in last)
    if not read.isascii() and _LIKE_LATIN.search(read) and read.translate(_ALIKE) != _bare(read):
        parts = last if last is not None else [(char, place) for place, char in enumerate(text)]
        pairs = [(alike, place) for char, place in parts for alike in _ALIKE[ord(char)]]
        yield "".join(alike for alike, _ in pairs), array("L", [*(place for _, place in pairs), len(text)])


def bare_views(text: str) -> Iterator[str]:
    """Yield the same views without places, and much faster: they say whether places are needed at all."""
    read, bare = text, _bare(text)
    yield bare
    if any(sign in text for sign in _ESCAPES) and _ESCAPE.search(text):
        read = _ESCAPE.sub(_read, text)
        yield (bare := _bare(read))
    if _has_markup(text):
        read = _ESCAPE.sub(_read, _MARKUP.sub("", text))
        yield (bare := _bare(read))
    if not read.isascii() and _LIKE_LATIN.search(read) and (alike := read.translate(_ALIKE)) != bare:
        yield alike


_LIKE_LATIN: Final = re.compile(
    "[\u00aa-\u058f\u10a0-\u10ff\u13a0-\u13ff\u1c80-\u1eff\u2070-\u218f\u2460-\u24ff\u2c00-\u2dff\ua490-\ua7ff\uab30-\uabbf"
    "\ufb00-\ufb1c\uff10-\uff5a\U00010280-\U000108ff\U0001d400-\U0001d7ff\U0001f100-\U0001f2ff\U000e0020-\U000e007e]"
)
"""Where letters stand that look like Latin ones, and tags: text in other scripts alone is not read a second time."""
_MARKUP: Final = re.compile(r"<[/!?A-Za-z][^<>]{0,300}>|\x1b\[[0-9;]{0,20}[A-Za-z]")


def _has_markup(text: str) -> bool:
    return (">" in text or "\x1b" in text) and _MARKUP.search(text) is not None


def _without_markup(text: str) -> tuple[str, Sequence[int]]:
    """Return what a client shows of ``text`` with the place of each character."""
    out: list[str] = []
    places = array("L")
    done = 0
    for start, end in [*(match.span() for match in _MARKUP.finditer(text)), (len(text), len(text))]:
        out.append(text[done:start])
        places.extend(range(done, start))
        done = end
    return "".join(out), places


class _Bare(dict[int, str]):
    """What each character becomes in a view."""

    def __missing__(self, code: int) -> str:
        form = _squeezed_parts([(chr(code), 0)], 1)[0]
        if len(self) < _CACHED:
            self[code] = form
        return form


_BARE: Final = _Bare()


class _Alike(dict[int, str]):
    """What each character becomes where letters are what they look like, and tags what they spell."""

    def __missing__(self, code: int) -> str:
        char = AS_LETTERS.get(code, code)
        form = "".join(filter(str.isalnum, fold(chr(char))))
        if len(self) < _CACHED:
            self[code] = form
        return form


_ALIKE: Final = _Alike()
_NO_ALNUM: Final = bytes(code for code in range(128) if not chr(code).isalnum())


def _bare(text: str) -> str:
    """Return what :func:`squeezed` returns, without places."""
    if not text.isascii():
        return text.translate(_BARE)
    return text.encode("ascii").translate(None, _NO_ALNUM).decode("ascii").lower()


def squeezed(text: str) -> tuple[str, Sequence[int]]:
    """Return the folded letters and digits of ``text`` with the place of each, and one place more for the end."""
    if text.isascii():
        places = array("L", [match.start() for match in _ALNUM.finditer(text)])
        places.append(len(text))
        return "".join(_ALNUM.findall(text)).lower(), places
    return _squeezed_parts(((char, place) for place, char in enumerate(text)), len(text))


_ALNUM: Final = re.compile(r"[A-Za-z0-9]")


def _squeezed_parts(parts: Iterable[tuple[str, int]], size: int) -> tuple[str, Sequence[int]]:
    out: list[str] = []
    places = array("L")
    for char, place in parts:
        if is_invisible(char):
            continue
        for piece in unicodedata.normalize("NFKC", char).casefold():
            if piece.isalnum():
                out.append(piece)
                places.append(place)
    places.append(size)
    return "".join(out), places


def _unescaped(text: str) -> Iterator[tuple[str, int]]:
    """Yield each character with its place, percent, backslash and entity escapes read."""
    done = 0
    for match in _ESCAPE.finditer(text):
        yield from ((text[place], place) for place in range(done, match.start()))
        yield from ((char, match.start()) for char in _read(match))
        done = match.end()
    yield from ((text[place], place) for place in range(done, len(text)))


def _read(match: re.Match[str]) -> str:
    if match["hex"]:
        return chr(int(match["hex"][-2:], 16))
    if match["uni"]:
        code = int(match["uni"], 16)
        return chr(code) if code <= 0x10FFFF else ""  # noqa: PLR2004 - the last code point
    return html.unescape(match["ent"])
