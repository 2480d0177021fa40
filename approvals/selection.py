"""One page of calls for programs, oldest first, with a place to go on from; and what a waiting program watches."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.people import folded
from checkvalve.approvals.records import Proposal, State, from_row
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, proposals

MAX_PAGE: Final = 200
"""Calls in one answer."""
_row = proposals.c


def page(
    store: Store,
    *,
    states: Iterable[State] | None,
    thread: str = "",
    requester: str | None = None,
    after: tuple[int, str] | None = None,
    limit: int = MAX_PAGE,
    without: Collection[str] = (),
) -> list[Proposal]:
    """Return at most ``limit`` calls behind ``after``, which is the time and the id of the last one before.

    ``requester`` is a folded name: calls of everybody else are left out, and so are those whose id is in ``without``.
    """
    query = sa.select(proposals).order_by(_row.created_at, _row.id).limit(min(limit, MAX_PAGE))
    if states is not None:
        query = query.where(_row.state.in_([state.value for state in states]))
    if thread:
        query = query.where(_row.thread == thread)
    if without:
        query = query.where(_row.id.not_in(sorted(without)))
    if after is not None:
        at, name = after
        query = query.where(sa.or_(_row.created_at > at, sa.and_(_row.created_at == at, _row.id > name)))
    with store.read() as connection:
        if requester is not None:
            every = connection.execute(sa.select(_row.requester).distinct()).scalars()
            query = query.where(_row.requester.in_([name for name in every if folded(name) == requester]))
        return [from_row(found) for found in connection.execute(query).mappings()]


def mark(store: Store) -> int:
    """Return the number of the log's newest event."""
    with store.read() as connection:
        return int(connection.execute(sa.select(audit_head.c.seq)).scalar() or 0)


__all__ = ["MAX_PAGE", "mark", "page"]
