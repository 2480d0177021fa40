"""The names of the contexts of one conversation: its own thread, and ``t~2``, ``t~3`` beside it.

Guarantees: reads names only; which context a message goes to is for :mod:`task_contexts` to say.
"""

from __future__ import annotations

import re
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import history, proposals

MARK: Final = "~"
"""Between a conversation's name and the number of a further context; the HTTP API takes no such name for a run."""
_SIDE: Final = re.compile(r"(?P<root>.+)~(?P<number>[2-9]|[1-9][0-9]{1,2})", re.DOTALL)


def root_of(name: str) -> str:
    """Return the conversation that a context belongs to; a name without a number is one itself."""
    found = _SIDE.fullmatch(name)
    return found["root"] if found is not None else name


def name_of(root: str, number: int) -> str:
    """Return the name of a context; the first one is the conversation's own."""
    return root if number == 1 else f"{root}{MARK}{number}"


def contexts_of(store: Store, root: str) -> list[str]:
    """Return the contexts that there are, oldest first; the conversation itself is always among them."""
    with store.read() as connection:
        return [root, *sides(connection, root)]


def sides(connection: sa.Connection, root: str) -> list[str]:
    """Return the further contexts of a conversation, oldest first."""
    start = f"{root}{MARK}"
    found: set[str] = set()
    for column in (history.c.thread, proposals.c.thread):
        query = sa.select(column).where(column.startswith(start, autoescape=True)).distinct()
        found |= {str(name) for name in connection.execute(query).scalars() if root_of(str(name)) == root}
    return sorted(found, key=lambda name: int(name.removeprefix(start)))


__all__ = ["MARK", "contexts_of", "name_of", "root_of", "sides"]
