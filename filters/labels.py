"""Where content came from and what that is worth: Source, Trust, Authority, Readers, Label.

Guarantees: a Label is immutable, and :func:`join` only ever makes it worse (lowest trust, lowest authority,
intersection of readers, union of sources). The missing label is :data:`UNKNOWN`: untrusted, no authority, nobody
may read it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from checkvalve.filters.errors import LabelError


class Trust(enum.IntEnum):
    """How far a value may be relied on. Decided by how it was read, never by what it says."""

    UNTRUSTED = 0
    VERIFIED = 1
    AUTHORITATIVE = 2


class Authority(enum.IntEnum):
    """Whose instructions count. Everything that was read has ``NONE``."""

    NONE = 0
    USER = 1
    SYSTEM = 2


@dataclass(frozen=True, slots=True)
class Readers:
    """Who may see a value: everybody (``public``), or exactly the identities in ``names``.

    ``Readers.nobody()`` is the bottom: an empty set, which is what a missing label means.
    """

    public: bool = False
    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.public and self.names:
            raise LabelError("readers are either public or a set of names, not both; leave `names` empty")

    @classmethod
    def everyone(cls) -> Readers:
        """Return the top of the lattice: anybody may read the value."""
        return cls(public=True)

    @classmethod
    def nobody(cls) -> Readers:
        """Return the bottom of the lattice: nobody is known to be allowed."""
        return cls()

    @classmethod
    def of(cls, names: Iterable[str]) -> Readers:
        """Return readers limited to ``names``, compared without regard to case."""
        return cls(names=frozenset(name.casefold() for name in names))

    def meet(self, other: Readers) -> Readers:
        """Return those who may read both values."""
        if self.public:
            return other
        if other.public:
            return self
        return Readers(names=self.names & other.names)

    def allows(self, name: str) -> bool:
        """Say whether the identity ``name`` may read the value."""
        return self.public or name.casefold() in self.names

    def __le__(self, other: Readers) -> bool:
        return other.public or (not self.public and self.names <= other.names)


NOBODY: Final = Readers()
"""Nobody is known to be allowed: what a value without declared readers has."""


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Who authored a piece of content and how it came. Trust follows the author, not the carrier.

    ``kind`` is one of ``user``, ``system``, ``tool``, ``file``, ``page``, ``memory`` or ``model``; ``uri`` names the
    item (for a tool result ``tool/call#field``); ``observed_at`` is RFC 3339 text in UTC, empty when not known.
    """

    kind: str
    uri: str = ""
    author: str = ""
    channel: str = ""
    observed_at: str = ""

    def __str__(self) -> str:
        name = f"{self.kind}:{self.uri}" if self.uri else self.kind
        return f"{name} by {self.author}" if self.author else name


@dataclass(frozen=True, slots=True)
class Label:
    """Trust, authority, readers and sources of one value."""

    trust: Trust = Trust.UNTRUSTED
    authority: Authority = Authority.NONE
    readers: Readers = field(default_factory=Readers.nobody)
    sources: frozenset[Source] = frozenset()

    def join(self, other: Label) -> Label:
        """Return the label of a value made from both: it is never better than either."""
        return Label(
            trust=min(self.trust, other.trust),
            authority=min(self.authority, other.authority),
            readers=self.readers.meet(other.readers),
            sources=self.sources | other.sources,
        )

    def __le__(self, other: Label) -> bool:
        """Say whether this label is at most as good as ``other`` (the order that :meth:`join` moves down)."""
        return (
            self.trust <= other.trust
            and self.authority <= other.authority
            and self.readers <= other.readers
            and self.sources >= other.sources
        )


UNKNOWN: Final = Label()
"""The label of a value that came without one: untrusted, no authority, private to nobody."""

CLEAN: Final = Label(Trust.AUTHORITATIVE, Authority.SYSTEM, Readers.everyone())
"""The neutral element of :func:`join`: what nothing at all has been mixed into."""


def join(labels: Iterable[Label]) -> Label:
    """Join any number of labels. No label at all means :data:`UNKNOWN`, never a clean one."""
    items = list(labels)
    return reduce(Label.join, items) if items else UNKNOWN


def user_label(*, uri: str = "", author: str = "", readers: Readers | None = None) -> Label:
    """Return the label of words that the host declared as the user's own."""
    source = Source("user", uri=uri, author=author)
    return Label(Trust.AUTHORITATIVE, Authority.USER, readers or Readers.everyone(), frozenset({source}))
