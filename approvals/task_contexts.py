"""Task contexts of one conversation: what the user says while a call waits may begin a task of its own.

1. The conversation's thread is the first context; further ones are named after it, ``t~2``, ``t~3``, and are threads of
their own for every decision: words, results, data that was accepted, mandates and limits of one count in no other.
2. A new message goes to the first context where nothing waits there; else to the newest, where nothing waits there;
else to a new one.

Guarantees: a context is busy from the question until its permit is used or void, so a message never enters a task whose
call may still run because of what was said before.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.conversations import MARK, contexts_of, name_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.requests import MAX_NAME

MAX_CONTEXTS: Final = 20
"""Contexts of one conversation: nobody keeps more tasks in mind, and each may put its own questions."""
_BUSY: Final = (State.PENDING, State.APPROVED, State.EXECUTING)


def is_busy(queue: Queue, name: str) -> bool:
    """Say whether a question of a context is open, or a permit that a person gave in it was not used up yet."""
    rows = queue.list(_BUSY, thread=name)
    return any(row.verdict_name == "review" and row.mode == "enforce" for row in rows)


def for_message(queue: Queue, root: str) -> str | None:
    """Return the context that a new message goes to; None where every one of too many is busy."""
    if not is_busy(queue, root):
        return root
    known = contexts_of(queue.store, root)
    if len(known) > 1 and not is_busy(queue, known[-1]):
        return known[-1]
    number = 2 if len(known) == 1 else int(known[-1].rpartition(MARK)[2]) + 1
    name = name_of(root, number)
    return name if number <= MAX_CONTEXTS and len(name) <= MAX_NAME else None


__all__ = ["MAX_CONTEXTS", "for_message", "is_busy"]
