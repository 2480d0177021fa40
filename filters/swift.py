"""The same question asked faster: which of many patterns can match, by Hyperscan, for a process that reads a lot.

RE2 builds its machine while it reads, and a varied text leads it to states that it has not met: a new text takes
several times as long as the same text again. Hyperscan builds all of it first, which takes about a second for the
inbound patterns, and reads every text at one speed from then on. 1. A set begins with RE2 and counts what it reads.
2. Once that is :data:`RIPE` bytes, and the process said that it will go on (:func:`arm`), the set is due. 3. Between
two items, never within one, :func:`settle` builds the machine of one set that is due. Guarantees: the answer never
depends on which of the two gave it, because Hyperscan is asked for more than matches and RE2 is asked again where that
may differ; where Hyperscan is not there or fails, RE2 goes on.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from checkvalve.filters import forms

hyperscan: Any
try:
    import hyperscan
except ImportError:  # no wheel for this machine
    hyperscan = None

RIPE: Final = 1 << 19
"""Bytes that a set reads with RE2 before a machine of its own is worth building."""
_NO_CASE: Final = (b"\xc5\xbf", b"\xe2\x84\xaa")
"""The long s and the Kelvin sign, which RE2 takes for s and k where case does not count, and bytes do not show."""
_due: deque[Callable[[], None]] = deque()
_armed = threading.Event()


class Counter:
    """Counts what one set has read with RE2, and says once that a machine is due."""

    def __init__(self, build: Callable[[], None]) -> None:
        self._build = build
        self._left = RIPE
        if hyperscan is not None:
            _ALL.append(self)

    def read(self, size: int) -> None:
        """Count ``size`` bytes."""
        self._left -= size
        if self._left < 0 and _armed.is_set():
            self.ripen()

    def ripen(self) -> None:
        """Let the machine be built at the next chance."""
        try:
            _ALL.remove(self)  # in one step, since several threads may read with this set
        except ValueError:
            return  # it was ripe before, or there is no Hyperscan
        _due.append(self._build)


_ALL: Final[list[Counter]] = []


def arm() -> None:
    """Say that this process will read many texts."""
    _armed.set()


def settle() -> None:
    """Build one machine that is due, where there is one."""
    if _due:
        with suppress(Exception):  # RE2 goes on
            _due.popleft()()


def settle_all() -> None:
    """Build all machines now."""
    while _ALL:
        _ALL[0].ripen()
    while _due:
        settle()


class Machine:
    """Patterns as one Hyperscan database over bytes. Each thread has scratch memory of its own."""

    def __init__(
        self, patterns: Sequence[Sequence[str]], *, ignore_case: bool, wide: frozenset[int] = frozenset()
    ) -> None:
        """Build one machine of rows of patterns; the answer is the numbers of rows. Those in ``wide`` are not exact."""
        written = [(number, *bytewise(pattern)) for number, row in enumerate(patterns) for pattern in row]
        flags = hyperscan.HS_FLAG_SINGLEMATCH | (hyperscan.HS_FLAG_CASELESS if ignore_case else 0)
        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[text.encode() for _, text, _ in written],
            ids=list(range(len(written))),
            elements=len(written),
            flags=flags,
        )
        self._rows = [number for number, _, _ in written]
        self._local = threading.local()
        self.exact = frozenset(range(len(patterns))) - wide - {number for number, _, exact in written if not exact}
        """The rows of which a match in bytes is a match."""

    def matching(self, data: bytes) -> set[int]:
        """Return the numbers of the rows that may match: all that do."""
        found: set[int] = set()
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._database.scratch.clone()
        self._database.scan(data, _noted, 0, found, scratch)  # names of arguments take longer than a short text
        return {self._rows[at] for at in found} if found else found


def _noted(number: int, _start: int, _end: int, _flags: int, found: set[int]) -> None:
    found.add(number)


def plain_case(data: bytes) -> bool:
    """Say whether bytes show all letters that are the same but for their case."""
    return data.isascii() or not any(letter in data for letter in _NO_CASE)


_BLANK: Final = r"\t\n\f\r "
_CHARACTER: Final = r"(?:[\x00-\x7f]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_FOREIGN: Final = r"[\xc2-\xf4][\x80-\xbf]{1,3}"


def bytewise(pattern: str) -> tuple[str, bool]:
    """Return a pattern over the bytes of UTF-8 that matches wherever ``pattern`` does, and whether nowhere else.

    A set of all but some characters counts bytes instead of characters, so its count goes; what a set names beyond
    ASCII is written out. Raises: ValueError for syntax that is not known.
    """
    if pattern.isascii() and pattern.isalnum():
        return pattern, True
    exact = True

    def change(atom: forms.Atom) -> forms.Node:
        nonlocal exact
        text = atom.text
        if text.startswith("["):
            node, same = _set(atom)
            exact = exact and same
            return node
        if text == r"\s":
            return forms.Atom(f"[{_BLANK}]", atom.repeat)
        if text in {r"\S", "."}:
            exact = exact and _is_uncounted(atom.repeat)
            return forms.Atom(f"[^{_BLANK}]" if text == r"\S" else r"[^\n]", _uncounted(atom.repeat))
        if text in {r"\W", r"\D", r"\B"}:
            raise ValueError(f"{text} is not known in bytes")
        char = _character(text)
        if char.isascii():
            return atom
        literal = "".join(f"\\x{byte:02x}" for byte in char.encode())
        return forms.Group(((forms.Atom(literal),),), repeat=atom.repeat) if atom.repeat else forms.Atom(literal)

    return forms.written(forms.changed(forms.read(pattern), change)), exact


def _is_uncounted(repeat: str) -> bool:
    """Say whether it counts neither in characters nor in bytes: ``*`` or ``+``."""
    return forms.least(repeat) <= 1 and math.isinf(forms.most(repeat))


def _uncounted(repeat: str) -> str:
    return "+" if forms.least(repeat) else "*"


def _character(text: str) -> str:
    if text.startswith(r"\x"):
        return chr(int(text[2:].strip("{}"), 16))
    return text if len(text) == 1 else "a"  # an escape stands for ASCII


def _set(atom: forms.Atom) -> tuple[forms.Node, bool]:
    negated, items = forms.members(atom.text)
    plain = [_BLANK if item == r"\s" else item for item in items if _is_plain(item)]
    foreign = [item for item in items if not _is_plain(item)]
    if any(item in {r"\S", r"\W", r"\D"} for item in items):
        raise ValueError(f"{atom.text} is not known in bytes")
    if negated:
        uncounted = _is_uncounted(atom.repeat)
        return forms.Atom(f"[^{''.join(plain)}]", _uncounted(atom.repeat)), uncounted and not foreign
    if not foreign:
        return forms.Atom(f"[{''.join(plain)}]", atom.repeat), True
    if any(len(item) > 1 and not item.startswith(r"\x") for item in foreign):  # a range: any letter that is not ASCII
        rows = [_FOREIGN]
    else:
        rows = ["".join(f"\\x{byte:02x}" for byte in _character(item).encode()) for item in foreign]
    rows += [f"[{''.join(plain)}]"] if plain else []
    return forms.Group(tuple((forms.Atom(row),) for row in rows), repeat=atom.repeat), rows[0] != _FOREIGN


def _is_plain(item: str) -> bool:
    return item.isascii() and not (item.startswith(r"\x{") and int(item[3:].rstrip("}"), 16) > 0x7F)  # noqa: PLR2004
