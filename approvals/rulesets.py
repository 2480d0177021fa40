"""The rules of one gateway as texts: which parts there are, what each is digested over, and how two differ. Pure.

The parts are the manifest, the policy, the policy's schema, the review rules, and those settings that decide. A digest
is over the very bytes that were read: what people were shown is what counts, comments included.

Guarantees: a difference is never cut short; what is too long to be compared line by line is shown whole, once as what
goes and once as what comes.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.canonical import digest, digest_bytes
from checkvalve.filters.strictjson import JSON

PARTS: Final = ("manifest", "policy", "schema", "review", "settings")
"""What a set of rules is made of, in the order in which people are shown it."""
NAMES: Final = {
    "manifest": "manifest",
    "policy": "policy",
    "schema": "schema of the policy",
    "review": "review rules",
    "settings": "settings that decide",
}
"""The parts in words."""
MAX_COMPARED: Final = 3_000
"""Lines of one side that are compared one by one: comparing more takes longer than reading."""
AROUND: Final = 3
"""Lines of the same that are shown before and behind a difference."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """One part as it was read. ``file`` is where from, for errors; it is kept nowhere."""

    part: str
    text: str
    file: str = ""

    @property
    def digest(self) -> str:
        """``sha256:<hex>`` over the bytes of the text."""
        return text_digest(self.text)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a difference. ``kind`` is ``same``, ``removed``, ``added``, or ``skipped``, which has a count.

    ``unended`` is the last line of a text that has no line end there.
    """

    kind: str
    text: str = ""
    count: int = 0
    unended: bool = False


def text_digest(text: str) -> str:
    """Return ``sha256:<hex>`` over the bytes of a text."""
    return digest_bytes(text.encode())


def set_digest(parts: Mapping[str, str]) -> str:
    """Return ``sha256:<hex>`` over the digests of all parts, by name: what a person confirms."""
    plain: dict[str, JSON] = dict(parts)
    return digest(plain)


def difference(before: str, after: str) -> list[Line]:
    """Return what two texts differ in, line by line; none where they are the same.

    Lines end at line feeds only, so that no other character can hide where one ends.
    """
    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    inner = _inner(old[head : len(old) - tail], new[head : len(new) - tail])
    start = [_line("same", text) for text in old[:head]]
    end = [_line("same", text) for text in old[len(old) - tail :]]
    return list(_folded([*start, *inner, *end]))


def counted(lines: Sequence[Line]) -> tuple[int, int]:
    """Return how many lines of a difference come and how many go."""
    return sum(line.kind == "added" for line in lines), sum(line.kind == "removed" for line in lines)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; other characters than a line feed end none."""
    found = [f"{one}\n" for one in text.split("\n")]
    last = found.pop().removesuffix("\n")
    return [*found, last] if last else found


def _line(kind: str, text: str) -> Line:
    return Line(kind, text.removesuffix("\n"), unended=not text.endswith("\n"))


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _inner(old: list[str], new: list[str]) -> Iterator[Line]:
    if max(len(old), len(new)) > MAX_COMPARED:
        yield from (_line("removed", text) for text in old)
        yield from (_line("added", text) for text in new)
        return
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (_line("same", text) for text in old[a:b])
        else:
            yield from (_line("removed", text) for text in old[a:b])
            yield from (_line("added", text) for text in new[c:d])


def _folded(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines with those left out that are the same and far from every difference, and how many they are."""
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at for one in changed for at in range(one - AROUND, one + AROUND + 1)}
    skipped = 0
    for at, line in enumerate(lines):
        if at in near:
            if skipped:
                yield Line("skipped", count=skipped)
            skipped = 0
            yield line
        else:
            skipped += 1
    if skipped:
        yield Line("skipped", count=skipped)


def settings_text(values: Mapping[str, JSON]) -> str:
    """Return settings as a text of a line each, in the order of their names."""
    return "".join(f"{name} = {json.dumps(values[name])}\n" for name in sorted(values))


def setting_in(text: str, name: str) -> JSON:
    """Return what a text of :func:`settings_text` says of a setting; None where it says nothing."""
    for line in text.split("\n"):
        found, mark, value = line.partition(" = ")
        if mark and found == name:
            told: JSON = json.loads(value)
            return told
    return None


__all__ = [
    "NAMES", "PARTS", "Line", "RuleText", "counted", "difference", "set_digest", "setting_in", "settings_text",
    "text_digest",
]  # fmt: skip
