"""The preview of a call in a text that another program shows, perhaps as Markdown: each line is marked as untrusted.

1. Our own words before it say what it is, how long, and how its lines begin. 2. Every line begins with the sign of a
quotation, which :func:`inert` leaves in no content; a line end of the content is a new line, and marked again. 3. Lines
and their lengths are bounded, and what is left out is counted. 4. Our own words end it, after an empty line, so that no
reader of Markdown takes what follows for a part of it.

Guarantees: pure; without any markup being read, too, the text of a tool stands apart line by line.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.inert import inert
from checkvalve.approvals.previews import Preview
from checkvalve.approvals.render import size_of
from checkvalve.approvals.veiled import CLOSE, OPEN, part

MAX_LINES: Final = 20
"""Lines of a preview that are told; the card has all of it."""
MAX_LINE: Final = 300
"""Bytes of one line."""
QUOTED: Final = "> "


def previewed(found: Preview) -> str:
    """Return what a call would do, as its tool said, or why there is no preview; inert text, each line marked."""
    if found.why:
        return f"{found.reason.capitalize()}."
    text = found.whole()
    lines = _lines(text)
    kept = [f"{QUOTED}{inert(line, limit=MAX_LINE)}" for line in lines[:MAX_LINES]]
    if len(lines) > MAX_LINES:
        kept.append(f"{QUOTED}{OPEN}{len(lines) - MAX_LINES} lines more{CLOSE}")
    said = f"What it would do, {found.heading}: UNTRUSTED, {size_of(text):,} bytes, each line behind a quotation sign"
    return "\n\n".join((f"{said}.", "\n".join(kept), f"{OPEN}end of the untrusted text{CLOSE}")) + "\n\n"


def _lines(text: str) -> list[str]:
    """Return the lines of a text; what stands behind a mark of ours stays so."""
    found, at = [], 0
    for place, character in enumerate(text):
        if character == "\n":
            found.append(part(text, at, place))
            at = place + 1
    return [*found, part(text, at, len(text))]


__all__ = ["MAX_LINE", "MAX_LINES", "QUOTED", "previewed"]
