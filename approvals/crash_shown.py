"""How a call of unknown end is tried again or looked up, as people see it: in the terminal, on the pages and over HTTP.

Guarantees: numbers, moments and words of ours, and the name of a declared tool; nothing that a probe said stands here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.probes import BY, UNDECIDED, WHY
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import block
from checkvalve.approvals.retries import MAX_TRIES, is_over, tries_of
from checkvalve.approvals.sound_events import sound_of_kinds
from checkvalve.approvals.subjectrows import read
from checkvalve.approvals.toolspec import Idempotency

Stand = Literal["tried", "again", "over", "probe_waits", "undecided", "done", "not_done", "unreadable"]
_SETTLED: Final = [f"proposal.{state.value}" for state in (State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE)]
_INDENT: Final = (0, 0, 0, 4)
_WORDS: Final = {
    "again": "whoever comes back to it tries it again with the same key, until {until}",
    "over": "it is not tried again; a person settles it",
    "probe_waits": "its probe was not read yet; whoever comes back to the call reads it",
    "done": "settled by the probe {tool}: it happened",
    "not_done": "settled by the probe {tool}: it did not happen; it may be proposed again",
    "undecided": "the probe {tool} settled nothing: {why}",
    "unreadable": "what the log says of it cannot be read",
}


@dataclass(frozen=True, slots=True)
class AfterCrash:
    """What is done about a call of unknown end. ``until`` and ``at`` are in microseconds; ``why`` is a word of ours."""

    stand: Stand
    tries: int = 0
    until: int = 0
    tool: str = ""
    why: str = ""
    at: int = 0

    def lines(self) -> Iterator[str]:
        """Yield it in words."""
        if self.tries > 1:
            yield f"tried again with the same key: try {self.tries} of {MAX_TRIES}"
        if self.stand in _WORDS:
            until = to_the_second(self.until) if self.until else ""
            why = WHY.get(self.why, WHY["failed"])
            yield _WORDS[self.stand].format(until=until, tool=self.tool, why=why)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "state": self.stand,
            "tries": self.tries or None,
            "of": MAX_TRIES if self.tries else None,
            "until": rfc3339(self.until) if self.until else None,
            "probe": self.tool or None,
            "why": self.why or None,
            "at": rfc3339(self.at) if self.at else None,
            "words": [*self.lines()],
        }


def after_crash(queue: Queue, proposal: Proposal) -> AfterCrash | None:
    """Return what was, and will be, done about the unknown end of a call; nothing where there is nothing to say."""
    if proposal.idempotency not in {Idempotency.KEY, Idempotency.PROBE}:
        return None
    try:
        with queue.store.read() as connection:
            if proposal.idempotency is Idempotency.PROBE:
                return _probed(connection, proposal)
            return _tried(connection, proposal, queue.clock())
    except StoreCorruptError:
        return AfterCrash("unreadable") if proposal.state is State.UNKNOWN else None


def crash_lines(found: AfterCrash | None) -> Iterator[RenderableType]:
    """Yield it for a terminal; nothing where there is nothing to say."""
    if found is None:
        return
    yield Text("After a crash", style="bold")
    for text in found.lines():
        yield Padding(Text(block(text), overflow="fold"), _INDENT)


def _tried(connection: sa.Connection, proposal: Proposal, now: int) -> AfterCrash | None:
    found = tries_of(connection, proposal)
    if found is None or (found.count == 1 and proposal.state is not State.UNKNOWN):
        return None
    if proposal.state is not State.UNKNOWN:
        return AfterCrash("tried", found.count)
    over = is_over(connection, proposal, read(connection, proposal.id), at=now)
    return AfterCrash("over" if over else "again", found.count, 0 if over else found.until)


def _probed(connection: sa.Connection, proposal: Proposal) -> AfterCrash | None:
    """Return what the probe of a call has settled, or why it has not."""
    if proposal.state is not State.UNKNOWN and proposal.decided_by != BY:
        return None
    events = sound_of_kinds(connection, proposal.id, [UNDECIDED, *_SETTLED])
    if not events:
        return AfterCrash("probe_waits")
    last = events[-1]
    body = json.loads(last.body) if last.body else {}
    if last.kind == UNDECIDED:
        return AfterCrash("undecided", tool=str(body.get("tool") or ""), why=str(body.get("why")), at=last.at)
    told, done = body.get("probe"), proposal.state is State.CONFIRMED_DONE
    tool = str(told.get("tool") or "") if isinstance(told, dict) else ""
    return AfterCrash("done" if done else "not_done", tool=tool, at=last.at)


__all__ = ["AfterCrash", "after_crash", "crash_lines"]
