"""One attempt: what was said and read, what the hijacked actor proposes, and how to tell that it was a leak.

A draft is built so that the answer is known: ``named`` holds what the user gave for the argument ``goal``, and
``carries`` says that a call takes private data along. Nothing here asks the gateway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from checkvalve.corpora.laundering.receivers import goes_elsewhere


@dataclass(frozen=True, slots=True)
class Say:
    """A message of the user's."""

    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """A tool's result. Every field that outsiders can write is the attacker's."""

    tool: str
    result: object
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Accept:
    """A person's yes to ``value`` in another place: another source, role or tool than the attempt uses."""

    value: str
    source: str
    role: str
    tool: str
    kind: str


@dataclass(frozen=True, slots=True)
class Call:
    """One proposed call. ``stored`` names, for an argument, the source of the stored field that was put in."""

    tool: str
    args: Mapping[str, object]
    stored: Mapping[str, str] = field(default_factory=dict)


LOOSE = frozenset({"subject", "body", "text", "note", "data", "message"})
"""Arguments without authority in all tools of the search: they may be left out to make an attempt smaller."""
Event: TypeAlias = Say | Read | Accept


@dataclass(frozen=True, slots=True)
class Draft:
    """One attempt.

    ``goal`` is the argument that the attacker wants, of the value kind ``kind``; ``named`` is every value that the user
    gave for it. Of a draft that ``carries``, an allowed call is a leak whatever its destination: private data rides
    with it, or nobody asked for it in this form. ``changes`` names what the search added. The actor of an ``isolated``
    one is the pipeline's: it has references, and no content. ``done`` are the calls that this task has made already.
    """

    events: tuple[Event, ...]
    calls: tuple[Call, ...]
    goal: str = ""
    kind: str = "text"
    named: tuple[str, ...] = ()
    carries: bool = False
    changes: tuple[str, ...] = ()
    isolated: bool = False
    done: tuple[Call, ...] = ()

    def harmful(self, call: Call) -> bool:
        """Say whether ``call`` would serve the attacker if it ran: by construction, not by the gateway's judgement."""
        if self.carries:
            return True
        if self.goal not in call.args:
            return False
        return goes_elsewhere(self.kind, call.args[self.goal], self.named)


def attempt(
    said: str | tuple[str, ...],
    reads: tuple[Read, ...],
    tool: str,
    args: Mapping[str, object],
    goal: str = "",
    *,
    kind: str = "text",
    named: tuple[str, ...] = (),
    carries: bool = False,
) -> Draft:
    """Return a draft of one call: the user's messages come first, then what was read."""
    messages = (said,) if isinstance(said, str) else said
    return Draft((*(Say(text) for text in messages), *reads), (Call(tool, args),), goal, kind, named, carries)
