"""What changed between two calls of one tool, argument by argument, for a person's eyes. Nothing is judged here.

Guarantees: every argument of both calls is accounted for, as changed, added, removed or the same; texts are compared
word by word up to a bound, and beyond it shown whole on both sides.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.veiled import CLOSE, OPEN, Veiled, as_veiled, joined, part
from checkvalve.gateway.web_text import Piece, Shown, line, shown

_OURS: Final = frozenset({"escape", "redacted"})
MAX_WORDS: Final = 2_000
"""Words of one side that are compared word by word: comparing more takes longer than reading."""
_WORDS: Final = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|\s+|\w+|[^\w\s{OPEN}]+|{OPEN}")  # a mark is one word


@dataclass(frozen=True, slots=True)
class Change:
    """One argument. ``kind`` is ``changed``, ``added``, ``removed`` or ``same``; ``words`` marks what differs."""

    path: Shown
    kind: str
    before: Shown | None
    after: Shown | None
    words: tuple[Piece, ...] = ()


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """Return the arguments of two calls side by side: what differs first."""
    found = [_change(path, before.get(path), after.get(path)) for path in {**before, **after}]
    return sorted(found, key=lambda item: item.kind == "same")


def _change(path: str, before: str | None, after: str | None) -> Change:
    old, new = (None if text is None else shown(text) for text in (before, after))
    if before is None or after is None:
        return Change(line(path), "added" if before is None else "removed", old, new)
    if before == after:
        return Change(line(path), "same", old, new)
    return Change(line(path), "changed", old, new, _words(before, after))


def _words(before: str, after: str) -> tuple[Piece, ...]:
    both = [as_veiled(before), as_veiled(after)] if Veiled in (type(before), type(after)) else [before, after]
    old, new = ([part(text, *found.span()) for found in _WORDS.finditer(text)] for text in both)
    if max(len(old), len(new)) > MAX_WORDS:
        return ()
    found: list[Piece] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found += shown(joined(old[a:b])).start
            continue
        for words, mark in ((old[a:b], "removed"), (new[c:d], "added")):
            found += [(f"{way} {mark}" if way in _OURS else mark, text) for way, text in _pieces(joined(words))]
    return tuple(found)


def _pieces(text: str) -> tuple[Piece, ...]:
    """Return all pieces of a text that is known to be short enough."""
    seen = shown(text)
    return (*seen.start, *seen.end) if seen.left_out and not seen.full else seen.full or seen.start


__all__ = ["Change", "changes"]
