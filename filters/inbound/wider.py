"""Wider patterns for the question whether: what matches one of these may match the pattern it was made of.

:func:`thin` leaves two of a row of words with gaps, :func:`blind` reads a text whose marks of
emphasis are blanks, :func:`rotated` one whose letters are moved by thirteen. Guarantees: each matches wherever the
pattern does, in the text that it is for; a test compares them.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from itertools import pairwise
from typing import Final

from checkvalve.filters import forms
from checkvalve.filters.forms import Atom, Group, Node, Row, least, members, most

ENDS: Final = ".!?\u3002\uff01\uff1f\u0964\u061f\x0b"
"""What ends a sentence, so that no gap reaches across it."""
GAP: Final = "[^.!?\\x{3002}\\x{ff01}\\x{ff1f}\\x{964}\\x{61f}\\x0b]"
MARKS: Final = "*_~`"
"""Marks of emphasis."""
_MANY: Final = 6
_WORDS: Final = {(r"\w+", " "), (" ", r"\w+")}


def _is_gap(node: Node) -> bool:
    return isinstance(node, Atom) and node.text == GAP and most(node.repeat) >= _MANY


def thin(group: Group) -> Group:
    """Return what asks for two of the words between gaps only, those that are the longest."""
    return replace(group, rows=tuple(map(_thin_row, group.rows)))


def rarest(group: Group) -> Group:
    """Return what asks, of the words before the first gap and behind the last one, for the longer ones only."""
    rows = []
    for row in group.rows:
        gaps = [place for place, node in enumerate(row) if _is_gap(node)]
        if gaps:
            parts = _one_end(row[: gaps[0]], at_end=False), _one_end(row[gaps[-1] + 1 :], at_end=True)
            rows.append(max(parts, key=_length))
        else:
            rows.append(row)
    return replace(group, rows=tuple(rows))


def _length(row: Row) -> int:
    """Return how many characters a match of ``row`` has at least."""
    sizes = (
        min(map(_length, node.rows))
        if isinstance(node, Group)
        else 0
        if node.is_place
        else len(node.text)
        if node.is_run
        else 1
        for node in row
    )
    return sum(size * least(node.repeat) for size, node in zip(sizes, row, strict=True))


def _thin_row(row: Row) -> Row:
    gaps = [place for place, node in enumerate(row) if _is_gap(node)]
    if not gaps:
        return row
    edges = [-1, *gaps, len(row)]
    parts = [row[start + 1 : end] for start, end in pairwise(edges)]
    longest = sorted(range(len(parts)), key=lambda place: (-_length(parts[place]), place))
    first, last = sorted(longest[:2])
    middle = row[edges[first + 1] : edges[last] + 1]
    if last - first > 1 and all(map(_stays, middle)):
        middle = (Atom(GAP, "*"),)
    return (*_one_end(parts[first], at_end=False), *middle, *_one_end(parts[last], at_end=True))


def _one_end(row: Row, *, at_end: bool) -> Row:
    """Return a row that is one group, each of its own rows cut to what stands before or behind its gaps."""
    if len(row) != 1 or not isinstance(row[0], Group) or row[0].repeat:
        return row
    rows = []
    for inner in row[0].rows:
        gaps = [place for place, node in enumerate(inner) if _is_gap(node)]
        if gaps:
            place = gaps[-1] if at_end else gaps[0]
            kept, left = (inner[place + 1 :], inner[:place]) if at_end else (inner[:place], inner[place + 1 :])
            rows.append(kept if all(map(_stays, left)) else inner)
        else:
            rows.append(inner)
    return (replace(row[0], rows=tuple(rows)),)


def _stays(node: Node) -> bool:
    """Say whether all that ``node`` matches stays within one sentence."""
    if isinstance(node, Group):
        return all(_stays(inner) for row in node.rows for inner in row)
    if node.text == GAP or node.is_place:
        return True
    if node.text.startswith("["):
        negated, items = members(node.text)
        return not negated and all(_stays_one(item) for item in items)
    return _stays_one(node.text)


def _is_run(item: str) -> bool:
    return item.isascii() and item.replace(" ", "").isalnum()


def _stays_one(item: str) -> bool:
    if item in {r"\w", r"\d", r"\s", r"\b"} or _is_run(item):
        return True
    if len(item) == 1:
        return item not in ENDS
    return item[0] == "\\" and len(item) == 2 and item[1] in "[](){}|*+$^-/\"'tnrf\\"  # noqa: PLR2004  # one escaped sign


def worded(group: Group) -> Group:
    """Return what takes a counted row of any words as words without end: a machine need not count them."""
    rows = tuple(tuple(_worded(node) for node in row) for row in group.rows)
    return replace(group, rows=rows)


def _worded(node: Node) -> Node:
    if isinstance(node, Atom):
        return node
    if len(node.rows) == 1 and tuple(map(forms.written, node.rows[0])) in _WORDS and node.repeat.startswith("{"):
        return Atom(r"[\w ]", "*")
    return worded(node)


def rotated(group: Group) -> Group:
    """Return what matches a text of which ``group`` matches the letters moved by thirteen. Raises: ValueError."""

    def change(atom: Atom) -> Node:
        if atom.text.startswith("["):
            negated, items = members(atom.text)
            moved = "".join(map(_moved, items))
            return replace(atom, text=f"[{'^' if negated else ''}{moved}]")
        return replace(atom, text=_moved(atom.text))

    return forms.changed(group, change)


def _moved(item: str) -> str:
    if len(item) == 1 or _is_run(item):
        return codecs.encode(item, "rot13") if item.isascii() and item == item.lower() else item
    if item in {"a-z", "0-9", "A-Z"} or item.startswith("\\") or not any(char.isalpha() for char in item):
        return item
    raise ValueError(f"{item} cannot be moved")


def blind(group: Group) -> Group:
    """Return what matches, with blanks in the place of :data:`MARKS`, wherever ``group`` matches the text with them."""
    return replace(group, rows=tuple(map(_blind_row, group.rows)))


def _blind_row(row: Row) -> Row:
    """A border of words stays where a letter or digit surely is beside it: there it is one in both texts."""
    made: list[Node] = []
    for place, node in enumerate(row):
        if isinstance(node, Group):
            made.append(blind(node))
        elif node.text == r"\b":
            if _is_word(row[place + 1 :], first=True) or _is_word(row[:place], first=False):
                made.append(node)
        else:
            made.append(_blind_atom(node))
    return tuple(made)


def _is_word(row: Row, *, first: bool) -> bool:
    """Say whether what ``row`` begins (or ends) with is a letter or a digit, whatever it matches."""
    for node in row if first else reversed(row):
        if isinstance(node, Atom) and node.is_place:
            continue
        if isinstance(node, Group):
            if not all(_is_word(inner, first=first) for inner in node.rows):
                return False
        elif not (_is_alnum(node.text[0 if first else -1]) if node.is_run else _is_letter(node)):
            return False
        if least(node.repeat) > 0:
            return True
    return False


def _is_letter(atom: Atom) -> bool:
    if atom.text.startswith("["):
        negated, items = members(atom.text)
        return not negated and all(item in {r"\d", "a-z", "0-9", "A-Z"} or _is_alnum(item) for item in items)
    return atom.text == r"\d" or _is_alnum(atom.text)


def _is_alnum(item: str) -> bool:
    return len(item) == 1 and item.isascii() and item.isalnum()


def _blind_atom(atom: Atom) -> Atom:
    text = atom.text
    if text.lstrip("\\") in MARKS and text.lstrip("\\"):
        return replace(atom, text=" ")
    if text == r"\w":
        return replace(atom, text=r"[\w ]")
    if text == r"\S":
        return replace(atom, text=r"[^\t\n\f\r]")
    if not text.startswith("["):
        return atom
    negated, items = members(text)
    if negated:
        kept = "".join(r"\t\n\f\r" if item == r"\s" else item for item in items if item != " ")
        return replace(atom, text=f"[^{kept}]")
    if not any(item in {r"\w", r"\x0b"} or item.lstrip("\\") in MARKS or len(item) == 3 for item in items):  # noqa: PLR2004
        return atom
    return replace(atom, text=f"{text[:-1]} ]" if not text.endswith("-]") else f"[ {text[1:]}")
