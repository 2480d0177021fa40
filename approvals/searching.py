"""Search in what became of calls: a call is found by what people are shown of it, and by nothing else.

1. The store finds the calls in which the words stand somewhere. 2. Of these, those remain in which they stand in what
is shown; a value that is redacted answers no guess, not even of its first letter. 3. Pages are counted in what remains.

Guarantees: reads only; a call that cannot be read is found by no word, since nothing of it is shown.
"""

from __future__ import annotations

from checkvalve.approvals import pages_data
from checkvalve.approvals.pages_data import MAX_SEARCH, PAGE, Rows
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.seen import Seen


def history(queue: Queue, *, words: str = "", state: State | None = None, page: int = 0) -> Rows:
    """Return one page of decided and other calls, newest first: those in ``state`` in which ``words`` are shown."""
    text = words.strip()[:MAX_SEARCH].casefold()
    if not text:
        return pages_data.history(queue.store, state=state, page=page)
    wanted, found, number = (page + 1) * PAGE, Rows(), 0
    while len(found) < wanted:
        rows = pages_data.history(queue.store, words=words, state=state, page=number)
        found += [row.exact for row in queue.veiling.all(rows) if shows(row, text)]
        if len(rows) + len(rows.damaged) < PAGE:
            break
        number += 1
    return Rows(found[page * PAGE : wanted])


def shows(row: Seen, text: str) -> bool:
    """Say whether a text, in small letters, stands somewhere in what the lists look through."""
    names = (row.id, row.digest, row.tool, row.server, row.requester, row.thread, row.rule, row.decided_by, row.note)
    offered = (str(part) for offer in row.endorsable for part in offer.values())
    return any(text in part.casefold() for part in (*names, *offered))


__all__ = ["history", "shows"]
