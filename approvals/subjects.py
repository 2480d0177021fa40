"""Which events are about a call that is still stored: what a page may link to."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals


def calls_among(store: Store, subjects: Iterable[str]) -> frozenset[str]:
    """Return those of the subjects of some events that are ids of stored calls; some hundreds at a time."""
    wanted = sa.select(proposals.c.id).where(proposals.c.id.in_(sorted(set(subjects))))
    with store.read() as connection:
        return frozenset(connection.execute(wanted).scalars())


__all__ = ["calls_among"]
