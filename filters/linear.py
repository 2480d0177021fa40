"""Patterns whose time grows with the text and with nothing else: RE2, with types, in one place.

Guarantees: no pattern can be made slow by a text, because RE2 never goes back; patterns are compiled once. What RE2
cannot do (look around, refer back) is not needed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final, Protocol

import re2

from checkvalve.filters.swift import Counter, Machine, plain_case

_MEMORY: Final = 64 << 20
_HALF: Final = re.compile("[\ud800-\udfff]")


class Found(Protocol):
    """One match, in characters of the text that was searched."""

    def start(self, group: int = 0, /) -> int:
        """Return where the match, or a group of it, begins."""
        ...

    def end(self, group: int = 0, /) -> int:
        """Return where it ends."""
        ...

    def span(self, group: int = 0, /) -> tuple[int, int]:
        """Return both."""
        ...

    def __getitem__(self, group: int, /) -> str | None: ...


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _options(*, ignore_case: bool, memory: int = _MEMORY) -> re2.Options:
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options


class Pattern:
    """One pattern."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self.pattern = pattern
        self._ignore_case = ignore_case
        self._bytes = re2.compile(pattern.encode(), _options(ignore_case=ignore_case))

    @cached_property
    def _text(self) -> Any:
        return re2.compile(self.pattern, _options(ignore_case=self._ignore_case))

    def found(self, text: str) -> bool:
        """Say whether the pattern matches anywhere."""
        return self._bytes.search(text.encode("utf-8", "surrogatepass")) is not None

    def is_all(self, text: str) -> bool:
        """Say whether the pattern is the whole of ``text``."""
        return self._bytes.fullmatch(text.encode("utf-8", "surrogatepass")) is not None

    def finditer(self, text: str) -> Iterator[Found]:
        """Yield every match; half a character counts as one of no meaning, since UTF-8 cannot say it."""
        matches: Iterator[Found] = self._text.finditer(_HALF.sub("\ufffd", text) if _has_half(text) else text)
        return matches

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the places of all matches in UTF-8, in bytes."""
        for match in self._bytes.finditer(data):
            span: tuple[int, int] = match.span()
            yield span


class PatternSet:
    """Many patterns, asked at once which of them match.

    With ``swift`` a process that reads a lot goes on with a faster machine (:mod:`checkvalve.filters.swift`);
    ``instead`` has other patterns for that, of which one matches wherever the pattern of that number does. RE2 has no
    more than ``apart`` patterns in one machine, where that is given.
    """

    def __init__(
        self,
        patterns: Iterable[str],
        *,
        ignore_case: bool = False,
        memory: int = _MEMORY,
        swift: bool = False,
        instead: Mapping[int, Sequence[str]] | None = None,
        apart: int = 0,
    ) -> None:
        self._patterns = tuple(patterns)
        self._instead = instead or {}
        self._ignore_case = ignore_case
        self._counter = Counter(self._build) if swift else None
        self._machine: Machine | None = None
        parts = -(-len(self._patterns) // apart) if apart else 1
        self._sets = [_searching(self._patterns[first::parts], ignore_case, memory) for first in range(parts)]

    def matching(self, text: str | bytes) -> list[int]:
        """Return the numbers of the patterns that match somewhere."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        machine = self._machine
        if machine is None or (self._ignore_case and not plain_case(data)):
            return self._plainly(data)
        found = machine.matching(data)
        if not found:
            return []
        return sorted(number for number in found if number in machine.exact or self._confirmed(number, data))

    def may_match(self, text: str) -> Collection[int]:
        """Return the numbers of the patterns that match somewhere in ``text``, and perhaps of some more."""
        return self.candidates(text.encode("utf-8", "surrogatepass"))

    def candidates(self, data: bytes) -> Collection[int]:
        """Return the numbers of the patterns that match somewhere, and perhaps of some more, in no order."""
        machine = self._machine
        if machine is None or (self._ignore_case and not plain_case(data)):
            return self._plainly(data)
        return machine.matching(data)

    def _plainly(self, data: bytes) -> list[int]:
        if self._counter is not None:
            self._counter.read(len(data))
        parts = len(self._sets)
        return sorted(first + parts * at for first, one in enumerate(self._sets) for at in one.Match(data) or ())

    def _confirmed(self, number: int, data: bytes) -> bool:
        return next(_one(self._patterns[number], self._ignore_case).places(data), None) is not None

    def _build(self) -> None:
        rows = [self._instead.get(number, [pattern]) for number, pattern in enumerate(self._patterns)]
        self._machine = Machine(rows, ignore_case=self._ignore_case, wide=frozenset(self._instead))


def _searching(patterns: Sequence[str], ignore_case: bool, memory: int) -> Any:  # noqa: FBT001  # as it is passed on
    made = re2.Set.SearchSet(_options(ignore_case=ignore_case, memory=memory))
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return made


@cache
def _one(pattern: str, ignore_case: bool) -> Pattern:  # noqa: FBT001  # a key of the cache
    return Pattern(pattern, ignore_case=ignore_case)
