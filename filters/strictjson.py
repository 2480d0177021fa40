"""Step 0 of a decision: read JSON once, strictly, so that what was checked is what runs.

Guarantees: only :class:`HostileInputError` is raised, whose text repeats none of the input; the work is linear in the
input and bounded before anything is built; what comes back is made of plain ``dict``, ``list``, ``str``, ``int``,
``float``, ``bool`` and ``None``, and writing it as JSON and reading it again gives the same value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Final, NoReturn, TypeAlias

from checkvalve.filters.errors import HostileInputError

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None

MAX_BYTES: Final = 1_048_576
"""A whole value in UTF-8: a megabyte of arguments is no call that a person could still review."""
MAX_DEPTH: Final = 64
"""Nested containers: real tool schemas stay below ten, and no parser or printer gets into trouble at 64."""
MAX_STRING: Final = 262_144
"""One string in UTF-8 bytes: a long document body fits; an encoded file belongs into a reference."""
MAX_ITEMS: Final = 10_000
"""Values in all, containers included: every leaf is attributed one by one."""
MAX_NUMBER: Final = 400
"""Characters of one number: more than the longest double written out in full, such as 1.8e308."""
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON implementation reads alike (RFC 8259 section 6, RFC 8785)."""
_FIRST_EXPONENT: Final = 1e21  # RFC 8785 writes smaller whole numbers as digits only, which read back as an integer

# One pass, possessive: an unterminated string swallows the rest instead of being tried again from every later quote.
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)


def parse_strict(text: str | bytes) -> JSON:
    """Return the one JSON value in ``text``.

    Raises:
        HostileInputError: ``code`` is ``not_json``, ``duplicate_key``, ``not_finite``, ``big_integer``, ``surrogate``,
            ``too_long``, ``too_deep`` or ``too_many``.
    """
    decoded = _decode(text)
    _scan(decoded)
    try:
        value = json.loads(
            decoded,
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except HostileInputError:
        raise
    except (ValueError, RecursionError):  # from None: the decoder's error object carries the whole document
        raise HostileInputError("not_json", "the text is not one JSON value") from None
    return check_value(value)


def check_value(value: object) -> JSON:
    """Return a plain copy of an already parsed ``value``, under the same rules as :func:`parse_strict`.

    Mappings become ``dict``, tuples become ``list``, subclasses of the plain types lose their class.

    Raises:
        HostileInputError: see :func:`parse_strict`; ``not_json`` also stands for a type that JSON does not have,
            bytes and keys that are not text included.
    """
    try:
        return _Checker().copy(value, 0)
    except RecursionError:  # only when the caller was already near the limit: a value itself is at most 64 deep
        raise HostileInputError("too_deep", "the value cannot be walked at this depth of calls") from None


class _Checker:
    """Copies one value and counts what it holds; the counters are for the whole value, not for each container."""

    def __init__(self) -> None:
        self._items = 0
        self._bytes = 0

    def copy(self, value: object, depth: int) -> JSON:
        self._items += 1
        if self._items > MAX_ITEMS:
            raise HostileInputError("too_many", f"more than {MAX_ITEMS} values")
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return _bounded(int.__int__(value))
        if isinstance(value, float):
            return _finite(float.__float__(value))
        if not isinstance(value, Mapping | list | tuple):
            raise HostileInputError("not_json", "a value of a type that JSON does not have")
        if depth >= MAX_DEPTH:
            raise HostileInputError("too_deep", f"more than {MAX_DEPTH} nested containers")
        if isinstance(value, Mapping):
            return self._object(value, depth + 1)
        return [self.copy(item, depth + 1) for item in value]

    def _object(self, value: Mapping[object, object], depth: int) -> dict[str, JSON]:
        result: dict[str, JSON] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise HostileInputError("not_json", "a key that is not text")
            name = self._text(key)
            if name in result:
                raise HostileInputError("duplicate_key", "the same key twice in one object")
            result[name] = self.copy(item, depth)
        return result

    def _text(self, value: str) -> str:
        if len(value) > MAX_STRING:  # before encoding: 10 MB are refused without a copy
            raise HostileInputError("too_long", f"a string of more than {MAX_STRING} bytes")
        size = len(_encode(value))
        self._bytes += size
        if size > MAX_STRING:
            raise HostileInputError("too_long", f"a string of more than {MAX_STRING} bytes")
        if self._bytes > MAX_BYTES:
            raise HostileInputError("too_long", f"more than {MAX_BYTES} bytes of text")
        return str.__str__(value)


def _decode(text: str | bytes) -> str:
    """Return ``text`` as a string of bounded length that UTF-8 can express."""
    if not isinstance(text, str | bytes):
        raise HostileInputError("not_json", "JSON is read from text or UTF-8 bytes only")
    if len(text) > MAX_BYTES:
        raise HostileInputError("too_long", f"more than {MAX_BYTES} bytes")
    if isinstance(text, str):
        if len(_encode(text)) > MAX_BYTES:
            raise HostileInputError("too_long", f"more than {MAX_BYTES} bytes")
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise HostileInputError("not_json", "the bytes are not UTF-8") from None


def _encode(value: str) -> bytes:
    try:
        return str.encode(value, "utf-8")
    except UnicodeEncodeError:
        raise HostileInputError("surrogate", "text with a lone surrogate, which UTF-8 cannot express") from None


def _scan(text: str) -> None:
    """Bound depth and number of values before the decoder, which recurses and allocates, sees the text."""
    depth = separators = 0
    for found in _STRUCTURE.finditer(text):
        mark = found.group()
        if mark in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise HostileInputError("too_deep", f"more than {MAX_DEPTH} nested containers")
        elif mark in ("]", "}"):
            depth -= 1
            if depth < 0:
                raise HostileInputError("not_json", "a bracket that closes nothing")
        elif mark == ",":
            separators += 1
            if separators > MAX_ITEMS:
                raise HostileInputError("too_many", f"more than {MAX_ITEMS} values")


def _unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise HostileInputError("duplicate_key", "the same key twice in one object")
    return result


def _integer(token: str) -> int:
    if len(token) > len(str(-MAX_INTEGER)):  # so int() never meets a number of 5,000 digits
        raise HostileInputError("big_integer", "an integer beyond 2**53 - 1")
    return _bounded(int(token))


def _float(token: str) -> float:
    if len(token) > MAX_NUMBER:
        raise HostileInputError("too_long", f"a number of more than {MAX_NUMBER} characters")
    return _finite(float(token))


def _constant(_: str) -> NoReturn:
    raise HostileInputError("not_finite", "NaN and infinities are not JSON")


def _bounded(number: int) -> int:
    if abs(number) > MAX_INTEGER:
        raise HostileInputError("big_integer", "an integer beyond 2**53 - 1")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise HostileInputError("not_finite", "NaN and infinities are not JSON")
    if MAX_INTEGER < abs(number) < _FIRST_EXPONENT:
        raise HostileInputError("big_integer", "a whole number beyond 2**53 - 1")
    return number or 0.0  # -0.0 is written as 0 in the canonical form, so it must be 0 here as well
