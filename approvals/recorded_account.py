"""Whether an account is one that somebody made: its credential and its end are what the log says.

Guarantees: asked whenever somebody acts, so a row that was planted, or a token that was written into one, decides
nothing. The events of an account stand under its own name; what an older version wrote stands among those of all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.audit import Event
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.sound_events import sound_of_kinds

ADDED: Final = "reviewer.added"
REISSUED: Final = "reviewer.token"
"""The kind of the event that says that somebody has another token."""
DISABLED: Final = "reviewer.disabled"
_KINDS: Final = (ADDED, REISSUED, DISABLED)


def credential_digest(selector: str, token_hash: str) -> str:
    """Return what the log keeps of a credential: enough to notice a planted one, nothing to log in with."""
    return digest([selector, token_hash])


def require_account_recorded(connection: sa.Connection, row: sa.RowMapping, own: Iterable[Event]) -> None:
    """Make sure that an account's credential and end are what the log says; ``own`` are the events under its name.

    Raises:
        StoreCorruptError: nobody made it so.
    """
    listed = [event for event in own if event.kind in _KINDS]
    if not any(event.kind == ADDED for event in listed):
        listed = [*sound_of_kinds(connection, "", _KINDS), *listed]
    credential, disabled = "", None
    for event in listed:
        body: dict[str, Any] = json.loads(event.body) if event.body else {}
        if body.get("reviewer") != row["name"]:
            continue
        if event.kind == DISABLED:
            disabled = event.at
        else:
            credential = str(body.get("credential"))
    stored = credential_digest(str(row["selector"]), str(row["token_hash"]))
    if (stored, row["disabled_at"]) != (credential, disabled):
        raise StoreCorruptError(
            f"the account of {row['name']!r} is not what the events say",
            remedy="nothing was done; verify the audit log: checkvalve audit verify",
        )


__all__ = ["ADDED", "DISABLED", "REISSUED", "credential_digest", "require_account_recorded"]
