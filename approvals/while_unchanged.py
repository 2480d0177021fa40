"""Answers about the open questions that are kept for as long as the log says that no question has changed.

A page about ten thousand open questions counts and sorts all of them. Every change of a question commits with an event
(:mod:`moves`), so an answer is good until the number of the last such event grows, or the number of open questions is
another one. Guarantees: an answer is never older than the snapshot in which its mark was read; nothing is decided by
it; what is shown as a card is read anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from checkvalve.approvals.store import Store

Mark = tuple[int, int]
MAX_KEPT: Final = 64
"""Different answers that are kept for one store: pages of the list, each with its own filter."""

T = TypeVar("T")
_kept: WeakKeyDictionary[Store, tuple[Mark, dict[Hashable, Any]]] = WeakKeyDictionary()
_lock = threading.Lock()


def while_unchanged(store: Store, mark: Mark, name: Hashable, work: Callable[[], T]) -> T:
    """Return what ``work`` returned when it was last asked for by this ``name`` under this ``mark``, or ask it now.

    ``mark`` has to be read before ``work`` looks: what changes in between is then seen by the next one who asks.
    """
    with _lock:
        known, answers = _kept.get(store, (mark, {}))
        if known == mark and name in answers:
            return cast("T", answers[name])
    found = work()
    with _lock:
        known, answers = _kept.get(store, (mark, {}))
        if known != mark or len(answers) >= MAX_KEPT:
            answers = {}
        answers[name] = found
        _kept[store] = (mark, answers)
    return found


__all__ = ["MAX_KEPT", "Mark", "while_unchanged"]
