"""Who asked for a call: not one name but the set of people whose wish, token or agent it was.

1. Whoever started the task. 2. The person for whom a program started it, where the program names one. 3. The owner of
the API token that proposed. 4. The owner of the agent. All of them stand in the record of the call, and no yes of
theirs counts, under whatever account (see ``reach``).

Guarantees: pure; a name is never left out because it cannot be read; the set of a stored call only ever grows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.people import same_person
from checkvalve.filters.strictjson import JSON

FOR: Final = "for"
TOKEN: Final = "token"  # noqa: S105  # a word of the record
AGENT: Final = "agent"
IN_WORDS: Final = {FOR: "it was started for them", TOKEN: "owns the token", AGENT: "owns the agent"}
"""What each of them has to do with the call, for people."""

AskedBy: TypeAlias = "str | tuple[str, ...]"
"""Everybody who asked for a call, the first one being in whose name it was asked; or that one alone."""


@dataclass(frozen=True, slots=True)
class Behind:
    """One further person behind a call, and why: :data:`FOR`, :data:`TOKEN` or :data:`AGENT`."""

    why: str
    name: str


@dataclass(slots=True)
class Owners:
    """Who stands behind the tasks of one gateway: a part of its queue.

    ``agents`` are the owners of the agents that it guards, from the settings. ``of_task`` gives whoever stands behind
    one task beside them: the owner of the token that started it, and the person for whom it was started.
    """

    agents: tuple[str, ...] = ()
    of_task: Callable[[str], Iterable[Behind]] = field(default=lambda _thread: ())

    def behind(self, thread: str, requester: str, *, by_agent: bool = True) -> tuple[Behind, ...]:
        """Return who stands behind a call of ``thread``; ``by_agent`` is false for what a person asks for by hand."""
        own = [Behind(AGENT, name) for name in self.agents] if by_agent else []
        return once(requester, [*self.of_task(thread), *own])


def once(requester: str, behind: Iterable[Behind]) -> tuple[Behind, ...]:
    """Return every person but ``requester`` once, for the first reason given; names that are empty name nobody."""
    found: list[Behind] = []
    for one in behind:
        if one.name and not any(same_person(one.name, other) for other in (requester, *(item.name for item in found))):
            found.append(one)
    return tuple(found)


def everybody(requester: str, behind: Iterable[Behind]) -> tuple[str, ...]:
    """Return the names of the whole set, ``requester`` first, which is empty where nobody knows who that is."""
    return (requester, *(one.name for one in behind))


def names_in(asked: AskedBy) -> tuple[str, ...]:
    """Return the names of a set that may be given as one name."""
    return (asked,) if isinstance(asked, str) else asked


def as_json(behind: Iterable[Behind]) -> list[JSON]:
    """Return what an event and a program are told."""
    return [{"why": one.why, "name": one.name} for one in behind]


def stored(behind: Iterable[Behind]) -> str:
    """Return what a row keeps: canonical JSON, empty where there is nobody beside the requester."""
    listed = as_json(behind)
    return canonical(listed).decode() if listed else ""


def parsed(text: str) -> tuple[Behind, ...]:
    """Return the people in a row's text.

    Raises:
        ValueError, TypeError, KeyError: this program never wrote it.
    """
    return tuple(Behind(str(one["why"]), str(one["name"])) for one in json.loads(text)) if text else ()


def reasons(behind: Iterable[Behind]) -> list[tuple[str, str]]:
    """Return each name with what that person has to do with the call."""
    return [(one.name, IN_WORDS.get(one.why, one.why)) for one in behind]


__all__ = [
    "AGENT", "FOR", "IN_WORDS", "TOKEN", "AskedBy", "Behind", "Owners", "as_json", "everybody", "names_in",
    "once", "parsed", "reasons", "stored",
]  # fmt: skip
