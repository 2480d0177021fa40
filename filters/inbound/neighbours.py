"""Strings of JSON that stand side by side, joined: a sentence that was cut into two of them is one again.

1. Strings of one list follow each other with nothing but commas and brackets between them; they are joined as words,
and short ones as pieces of words. 2. The short values of one field follow each other in the rows of a table. 3. Of a
long string the ends are taken. Guarantees: linear, at most :data:`MAX_JOINED` strings of one list; places are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from operator import and_, le
from typing import Final, TypeAlias

from checkvalve.filters.inbound.jsonparts import COLON, NO_COLON, Parts
from checkvalve.filters.inbound.views import JOINT, Builder, Trail, View

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
_LIST: Final = re.compile(rb"[^k][cB]+(?=[^kK])")
"""What stands before a value of a list, and before each one that follows it in its row; a key follows on neither."""
_NAMED: Final = bytes(code == COLON[0] for code in range(256))
"""Says of a letter before a string whether it gives that to a field."""

Append: TypeAlias = Callable[[Builder, int, int], None]
"""Appends a stretch of the text with its escapes undone."""


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of strings that stand side by side, and what is put between them: each makes a text of its own."""

    numbers: Sequence[int]
    said: Sequence[str]
    glues: tuple[str, ...]


def rows(parts: Parts) -> list[Row]:
    """Return the rows of at least two values that may be a sentence: those of lists, then those of fields."""
    found = []
    for match in _LIST.finditer(parts.letters):
        start, end = match.span()
        said = parts.strings[start : min(end, start + MAX_JOINED)]
        if glues := _glues(said):
            found.append(Row(range(start, start + len(said)), said, glues))
    for numbers in _fields(parts).values():
        said = [parts.strings[at] for at in numbers]
        if len(said) > 1 and (glues := _glues(said)):
            found.append(Row(numbers, said, glues))
    return found


def _fields(parts: Parts) -> dict[str, list[int]]:
    """Return for each field the numbers of its values that may be pieces of a sentence."""
    fields: dict[str, list[int]] = {}
    strings = parts.strings
    given = bytes(map(and_, parts.letters.translate(_NAMED), parts.letters[1:].translate(NO_COLON)))
    blanks = map(str.count, compress(strings, given), repeat(" "))
    for at in compress(compress(range(len(strings)), given), map(le, repeat(WORDS - 1), blanks)):
        if len(strings[at]) <= SHORT:
            row = fields.setdefault(strings[at - 1], [])
            if len(row) < MAX_JOINED:
                row.append(at)
    return fields


def _glues(said: Sequence[str]) -> tuple[str, ...]:
    """Return what may stand between the strings of a row, if they may be a sentence."""
    size = len("".join(said))
    if size < _SENTENCE:
        return ()
    if size <= _PIECE * len(said):
        return (" ", "")
    return (" ",) if " " in "".join(said) else ()


def text(rows: Sequence[Row], undone: Callable[[str], str]) -> str:
    """Return the rows as one text, a border between any two of them."""
    return JOINT.join(glue.join(_written(row.said, undone)) for row in rows for glue in row.glues)


def _written(said: Sequence[str], undone: Callable[[str], str]) -> Sequence[str]:
    """Return the strings of a row with their escapes undone, and of a long one its ends."""
    whole = "".join(said)
    if "\\" not in whole and (len(whole) <= 2 * EDGE or max(map(len, said)) <= 2 * EDGE):
        return said
    return [
        undone(item) if len(item) <= 2 * EDGE else undone(item[:EDGE]) + JOINT + undone(item[-EDGE:]) for item in said
    ]


def trail(view: View, rows: Sequence[Row], parts: Parts, append: Append) -> Trail:
    """Return where each character of :func:`text` came from."""
    builder = Builder(view)
    for row in rows:
        for glue in row.glues:
            builder.joint(parts.starts[row.numbers[0]])
            for number, at in enumerate(row.numbers):
                start = parts.starts[at]
                if number:
                    builder.put(glue, start, start)
                _ends(builder, start, start + len(parts.strings[at]), append)
    return builder.trail()


def _ends(builder: Builder, start: int, end: int, append: Append) -> None:
    if end - start <= 2 * EDGE:
        append(builder, start, end)
    else:
        append(builder, start, start + EDGE)
        builder.joint(start + EDGE)
        append(builder, end - EDGE, end)
