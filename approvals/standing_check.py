"""Standing rules against their events: what the log says of each, and whether the row, and its uses, say the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.review_tables import standing_rules
from checkvalve.approvals.subjectrows import Row, Rows, stored
from checkvalve.approvals.tables import uses

STANDING: Final = "standing."
"""What the kinds of their events begin with."""
_MADE: Final = ("tenant", "proposal_id", "made_by", "expires_at", "rule_digest")


@dataclass(slots=True)
class StandingTold:
    """What the events say of one rule; ``torn`` where a move does not follow the one before."""

    row: dict[str, Any] | None = None
    used: dict[str, tuple[str, int]] = field(default_factory=dict)
    torn: bool = False

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event."""
        version = found if isinstance(found := body.get("version"), int) else 0  # an edited event may hold anything
        if kind == "standing.made":
            self.torn = self.torn or self.row is not None or version != 1
            told = {name: body.get(name) for name in _MADE}
            alone = {
                "confirmed_by": body.get("confirmed_by", ""),
                "confirmed_at": at if body.get("confirmed_by") else None,
            }
            self.row = {**told, **alone, "made_at": at, "version": 1, "ended_at": None, "ended_by": ""}
            return
        if self.row is None:
            self.torn = True
            return
        self.torn = self.torn or version != self.row["version"] + 1
        self.row["version"] = version
        if kind == "standing.confirmed":
            self.row |= {"confirmed_by": str(body.get("by")), "confirmed_at": at}
        elif kind == "standing.used":
            self.used[str(body.get("proposal"))] = (str(body.get("amount")), at)
        else:
            self.row |= {"ended_at": at, "ended_by": str(body.get("by"))}


def check_standing(
    connection: sa.Connection,
    told: Mapping[str, StandingTold],
    *,
    only: str = "",
    erased: Collection[str] = (),
    rows: Rows = stored,
) -> Iterator[tuple[str, str]]:
    """Yield a code and a sentence for each rule that is not what its events say, and for each that is gone.

    ``erased`` ones are compared as a whole elsewhere.
    """
    known = set()
    for row in rows(connection, standing_rules.c.id, only):
        known.add(row["id"])
        said = told.get(row["id"])
        if row["id"] not in erased and (said is None or not _same(connection, row, said)):
            yield "row_differs", f"the standing rule {row['id']} is not what its events say"
    for gone in sorted(name for name, said in told.items() if name and said.row is not None and name not in known):
        yield "row_missing", f"the standing rule {gone} has events and no row"


def _same(connection: sa.Connection, row: Row, said: StandingTold) -> bool:
    if said.row is None or said.torn:
        return False
    try:
        found = {**row, "expires_at": rfc3339(row["expires_at"]), "rule_digest": digest_bytes(row["body"].encode())}
    except (TypeError, AttributeError, ValueError, OverflowError):
        return False
    query = sa.select(uses).where(uses.c.kind == "standing", uses.c.item == row["id"])
    used = {use["proposal_id"]: (use["amount"], use["used_at"]) for use in connection.execute(query).mappings()}
    return used == said.used and all(found[name] == value for name, value in said.row.items())


__all__ = ["STANDING", "StandingTold", "check_standing"]
