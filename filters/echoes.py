"""What the agent itself passed to its tools: a value does not become trusted by coming back.

Guarantees: a field that repeats such a value, is contained in it, or is mostly made of it counts as an echo, in the
same call or in any later one. Values that a trusted field already held are not remembered; what the user said
suffices by itself, and not by coming back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Final

from checkvalve.filters.analysis import analyse, decoded_views
from checkvalve.filters.fields import leaves
from checkvalve.filters.values import canonical, words

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
            if value is None or isinstance(value, bool):
                continue
            text = value if isinstance(value, str) else str(value)
            if not is_known(text):
                for form in _spellings(text):
                    self._remember(form)

    def _remember(self, form: str) -> None:
        if form not in self._passed:
            self._passed[form] = None
            insort(self._by_length, (len(form), form))
            for start in range(len(form) - MIN_LENGTH + 1):
                self._seen[_slot(form, start)] = 1

    def repeats(self, text: str, is_trusted: Callable[[str], bool]) -> bool:
        """Say whether a field's text, or a line of it, only repeats what was passed."""
        if not self._passed:
            return False
        members = {form for kind, form, *_ in analyse(text).members if kind == "text"}
        return any(
            not is_trusted(member) and (self._covers(member) or self._covers(_letters_of(member))) for member in members
        )

    def _covers(self, member: str) -> bool:
        """Say whether one passed value equals ``member`` or contains it, or one or more make up most of it."""
        if member in self._passed:
            return True
        if len(member) < MIN_LENGTH:
            return False
        longer = bisect_left(self._by_length, (len(member), ""))
        if self._may_contain(member) and any(member in passed for _, passed in self._by_length[longer:]):
            return True
        shortest = bisect_left(self._by_length, (max(MIN_LENGTH, ceil(MOSTLY * len(member))), ""))
        if any(passed in member for _, passed in self._by_length[shortest:longer]):
            return True
        return self._is_made_of(member, self._by_length[bisect_left(self._by_length, (MIN_LENGTH, "")) : shortest])

    @staticmethod
    def _is_made_of(member: str, pieces: list[tuple[int, str]]) -> bool:
        """Say whether several passed values make up most of ``member`` together; the longest are taken out first."""
        left = member
        for _, passed in reversed(pieces):
            left = left.replace(passed, "")
        return len(member) - len(left) >= MOSTLY * len(member)

    def _may_contain(self, member: str) -> bool:
        """Say whether beginning, middle and end of ``member`` stand in some passed value: most members end here."""
        last = len(member) - MIN_LENGTH
        return all(self._seen[_slot(member, start)] for start in (0, last // 2, last))


def _spellings(text: str) -> Iterator[str]:
    """Yield the forms in which a passed value may come back: its words, its letters alone, and what it encodes."""
    for view in (text, *decoded_views(text)):
        if form := words(view):
            yield form
            if len(letters := _letters_of(form)) >= MIN_LENGTH:
                yield letters


def _letters_of(text: str) -> str:
    """Return the letters and digits of a value; of a number the number, since "10.0" is not "100"."""
    return canonical("number", text) or "".join(char for char in text if char.isalnum())


def _slot(text: str, start: int) -> int:
    return hash(text[start : start + MIN_LENGTH]) % _GRAMS
