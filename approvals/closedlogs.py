"""Logs that were closed, as the first event of the log that follows says: pure reading, nothing is judged here.

A log is closed where its key was stolen or where it was found tampered with (:mod:`restart`). The events go on being
numbered; the log that follows has a name, a key and a tree of its own, and its first leaf says what it follows: the
name and keys of the closed log, its last good checkpoint, who closed it and why, and from which event on it is in
doubt. So leaf ``n`` of a log is event ``base + n + 1``, where ``base`` is the number of the last event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import sqlalchemy as sa

from checkvalve.approvals.audit import Event
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import KEYS, body_of
from checkvalve.approvals.logkeys import Follows, LogKey
from checkvalve.approvals.tables import events

RESTARTED: Final = "log.restarted"
"""The kind of a log's first event where it follows a closed one. Its subject is that of the log's keys."""
_REMEDY: Final = "nothing was signed; verify the audit log: checkvalve audit verify"
_THE_SEQ: Final = sa.select(sa.func.max(events.c.seq)).where(events.c.subject == KEYS, events.c.kind == RESTARTED)


@dataclass(frozen=True, slots=True)
class Closed:
    """One closed log. Its events are ``base + 1`` to ``base + size``; ``end`` is the last number before the next."""

    number: int  # 1 for the first one of a database
    follows: Follows  # what the next log says of it: name and keys
    base: int
    size: int
    checkpoint: str
    end: int
    at: int  # when it was closed, microseconds
    changed: tuple[tuple[int, int], ...]  # ranges of its events that were not as signed: their hashes are in the tiles
    evidence: tuple[int, str]  # how much was put aside, and the digest over it
    body: Mapping[str, Any]

    @property
    def origin(self) -> str:
        """Its name."""
        return self.follows.origin

    @property
    def next(self) -> str:
        """The name of the log that follows."""
        return str(self.body.get("origin"))

    @property
    def last(self) -> int:
        """Its last event that was signed."""
        return self.base + self.size

    @property
    def doubted_from(self) -> int | None:
        """The first event that is in doubt; None where nothing is."""
        found = self.body.get("in_doubt_from")
        return found if isinstance(found, int) else None

    def is_changed(self, first: int, last: int) -> bool:
        """Say whether the events ``first`` to ``last`` are all among those that were not as signed."""
        for start, end in self.changed:
            if start <= first <= end:
                first = end + 1
        return first > last

    @classmethod
    def of(cls, event: Event, number: int, base: int) -> Self:
        """Return what a log's first event says of the log that it follows.

        Raises:
            ValueError: it says nothing of one.
        """
        body = body_of(event.body)
        told = body.get("closed")
        try:
            changed = tuple((int(first), int(last)) for first, last in body["changed"])
            aside = (int(body["put_aside"]["rows"]), str(body["put_aside"]["digest"]))
            size, text = int(told["size"]), str(told["checkpoint"])  # type: ignore[index]  # TypeError is caught
        except (KeyError, TypeError) as error:
            raise ValueError("this is no first event of a log that follows another one") from error
        return cls(number, Follows.from_json(told), base, size, text, event.seq - 1, event.at, changed, aside, body)


_LINKS: Final = sa.select(events).where(events.c.subject == KEYS, events.c.kind == RESTARTED).order_by(events.c.seq)


def links(connection: sa.Connection) -> list[Event]:
    """Return the events that say which log is followed, oldest first; whoever wrote them."""
    return [Event(**row) for row in connection.execute(_LINKS).mappings().all()]


def closed_logs(connection: sa.Connection, *, upto: int | None = None) -> list[Closed]:
    """Return the closed logs of a database, oldest first; with ``upto`` those that events up to this number say.

    Raises:
        LogTamperedError: an event that should say so cannot be read.
    """
    found: list[Closed] = []
    for event in links(connection):
        if upto is not None and event.seq > upto:
            break
        base = found[-1].end if found else 0
        try:
            found.append(Closed.of(event, len(found) + 1, base))
        except ValueError as error:
            raise LogTamperedError(f"event {event.seq} does not say which log was closed", remedy=_REMEDY) from error
    return found


def base_query() -> sa.Select[tuple[int]]:
    """Return the statement behind :func:`base_of`, as a part of others."""
    return sa.select(sa.func.coalesce(_THE_SEQ.scalar_subquery(), 1) - 1)


def base_of(connection: sa.Connection) -> int:
    """Return the number of the last event before the log that is signed now; 0 where no log was closed here."""
    return int(connection.execute(_THE_SEQ).scalar() or 1) - 1


def require_first(connection: sa.Connection, key: LogKey) -> int:
    """Return :func:`base_of`, after making sure that the log begins as its key says.

    Raises:
        LogTamperedError: it begins with another event than the one that says what it follows, or nobody closed a log.
    """
    base = base_of(connection)
    if key.follows is None and base == 0:
        return 0
    row = connection.execute(sa.select(events).where(events.c.seq == base + 1)).mappings().one_or_none()
    first = None if row is None else Event(**row)
    body = {} if first is None or first.kind != RESTARTED or not first.is_whole else body_of(first.body)
    told = body.get("closed")
    named = told.get("origin") if isinstance(told, dict) else None
    if key.follows is None or (body.get("origin"), named) != (key.origin, key.follows.origin):
        follows = key.follows.origin if key.follows else "no closed log"
        raise LogTamperedError(
            f"the log {key.origin} follows {follows}, and its first event does not say so: "
            "a database from before that was put back, or the event was changed",
            remedy=_REMEDY,
        )
    return base


def refuse_closed(name: str, closed: Sequence[Closed]) -> None:
    """Refuse to judge a database by the key of a log that was closed in it.

    Raises:
        LogError: ``name``, that of the keys, is such a log's.
    """
    if any(one.origin == name for one in closed):
        raise LogError(
            f"this is the key of the log {name}, which was closed; what follows is the log {closed[-1].next}",
            remedy="get the new public key from whoever runs it, not from the database",
        )


def in_words(one: Closed) -> Iterator[str]:
    """Yield what people should know of a closed log."""
    who = f"closed by {one.body.get('by')} at {to_the_second(one.at)}: {one.body.get('reason')}"
    good = f"its last good checkpoint is of {one.size} events" if one.checkpoint else "it has no good checkpoint"
    yield f"the log {one.origin} was {who}; {good}, and {one.next} follows"
    if one.doubted_from is None:
        return
    parts = [f"event {first}" if first == last else f"events {first} to {last}" for first, last in one.changed]
    missing = [f"{', '.join(parts)}, not as signed"] if parts else []
    yield f"in doubt of {one.origin}: {'; '.join([*missing, f'everything after event {one.last}'])}"
    told = one.body.get("signed")
    if isinstance(told, int) and told > one.size:
        yield f"{told} events of {one.origin} were signed once, {told - one.size} more than that checkpoint has"
    yield f"put aside as evidence: {one.evidence[0]} rows; calls and permissions with rows in doubt: {_subjects(one)}"


def _subjects(one: Closed) -> int:
    found = one.body.get("rows_in_doubt")
    return found if isinstance(found, int) else 0


__all__ = [
    "RESTARTED",
    "Closed",
    "base_of",
    "base_query",
    "closed_logs",
    "in_words",
    "links",
    "refuse_closed",
    "require_first",
]
