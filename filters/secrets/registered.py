"""Values that must not leave, found in whatever form they are written: the strongest check against smuggling data out.

Guarantees: linear in the text and independent of how many values there are; a value is found as it stands, in another
letter case, reversed, split by signs or line breaks, in Base64 at each of the three offsets, Base32, hexadecimal and
ROT13, percent-encoded, in backslash escapes or entities, and in two of these forms one inside the other. Values are
only held in this object: it prints how many there are and nothing of them. A part of a value is not found.
"""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.linear import Pattern
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.secrets.vendors import SecretHit

MIN_VALUE: Final = 6
"""Letters and digits of the shortest value: a shorter one would be found in ordinary text."""
MAX_VALUE: Final = 4096
_KEY: Final = 6  # signs by which a form is looked up
_SPLIT_FROM: Final = 8  # letters and digits from which on a value is also found split by signs
_ESCAPES: Final = "%\\=&"  # an escape begins with one of these
_FEW_KEYS: Final = 5_000  # beginnings that one pattern takes
_CACHED: Final = 30_000  # code points
_OPEN_FROM: Final = 4  # signs of a form that keep a stream from going on
_ESCAPE: Final = re.compile(
    r"(?P<hex>(?:%|\\x|=)[0-9A-Fa-f]{2})|\\u\{?(?P<uni>[0-9A-Fa-f]{4,6})\}?|(?P<ent>&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});)"
)


_SIGNS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")


class Registered:
    """A set of values with the code that a find is reported under."""

    def __init__(self, values: Iterable[tuple[str, str]] = ()) -> None:
        """Take ``(code, value)`` pairs; a value is kept in no form that could be printed.

        Raises:
            HostileInputError: ``value_too_short`` or ``value_too_long``; the text repeats nothing of the value.
        """
        self._forms: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
        self._longest = 0
        known: set[tuple[str, str]] = set()
        self._size = 0
        for code, value in values:
            plain = _squeezed(value)[0]
            if len(plain) < MIN_VALUE:
                raise HostileInputError("value_too_short", f"a registered value needs {MIN_VALUE} letters or digits")
            if len(value) > MAX_VALUE:
                raise HostileInputError("value_too_long", f"a registered value has at most {MAX_VALUE} characters")
            self._size += 1
            spelled, encoded = _all_forms(value)
            for form in spelled | encoded:
                if (form, code) not in known:
                    known.add((form, code))
                    self._forms[form[:_KEY]].append((form, code, form not in spelled))
                    self._longest = max(self._longest, len(form))
        self._openings = {key[:_OPEN_FROM] for key in self._forms}

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<Registered, {self._size} values>"

    def find(self, text: str) -> list[SecretHit]:
        """Return every place a value stands at, in characters of ``text``, in order and without overlaps."""
        if not self._forms or not any(map(self._can_hold, _bare_views(text))):
            return []
        hits = [hit for view, places in _views(text) for hit in self._in_view(text, view, places)]
        return list(_disjoint(sorted(set(hits), key=lambda hit: (hit.start, -hit.end))))

    def _can_hold(self, view: str) -> bool:
        """Say whether any form can stand in a view at all; only then the places of its signs are needed."""
        if self._keys is not None:
            return self._keys.found(view)
        forms = self._forms
        return any(view[start : start + _KEY] in forms for start in range(len(view) - _KEY + 1))

    @cached_property
    def _keys(self) -> Pattern | None:
        """The beginnings of all forms as one pattern, while they are few enough to be one."""
        keys = [key for key in self._forms if key.isascii()]
        return Pattern("|".join(keys)) if len(keys) == len(self._forms) <= _FEW_KEYS else None

    def _in_view(self, text: str, view: str, places: Sequence[int]) -> Iterator[SecretHit]:
        forms = self._forms
        for start in range(len(view) - _KEY + 1):
            for form, code, encoded in forms.get(view[start : start + _KEY], ()):
                if not view.startswith(form, start):
                    continue
                first, last = places[start], _end(text, places, start + len(form))
                if encoded:  # the stretch goes on to both sides with signs that say a part of the value, too
                    first, last = _run_before(text, first), _run_behind(text, last)
                if len(form) >= _SPLIT_FROM or _stands_whole(text, first, last):
                    yield SecretHit(first, last, code)

    def open_from(self, text: str) -> int:
        """Return where an unfinished value may begin at the end of ``text``; its length when none does."""
        if not self._forms:
            return len(text)
        base = max(0, len(text) - 4 * self._longest)
        tail = text[base:]
        if not any(map(self._may_be_open, _bare_views(tail))):
            return len(text)
        for view, places in _views(tail):
            for start in range(max(0, len(view) - self._longest), len(view) - _OPEN_FROM + 1):
                rest = view[start:]
                if rest[:_OPEN_FROM] in self._openings and self._begins(rest):
                    return base + places[start]
        return len(text)

    def _may_be_open(self, view: str) -> bool:
        first = max(0, len(view) - self._longest)
        if self._opened is not None:
            return self._opened.found(view[first:])
        return any(
            view[start : start + _OPEN_FROM] in self._openings for start in range(first, len(view) - _OPEN_FROM + 1)
        )

    @cached_property
    def _opened(self) -> Pattern | None:
        if not all(key.isascii() for key in self._openings) or len(self._openings) > _FEW_KEYS:
            return None
        return Pattern("|".join(sorted(self._openings)))

    def _begins(self, rest: str) -> bool:
        if len(rest) >= _KEY:
            return any(form.startswith(rest) for form, *_ in self._forms.get(rest[:_KEY], ()))
        return any(key.startswith(rest) for key in self._forms)


