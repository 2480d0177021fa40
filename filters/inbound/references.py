"""Character references of HTML and XML (``&amp;``, ``&#65;``), undone in place.

Guarantees: linear; a reference to no character gives what a browser shows, and no declaration of one is ever expanded.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final

from checkvalve.filters.inbound.views import Builder

_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")
_LAST: Final = re.compile(rf"(?:{_REFERENCE.pattern})\Z")


def undone(text: str) -> str:
    """Return ``text`` with its character references undone."""
    return _REFERENCE.sub(_meant, text) if "&" in text else text


def append(builder: Builder, start: int, end: int) -> None:
    """Append a stretch of the builder's parent with its character references undone."""
    if builder.parent.text.find("&", start, end) < 0:
        builder.copy(start, end)
    else:
        builder.undone(_REFERENCE, _meant, start, end)


def ends_line(text: str) -> bool:
    """Say whether the last piece of ``text`` ends a line: its last character reference, or what stands behind it."""
    if "&" not in text:
        return text.endswith("\n")
    found = _LAST.search(text)
    return (_meant(found) if found is not None else text).endswith("\n")


def _meant(found: re.Match[str]) -> str:
    return _shown(found[0])


@lru_cache(maxsize=512)
def _shown(reference: str) -> str:
    return html.unescape(reference)
