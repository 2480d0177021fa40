"""Calendar entries (RFC 5545): folded lines made whole, escapes undone, what a person does not see set apart.

Guarantees: linear; every content line is in exactly one view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import Channel

_LINE: Final = re.compile(r"[^\r\n]*+(?:\r?\n[ \t][^\r\n]*+)*+")
_FOLD: Final = re.compile(r"\r?\n[ \t]|\\([nN,;\\])")
_SHOWN: Final = frozenset({"SUMMARY", "DESCRIPTION", "LOCATION", "COMMENT", "CATEGORIES", "CONTACT", "NAME"})


def texts(view: View) -> Iterator[View]:
    """Yield what is shown of an entry, each property of HTML on its own, and the rest as metadata."""
    shown, rest = Builder(view), Builder(view)
    for found in _LINE.finditer(view.text):
        start, end = found.span()
        if start == end:
            continue
        head, colon, _ = view.text[start:end].partition(":")
        name = head.partition(";")[0].strip().upper()
        value = start + len(head) + len(colon) if name in _SHOWN or "HTML" in head.upper() else start
        if colon and "HTML" in head.upper():
            own = Builder(view)
            _append(own, value, end)
            yield own.view(Channel.METADATA, "calendar-html")
        else:
            _append(shown if name in _SHOWN else rest, value, end)
    if shown:
        yield shown.view()
    if rest:
        yield rest.view(Channel.METADATA, "calendar")


def _append(builder: Builder, start: int, end: int) -> None:
    builder.joint(start)
    position = start
    for found in _FOLD.finditer(builder.parent.text, start, end):
        builder.copy(position, found.start())
        escaped = found[1]
        if escaped:
            builder.put("\n" if escaped in "nN" else escaped, *found.span())
        position = found.end()
    builder.copy(position, end)
