"""Endorsements in the store: what a yes accepts beside the one call, and what was accepted in a thread before."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.decide import Decision
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.said import ENDORSEMENT
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import endorsements
from checkvalve.filters.strictjson import JSON

MAX_SOURCE: Final = 900
"""Bytes of a source's name: its path follows keys in untrusted data, and an index has limits."""
_KEY: Final = ENDORSEMENT
_VALUE: Final = ("value", "source", "role", "tool", "kind")


def offered(decision: Decision) -> list[dict[str, str]]:
    """Return what a yes to this decision would accept, as it is stored beside the proposal.

    What has a longer name than :data:`MAX_SOURCE` is not offered: a yes is for the one call then.
    """
    return [asdict(item) for item in decision.endorsable if _fits(item.source)]


def _fits(source: str) -> bool:
    plain = source.encode("utf-8", "surrogatepass")
    return len(plain) <= MAX_SOURCE and plain.decode("utf-8", "ignore") == source


def store(connection: sa.Connection, proposal: Proposal, *, by: str, at: int) -> None:
    """Store what the approved proposal offered, for its thread; data accepted before stays as it was.

    The caller has made sure that the proposal is what was recorded.
    """
    for offer in proposal.endorsable:
        item = Endorsement(**offer)
        values = {**asdict(item), "thread": proposal.thread, "value_digest": digest(item.value)}
        same = [endorsements.c[name] == values[name] for name in _KEY]
        if connection.execute(sa.select(sa.exists().where(*same))).scalar():
            continue
        row = {**values, "proposal_id": proposal.id, "endorsed_by": by, "endorsed_at": at}
        connection.execute(sa.insert(endorsements).values(row))
        body: dict[str, JSON] = {"by": by, **{name: values[name] for name in _KEY}}
        audit.append(connection, at=at, kind="endorsement.stored", subject=proposal.id, body=body)


def read(connection: sa.Connection, thread: str) -> list[Endorsement]:
    """Return the endorsements of a thread, oldest first.

    Raises:
        StoreCorruptError: one of them is not what its events say: nobody gave it.
    """
    row = endorsements.c
    query = sa.select(endorsements).where(row.thread == thread).order_by(row.id)
    found = connection.execute(query).mappings().all()
    for proposal_id in {item["proposal_id"] for item in found}:
        require_recorded(connection, proposal_id)
    return [Endorsement(*(item[name] for name in _VALUE)) for item in found]
