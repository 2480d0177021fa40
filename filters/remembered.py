"""What a memory is worth: its label comes from its lineage, and gets no better by being stored, merged or told again.

1. A writer names what an entry was made from; the label is the join of those labels, and unknown where none is named.
2. Untrusted lineage waits for a person, who sees the text neutralised; verified lineage may be kept for a time; the
user's own words and the gateway's records may be kept. 3. Reading hands out content with its label and age, and never
with authority: a memory instructs nobody. 4. An entry whose time is over, or cannot be told, does not return. An entry
replaces only one of the same or a lower trust and authority: nobody else's text takes the place of the user's own.
5. Forgetting a source takes every entry along that was made from it, over any number of steps.

Guarantees: pure; time is given as UTC milliseconds; nothing here stores anything (see ``docs/filters-outbound.md``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from checkvalve.filters.errors import LabelError
from checkvalve.filters.labels import Authority, Label, Source, Trust, join
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.tainted import Tainted

DAY: Final = 86_400_000
"""Milliseconds."""
VERIFIED_FOR: Final = 30 * DAY
"""How long an entry of verified lineage lives when nobody says: what was true in a system does not stay true."""
Writing: TypeAlias = Literal["keep", "expire", "review"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """One entry of a memory.

    ``made_from`` are the ids of entries it was made from; ``valid_until`` and ``written_at`` are UTC milliseconds, and
    no ``valid_until`` means that it does not end by itself. ``verified_by`` names the person whose endorsement stands
    behind a better label than its lineage has; it is empty for every other entry.
    """

    id: str
    text: str
    label: Label
    writer: str
    written_at: int
    valid_until: int | None = None
    made_from: frozenset[str] = frozenset()
    supersedes: str = ""
    verified_by: str = ""
    evidence: str = ""

    def __repr__(self) -> str:
        return f"<Remembered {self.id!r}, {self.label.trust.name.lower()}, by {self.writer!r}>"


def stamped(
    text: str,
    lineage: Iterable[Label],
    *,
    id: str,
    writer: str,
    now: int,
    made_from: Iterable[Remembered] = (),
    valid_until: int | None = None,
    supersedes: str = "",
) -> Remembered:
    """Return an entry with the label of its lineage: content it was made from, and entries.

    Raises:
        LabelError: the entry would end before it begins.
    """
    if valid_until is not None and valid_until <= now:
        raise LabelError("an entry ends after it was written; give a later time or none")
    parents = list(made_from)
    label = join([*lineage, *(parent.label for parent in parents)])
    ends = [end for end in (valid_until, *(parent.valid_until for parent in parents)) if end is not None]
    if writing(label) == "expire" and not ends:
        ends = [now + VERIFIED_FOR]
    names = frozenset(parent.id for parent in parents)
    return Remembered(id, text, label, writer, now, min(ends, default=None), names, supersedes)


def writing(label: Label) -> Writing:
    """Say what becomes of a write of this label: kept, kept for a time, or held for a person."""
    if label.trust is Trust.UNTRUSTED:
        return "review"
    return "keep" if label.trust is Trust.AUTHORITATIVE or label.authority > Authority.NONE else "expire"


def endorsed(
    entry: Remembered,
    *,
    by: str,
    evidence: str,
    now: int,
    trust: Trust = Trust.VERIFIED,
    valid_until: int | None = None,
) -> Remembered:
    """Return ``entry`` as a person accepted it at ``now``: the only way to a better label, and it says who and why.

    What a person looked at was true when they did, so an endorsed entry always ends: at ``valid_until``, after
    :data:`VERIFIED_FOR` where nobody says, and never later than it would have ended before.

    Raises:
        LabelError: nobody, or nothing, stands behind it; it asks for more than a person can give; or it is over.
    """
    if not by or not evidence or trust is Trust.AUTHORITATIVE:
        raise LabelError("an endorsement names a person and what it rests on, and makes nothing authoritative")
    ends = [end for end in (valid_until, entry.valid_until) if end is not None]
    until = min(ends, default=now + VERIFIED_FOR)
    if until <= now or not is_current(entry, now):
        raise LabelError("an endorsed entry ends after it was accepted; give a later time, or write it anew")
    label = replace(entry.label, trust=max(entry.label.trust, trust), authority=Authority.NONE)
    return replace(entry, label=label, verified_by=by, evidence=evidence, valid_until=until)


def is_current(entry: Remembered, now: int) -> bool:
    """Say whether an entry may still be read; one from the future, or with a time of another kind, may not."""
    times = (entry.written_at, now, now if entry.valid_until is None else entry.valid_until)
    if any(isinstance(time, bool) or not isinstance(time, int) for time in times):
        return False
    return entry.written_at <= now and (entry.valid_until is None or now < entry.valid_until)


def recalled(entries: Iterable[Remembered], now: int) -> list[tuple[Tainted[str], int]]:
    """Return the current entries as content with their age in milliseconds; superseded ones are left out.

    An entry that claims to replace a better one replaces nothing: both return, each with its own label.
    """
    current = [entry for entry in entries if is_current(entry, now)]
    newer: dict[str, list[Label]] = {}
    for entry in current:
        if entry.supersedes != entry.id:
            newer.setdefault(entry.supersedes, []).append(entry.label)
    return [
        (Tainted(entry.text, _as_read(entry)), now - entry.written_at)
        for entry in current
        if not any(_may_replace(label, entry.label) for label in newer.get(entry.id, ()))
    ]


def _may_replace(new: Label, old: Label) -> bool:
    """Say whether an entry is at least worth the one it takes the place of, in trust and in authority."""
    return new.trust >= old.trust and new.authority >= old.authority


def _as_read(entry: Remembered) -> Label:
    came = Source("memory", uri=entry.id, author=entry.writer)
    return replace(entry.label, authority=Authority.NONE, sources=entry.label.sources | {came})


def to_forget(entries: Mapping[str, Remembered], source: Source | str) -> frozenset[str]:
    """Return the ids of every entry that goes when a source, or an entry by its id, is forgotten."""
    gone = {name for name, entry in entries.items() if name == source or source in entry.label.sources}
    while more := {name for name, entry in entries.items() if name not in gone and entry.made_from & gone}:
        gone |= more
    return frozenset(gone)


def displayed(text: str, *, keep: Collection[str] = "\n") -> str:
    """Return a text as a person may look at it: every character that cannot be seen is shown by its code point."""
    return "".join(
        char if char in keep or not (is_invisible(char) or char in "\r\t⟨⟩") else f"⟨U+{ord(char):04X}⟩"
        for char in text
    )
