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

from checkvalve.gateway.web_text import Piece, Shown, line, shown

MAX_WORDS: Final = 2_000
"""Words of one side that are compared word by word: comparing more takes longer than reading."""
_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]+")


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
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return ()
    found: list[Piece] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found += shown("".join(old[a:b])).start
            continue
        for words, mark in ((old[a:b], "removed"), (new[c:d], "added")):
            found += [(mark if way != "escape" else f"escape {mark}", text) for way, text in _pieces("".join(words))]
    return tuple(found)


def _pieces(text: str) -> tuple[Piece, ...]:
    """Return all pieces of a text that is known to be short enough."""
    seen = shown(text)
    return (*seen.start, *seen.end) if seen.left_out and not seen.full else seen.full or seen.start


__all__ = ["Change", "changes"]
