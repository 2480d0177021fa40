"""What stands around a call on its card: what the user asked, whose errand it is, what it is compared with, and more.

1. The user's first and latest words in the task, as the host declared them, and in whose name where the calls of the
task leave no doubt. 2. The sub-agents that led to the call. 3. The task's call of this tool before it, and the last one
of this requester that a person approved. 4. What the agent itself wrote last, verified by nobody. 5. What happens when
its time is over.

Guarantees: nothing here decides or writes; every text has passed the veil of the call, and is content: whoever shows it
escapes it. Page, terminal and API take it from here, so all of them say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import pages_data
from checkvalve.approvals.content import HistoryItem, SqlContentStore
from checkvalve.approvals.editing import EDITED, Change
from checkvalve.approvals.edits import edited, is_edit_of
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import block
from checkvalve.approvals.seen import Seen, as_text
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON

MAX_SAID: Final = 2
"""Messages of the user on a card: the first and the latest; the rest are on the page of the run."""
EXPIRES: Final = "then it expires and does not run; its agent is told that nobody decided"
LAPSES: Final = "then the approval lapses and it does not run"
SPOKEN: Final = ("words", "model")
"""Kinds of history that somebody said."""
_NESTED: Final = re.compile(r"(?P<path>.+)/[^/@]+@t[0-9]+", re.DOTALL)
"""A call inside an errand, as pipelines name it; names of other frameworks end in no such turn."""
_CALL: Final = re.compile(r"c[0-9]+x[0-9]+")  # a step of that path; what else stands there names a run


@dataclass(frozen=True, slots=True)
class Story:
    """What is known around one call."""

    said: tuple[str, ...] = ()
    sender: str = ""
    agent: str = ""
    through: tuple[str, ...] = ()
    before: Seen | None = None
    usual: Seen | None = None

    def compared(self, row: Seen) -> Iterator[tuple[str, Seen, list[Change]]]:
        """Yield ``before`` and ``usual`` where there are such, each with what differs in ``row``."""
        for name, other in (("before", self.before), ("usual", self.usual)):
            if other is not None:
                yield name, other, edited(other, row)

    def to_json(self, row: Seen) -> dict[str, JSON]:
        """Return the published form: texts are neutralised and long ones lose their middle, with a count."""
        which = ("message",) if len(self.said) == 1 else ("first", "latest")
        found = {name: _compared(other, differs) for name, other, differs in self.compared(row)}
        words = zip(which, self.said, strict=False)
        return {
            "asked": [{"which": name, "text": block(text), "sender": block(self.sender)} for name, text in words],
            "agent_words": block(self.agent),
            "sub_agents": [block(name) for name in self.through],
            "compared": {name: found.get(name) for name in ("before", "usual")},
            "on_expiry": on_expiry(row),
        }


def _compared(other: Seen, differs: Sequence[Change]) -> JSON:
    return {"id": other.id, "changes": [_change(item) for item in differs]}


def _change(item: Change) -> JSON:
    sides = {name: block(as_text(value)) for name, value in item.to_json().items() if name in {"before", "after"}}
    return {"path": block(item.path), "kind": item.kind, **sides}


def story_of(queue: Queue, row: Seen) -> Story:
    """Return what stands around a stored call.

    Raises:
        StoreCorruptError: a stored call is not what was decided.
    """
    items = SqlContentStore(queue.store, queue.clock).spoken(row.thread, SPOKEN)
    return replace(around_of(queue, row), said=said(items, row.veil), agent=agent_words(items, row.veil))


def around_of(queue: Queue, row: Seen) -> Story:
    """Return the same without anybody's words, for whoever reads the history of the task anyway."""
    before, usual = compared_with(queue, row)
    return Story(sender=sender_of(queue, row), through=sub_agents(queue, row), before=before, usual=usual)


def said(items: Sequence[HistoryItem], veil: Veil) -> tuple[str, ...]:
    """Return the user's first and latest words, as the host declared them."""
    words = [str(item.value.get("text")) for item in items if _is_users(item) and isinstance(item.value, dict)]
    chosen = words if len(words) <= MAX_SAID else [words[0], words[-1]]
    return tuple(veil.text(text) for text in chosen)


def _is_users(item: HistoryItem) -> bool:
    return item.kind == "words" and isinstance(item.value, dict) and item.value.get("authority") == "USER"


def agent_words(items: Sequence[HistoryItem], veil: Veil) -> str:
    """Return the last thing that the agent itself wrote, which nobody has verified; empty where it wrote nothing."""
    wrote = (
        str(item.value["text"])
        for item in reversed(items)
        if item.kind == "model" and isinstance(item.value, dict) and item.value.get("text")
    )
    return veil.text(next(wrote, ""))


def sender_of(queue: Queue, row: Proposal) -> str:
    """Return in whose name the words of a task were said; empty where its calls are of several people."""
    query = sa.select(proposals.c.requester).where(proposals.c.thread == row.thread).distinct().limit(2)
    with queue.store.read() as connection:
        found = connection.execute(query).scalars().all()
    return row.requester if list(found) == [row.requester] else ""


def sub_agents(queue: Queue, row: Proposal) -> tuple[str, ...]:
    """Return the sub-agents through which a call was asked for, outermost first; empty where the agent itself asked.

    A step whose own call is not stored any more has that call's id.
    """
    found = _NESTED.fullmatch(row.call_id)
    steps = found["path"].split("/") if found else []
    starts = ["/".join(steps[: number + 1]) for number, step in enumerate(steps) if _CALL.fullmatch(step)]
    if not starts:
        return ()
    calls = proposals.c.call_id
    either = sa.or_(*(calls.startswith(f"{start}@", autoescape=True) for start in starts))
    query = sa.select(calls, proposals.c.tool).where(proposals.c.thread == row.thread, either)
    with queue.store.read() as connection:
        tools = {name.rpartition("@")[0]: tool for name, tool in connection.execute(query)}
    return tuple(tools.get(start, start.rpartition("/")[2]) for start in starts)


def compared_with(queue: Queue, row: Seen) -> tuple[Seen | None, Seen | None]:
    """Return the task's call of this tool before it, and the last one of this requester that a person approved.

    None stands for a call that is not there, that is the other one of the two, or of which this one is an edit.
    """
    before, usual = pages_data.earlier(queue.store, row.exact)
    if before is not None and usual is not None and before.id == usual.id:
        usual = None
    if before is not None and before.code == EDITED and is_edit_of(queue, row.exact, before):
        before = None  # what the edit changed is said for itself
    first, second = (None if other is None else queue.veiling.beside(row, other) for other in (before, usual))
    return first, second


def on_expiry(row: Proposal) -> str:
    """Return what happens when the time of a call is over; empty where none runs."""
    if row.state is State.PENDING:
        return EXPIRES
    return LAPSES if row.state is State.APPROVED and row.mode != OBSERVE and row.execute_by is not None else ""


__all__ = [
    "EXPIRES", "LAPSES", "Story", "agent_words", "around_of", "compared_with", "on_expiry", "said", "sender_of",
    "story_of", "sub_agents",
]  # fmt: skip
