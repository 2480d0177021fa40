"""The receipt of one call, for people and programs far from the log: what may be shown, proven to be signed.

1. A call has one from its first decision on; before that there is nothing to prove.
2. It has all events of the call. Where a rule redacts something of an event, or it is not for this reader, its body is
   left out, and everything else stays: what is hashed is a commitment to the body, so the proof fits all the same. An
   event of an older version has its body in its hash; nothing of it can be left out, so it is not in the receipt.
   A program reads what :mod:`for_programs` says, the same as on its card.
3. Nothing is handed out that does not lead to the signed root: who gets a receipt can rely on it verifying.

Guarantees: reads only; a program that asks for its own calls learns how they moved and who let them run; of what else
there is it learns when it was, and of what kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event, read_events
from checkvalve.approvals.checkpoints import Checkpoint, parse_checkpoint
from checkvalve.approvals.closedlogs import base_of
from checkvalve.approvals.errors import LogTamperedError
from checkvalve.approvals.for_programs import event_is_for_programs
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.lastsigned import newest, parse_size
from checkvalve.approvals.notes import parse_note
from checkvalve.approvals.receipts import Receipt, make_receipt, require_proven
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil

_REMEDY: Final = "verify the audit log: checkvalve audit verify"


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Why there is no receipt yet: the call's newest event is number ``event``, and ``signed`` events are signed."""

    event: int
    signed: int

    @property
    def is_never(self) -> bool:
        """Say whether nothing was ever signed here: waiting does not help."""
        return self.signed == 0


def call_receipt(connection: sa.Connection, row: Proposal, veil: Veil, *, whole: bool) -> Receipt | Unsigned | None:
    """Return the receipt of a call, or why there is none yet; None where nothing was decided, or no event is about it.

    ``whole`` is for people who decide; a program that asks for its own calls gets less.

    Raises:
        LogError: the events are in two logs: one was closed meanwhile.
        LogTamperedError: the events, or the tree, are not what was signed.
    """
    wanted = list(read_events(connection, subject=row.id)) if row.state is not State.PENDING else []  # 1.
    if not wanted:
        return None
    text = newest(connection)
    signed = base_of(connection) + (parse_size(text) if text else 0)
    if wanted[-1].seq > signed:
        return Unsigned(wanted[-1].seq, signed if text else 0)
    made = make_receipt(connection, wanted)
    require_proven(made, _checkpoint_of(made))  # 3.
    return replace(made, items=tuple(_shown(made.items, veil, whole=whole)))


def _shown(
    items: Iterable[tuple[Event, tuple[bytes, ...]]], veil: Veil, *, whole: bool
) -> Iterator[tuple[Event, tuple[bytes, ...]]]:
    for event, proof in items:
        body = body_of(event.body)
        if (whole or event_is_for_programs(event.kind, body)) and veil.json(body) == body:
            yield event, proof
        elif event.commitment is not None:
            yield replace(event, body="", salt=None), proof


def _checkpoint_of(receipt: Receipt) -> Checkpoint:
    try:
        return parse_checkpoint(parse_note(receipt.checkpoint).text)
    except ValueError as error:
        raise LogTamperedError("the newest checkpoint cannot be read", remedy=_REMEDY) from error


__all__ = ["Unsigned", "call_receipt"]
