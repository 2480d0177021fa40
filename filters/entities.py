"""Finding values in running text: addresses, links, accounts, phone numbers, dates and numbers.

Guarantees: pure, linear time; a value inside a longer one is none of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from checkvalve.filters.values import (
    ACCOUNT,
    EMAIL,
    HAS_DIGIT,
    HOST,
    ISO_DATE,
    MULTIPLIER,
    NUMBER,
    PHONE,
    SPOKEN_DATE,
    TRAILING,
    URL,
    canonical,
    spoken_number,
    unglued,
)
from checkvalve.filters.vocabulary import FILE_ENDINGS

_FINDERS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], object]], ...]] = (
    ("email", EMAIL, lambda text: "@" in text),
    ("url", URL, lambda text: "//" in text or "." in text),
    ("url", HOST, lambda text: "." in text),
    ("account", ACCOUNT, HAS_DIGIT),
    ("phone", PHONE, HAS_DIGIT),
)
"""Kinds that are found in running text, how, and what a text has to hold for there to be any."""


def entities(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield ``(kind, canonical form, start, end)`` for every address, link, account and number in ``text``.

    Offsets are characters of ``text``. A bare host (``example.com/x``) counts as a URL, since people write it so; a
    number inside a longer value (an account, a date, a phone number) is none of its own.
    """
    taken: list[tuple[int, int]] = []
    for kind, pattern, possible in _FINDERS:
        if not possible(text):
            continue
        for match in pattern.finditer(text):
            end = match.end() - (len(match[0]) - len(match[0].rstrip(TRAILING)) if kind == "url" else 0)
            form = canonical(kind, text[match.start() : end])
            if form is not None and not (pattern is HOST and _is_file_name(form)):
                taken.append((match.start(), end))
                yield kind, form, match.start(), end
                if kind == "url":
                    yield from _other_forms(text, match.start(), end, form)
    if HAS_DIGIT(text):
        yield from _figures(text, taken)


def _other_forms(text: str, start: int, end: int, form: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield what else an address may mean: another scheme where none stands, or less where a blank is missing."""
    address = text[start:end]
    if "//" not in address:
        yield "url", f"http:{form}", start, end
    bare = unglued(address)
    shorter = canonical("url", bare) if bare else None
    if bare and shorter:
        yield "url", shorter, start, start + len(bare)
        yield from _other_forms(text, start, start + len(bare), shorter)


def _figures(text: str, taken: list[tuple[int, int]]) -> Iterator[tuple[str, str, int, int]]:
    """Yield the dates and numbers of a text that are no part of what was ``taken``."""
    taken.extend(match.span() for match in ISO_DATE.finditer(text))
    for match in SPOKEN_DATE.finditer(text):
        if (form := canonical("date", match[0])) is not None:
            taken.append(match.span())
            yield "date", form, *match.span()
    is_inside = _containment(taken)
    for match in NUMBER.finditer(text):
        form = None if MULTIPLIER.match(text, match.end()) else spoken_number(match[0])
        if form is not None and not is_inside(*match.span()):
            yield "number", form, match.start(), match.end()


def _containment(taken: list[tuple[int, int]]) -> Callable[[int, int], bool]:
    """Return the question whether a stretch lies inside one of ``taken`` without being it, answered by halving."""
    taken.sort()
    starts = [start for start, _ in taken]
    reach = list(accumulate((end for _, end in taken), max))

    def is_inside(start: int, end: int) -> bool:
        before, upto = bisect_left(starts, start), bisect_right(starts, start)
        return (before > 0 and reach[before - 1] >= end) or (upto > 0 and reach[upto - 1] > end)

    return is_inside


def _is_file_name(form: str) -> bool:
    """Say whether what looks like a host is rather a file: "notes.md" and "install.sh" end in top-level domains."""
    host, slash, _ = form.removeprefix("//").partition("/")
    return not slash and host.rpartition(".")[2] in FILE_ENDINGS
