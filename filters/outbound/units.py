"""Where an outgoing text may be cut so that each piece can be judged by itself: the same cuts for a text and a stream.

1. A piece may end behind a line break, or behind a blank or an East Asian stop once it is :data:`SOFT` characters long,
when nothing is open: no tag, image, link, definition, CSS address, private key, name of a secret, group of digits, or
beginning of a registered value. While something is open it is looked at again every few characters. 2. At :data:`HARD`
characters it ends behind the last sign that ends a word, and what is still open is judged as it stands; a private key
may take :data:`KEY`.

Guarantees: whether a piece ends at a place depends on the characters before it alone. So a text gives the same pieces
however it is handed over, and no outcome depends on how a stream was cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from checkvalve.filters.secrets.context import names_a_secret
from checkvalve.filters.secrets.vendors import MAX_PEM, begins_private_key

SOFT: Final = 192
"""Characters from which on a blank may end a piece: about two lines on a screen."""
HARD: Final = 4096
"""Characters of the longest piece: twice the longest address that clients accept."""
KEY: Final = MAX_PEM
_STEP: Final = 48  # characters between two looks at a piece in which something is open
_OPEN: Final = 2048  # characters that an open tag, image or target may take before it counts as plain text
_OPEN_LABEL: Final = 300  # the same for the text of a link
_BLANK: Final = re.compile(r"[\s。！？；，、]")
_BREAK: Final = re.compile(r"[^\w%+/=.:@-]")
_FORCED: Final = 1024  # characters before the longest place in which a forced cut looks for the end of a word
_TAIL: Final = 128
_DIGITS: Final = re.compile(
    r"(?:[+(]?[0-9][0-9 ().\u2010-\u2015/-]{0,60}|(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4}){0,8}) ?$"
)
_DEFINITION: Final = re.compile(r"\[[^\[\]\n]{1,999}\]:[ \t]*\n?[ \t]*$")

OpenFrom = Callable[[str], int]
"""Says where a registered value may have begun at the end of a text; the text's length when nowhere."""


class Cutter:
    """Cuts a growing text into pieces."""

    def __init__(self, open_from: OpenFrom) -> None:
        self._open_from = open_from
        self._held = ""
        self._next = 1  # the first place that was not looked at

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._held)

    def feed(self, text: str) -> Iterator[str]:
        """Take in more text, and yield the pieces that are complete."""
        self._held += text
        while (end := self._cut()) is not None:
            yield self._take(end)

    def close(self) -> Iterator[str]:
        """Yield what is left."""
        if self._held:
            yield self._take(len(self._held))

    def _take(self, end: int) -> str:
        piece, self._held, self._next = self._held[:end], self._held[end:], 1
        return piece

    def _cut(self) -> int | None:
        """Return where the piece at the beginning of what is held ends, once that is known."""
        text, limit = self._held, HARD
        while True:
            for match in _BLANK.finditer(text, self._next - 1, limit):
                place = match.end()
                if place < self._next or (place < SOFT and match[0] != "\n"):
                    continue
                if not is_open(text[:place], self._open_from):
                    return place
                self._next = place + _STEP
            self._next = max(self._next, min(len(text), limit) + 1)
            if len(text) < limit:
                return None
            if limit == KEY or not begins_private_key(text[:limit]):
                return _forced(text, limit)
            limit = KEY


def _forced(text: str, limit: int) -> int:
    ends = [match.end() for match in _BREAK.finditer(text, limit - _FORCED, limit)]
    return ends[-1] if ends else limit


def is_open(text: str, open_from: OpenFrom) -> bool:
    """Say whether ``text`` ends in the middle of something that has to be judged as a whole."""
    tail = text[-_OPEN:]
    if _has_open_markup(tail) or _ends_in_digits(text[-_TAIL:]) or names_a_secret(text):
        return True
    if tail.endswith((" ", "\t", "\n")) and "]:" in tail[-_TAIL:] and _DEFINITION.search(tail):
        return True
    return begins_private_key(text) or open_from(text) < len(text)


def _ends_in_digits(tail: str) -> bool:
    """Say whether a group of digits may go on; the last sign mostly tells that it does not."""
    last = tail.removesuffix("\n").rstrip(" ")[-1:]
    return (last in _IN_GROUPS or not last) and _DIGITS.search(tail) is not None


_IN_GROUPS: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ().\u2010\u2011\u2012\u2013\u2014\u2015/-")


def _has_open_markup(tail: str) -> bool:
    tag = tail.rfind("<")
    if tag > tail.rfind(">") and tail[tag + 1 : tag + 2].isalpha() | (tail[tag + 1 : tag + 2] in {"!", "/", "?"}):
        return True
    target = tail.rfind("](")
    if target >= 0 and ")" not in tail[target:]:
        return True
    css = tail.lower().rfind("url(")
    if css >= 0 and ")" not in tail[css:]:
        return True
    label = tail.rfind("[")
    if label > tail.rfind("]"):
        return len(tail) - label <= _OPEN_LABEL or (label > 0 and tail[label - 1] == "!")
    image = tail.rfind("![")
    return image >= 0 and "](" not in tail[image:] and tail.count("[", image) > tail.count("]", image)
