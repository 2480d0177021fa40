"""Patterns whose time grows with the text and with nothing else: RE2, with types, in one place.

Guarantees: no pattern can be made slow by a text, because RE2 never goes back; patterns are compiled once. What RE2
cannot do (look around, refer back) is not needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import re2

_MEMORY: Final = 64 << 20


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
        self._text = re2.compile(pattern, _options(ignore_case=ignore_case))
        self._bytes = re2.compile(pattern.encode(), _options(ignore_case=ignore_case))

    def found(self, text: str) -> bool:
        """Say whether the pattern matches anywhere."""
        return self._bytes.search(text.encode("utf-8", "surrogatepass")) is not None

    def is_all(self, text: str) -> bool:
        """Say whether the pattern is the whole of ``text``."""
        return self._bytes.fullmatch(text.encode("utf-8", "surrogatepass")) is not None

    def finditer(self, text: str) -> Iterator[Found]:
        """Yield every match in a text without lone surrogates."""
        matches: Iterator[Found] = self._text.finditer(text)
        return matches

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the places of all matches in UTF-8, in bytes."""
        for match in self._bytes.finditer(data):
            span: tuple[int, int] = match.span()
            yield span


class PatternSet:
    """Many patterns, asked at once which of them match."""

    def __init__(self, patterns: Iterable[str], *, ignore_case: bool = False, memory: int = _MEMORY) -> None:
        self._set = re2.Set.SearchSet(_options(ignore_case=ignore_case, memory=memory))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def matching(self, text: str | bytes) -> list[int]:
        """Return the numbers of the patterns that match somewhere."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        found = self._set.Match(data)
        return sorted(found) if found else []
