"""Stage 0: how much of an item is looked at, and what is wrong with it before it is read.

Guarantees: work and memory of a scan are bounded by :data:`MAX_CHARACTERS`, whatever an item's size; what is cut is
noted as not scanned; bytes that are no UTF-8 are kept apart from text, byte by byte, so that places stay exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Severity

MAX_CHARACTERS: Final = 1 << 20
"""Of a longer item the first and the last half of this are looked at: attacks stand at the ends."""
LONG_RUN: Final = 5_000
"""One character so often in a row: some tokenisers need quadratic time for it, and it fills a context."""
_BROKEN: Final = re.compile("[\ud800-\udfff]")


def decoded(data: bytes) -> str:
    """Return bytes as text; a byte that is no UTF-8 becomes a lone surrogate, which maps back to one byte."""
    return data.decode("utf-8", "surrogateescape")


def bounded(root: View, notes: Notes) -> Iterator[View]:
    """Yield what of an item is looked at, and note what is wrong with it."""
    text = root.text
    whole = root
    if _is_broken(text):
        whole = root.same(_BROKEN.sub("\ufffd", text))
        for count, found in enumerate(_BROKEN.finditer(text)):
            if not count:
                notes.find("broken-text", root, *found.span(), Severity.LOW)
            notes.replace(root, *found.span(), "\ufffd", "broken-text")
    if len(text) > MAX_CHARACTERS:
        notes.leave("too-long")
        half = MAX_CHARACTERS // 2
        yield whole.part(0, half)
        yield whole.part(len(text) - half, len(text))
    else:
        yield whole
    step = LONG_RUN // 2  # a run this long holds a whole step that begins at a multiple of it
    for start in range(0, min(len(text), MAX_CHARACTERS) - step + 1, step):
        if text[start] == text[start + step - 1] and text[start : start + step] == text[start] * step:
            notes.find("long-run", root, start, start + step, Severity.LOW)
            break


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
