"""What the agent itself passed to its tools: a value does not become trusted by coming back.

Guarantees: a field that repeats such a value, is contained in it, or is mostly made of it counts as an echo, in the
same call or in any later one. Values the user spoke of, or that a trusted field already held, are not remembered.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

from checkvalve.filters.analysis import analyse
from checkvalve.filters.fields import leaves
from checkvalve.filters.values import words

MIN_LENGTH: Final = 4
"""Characters below which only equality counts as an echo: short values stand in each other by accident."""
MOSTLY: Final = 0.6
"""Share of a field that a passed value has to make up for the field to be an echo of it."""
_GRAMS: Final = 1 << 16  # slots for stretches of MIN_LENGTH characters, so that most questions need no search


class Echoes:
    """The values that were passed in one session."""

    def __init__(self) -> None:
        self._passed: dict[str, None] = {}
        self._by_length: list[tuple[int, str]] = []
        self._seen = bytearray(_GRAMS)

    def passed(self, args: Mapping[str, object], is_known: Callable[[str], bool]) -> None:
        """Remember the text arguments of a call, without those of which ``is_known`` is true."""
        for _, value in leaves(args):
            if isinstance(value, str) and (form := words(value)) and form not in self._passed and not is_known(value):
                self._passed[form] = None
                insort(self._by_length, (len(form), form))
                for start in range(len(form) - MIN_LENGTH + 1):
                    self._seen[_slot(form, start)] = 1

    def repeats(self, text: str, is_trusted: Callable[[str], bool]) -> bool:
        """Say whether a field's text, or a line of it, only repeats what was passed."""
        if not self._passed:
            return False
        members = {form for kind, form, *_ in analyse(text).members if kind == "text"}
        return any(self._covers(member) and not is_trusted(member) for member in members)

    def _covers(self, member: str) -> bool:
        """Say whether one passed value equals ``member``, contains it, or makes up most of it."""
        if member in self._passed:
            return True
        if len(member) < MIN_LENGTH:
            return False
        longer = bisect_left(self._by_length, (len(member), ""))
        if self._may_contain(member) and any(member in passed for _, passed in self._by_length[longer:]):
            return True
        shortest = bisect_left(self._by_length, (max(MIN_LENGTH, ceil(MOSTLY * len(member))), ""))
        return any(passed in member for _, passed in self._by_length[shortest:longer])

    def _may_contain(self, member: str) -> bool:
        """Say whether beginning, middle and end of ``member`` stand in some passed value: most members end here."""
        last = len(member) - MIN_LENGTH
        return all(self._seen[_slot(member, start)] for start in (0, last // 2, last))


def _slot(text: str, start: int) -> int:
    return hash(text[start : start + MIN_LENGTH]) % _GRAMS
