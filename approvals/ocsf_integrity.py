"""OCSF records that say how they are bound: the profile *Record Integrity* of OCSF 1.9 (``attestation_list``).

Two attestations stand in each record, and each names how its bytes are made (``serialization``):

1. Of the log: the fingerprint is the event's hash, over the form that is signed (a list in JCS with the number, time,
   kind, subject, the commitment to the body and the hash of the event before); ``prev_event`` is that one, and
   ``chain_uid`` the log's name. ``signatures`` says who signed the newest checkpoint that covers it, witnesses too.
2. Of the record: SHA-256 over the JCS form of the whole record without this attestation, so that a change on the way or
   in the store shows. Nobody signs it, and it stands alone: after an erasure the records of the chain are others, while
   the log's own chain stays.

OCSF 1.9.0 has no place for the bytes of a signature; they are in the receipt of an event and in the exported log.

Guarantees: pure; what the first attestation says is not judged here. Whoever wants to rely on it verifies a receipt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.checkpoints import parse_checkpoint
from checkvalve.approvals.closedlogs import base_of, closed_logs
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.notes import Note, Signature, parse_note
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.filters.strictjson import JSON

VERSION: Final = "1.9.0"
"""The first version of the schema that has the profile."""
PROFILE: Final = "record_integrity"
_SHA256: Final = 3
_HEX: Final = 1
_JCS: Final = 2
_OTHER: Final = 99
_TIMED: Final = 8  # bytes of time before a signature
_ALGORITHMS: Final = {64: "Ed25519", 64 + _TIMED: "Ed25519 with a time", 2_420 + _TIMED: "ML-DSA-44 with a time"}
"""What a signature of so many bytes is, by C2SP's formats."""
_CHECKPOINT: Final = "C2SP tlog-checkpoint"


@dataclass(frozen=True, slots=True)
class SignedLog:
    """A log of the database: its events ``base + 1`` to ``base + size`` are in the checkpoint ``note``."""

    origin: str
    base: int
    size: int
    note: Note

    def covers(self, seq: int) -> bool:
        """Say whether an event is in the checkpoint."""
        return self.base < seq <= self.base + self.size


def signed_logs(connection: sa.Connection) -> list[SignedLog]:
    """Return the logs of a database that were signed, the newest first; what is no checkpoint is left out."""
    texts = [(newest(connection) or "", base_of(connection))]
    texts += [(one.checkpoint, one.base) for one in reversed(closed_logs(connection))]
    found = []
    for text, base in texts:
        try:
            note = parse_note(text)
            point = parse_checkpoint(note.text)
        except ValueError:
            continue
        found.append(SignedLog(point.origin, base, point.size, note))
    return found


def to_attested(event: Event, before: Event | None, logs: Sequence[SignedLog]) -> dict[str, JSON]:
    """Return one event as OCSF 1.9 with its attestations; ``before`` is the event before it, if it is there."""
    found = to_ocsf(event)
    metadata = found["metadata"]
    if isinstance(metadata, dict):
        metadata |= {"version": VERSION, "profiles": [PROFILE]}
    found["attestation_list"] = [_of_log(event, before, logs)]
    whole = hashlib.sha256(canonical(found)).hexdigest()
    mine: dict[str, JSON] = {"fingerprint": _fingerprint(whole, _JCS, "JCS")}
    return {**found, "attestation_list": [_of_log(event, before, logs), mine]}


def _of_log(event: Event, before: Event | None, logs: Sequence[SignedLog]) -> dict[str, JSON]:
    log = next((one for one in logs if one.covers(event.seq)), None)
    names = log or next(iter(logs), None)  # an event that is not signed yet is the newest log's
    found: dict[str, JSON] = {"fingerprint": _hash(event.hash)}
    if names is not None:
        found |= {"authority_uid": names.origin, "chain_uid": names.origin, "uid": f"{names.origin}#{event.seq}"}
    if event.prev:
        link: dict[str, JSON] = {"uid": str(event.seq - 1), "fingerprint": _hash(event.prev)}
        if before is not None and before.seq == event.seq - 1:
            link["type_uid"] = to_ocsf(before)["type_uid"]
        found["prev_event"] = link
    if log is not None:
        digest = _fingerprint(hashlib.sha256(log.note.text.encode()).hexdigest(), _OTHER, _CHECKPOINT)
        found["signatures"] = [_signature(one, digest) for one in log.note.signatures]
    return found


def _signature(one: Signature, digest: dict[str, JSON]) -> dict[str, JSON]:
    kind = _ALGORITHMS.get(len(one.data), "unknown")
    found: dict[str, JSON] = {
        "algorithm_id": _OTHER,
        "algorithm": kind,
        "serialization_id": _OTHER,
        "serialization": _CHECKPOINT,
        "developer_uid": f"{one.name}+{one.key_id.hex()}",
        "digest": {**digest},
    }
    if kind.endswith("time"):
        found["created_time"] = int.from_bytes(one.data[:_TIMED], "big") * 1_000
    return found


def _hash(text: str) -> dict[str, JSON]:
    return _fingerprint(text.removeprefix("sha256:"), _OTHER, "Checkvalve event form, JCS")


def _fingerprint(value: str, serialization: int, name: str) -> dict[str, JSON]:
    return {
        "algorithm_id": _SHA256,
        "algorithm": "SHA-256",
        "encoding_id": _HEX,
        "serialization_id": serialization,
        "serialization": name,
        "value": value,
    }


def is_unchanged(record: dict[str, JSON]) -> bool:
    """Say whether the record is what was exported: its own fingerprint, the last of its attestations, still fits."""
    listed = record.get("attestation_list")
    if not isinstance(listed, list) or not listed or not isinstance(listed[-1], dict):
        return False
    mine = listed[-1].get("fingerprint")
    whole = hashlib.sha256(canonical({**record, "attestation_list": listed[:-1]})).hexdigest()
    return isinstance(mine, dict) and mine.get("value") == whole


__all__ = ["PROFILE", "VERSION", "SignedLog", "is_unchanged", "signed_logs", "to_attested"]
