"""Receipts: the proof, in one file, that certain events are in a signed log. It verifies offline with the public key.

A receipt has events with everything that is hashed, for each its place and its inclusion proof (RFC 6962), the signed
checkpoint that the proofs lead to, and the rotations of the log's keys. In a log that follows a closed one, the event
that says so comes first: places are counted from it. :func:`tlog_proof` writes the proof of one event in the format of
C2SP (``tlog-proof``), for other programs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event, read_events
from checkvalve.approvals.bundles import event_from, event_line
from checkvalve.approvals.checkpoints import Checkpoint, Opened
from checkvalve.approvals.closedlogs import RESTARTED, base_of, closed_logs
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import KEYS, rotations_in
from checkvalve.approvals.lastsigned import newest, opened, parse_size
from checkvalve.approvals.logkeys import Rotation, Trust
from checkvalve.approvals.merkle import inclusion_proof, leaf_hash, root_of_inclusion
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.tables import events
from checkvalve.approvals.tiles import Tiles
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

FORMAT: Final = "checkvalve-receipt-1"
MAX_PROOF: Final = 63
"""Hashes of a proof: more than any log of this world needs."""
_SEAL: Final = "seal it first: checkvalve audit seal"


@dataclass(frozen=True, slots=True)
class Receipt:
    """Events, their proofs, and the checkpoint that these lead to; nothing is judged yet."""

    items: tuple[tuple[Event, tuple[bytes, ...]], ...]
    checkpoint: str
    rotations: tuple[Rotation, ...] = ()

    @property
    def base(self) -> int:
        """The number of the last event before this log; the proof of its first event shows that it is its first."""
        first = self.items[0][0]
        return first.seq - 1 if first.kind == RESTARTED else 0

    def to_json(self) -> dict[str, JSON]:
        """Return the receipt as it is kept in a file."""
        items: list[JSON] = [
            {"event": event_line(event), "proof": [base64.b64encode(one).decode() for one in proof]}
            for event, proof in self.items
        ]
        rotations: list[JSON] = [rotation.to_json() for rotation in self.rotations]
        return {"format": FORMAT, "events": items, "checkpoint": self.checkpoint, "rotations": rotations}


def make_receipt(connection: sa.Connection, wanted: Sequence[Event]) -> Receipt:
    """Return the receipt of some events.

    Raises:
        LogError: one of them is not signed yet, or there is none.
    """
    text, base, closed = _log_of(connection, wanted)
    size = parse_size(text)
    if not text or not wanted or wanted[-1].seq > base + size:
        raise LogError("there is no receipt yet: the newest events are not signed", remedy=_SEAL)
    subtree = Tiles(connection, closed).subtree
    shown = [*(read_events(connection, after=base, limit=1) if base else ()), *wanted]
    listed = [one for number, one in enumerate(shown) if one.seq not in {other.seq for other in shown[:number]}]
    items = tuple((event, tuple(inclusion_proof(event.seq - 1 - base, size, subtree))) for event in listed)
    mine = (events.c.subject == KEYS, events.c.seq > base, events.c.seq <= base + size)
    query = sa.select(events).where(*mine).order_by(events.c.seq)
    rotations = rotations_in(Event(**row) for row in connection.execute(query).mappings())
    return Receipt(items, text, tuple(rotations))


def _log_of(connection: sa.Connection, wanted: Sequence[Event]) -> tuple[str, int, int]:
    """Return the checkpoint of the log that events are in, the number of the last event before it, and which it is.

    Raises:
        LogError: some are in a closed log, and some in the one that follows.
    """
    base = base_of(connection)
    if not wanted or wanted[0].seq > base:
        return newest(connection) or "", base, 0
    one = next((one for one in closed_logs(connection) if one.base < wanted[0].seq <= one.last), None)
    if one is None or wanted[-1].seq > one.last:
        raise LogError("these events are not all in one signed log", remedy="give the number of one event")
    return one.checkpoint, one.base, one.number


def parse_receipt(text: str) -> Receipt:
    """Return the receipt in a file.

    Raises:
        ValueError: it is none.
    """
    try:
        value: Any = json.loads(text)
        if value["format"] != FORMAT or set(value) != {"format", "events", "checkpoint", "rotations"}:
            raise ValueError("this is no receipt")
        items = tuple(
            (event_from(item["event"]), tuple(base64.b64decode(one, validate=True) for one in item["proof"]))
            for item in value["events"]
        )
        rotations = tuple(Rotation.from_json(one) for one in value["rotations"])
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("this is no receipt") from error
    if not items or not isinstance(value["checkpoint"], str):
        raise ValueError("this is no receipt")
    return Receipt(items, value["checkpoint"], rotations)


def verify_receipt(receipt: Receipt, keys: Iterable[PublicKey]) -> Opened:
    """Check a receipt and return the checkpoint that its events are in.

    1. The checkpoint is signed by keys that follow from ``keys``.
    2. Each event's hash and commitment are those of what it says.
    3. Each proof leads from the event's leaf, at the event's place, to the signed root.

    Raises:
        LogTamperedError: one of these does not hold.
        LogError: it is a receipt of another log.
    """
    trusted = tuple(keys)
    found = opened(receipt.checkpoint, Trust.of(trusted, receipt.rotations), trusted[0].name)  # 1.
    require_proven(receipt, found.checkpoint)
    return found


def require_proven(receipt: Receipt, point: Checkpoint) -> None:
    """Do steps 2 and 3 of :func:`verify_receipt` by a checkpoint whose signatures are judged elsewhere.

    Raises:
        LogTamperedError: one of these does not hold.
    """
    for event, proof in receipt.items:
        if not event.is_whole:  # 2.
            raise LogTamperedError(f"event {event.seq} of the receipt is not what was written")
        try:
            leaf = leaf_hash(event.form)
        except (HostileInputError, ValueError) as error:
            raise LogTamperedError(f"event {event.seq} of the receipt is not what was written") from error
        place = event.seq - 1 - receipt.base
        root = root_of_inclusion(place, point.size, leaf, proof) if len(proof) <= MAX_PROOF else None
        if root != point.root:  # 3.
            raise LogTamperedError(f"event {event.seq} is not in the log that the checkpoint is of")


def tlog_proof(receipt: Receipt) -> str:
    """Return the proof of a receipt's last event in the format of C2SP; ``extra`` has the bytes that were hashed."""
    event, proof = receipt.items[-1]
    extra = base64.b64encode(event.form).decode()
    hashes = "".join(base64.b64encode(one).decode() + "\n" for one in proof)
    return (
        f"c2sp.org/tlog-proof@v1\nextra {extra}\nindex {event.seq - 1 - receipt.base}\n{hashes}\n{receipt.checkpoint}"
    )
