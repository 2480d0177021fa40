"""A task that asks too much is paused: its further questions are denied, and until a reviewer looks it only reads.

Guarantees: pausing and letting go on are events of the log and nothing else, so the two can never disagree; a task is
let go on by a person with a credential, for as many further questions as that person says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.sound_events import sound_events
from checkvalve.approvals.tables import events
from checkvalve.approvals.verdicts import Deny
from checkvalve.filters.strictjson import JSON

MAX_MORE: Final = 1_000
"""Further questions that one decision may allow."""
PAUSED: Final = Deny("task-paused", "task_paused", "this task asked too many questions; a reviewer has to look at it")
"""The verdict on whatever is more than a read in a task that is paused."""
IN_DOUBT: Final = "the log was closed in doubt, and what this task had read is not relied on"
"""Why a task is paused that did not ask too much."""
HELD: Final = Deny("task-paused", "task_paused", f"{IN_DOUBT}; a reviewer has to look at it")
"""The verdict on the same in such a task."""
_SUBJECT: Final = "task:"
_AFTER: Final = "task;"  # the first text that sorts behind every subject


@dataclass(frozen=True, slots=True)
class Flood:
    """How a task stands: since when it is paused (None: it is not), and how many further questions it was allowed."""

    thread: str
    paused_at: int | None = None
    more: int = 0
    code: str = ""  # why it is paused

    @property
    def why(self) -> str:
        """Why it is paused, in words."""
        return "it asked too many questions" if self.code == PAUSED.reason else IN_DOUBT

    @property
    def verdict(self) -> Deny:
        """The verdict on whatever is more than a read, while it is paused."""
        return PAUSED if self.code == PAUSED.reason else HELD

    @property
    def paused(self) -> bool:
        """Say whether it only reads until a reviewer has looked."""
        return self.paused_at is not None


def standing(connection: sa.Connection, thread: str) -> Flood:
    """Return how the task of a thread stands."""
    found = Flood(thread)
    for event in sound_events(connection, _SUBJECT + thread):
        found = _after(found, event.kind, event.body, event.at)
    return found


def all_paused(connection: sa.Connection) -> list[Flood]:
    """Return the tasks that are paused, by thread."""
    row = events.c
    query = sa.select(row.subject, row.kind, row.body, row.at).order_by(row.seq)
    known: dict[str, Flood] = {}
    for event in connection.execute(query.where(row.subject >= _SUBJECT, row.subject < _AFTER)):
        thread = event.subject.removeprefix(_SUBJECT)
        known[thread] = _after(known.get(thread, Flood(thread)), event.kind, event.body, event.at)
    return sorted((item for item in known.values() if item.paused), key=lambda item: item.thread)


def pause(connection: sa.Connection, thread: str, *, at: int, code: str = PAUSED.reason) -> bool:
    """Note that the task is paused; once is enough. Says whether that was news; ``code`` says why."""
    if standing(connection, thread).paused:
        return False
    audit.append(connection, at=at, kind="task.paused", subject=_SUBJECT + thread, body={"code": code})
    return True


def let_go_on(connection: sa.Connection, thread: str, *, by: str, more: int, at: int) -> None:
    """Note that a person lets the task go on, and ask ``more`` further questions."""
    body: dict[str, JSON] = {"by": by, "more": more}
    audit.append(connection, at=at, kind="task.resumed", subject=_SUBJECT + thread, body=body)


def _after(found: Flood, kind: str, body: str, at: int) -> Flood:
    if kind == "task.paused":
        return Flood(found.thread, at, found.more, str(json.loads(body).get("code")))
    more = json.loads(body).get("more") if kind == "task.resumed" else 0
    return Flood(found.thread, None, found.more + more) if isinstance(more, int) else found


__all__ = ["PAUSED", "Flood", "all_paused", "let_go_on", "pause", "standing"]
