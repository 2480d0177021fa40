"""What the queue keeps of a proposed call, and the table of moves: everything that may ever happen to one.

``pending → approved | rejected | expired | cancelled | superseded``,
``approved → executing | lapsed | invalidated | revoked``, ``executing → succeeded | failed | unknown``,
``unknown → confirmed_done | confirmed_not_done``. A call that a rule allows starts as ``approved`` (its grant says
which rule), a denied one as ``denied``. The one way back: an ``unknown`` call may run again where its tool only reads,
or takes a key by which the remote side knows a repeated call (:mod:`retries` says how often).
"""

from __future__ import annotations

import enum
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import CursorResult, RowMapping

from checkvalve.approvals.asked_by import Behind, as_json, everybody, parsed
from checkvalve.approvals.canonical import canonical, digest, digest_bytes
from checkvalve.approvals.causes import Present
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.toolspec import Idempotency
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.strictjson import JSON

PROPOSALS: Final = uuid.UUID("5b0f7d1c-8f0e-5f0b-9d0c-2f6c7a1e4b11")
"""Namespace of proposal ids: drawn once, never to change, or stored proposals would not be found again."""
ATTEMPTS: Final = uuid.UUID("0c7d9a52-63a4-5c0d-8f8e-6b1f4d2e9a37")
"""Namespace of idempotency keys."""


