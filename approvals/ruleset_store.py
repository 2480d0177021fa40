"""Changes of a gateway's rules as they are stored: read back as they stand, each compared with its events first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from checkvalve.approvals.ruleset_said import SUBJECT
from checkvalve.approvals.rulesets import PARTS, text_digest
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

WAITING: Final = "waiting"
ADOPTED: Final = "adopted"
_row = rule_changes.c


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One change, as read at the moment ``at`` (microseconds, like all times here).

    ``parts`` are the digests of the texts, ``alone`` says why one person was enough: ``first`` or ``single_user``.
    """

    id: str
    tenant: str
    digest: str
    base: str
    parts: Mapping[str, str]
    impact: Mapping[str, Any]
    note: str
    proposed_by: str
    proposed_at: int
    expires_at: int
    overlap: int
    stored: str
    decided_by: str
    decided_at: int | None
    answer: str
    alone: str
    until: int | None
    version: int
    at: int

    @property
    def state(self) -> str:
        """``waiting``, ``expired``, ``in force``, ``replaced``, ``refused`` or ``withdrawn``."""
        if self.stored == WAITING:
            return WAITING if self.at < self.expires_at else "expired"
        if self.stored == ADOPTED:
            return "in force" if self.counts else "replaced"
        return self.stored

    @property
    def counts(self) -> bool:
        """Say whether a gateway may run under it now: also for a while after it was replaced, where people said so."""
        return self.stored == ADOPTED and (self.until is None or self.at < self.until)

    @property
    def is_current(self) -> bool:
        """Say whether nothing has replaced it."""
        return self.stored == ADOPTED and self.until is None

    def changed(self, before: RuleChange | None) -> tuple[str, ...]:
        """Return the parts in which it differs from another one; all of them where there is none."""
        known = before.parts if before else {}
        return tuple(part for part in PARTS if self.parts.get(part) != known.get(part))

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {
            "id": self.id,
            "state": self.state,
            "digest": self.digest,
            "base": self.base,
            "parts": dict(self.parts),
            "impact": dict(self.impact),
            "note": self.note,
            "proposed_by": self.proposed_by,
            "proposed_at": rfc3339(self.proposed_at),
            "expires_at": rfc3339(self.expires_at),
            "overlap_seconds": self.overlap,
            "decided_by": self.decided_by,
            "decided_at": None if self.decided_at is None else rfc3339(self.decided_at),
            "answer": self.answer,
            "adopted_alone": self.alone,
            "until": None if self.until is None else rfc3339(self.until),
        }


def subject_of(tenant: str) -> str:
    """Return the subject of all events about the rules of a tenant."""
    return f"{SUBJECT}{tenant}"


def read_changes(connection: sa.Connection, tenant: str, at: int) -> list[RuleChange]:
    """Return every change of a tenant, oldest first, after comparing all of them with the events.

    Raises:
        StoreCorruptError: one of them was edited, planted or removed beside the log.
    """
    require_recorded(connection, subject_of(tenant))
    query = sa.select(rule_changes).where(_row.tenant == tenant).order_by(_row.proposed_at, _row.id)
    return [_read(row, at) for row in connection.execute(query).mappings()]


def current_of(changes: Iterable[RuleChange]) -> RuleChange | None:
    """Return the one that nothing has replaced; None where nothing was ever adopted."""
    return next((item for item in changes if item.is_current), None)


def _read(row: sa.RowMapping, at: int) -> RuleChange:
    plain = {name: row[name] for name in row if name not in {"parts", "impact", "state"}}
    return RuleChange(
        **plain, parts=json.loads(row["parts"]), impact=json.loads(row["impact"]), stored=row["state"], at=at
    )


def read_text(connection: sa.Connection, digest: str) -> str:
    """Return a stored text.

    Raises:
        StoreCorruptError: it is gone, or is not the one with this digest.
    """
    found = connection.execute(sa.select(rule_texts.c.text).where(rule_texts.c.digest == digest)).scalar()
    if not isinstance(found, str) or text_digest(found) != digest:
        raise StoreCorruptError(
            "a stored text of the rules is gone or was changed", remedy="verify the audit log: checkvalve audit verify"
        )
    return found


def keep_texts(connection: sa.Connection, texts: Iterable[str]) -> None:
    """Store texts under their digests; one that is there already stays."""
    for text in texts:
        name = text_digest(text)
        known = sa.select(rule_texts.c.digest).where(rule_texts.c.digest == name)
        if connection.execute(known).scalar() is None:
            connection.execute(sa.insert(rule_texts).values(digest=name, text=text))


def stored_json(value: Mapping[str, JSON]) -> str:
    """Return what a row keeps of a mapping."""
    return canonical(dict(value)).decode()


__all__ = [
    "ADOPTED", "WAITING", "RuleChange", "current_of", "keep_texts", "read_changes", "read_text", "stored_json",
    "subject_of",
]  # fmt: skip
