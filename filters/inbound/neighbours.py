"""Strings of JSON that stand side by side, joined: a sentence that was cut into two of them is one again.

1. Strings of one list follow each other with nothing but commas and brackets between them; they are joined as words,
and short ones as pieces of words. 2. The short values of one field follow each other in the rows of a table. 3. Of a
long string the ends are taken. Guarantees: linear, at most :data:`MAX_JOINED` strings of one list; places are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkvalve.filters.inbound.views import Builder, View

NOTE: Final = "neighbours"
"""The note of the joined view: it repeats the text, so that only what crosses a border is new in it."""
MAX_JOINED: Final = 2_000
EDGE: Final = 150
"""Characters of each end of a string."""
SHORT: Final = 120
"""Characters of a field's value that may be a piece of a sentence."""
WORDS: Final = 3
"""Words of such a value; a name has two."""
_SENTENCE: Final = 20  # characters of all pieces together that may be a sentence
_PIECE: Final = 32  # characters up to which a piece may end within a word
_BETWEEN: Final = " \t\r\n,[]"

Span: TypeAlias = tuple[int, int]
Append: TypeAlias = Callable[[Builder, int, int], None]
"""Appends a stretch of the text with its escapes undone."""


@dataclass(slots=True)
class Neighbours:
    """The values of one text so far, as rows of those that stand side by side."""

    text: str
    _rows: list[list[Span]] = field(default_factory=list)
    _fields: dict[str, list[Span]] = field(default_factory=dict)
    _last: int = -1  # where the value of a list before this one ended

    def listed(self, start: int, end: int) -> None:
        """Take in the value at ``start`` to ``end``, one of a list."""
        if self._last >= 0 and not self.text[self._last + 1 : start - 1].strip(_BETWEEN):
            if len(self._rows[-1]) < MAX_JOINED:
                self._rows[-1].append((start, end))
        else:
            self._rows.append([(start, end)])
        self._last = end

    def given(self, key: str, start: int, end: int) -> None:
        """Take in the value at ``start`` to ``end``, a short one that was given to the field ``key``."""
        row = self._fields.setdefault(key, [])
        if len(row) < MAX_JOINED:
            row.append((start, end))

    def joined(self, view: View, append: Append) -> View | None:
        """Return the rows of at least two values as one view, a border between any two rows."""
        builder = Builder(view)
        for row in self._rows:
            self._join(builder, row, append)
        for row in self._fields.values():
            self._join(builder, row, append)
        return builder.view(note=NOTE) if builder else None

    def _join(self, builder: Builder, row: list[Span], append: Append) -> None:
        size = sum(end - start for start, end in row)
        if len(row) < 2 or size < _SENTENCE:  # noqa: PLR2004  # nothing stands beside it
            return
        worded = any(self.text.find(" ", start, end) >= 0 for start, end in row)
        for glue in (" ", "") if size <= _PIECE * len(row) else (" ",) if worded else ():
            builder.joint(row[0][0])
            for number, (start, end) in enumerate(row):
                if number:
                    builder.put(glue, start, start)
                _ends(builder, start, end, append)


def _ends(builder: Builder, start: int, end: int, append: Append) -> None:
    if end - start <= 2 * EDGE:
        append(builder, start, end)
    else:
        append(builder, start, start + EDGE)
        builder.joint(start + EDGE)
        append(builder, end - EDGE, end)
