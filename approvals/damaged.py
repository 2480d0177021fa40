"""Lists for people over a store in which a row was damaged: what can be read, and the names of the rest.

Guarantees: nothing that cannot be read is left out in silence, and none of it becomes a call that somebody can decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlalchemy as sa
from rich.text import Text

from checkvalve.approvals.overdue import readable
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.terminal import console


@dataclass(slots=True)
class Listed:
    """The calls of a list, oldest first, and the ids of those that cannot be read."""

    rows: list[Proposal] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def list_readable(queue: Queue, states: Iterable[State] | None = None, *, thread: str = "") -> Listed:
    """Return the calls as :meth:`Queue.list` does, without failing at one that cannot be read."""
    queue.sweep()
    query = sa.select(proposals).order_by(proposals.c.created_at, proposals.c.id)
    if states is not None:
        query = query.where(proposals.c.state.in_([state.value for state in states]))
    if thread:
        query = query.where(proposals.c.thread == thread)
    found = Listed()
    with queue.store.read() as connection:
        for row in connection.execute(query).mappings():
            proposal = readable(row)
            if proposal is None:
                found.damaged.append(str(row["id"]))
            else:
                found.rows.append(proposal)
    return found


def say_damaged(names: Iterable[str]) -> None:
    """Name on standard error the calls that cannot be read, for nobody to overlook them."""
    for name in names:
        text = f"{name} was changed beside the log and cannot be decided: checkvalve audit verify"
        console(stderr=True).print(Text(neutralise(text), style="bold red"), soft_wrap=True)


__all__ = ["Listed", "list_readable", "say_damaged"]
