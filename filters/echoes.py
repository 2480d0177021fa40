"""What the agent itself passed to its tools: a value does not become trusted by coming back.

Guarantees: a field that repeats such a value, is contained in it, or is mostly made of it counts as an echo, in the
same call or in any later one. Values the user spoke of, or that a trusted field already held, are not remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from checkvalve.filters.analysis import analyse
from checkvalve.filters.fields import leaves
from checkvalve.filters.values import words

MIN_LENGTH: Final = 4
"""Characters below which only equality counts as an echo: short values stand in each other by accident."""
MOSTLY: Final = 0.6
"""Share of a field that a passed value has to make up for the field to be an echo of it."""


class Echoes:
    """The values that were passed in one session."""

    def __init__(self) -> None:
        self._passed: dict[str, None] = {}

    def passed(self, args: Mapping[str, object], is_known: Callable[[str], bool]) -> None:
        """Remember the text arguments of a call, without those of which ``is_known`` is true."""
        for _, value in leaves(args):
            if isinstance(value, str) and (form := words(value)) and not is_known(value):
                self._passed[form] = None

    def repeats(self, text: str, is_trusted: Callable[[str], bool]) -> bool:
        """Say whether a field's text, or a line of it, only repeats what was passed."""
        if not self._passed:
            return False
        members = {form for kind, form, *_ in analyse(text).members if kind == "text"}
        return any(self._covers(member) and not is_trusted(member) for member in members)

    def _covers(self, member: str) -> bool:
        if member in self._passed:
            return True
        if len(member) < MIN_LENGTH:
            return False
        return any(
            member in passed or (len(passed) >= MIN_LENGTH and passed in member and len(passed) >= MOSTLY * len(member))
            for passed in self._passed
        )