class State(enum.StrEnum):
    """Where a proposal stands."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CONFIRMED_DONE = "confirmed_done"
    CONFIRMED_NOT_DONE = "confirmed_not_done"
    DENIED = "denied"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    LAPSED = "lapsed"
    INVALIDATED = "invalidated"
    REVOKED = "revoked"


USED: Final = frozenset(
    {State.APPROVED, State.EXECUTING, State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.CONFIRMED_DONE}
)
"""States of calls that had their effect, or may still have it."""

MOVES: Final[Mapping[State, frozenset[State]]] = {
    State.PENDING: frozenset({State.APPROVED, State.REJECTED, State.EXPIRED, State.CANCELLED, State.SUPERSEDED}),
    State.APPROVED: frozenset({State.EXECUTING, State.LAPSED, State.INVALIDATED, State.REVOKED}),
    State.EXECUTING: frozenset({State.SUCCEEDED, State.FAILED, State.UNKNOWN}),
    State.UNKNOWN: frozenset({State.CONFIRMED_DONE, State.CONFIRMED_NOT_DONE}),
}
"""Every move there is; the queue refuses any other."""


def may_move(start: State, end: State, idempotency: Idempotency) -> bool:
    """Say whether the table has this move. After an unknown outcome a tool may run again that reads or takes a key."""
    if start is State.UNKNOWN and end is State.EXECUTING:
        return idempotency in {Idempotency.READ, Idempotency.KEY}
    return end in MOVES.get(start, frozenset())


@dataclass(frozen=True, slots=True)
class Proposal:
    """One stored row. It is a snapshot: the row may have moved on since it was read."""

    id: str
    thread: str
    call_id: str
    requester: str
    server: str
    tool: str
    canonical: bytes = field(repr=False)
    digest: str
    mode: str
    idempotency: Idempotency
    verdict_name: str
    rule: str
    reason: str
    remedy: str
    decision: dict[str, JSON] = field(repr=False)
    endorsable: list[dict[str, str]] = field(repr=False)
    state: State
    version: int
    created_at: int
    updated_at: int
    decide_by: int
    execute_by: int | None
    decided_by: str
    code: str
    note: str
    self_approved: bool
    behind: tuple[Behind, ...] = ()

    @property
    def asked_by(self) -> tuple[str, ...]:
        """Everybody who asked for it, the requester first: none of them counts where others have to agree."""
        return everybody(self.requester, self.behind)

    @property
    def verdict(self) -> Verdict:
        """The verdict as it was recorded; in observe mode it did not decide."""
        if self.verdict_name == "allow":
            return Allow(self.rule)
        kind = Review if self.verdict_name == "review" else Deny
        return kind(self.rule, self.reason, self.remedy)

    @property
    def size(self) -> int:
        """The bytes of the call that was decided on."""
        return len(self.canonical)

    @property
    def present(self) -> Present:
        """How it stands, for an error: whoever is refused need not ask again."""
        by = "gateway" if self.decided_by.startswith("executor:") else self.decided_by  # no process is news to anybody
        return Present(self.state.value, by, self.updated_at, self.version, self.digest)

    def args(self) -> dict[str, JSON]:
        """Return a fresh copy of the arguments, read from the stored bytes after hashing them again.

        Raises:
            StoreCorruptError: the stored bytes are not what was decided.
        """
        if "sha256:" + hashlib.sha256(self.canonical).hexdigest() != self.digest:
            raise StoreCorruptError(f"the stored call of proposal {self.id} was changed", remedy="verify the audit log")
        call = json.loads(self.canonical)
        args = call.get("args") if isinstance(call, dict) else None
        if not isinstance(args, dict) or (call.get("tool"), call.get("server")) != (self.tool, self.server):
            raise StoreCorruptError(f"the stored call of proposal {self.id} was changed", remedy="verify the audit log")
        return args

    def to_json(self) -> dict[str, JSON]:
        """Return everything a program may want to know, arguments and decision included."""
        return {
            "id": self.id,
            "state": self.state.value,
            "version": self.version,
            "mode": self.mode,
            "thread": self.thread,
            "call_id": self.call_id,
            "requester": self.requester,
            "behind": as_json(self.behind),
            "server": self.server,
            "tool": self.tool,
            "args": self.args(),
            "digest": self.digest,
            "bytes": self.size,
            "verdict": self.verdict_name,
            "rule": self.rule,
            "reason": self.reason,
            "remedy": self.remedy,
            "decision": self.decision,
            "endorsable": [dict(item) for item in self.endorsable],
            "created_at": rfc3339(self.created_at),
            "updated_at": rfc3339(self.updated_at),
            "decide_by": rfc3339(self.decide_by),
            "execute_by": None if self.execute_by is None else rfc3339(self.execute_by),
            "decided_by": self.decided_by,
            "code": self.code,
            "note": self.note,
            "self_approved": self.self_approved,
        }


_RECORD: Final = (
    "id",
    "thread",
    "call_id",
    "requester",
    "server",
    "tool",
    "digest",
    "mode",
    "idempotency",
    "verdict",
    "rule",
    "reason",
    "remedy",
    "decision",
    "endorsable",
    "created_at",
    "decide_by",
)
"""The columns that never change after a proposal is recorded; the bytes of the call stand behind ``digest``."""


def record_digest(row: Mapping[str, Any] | RowMapping) -> str:
    """Return what the first event keeps of a row: with it, an edit of any column that never changes is found.

    Raises:
        HostileInputError: the row holds what this program never writes.
    """
    further = {"behind": row["behind"]} if row["behind"] else {}  # an older version had no such column
    return digest({name: row[name] for name in _RECORD} | further)


def stored_digest(text: str | None) -> str | None:
    """Return what an event keeps of a stored result or error."""
    return None if text is None else digest_bytes(text.encode())


def proposal_id(thread: str, call_id: str, digest: str) -> str:
    """Return the one id that this call of this thread can ever have."""
    return str(uuid.uuid5(PROPOSALS, canonical([thread, call_id, digest]).decode()))


def idempotency_key(proposal: str) -> str:
    """Return the key a remote system gets to recognise a repeated call: the same for every try of one proposal."""
    return str(uuid.uuid5(ATTEMPTS, proposal))


def from_rows(result: CursorResult[Any]) -> list[Proposal]:
    """Return the proposals of a query over whole rows; for thousands this takes two thirds of :func:`from_row` on each.

    Raises:
        StoreCorruptError: a row holds what this program never writes.
    """
    names = tuple(result.keys())
    return [from_row(dict(zip(names, row, strict=True))) for row in result]


def from_row(row: Mapping[str, Any] | RowMapping) -> Proposal:
    """Return the proposal in a database row.

    Raises:
        StoreCorruptError: the row holds what this program never writes.
    """
    try:
        values = dict(row)
        values["state"] = State(values["state"])
        values["idempotency"] = Idempotency(values["idempotency"])
        values["verdict_name"] = values.pop("verdict")
        values["decision"] = json.loads(values["decision"])
        values["endorsable"] = json.loads(values["endorsable"])
        values["behind"] = parsed(values["behind"])
        return Proposal(**values)
    except (ValueError, TypeError, KeyError) as error:
        raise StoreCorruptError("a stored proposal cannot be read", remedy="verify the audit log") from error
