"""The values of arguments as a channel may be told them: inert text, without keys and passwords.

Guarantees: what has the form of a key, or stands behind a name that says so, is in no message, whatever the tiers of a
channel allow; a mark says what was left out. The decision still binds to the unredacted bytes.
"""

from __future__ import annotations

import json
from typing import Final

from checkvalve.approvals.card import leaves
from checkvalve.approvals.inert import inert
from checkvalve.approvals.records import Proposal
from checkvalve.filters.secrets.scan import redact_secrets
from checkvalve.filters.strictjson import JSON

MAX_VALUES: Final = 20
"""Arguments whose values one message tells; it says how many more there are."""


def told_values(row: Proposal) -> list[dict[str, str]]:
    """Return the arguments of a call for a message.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    found = list(leaves(row.args()))
    told = [
        {"path": inert(redact_secrets(path).text), "text": inert(_open(path, value))}
        for path, value in found[:MAX_VALUES]
    ]
    more = len(found) - MAX_VALUES
    return [*told, {"path": "more", "text": f"{more} further values are not told here"}] if more > 0 else told


def _open(path: str, value: JSON) -> str:
    """Return a value without what has the form of a key; one that its name calls a key goes as a whole."""
    text = value if isinstance(value, str) else json.dumps(value)
    named = f"{path.rpartition('.')[2]}: {text}"
    if redact_secrets(text).text == text and redact_secrets(named).text != named:
        return f"\u27e8not told here: a key or password, {len(text)} characters\u27e9"
    return redact_secrets(text).text


__all__ = ["MAX_VALUES", "told_values"]
