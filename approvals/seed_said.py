"""What the events say of seeded items and of consents to them, and whether the tables say the same.

Guarantees: pure but for the reading of rows; every column that says who sees what, and how it was answered, is
compared; when the next item is due is not, since it decides nothing. Events of an item do not name whose it was: the
digest that they hold does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.seed_tables import seed_consents, seeds
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

AGREED: Final = "seeding.agreed"
WITHDRAWN: Final = "seeding.withdrawn"
MADE: Final = "seeded.made"
ANSWERED: Final = "seeded.answered"
KINDS: Final = frozenset({AGREED, WITHDRAWN, MADE, ANSWERED})
"""The kinds that are taken in here."""
SUBJECT: Final = "seeding:"
"""Before the name of a reviewer: the subject of the events of a consent."""
_MADE: Final = ("id", "reviewer", "body", "made_at", "expires_at")
Found = Iterator[tuple[str, str]]


@dataclass(slots=True)
class SeedTold:
    """What the events of one subject say of an item, or of a consent."""

    record: str = ""
    answer: str = ""
    answered_at: int | None = None
    agreed_at: int | None = None
    ended_at: int | None = None

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event of :data:`KINDS`."""
        if kind == MADE:
            self.record = str(body.get("record_digest"))
        elif kind == ANSWERED:
            self.answer, self.answered_at = str(body.get("answer")), at
        elif kind == AGREED:
            self.agreed_at, self.ended_at = at, None
        else:
            self.ended_at = at


def record_of(row: Mapping[str, Any] | sa.RowMapping) -> str:
    """Return what the event keeps of an item: whose it is, and everything that is shown."""
    return digest({name: row[name] for name in _MADE})


def made_body(row: Mapping[str, Any]) -> dict[str, JSON]:
    """Return the body of the event of a new item."""
    return {"seeded": True, "record_digest": record_of(row)}


def is_recorded(row: Mapping[str, Any] | sa.RowMapping, told: SeedTold) -> bool:
    """Say whether an item is what its events say."""
    try:
        same = record_of(row) == told.record
    except (HostileInputError, TypeError, ValueError):
        return False
    return same and (row["answer"], row["answered_at"]) == (told.answer, told.answered_at)


def check_seeds(connection: sa.Connection, told: Mapping[str, SeedTold], *, only: str = "") -> Found:
    """Yield a code and a sentence for each row that differs from its events, and for each that is gone."""
    if only:
        return
    nobody, known = SeedTold(), set[str]()
    for row in connection.execute(sa.select(seeds)).mappings():
        known.add(str(row["id"]))
        if not is_recorded(row, told.get(str(row["id"]), nobody)):
            yield "row_differs", f"the seeded item {row['id']} is not what its events say"
    for row in connection.execute(sa.select(seed_consents)).mappings():
        subject = f"{SUBJECT}{row['reviewer']}"
        known.add(subject)
        said = told.get(subject, nobody)
        if (row["agreed_at"], row["ended_at"]) != (said.agreed_at, said.ended_at):
            yield "row_differs", f"the consent of {row['reviewer']!r} to seeded items is not what its events say"
    for name, said in told.items():
        if (said.record or said.agreed_at is not None) and name not in known:
            yield "row_missing", f"{name} has events of seeded items and no row"


__all__ = [
    "AGREED", "ANSWERED", "KINDS", "MADE", "SUBJECT", "WITHDRAWN", "SeedTold", "check_seeds", "is_recorded",
    "made_body", "record_of",
]  # fmt: skip
