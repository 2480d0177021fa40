"""Content for the review pages: pieces of plain text in which everything that hides or misleads is visible.

Guarantees: a :class:`Shown` has passed :mod:`checkvalve.approvals.render`, so a template that only prints pieces cannot
print a character that misleads; long text keeps both ends, and says how many bytes it has. Templates get content in
this form and in no other. What a rule redacts is left out before, by :mod:`checkvalve.approvals.redaction`; its mark is
a piece of its own kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.render import HEAD_BYTES, TAIL_BYTES, block, clip, neutralise, short, size_of, warnings
from checkvalve.approvals.veiled import MARK, part

MAX_INLINE: Final = 65_536
"""Bytes of one value that a page holds from end to end; more is on the page of raw bytes."""
_ESCAPE: Final = re.compile(  # content has no such brackets
    f"\u27e8(U\\+[0-9A-F]{{4,6}}|[0-9,]+ bytes more)\u27e9|{MARK.pattern}"
)

NOT_SHOWN: Final = "\u25a0"
"""Stands for a byte that is not shown."""
Piece = tuple[str, str]
"""A kind and a text. Kinds: ``text``, ``escape``, ``redacted``; where text is marked, its trust follows the word."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A value as people see it: its start, what is left out, its end; and all of it where a page can hold that."""

    start: tuple[Piece, ...]
    size: int
    left_out: int = 0
    end: tuple[Piece, ...] = ()
    full: tuple[Piece, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def redacted(self) -> bool:
        """Say whether a mark stands in it."""
        return any(kind.startswith("redacted") for kind, _ in (*self.start, *self.end, *self.full))

    @property
    def plain(self) -> str:
        """The visible start as one text, for labels and titles."""
        return "".join(text for _, text in self.start)


def line(text: object, *, limit: int = 300) -> Shown:
    """Return content for one line: names, sources, notes. What does not fit is counted."""
    found = str(text)
    return Shown(pieces(short(found, limit=limit)), size_of(found))


def shown(text: str, marks: Sequence[tuple[int, int, str]] = (), *, rest: str = "") -> Shown:
    """Return a value.

    Args:
        text: the value as it stands in the record.
        marks: half-open ranges of characters with the trust of what stands there, in order and apart.
        rest: the trust of everything else.
    """
    size = size_of(text)
    start, left_out, end = clip(text)
    whole = _marked(text, marks, rest) if left_out == 0 or size <= MAX_INLINE else ()
    if not left_out:
        return Shown(whole, size, warnings=tuple(warnings(text)))
    tail = len(text) - len(end)
    return Shown(
        _marked(start, _within(marks, 0, len(start)), rest),
        size,
        left_out,
        _marked(end, _within(marks, tail, len(text)), rest),
        whole,
        tuple(warnings(text)),
    )


def pieces(neutral: str, kind: str = "text") -> tuple[Piece, ...]:
    """Split neutralised text into what stands there and the code points that were made visible."""
    found: list[Piece] = []
    at = 0
    for match in _ESCAPE.finditer(neutral):
        if match.start() > at:
            found.append((kind, neutral[at : match.start()]))
        mark = f"redacted {kind.removeprefix('text').strip()}".strip()
        found.append((mark, match[0][1:-1]) if match[1] is None else ("escape", match[1]))
        at = match.end()
    if at < len(neutral):
        found.append((kind, neutral[at:]))
    return tuple(found)


def _marked(text: str, marks: Sequence[tuple[int, int, str]], rest: str) -> tuple[Piece, ...]:
    """Return the pieces of a text with marks: the parts are made visible one by one, so that no mark hides anything."""
    around = f"text {rest}".strip()
    if not marks:
        return pieces(block(text, full=True), around)
    found: list[Piece] = []
    at = 0
    for first, last, trust in marks:
        found += pieces(block(part(text, at, first), full=True), around)
        found += pieces(block(part(text, first, last), full=True), f"text {trust}")
        at = last
    return (*found, *pieces(block(part(text, at, len(text)), full=True), around))


def _within(marks: Sequence[tuple[int, int, str]], first: int, last: int) -> list[tuple[int, int, str]]:
    cut = ((max(a, first) - first, min(b, last) - first, trust) for a, b, trust in marks)
    return [(a, b, trust) for a, b, trust in cut if a < b]


def hex_lines(data: Sequence[int | None], start: int) -> list[tuple[str, str, tuple[Piece, ...]]]:
    """Return bytes as lines of an offset, sixteen bytes in hexadecimal, and what is ASCII of them.

    A byte that is None is not shown: two squares stand for it, and one in the text.
    """
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(map(_sign, row))
        shown_hex = " ".join(NOT_SHOWN * 2 if byte is None else f"{byte:02x}" for byte in row)
        lines.append((f"{start + at:08x}", shown_hex, pieces(neutralise(text))))
    return lines


def _sign(byte: int | None) -> str:
    if byte is None:
        return NOT_SHOWN
    return chr(byte) if 0x20 <= byte < 0x7F else "\u00b7"  # noqa: PLR2004  # printable


__all__ = ["HEAD_BYTES", "MAX_INLINE", "TAIL_BYTES", "Piece", "Shown", "hex_lines", "line", "pieces", "shown"]
