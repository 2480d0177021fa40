"""Where a value came from: the answer types of the attribution index.

Guarantees: an :class:`Origin` says what matched, where, and how well; whether that suffices for a role is decided
above this folder (``approvals/facts.py``), never here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.labels import NOBODY, Authority, Readers, Trust
from checkvalve.filters.mentions import Mention


class MatchKind(enum.StrEnum):
    """How a value was found, best first. ``NONE`` means that the model made it up, or hid where it came from."""

    REFERENCE = "reference"
    EXACT = "exact"
    NORMALISED = "normalised"
    DERIVED = "derived"
    NONE = "none"


_TRUST_NAMES: Final = {trust: trust.name.lower() for trust in Trust}


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What the deployer declared of one field of a tool result.

    ``path`` is dotted; ``*`` stands for one step, ``**`` for any number, ``$`` for the result itself. ``kind`` is a
    value kind of :mod:`checkvalve.filters.values` or ``id:TYPE``. ``trust`` holds only while every condition of
    ``when`` does: another field of the same record, by its path, holds one of some values (case folded). ``keys``
    means the names under ``path`` instead of the values. ``reader_args`` names arguments of the call that read it, each
    with the start of the reader's name: what it was read from may have it back.
    """

    path: str
    trust: Trust = Trust.UNTRUSTED
    readers: Readers = NOBODY
    kind: str = "text"
    names_record: bool = False
    keys: bool = False
    when: tuple[tuple[str, frozenset[str]], ...] = ()
    contact: bool = False
    stamped: bool = False
    reader_args: tuple[tuple[str, str], ...] = ()  # argument, and the start of the reader's name


UNDECLARED = FieldRule("**")
"""The rule of a field nobody declared: untrusted and private."""


@dataclass(frozen=True, slots=True)
class Field:
    """One scalar of a tool result, or one stretch of words, with everything attribution needs to know of it.

    ``record`` identifies the innermost object around the scalar, so that two fields of one record can be told to
    belong together; ``echo`` is true when the value merely repeats what the agent itself passed to a tool; ``turn``
    counts the messages of the user that tool results separate; ``contact`` says that whoever stands here is known to
    the user, ``stamped`` that the system wrote the name of whoever acted.
    """

    source: str
    path: str
    text: str
    authority: Authority
    trust: Trust
    readers: Readers = NOBODY
    kind: str = "text"
    record: str = ""
    names_record: bool = False
    echo: bool = False
    turn: int = 0
    contact: bool = False
    stamped: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """One place a value stands at.

    ``span`` is the half-open range of bytes in the UTF-8 form of ``field.text``; ``whole`` says that the value is the
    entire field (or one entire line or list member of it). For words of a person, ``mention`` tells what stands around
    it, and ``stale`` that they belong to an earlier message which the present one does not point back at.
    """

    field: Field
    span: tuple[int, int]
    match: MatchKind
    whole: bool = False
    mention: Mention | None = None
    stale: bool = False

    @property
    def source(self) -> str:
        """Where it stands, for people and for endorsement keys."""
        return self.field.source

    def to_json(self) -> dict[str, object]:
        """Return the published form: source, span, match, trust."""
        return {
            "source": f"{self.field.source}#{self.field.path}" if self.field.path else self.field.source,
            "span": list(self.span),
            "match": self.match.value,
            "trust": _TRUST_NAMES[self.field.trust],
        }


@dataclass(frozen=True, slots=True)
class Attribution:
    """Everywhere a value was found, best match first. No origin at all means nobody is known to have said it."""

    value: str
    kind: str
    origins: tuple[Origin, ...] = ()

    @property
    def match(self) -> MatchKind:
        """The best match kind, ``NONE`` when there is no origin."""
        return self.origins[0].match if self.origins else MatchKind.NONE
