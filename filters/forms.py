"""Patterns taken apart, so that wider, turned or byte-wise ones can be made of them: a pattern as a small tree.

Guarantees: pure; what is written out again matches what was read. Only the syntax that our own patterns use is known,
and anything else raises :class:`ValueError`, so that a new pattern fails a test and not a scan.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

_TOKEN: Final = re.compile(
    r"(?P<set>\[\^?\]?(?:[^\]\\]|\\x\{[0-9a-fA-F]+\}|\\.)*\])|(?P<open>\((?:\?[a-z]*:|(?!\?)))|(?P<flags>\(\?[a-z]+\))"
    r"|(?P<close>\))|(?P<or>\|)|(?P<run>[a-z0-9 ]{2,}(?![*+?{]))"
    r"|(?P<atom>\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\.|[^\[])",
    re.DOTALL,
)
_REPEAT: Final = re.compile(r"[*+?]\??|\{\d+(?:,\d*)?\}\??")
_PLACES: Final = frozenset({"^", "$", r"\b", r"\A", r"\z"})


@dataclass(frozen=True, slots=True)
class Atom:
    """One character, a set of them, or a place between two, and how often it stands there; or a run of characters."""

    text: str
    repeat: str = ""

    @property
    def is_run(self) -> bool:
        """Say whether it is several letters, digits or blanks, one after the other."""
        return len(self.text) > 1 and self.text[0] not in "\\[("

    @property
    def is_place(self) -> bool:
        """Say whether it stands between characters."""
        return self.text in _PLACES


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of which one stands here, and how often."""

    rows: tuple[Row, ...]
    opening: str = "(?:"
    repeat: str = ""


Node: TypeAlias = Atom | Group
Row: TypeAlias = tuple[Node, ...]


def least(repeat: str) -> int:
    """Return how often what is repeated so stands at least."""
    if not repeat or repeat[0] == "+":
        return 1
    return 0 if repeat[0] in "*?" else int(re.findall(r"\d+", repeat)[0])


def most(repeat: str) -> float:
    """Return how often it stands at most."""
    if not repeat or repeat[0] == "?":
        return 1
    if repeat[0] in "*+" or ",}" in repeat:
        return float("inf")
    return int(re.findall(r"\d+", repeat)[-1])


def read(pattern: str) -> Group:
    """Return the tree of a pattern. Raises: ValueError where it cannot be read."""
    rows, position = _rows(pattern, 0)
    if position != len(pattern):
        raise ValueError(f"a bracket closes nothing at {position}")
    return Group(rows, "")


def _rows(pattern: str, position: int) -> tuple[tuple[Row, ...], int]:
    rows: list[Row] = []
    row: list[Node] = []
    while position < len(pattern):
        found = _TOKEN.match(pattern, position)
        if found is None:
            raise ValueError(f"unknown syntax at {position}")
        if found.lastgroup == "close":
            break
        position = found.end()
        if found.lastgroup == "or":
            rows.append(tuple(row))
            row = []
            continue
        node: Node = Atom(found[0])
        if found.lastgroup == "open":
            inside, position = _rows(pattern, position)
            if pattern[position : position + 1] != ")":
                raise ValueError(f"a bracket is open at {position}")
            node, position = Group(inside, found[0]), position + 1
        repeat = _REPEAT.match(pattern, position)
        if repeat is not None:
            node, position = replace(node, repeat=repeat[0]), repeat.end()
        row.append(node)
    return (*rows, tuple(row)), position


def written(node: Node) -> str:
    """Return the pattern of a tree."""
    if isinstance(node, Atom):
        return node.text + node.repeat
    inside = "|".join("".join(map(written, row)) for row in node.rows)
    return f"{node.opening}{inside}){node.repeat}" if node.opening else inside


def changed(group: Group, change: Callable[[Atom], Node]) -> Group:
    """Return the tree with each atom changed."""
    rows = tuple(
        tuple(changed(node, change) if isinstance(node, Group) else change(node) for node in row) for row in group.rows
    )
    return replace(group, rows=rows)


def turned(group: Group) -> Group:
    """Return the tree of what ``group`` matches, read from its end."""
    ends = {"^": "$", "$": "^", r"\A": r"\z", r"\z": r"\A"}

    def node(one: Node) -> Node:
        if isinstance(one, Group):
            return turned(one)
        return replace(one, text=one.text[::-1] if one.is_run else ends.get(one.text, one.text))

    return replace(group, rows=tuple(tuple(map(node, reversed(row))) for row in group.rows))


def members(text: str) -> tuple[bool, list[str]]:
    """Return whether a set is of all but its members, and these: characters, ranges, classes such as that of digits."""
    negated = text.startswith("[^")
    inside = text[2:-1] if negated else text[1:-1]
    one = r"\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\.|[^\\]"
    return negated, [found[0] for found in re.finditer(rf"(?:{one})-(?:{one})|(?:{one})", inside, re.DOTALL)]
