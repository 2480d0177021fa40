"""Hand-overs, after-looks and rungs of the ladder: do the rows say what their events say?

The part of ``tablecheck`` that is about who stands in, who broke the glass, and how far a call's ladder is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.handed import Told
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import afterlooks, delegations, plans
from checkvalve.approvals.subjectrows import Row, Rows, stored
from checkvalve.approvals.tables import proposals

Found = Iterator[tuple[str, str]]


def check_delegations(
    connection: sa.Connection,
    told: Mapping[str, Told],
    *,
    only: str = "",
    erased: frozenset[str] = frozenset(),
    rows: Rows = stored,
) -> Found:
    """Yield a code and a sentence for each hand-over that differs from its events, and for each that is gone.

    ``erased`` ones are compared as a whole elsewhere.
    """
    known = set()
    for row in rows(connection, delegations.c.id, only):
        known.add(row["id"])
        said = told.get(row["id"])
        found = dict(row)
        try:
            found |= {name: rfc3339(row[name]) for name in ("starts_at", "expires_at")}
        except (TypeError, ValueError, OverflowError):
            said = None
        wanted = None if said is None else said.delegation
        if row["id"] in erased:
            continue
        if wanted is None or any(found[name] != value for name, value in wanted.items()):
            yield "row_differs", f"the hand-over {row['id']} is not what its events say"
    for gone in sorted(name for name, said in told.items() if said.delegation and name not in known):
        yield "row_missing", f"the hand-over {gone} has events and no row"


def check_afterlooks(
    connection: sa.Connection,
    told: Mapping[str, Told],
    *,
    only: str = "",
    erased: frozenset[str] = frozenset(),
    rows: Rows = stored,
) -> Found:
    """Do the same for after-looks; those of ``erased`` calls are compared as a whole elsewhere."""
    known = set()
    for row in rows(connection, afterlooks.c.proposal_id, only):
        name = row["proposal_id"]
        known.add(name)
        said = told.get(name)
        wanted = None if said is None else said.afterlook
        if name not in erased and (wanted is None or any(row[key] != value for key, value in wanted.items())):
            yield "row_differs", f"the after-look at {name} is not what its events say"
    for gone in sorted(name for name, said in told.items() if said.afterlook and name not in known):
        yield "row_missing", f"the after-look at {gone} has events and no row"


def check_rungs(
    connection: sa.Connection,
    told: Mapping[str, Told],
    *,
    only: str = "",
    erased: frozenset[str] = frozenset(),
    rows: Rows = stored,
) -> Found:
    """Yield what is wrong with how far a ladder is: an edited row would silence it, or repeat it."""
    for row in _ladders(connection, only, rows):
        said = told.get(row["proposal_id"])
        wanted = (0, 0, None) if said is None else (said.rungs, said.ahead, said.unreachable_at)
        same = (row["step"], row["ahead"], row["unreachable_at"]) == wanted and _is_next(row)
        if row["proposal_id"] not in erased and not same:
            yield "row_differs", f"the ladder of proposal {row['proposal_id']} is not as far as its events say"


def _ladders(connection: sa.Connection, only: str, rows: Rows) -> Iterator[Row]:
    """Yield each plan with the times and the state of its question."""
    names = ("created_at", "decide_by", "state")
    if not only:
        query = sa.select(plans, *(proposals.c[name] for name in names))
        yield from connection.execute(query.join(proposals, proposals.c.id == plans.c.proposal_id)).mappings()
        return
    for plan in rows(connection, plans.c.proposal_id, only):
        for proposal in rows(connection, proposals.c.id, only):
            yield {**plan, **{name: proposal[name] for name in names}}


def _is_next(row: Row) -> bool:
    """Say whether the next rung is due when the plan says; of a decided question, none is as good."""
    try:
        body = json.loads(row["body"])
        parts = sorted([*body["remind"], *(step["after"] for step in body["escalate"])])
        span = row["decide_by"] - row["created_at"]
        due = row["created_at"] + int(span * parts[row["step"]]) if row["step"] < len(parts) else None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return False
    return row["next_at"] == due or (row["next_at"] is None and row["state"] != State.PENDING.value)


__all__ = ["check_afterlooks", "check_delegations", "check_rungs"]