NOTHING: Final = Registered()
"""No value at all."""


def _stands_whole(text: str, first: int, last: int) -> bool:
    """Say whether a short value stands as one word: not split, and no part of a longer one."""
    before, after = text[first - 1 : first], text[last : last + 1]
    whole = not (before.isalnum() or after.isalnum())
    return whole and not any(char.isspace() for char in text[first:last])


def _run_before(text: str, end: int) -> int:
    """Return where the run of encoded signs begins that reaches to ``end``."""
    while end > 0 and text[end - 1] in _SIGNS:
        end -= 1
    return end


def _run_behind(text: str, start: int) -> int:
    while start < len(text) and text[start] in _SIGNS:
        start += 1
    return start


def _end(text: str, places: Sequence[int], index: int) -> int:
    """Return the end of a hit: right behind its last sign, with the padding of Base64."""
    end = places[index]
    while end > places[index - 1] + 1 and text[end - 1] != "=" and not text[end - 1].isalnum():
        end -= 1
    return end


def _views(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the text and, where it has escapes, the text without them, each as bare letters and digits with places."""
    yield _squeezed(text)
    if _ESCAPE.search(text):
        yield _squeezed_parts(_unescaped(text), len(text))


def _bare_views(text: str) -> Iterator[str]:
    """Yield the same views without places, and much faster: they say whether places are needed at all."""
    yield _bare(text)
    if any(sign in text for sign in _ESCAPES) and _ESCAPE.search(text):
        yield _bare(_ESCAPE.sub(_read, text))


class _Bare(dict[int, str]):
    """What each character becomes in a view."""

    def __missing__(self, code: int) -> str:
        form = _squeezed_parts([(chr(code), 0)], 1)[0]
        if len(self) < _CACHED:
            self[code] = form
        return form


_BARE: Final = _Bare()
_NO_ALNUM: Final = bytes(code for code in range(128) if not chr(code).isalnum())


def _bare(text: str) -> str:
    """Return what :func:`_squeezed` returns, without places."""
    if not text.isascii():
        return text.translate(_BARE)
    return text.encode("ascii").translate(None, _NO_ALNUM).decode("ascii").lower()


def _squeezed(text: str) -> tuple[str, Sequence[int]]:
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


def _all_forms(value: str) -> tuple[set[str], set[str]]:
    """Return the spelled and the encoded forms of ``value`` as bare, folded signs, long enough to be looked up."""
    spelled = {value, value.lower(), value.upper()}
    once = {form for text in spelled for form in _encoded(text)}
    twice = {form for text in [value, *_encoded(value)] for form in _encoded(text)}
    return _long({*spelled, *(text[::-1] for text in spelled)}), _long(once | twice)


def _long(texts: Iterable[str]) -> set[str]:
    return {form for form in (_squeezed(text)[0] for text in texts) if len(form) >= _KEY}


def _encoded(text: str) -> Iterator[str]:
    """Yield ``text`` in each encoding once. Base64 and Base32 depend on what stands before, so each offset is one."""
    data = text.encode("utf-8", "surrogatepass")
    yield text[::-1]
    yield data.hex()
    yield codecs.encode(text, "rot13")
    for offset in range(3):
        yield _core(base64.b64encode, data, offset, 6, 3)
        yield _core(base64.urlsafe_b64encode, data, offset, 6, 3)
    for offset in range(5):
        yield _core(base64.b32encode, data, offset, 5, 5)


def _core(encode: Callable[[bytes], bytes], data: bytes, offset: int, bits: int, block: int) -> str:
    """Return the signs of an encoding that depend on ``data`` alone, whatever stands before and after it."""
    first = -(-offset * 8 // bits)
    last = (offset + len(data)) * 8 // bits
    padding = -(offset + len(data)) % block
    return encode(b"\0" * offset + data + b"\0" * padding).decode()[first:last]


def _disjoint(hits: Iterable[SecretHit]) -> Iterator[SecretHit]:
    reached = 0
    for hit in hits:
        if hit.start >= reached:
            yield hit
            reached = hit.end
