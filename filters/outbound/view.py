"""A text as a client reads it: invisible characters gone, entities read, with the way back to the original.

Guarantees: linear; ``span`` returns the stretch of the original that a stretch of the view came from, so that whatever
is found in the view can be taken out of the original.
"""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.normalise import is_invisible

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z]{2,24};)")


@dataclass(frozen=True, slots=True)
class View:
    """``text`` as it is read; ``places`` has one entry more and is None where nothing moved."""

    text: str
    places: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the original behind ``text[start:end]``."""
        return (start, end) if self.places is None else (self.places[start], self.places[end])


def view_of(text: str) -> View:
    """Return ``text`` as a client reads it."""
    unseen = {char for char in set(text) if not " " <= char <= "~" and is_invisible(char)}
    if "&" not in text and (text.isascii() or not unseen):
        return View(text)
    out: list[str] = []
    places = array("L")
    done = 0
    for match in (*_ENTITY.finditer(text), None):
        stop = match.start() if match else len(text)
        for place in range(done, stop):
            if text[place] not in unseen:
                out.append(text[place])
                places.append(place)
        if match:
            for char in html.unescape(match[0]):
                if not is_invisible(char):
                    out.append(char)
                    places.append(match.start())
            done = match.end()
    places.append(len(text))
    return View("".join(out), places)
