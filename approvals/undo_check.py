"""Does the table of undoings say what its events say? An edited or planted one would be another call than was kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.review_tables import undos
from checkvalve.approvals.subjectrows import Row, Rows, stored

UNDO_KINDS: Final = frozenset({"undo.kept", "undo.asked", "effect.undone"})
"""The kinds of events that are about undoing the call that is their subject."""
Found = Iterator[tuple[str, str]]


@dataclass(slots=True)
class UndoTold:
    """What the events say of one call's undoing."""

    row: dict[str, Any] | None = None
    undone: str = ""  # by which proposal

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event."""
        if kind == "undo.kept" and self.row is None:
            told = {name: body.get(name) for name in ("body_digest", "why", "expires_at")}
            self.row = {**told, "kept_at": at, "undo_id": "", "asks": 0}
        elif kind == "undo.asked" and self.row is not None:
            self.row |= {"undo_id": body.get("undo"), "asks": self.row["asks"] + 1}
        elif kind == "effect.undone":
            self.undone = str(body.get("undo"))


def check_undos(
    connection: sa.Connection,
    told: Mapping[str, UndoTold],
    *,
    only: str = "",
    erased: frozenset[str] = frozenset(),
    rows: Rows = stored,
) -> Found:
    """Yield a code and a sentence for each undoing that differs from its events, and for each that is gone.

    Those of ``erased`` calls are compared as a whole elsewhere.
    """
    known = set()
    for row in rows(connection, undos.c.proposal_id, only):
        name = row["proposal_id"]
        known.add(name)
        said = told.get(name)
        if name not in erased and not _same(row, None if said is None else said.row):
            yield "row_differs", f"what undoes proposal {name} is not what its events say"
    for gone in sorted(name for name, said in told.items() if said.row and name not in known | erased):
        yield "row_missing", f"what undoes proposal {gone} has an event and no row"


def _same(row: Row, told: Mapping[str, Any] | None) -> bool:
    if told is None:
        return False
    try:
        found: dict[str, Any] = {**row, "body_digest": digest_bytes(row["body"].encode())}
        found["expires_at"] = None if row["expires_at"] is None else rfc3339(row["expires_at"])
    except (TypeError, ValueError, AttributeError, OverflowError):
        return False
    return all(found[name] == value for name, value in told.items())


__all__ = ["UNDO_KINDS", "UndoTold", "check_undos"]
