"""The values of arguments as a channel may be told them: inert text, with a mark for what a rule redacts.

Guarantees: what the review pages do not show is in no message, whatever the tiers of a channel allow: nobody reveals it
there. The decision still binds to the unredacted bytes.
"""

from __future__ import annotations

import secrets
from typing import Final

from checkvalve.approvals.inert import inert
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import Veil, told
from checkvalve.approvals.seen import Seen, secrets_of, seen

MAX_VALUES: Final = 20
"""Arguments whose values one message tells; it says how many more there are."""
_KEY: Final = secrets.token_bytes(32)


def told_values(row: Proposal) -> list[dict[str, str]]:
    """Return the arguments of a call for a message.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    found = list(as_seen(row).parts())
    values = [{"path": inert(item.path), "text": inert(item.text)} for item in found[:MAX_VALUES]]
    more = len(found) - MAX_VALUES
    return [*values, {"path": "more", "text": f"{more} further values are not told here"}] if more > 0 else values


def as_seen(row: Proposal) -> Seen:
    """Return a call as it is shown; of one that comes as the record, at least what its own rules and forms redact."""
    return row if isinstance(row, Seen) else seen(row, Veil(_KEY, told=told(secrets_of(row))))


__all__ = ["MAX_VALUES", "as_seen", "told_values"]
