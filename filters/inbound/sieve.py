"""Which of many patterns can match a text at all: asked of wider patterns, in a few machines instead of one.

A machine for many patterns has a state for every combination of what each of them has read so far. A gap of up to
sixty characters counts its characters, and so nearly every sentence of a varied text leads to states that were never
met, which have to be built: that took most of a scan's time. 1. Here a gap is as long as it likes, so that it has one
state. 2. The patterns are dealt out to several machines, so that their states do not multiply with each other. What is
returned are candidates: the caller asks the pattern itself for its places. Guarantees: a pattern that matches is
among them, because each is only ever made wider; linear, and memory is bounded (see :data:`MEMORY`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from checkvalve.filters import forms
from checkvalve.filters.forms import Group
from checkvalve.filters.inbound.wider import MARKS, blind, thin, worded
from checkvalve.filters.linear import PatternSet

TOGETHER: Final = 68
"""Patterns in one machine of Hyperscan: more read faster, and take longer to be built between two items."""
APART: Final = 34
"""Patterns in one machine of RE2: fewer are slower on warm states, more build more states (measured from 8 to 134)."""
MEMORY: Final = 16 << 20
"""Bytes of states that one machine keeps before it forgets them and begins anew."""
_COUNTED: Final = re.compile(r"(\\[wsSdD]|\[(?:[^\]\\]|\\.)+\]|(?<!\\)[a-z.])\{(\d+),(\d+)\}")
_MARKS: Final = bytes.maketrans(MARKS.encode(), b" " * len(MARKS))
BLIND: Final = bytes.maketrans(f"\n{MARKS}".encode(), b" " * (1 + len(MARKS)))
"""Blanks for line ends and for marks of emphasis."""
_MANY: Final = 6  # a repetition this long is worth a state of its own no longer


def widened(pattern: str) -> str:
    """Return a pattern that matches wherever ``pattern`` does: its long counted repetitions have no end."""

    def wide(found: re.Match[str]) -> str:
        if int(found[3]) < _MANY:
            return found[0]
        return found[1] + ("+" if int(found[2]) else "*")

    return _COUNTED.sub(wide, pattern)


def sieving(pattern: str) -> Group:
    """Return what a sieve asks for in the place of ``pattern``."""
    return thin(worded(forms.read(widened(pattern))))


def written_blind(group: Group) -> str:
    """Return the pattern that a sieve runs over a text whose marks of emphasis are blanks."""
    return forms.written(blind(group))


def without_marks(text: bytes) -> bytes:
    """Return ``text`` with a blank for each mark of emphasis: what a sieve reads."""
    return text.translate(_MARKS)


class Sieve:
    """A row of patterns, asked which of them can match."""

    def __init__(self, patterns: Sequence[str], together: int = TOGETHER, apart: int = APART) -> None:
        wide = [written_blind(sieving(pattern)) for pattern in patterns]
        self._step = max(-(-len(wide) // together), 1)
        self._sets = [
            PatternSet(wide[first :: self._step], memory=MEMORY, swift=True, apart=apart)
            for first in range(self._step)
            if wide
        ]

    def candidates(self, text: bytes) -> list[int]:
        """Return the numbers of the patterns that may match the UTF-8 ``text``: all that do, and few others.

        They are those that may match it with its marks of emphasis as blanks, too.
        """
        return self.seen(without_marks(text))

    def seen(self, text: bytes) -> list[int]:
        """Return the same for a text whose marks of emphasis are blanks already."""
        found: list[int] = []
        for first, one in enumerate(self._sets):
            if matching := one.candidates(text):
                found += [first + self._step * at for at in matching]
        return sorted(found) if len(found) > 1 else found
