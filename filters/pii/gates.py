"""Which recognisers a text can have anything for: one pass that answers for all of them.

1. A gate is what every value of an entity has: an ``@``, seven digits. 2. A form is the recogniser's own pattern
without what it looks for around itself, so whatever the pattern finds the form finds as well. Both are asked at once.
Guarantees: linear; an entity that is left out has no match in the text; a text beyond ASCII is asked for gates alone,
because letters without case and digits of other scripts are read differently by the two engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import re2

from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.pii.engine import PHONE_LIKE, recognisers
from checkvalve.filters.pii.kinds import NEEDS

_GATES: Final = {
    "@": "@",
    "7digits": r"\d(?:\D{0,3}\d){6}",
    "6digits": r"\d(?:\D{0,3}\d){5}",
    "4digits": r"\d{4}",
    "ip": r"\d\.\d{1,3}\.\d|[0-9a-fA-F]?:[0-9a-fA-F]{0,4}:",
    "long": r"[0-9A-Za-z]{25}",
}
_COMPILED: Final = {name: re.compile(pattern) for name, pattern in _GATES.items()}
_LOOKS: Final = ("(?=", "(?!", "(?<=", "(?<!")


def wanted(text: str, entities: Sequence[str]) -> list[str]:
    """Return those of ``entities`` that ``text`` may hold."""
    if text.isascii():
        able = _able(text)
        return [entity for entity in entities if entity in able]
    gates = {NEEDS[entity].gate for entity in entities}
    opened = {name for name in gates if _COMPILED[name].search(text)}
    return [entity for entity in entities if NEEDS[entity].gate in opened]


def _able(text: str) -> set[str]:
    """Return the entities whose gate and one of whose forms ASCII ``text`` has."""
    patterns, meanings = _asked()
    found = [meanings[number] for number in patterns.matching(text)]
    gates = {name for is_gate, name in found if is_gate}
    return {name for is_gate, name in (*found, *_unformed()) if not is_gate and NEEDS[name].gate in gates}


@lru_cache(maxsize=1)
def _asked() -> tuple[PatternSet, list[tuple[bool, str]]]:
    """Return the patterns of all gates and forms, and for each of them whether it is a gate, and whose."""
    rows = [(pattern, (True, name)) for name, pattern in _GATES.items()]
    rows += [(form, (False, entity)) for entity in NEEDS for form in _forms(entity) if form]
    return PatternSet((form for form, _ in rows), ignore_case=True), [meaning for _, meaning in rows]


@lru_cache(maxsize=1)
def _unformed() -> tuple[tuple[bool, str], ...]:
    """Return the entities with a pattern that has no form: they are only asked for their gates."""
    return tuple((False, entity) for entity in NEEDS if not all(_forms(entity)))


@lru_cache(maxsize=64)
def _forms(entity: str) -> tuple[str, ...]:
    """Return a form for each pattern of an entity; an empty one where there is none."""
    if shape := NEEDS[entity].shape:
        return (shape,)  # what looks otherwise would not count
    patterns = [one.regex for known in recognisers()[entity] for one in getattr(known, "patterns", ())]
    return tuple(form_of(pattern) for pattern in (patterns or [PHONE_LIKE.pattern]))


def form_of(pattern: str) -> str:
    """Return ``pattern`` without what it looks for around itself, so that it matches more; empty where that fails.

    White space is more in Python than in RE2, and a reference back is in Python alone.
    """
    if r"\s" in pattern:
        return ""
    form = _BEYOND_ASCII.sub("", "".join(_kept(pattern)))
    try:
        return Pattern(f"(?ms:{form})").pattern
    except re2.error:
        return ""


def _kept(pattern: str) -> Iterator[str]:
    """Yield the characters of ``pattern`` that stand in no look around."""
    dropped = depth = 0
    for found in _PART.finditer(pattern):
        part = found[0]
        if part == "(":
            depth += 1
            if not dropped and pattern.startswith(_LOOKS, found.start()):
                dropped = depth
        if not dropped:
            yield part
        if part == ")":
            dropped = 0 if dropped == depth else dropped
            depth -= 1


_BEYOND_ASCII: Final = re.compile(r"\\u[0-9a-fA-F]{4}(?:-\\u[0-9a-fA-F]{4})?")
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
