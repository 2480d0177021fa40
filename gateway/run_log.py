"""What is known of the HTTP API's runs, in any process: how each stands, and its events, numbered to go on from.

Guarantees: it is kept in the store beside approvals; events hold no content; of two who claim one thread the first one
has it. A name that starts with ``checkvalve:`` belongs to this log and is no thread of anybody.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from checkvalve.approvals.asked_by import Behind, as_json, once
from checkvalve.approvals.content import SqlContentStore
from checkvalve.filters.labels import CLEAN
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.events import Event

_RUNS: Final = "checkvalve:runs"
_EVENTS: Final = "checkvalve:events:"
_UNDER_WAY: Final = frozenset({"running", "waiting"})
OVER: Final = frozenset({"answered", "stopped", "failed"})
"""Statuses in which nothing happens before somebody asks for it."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """How a run stands: ``accepted``, ``running``, ``waiting``, ``answered``, ``stopped`` or ``failed``.

    ``behind`` are the people who asked for it beside the requester: whoever was noted once stays.
    """

    thread: str
    requester: str
    status: str
    code: str = ""
    waiting: tuple[str, ...] = field(default=())
    behind: tuple[Behind, ...] = field(default=())

    def to_json(self) -> dict[str, JSON]:
        """Return the stored form."""
        return {
            "thread": self.thread,
            "requester": self.requester,
            "status": self.status,
            "code": self.code,
            "waiting": list(self.waiting),
            "behind": as_json(self.behind),
        }


def _record(data: JSON) -> RunRecord | None:
    match data:
        case {
            "thread": str(thread),
            "requester": str(requester),
            "status": str(status),
            "code": str(code),
            "waiting": list(waiting),
            **more,
        }:
            names = tuple(str(name) for name in waiting)
            return RunRecord(thread, requester, status, code, names, _behind(more.get("behind")))
        case _:
            return None


def _behind(told: object) -> tuple[Behind, ...]:
    """Return the people of a stored record; an older version kept none."""
    listed = told if isinstance(told, list) else []
    return tuple(Behind(str(one.get("why")), str(one.get("name"))) for one in listed if isinstance(one, dict))


class RunLog:
    """The log over one content store. Safe to use from several threads, and it reads what other processes noted."""

    def __init__(self, content: SqlContentStore) -> None:
        """Read nothing yet."""
        self._content = content
        self._lock = threading.Lock()
        self._runs: dict[str, RunRecord] = {}
        self._seen = 0

    def claim(self, thread: str, requester: str, behind: tuple[Behind, ...] = ()) -> bool:
        """Take ``thread`` for ``requester``; say whether it is theirs, now or since before."""
        if self.find(thread) is None:
            self.note(RunRecord(thread, requester, "accepted", behind=behind))
        found = self.find(thread)
        return found is not None and found.requester == requester

    def note(self, record: RunRecord) -> None:
        """Keep how a run stands now."""
        self._content.append_item(_RUNS, f"{record.thread}/{uuid4()}", "run", record.to_json(), CLEAN)

    def find(self, thread: str) -> RunRecord | None:
        """Return how the run of ``thread`` stands."""
        with self._lock:
            self._refresh()
            return self._runs.get(thread)

    def behind(self, thread: str) -> tuple[Behind, ...]:
        """Return who asked for the run of ``thread`` beside its requester; nobody where there is none."""
        found = self.find(thread)
        return () if found is None else found.behind

    def under_way(self) -> list[RunRecord]:
        """Return the runs that are not over."""
        with self._lock:
            self._refresh()
            return [record for record in self._runs.values() if record.status in _UNDER_WAY]

    def event(self, thread: str, event: Event) -> None:
        """Keep one event of a run."""
        self._content.append_item(_EVENTS + thread, str(uuid4()), "event", event.to_json(), CLEAN)

    def events(self, thread: str, after: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the events of a run that come after number ``after``, in order."""
        items = self._content.items(_EVENTS + thread, after=after)
        return [(item.seq, item.value) for item in items if isinstance(item.value, dict)]

    def _refresh(self) -> None:
        for item in self._content.items(_RUNS, after=self._seen):
            self._seen = item.seq
            if (record := _record(item.value)) is not None:
                first = self._runs.get(record.thread)
                self._runs[record.thread] = _joined(first, record) if first else record


def _joined(first: RunRecord, now: RunRecord) -> RunRecord:
    """Return how a run stands now, for whom it was begun, and everybody who was ever behind it."""
    behind = once(first.requester, (*first.behind, *now.behind))
    return replace(now, requester=first.requester, behind=behind)


__all__ = ["OVER", "RunLog", "RunRecord"]
