"""What an undoing looks like, in the same words on every surface: lines for people, and JSON for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.records import State
from checkvalve.approvals.redaction import Veil
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.undo_standing import Standing

_FROM = {
    "argument": "from the argument {} of the call",
    "result": "from {} of its result",
    "before": "from {} of the record that was read before it",
    "value": "a constant of the manifest",
}


def under(found: Standing, veil: Veil) -> Standing:
    """Return an undoing as it is shown: what the effect's task keeps secret is a mark."""
    call, beneath = found.call, veil.beneath_json
    args = {} if call is None else {name: beneath(name, value) for name, value in call.args.items()}
    shown = replace(found, call=None if call is None else replace(call, args=args))
    if not found.looked:
        return shown
    left, present = (beneath("", state) for state in (found.left, found.present))  # type: ignore[arg-type]  # JSON
    return replace(shown, left=left, present=present)


def origin(where: dict[str, JSON]) -> str:
    """Return where the value of one argument is from, in words."""
    kind = next(iter(where), "value")
    return _FROM.get(kind, kind).format(where.get(kind))


def state_of(found: Standing) -> str:
    """Return one word: undone, asked, open, or closed for what cannot be undone now."""
    if found.undo is not None and found.undo.state in {State.SUCCEEDED, State.CONFIRMED_DONE}:
        return "undone"
    if not found.why_not:
        return "open"
    alive = found.undo is not None and found.undo.state in {
        *(State.PENDING, State.APPROVED, State.EXECUTING, State.UNKNOWN)
    }
    return "asked" if alive else "closed"


def to_json(found: Standing) -> dict[str, Any]:
    """Return the published form."""
    row, call = found.row, found.call
    changes = [{"path": path, "left": old, "now": new} for path, old, new in found.changes]
    return {
        "id": found.proposal.id,
        "tool": found.proposal.tool,
        "state": state_of(found),
        "why_not": found.why_not,
        "words": found.words,
        "kept_at": None if row is None else rfc3339(row.kept_at),
        "until": None if row is None or row.expires_at is None else rfc3339(row.expires_at),
        "undo": None if found.undo is None else {"id": found.undo.id, "state": found.undo.state.value},
        "call": None if call is None else {"tool": call.tool, "server": call.server, "args": call.args},
        "from": None if call is None else {name: origin(where) for name, where in call.origins.items()},
        "looked": found.looked,
        "changes": changes,
    }


def lines(found: Standing) -> list[tuple[str, str]]:
    """Return the facts as pairs of a name and a text; what is empty is left out."""
    row, call = found.row, found.call
    until = "" if row is None or row.expires_at is None else to_the_second(row.expires_at)
    pairs = [
        ("effect", f"{found.proposal.tool}, {found.proposal.id}"),
        ("undoing", state_of(found)),
        ("why not", "" if found.undo is not None else found.why_not),  # the undoing says it
        ("in words", found.words),
        ("until", until),
        ("asked as", "" if found.undo is None else f"{found.undo.id}, {found.undo.state.value}"),
        ("by calling", "" if call is None else call.tool),
    ]
    return [(name, text) for name, text in pairs if text]


def arguments(found: Standing) -> list[tuple[str, str, str]]:
    """Return each argument of the call that undoes: its name, its value as text, and where that is from."""
    if found.call is None:
        return []
    values = found.call.args
    return [(name, as_text(values.get(name)), origin(where)) for name, where in found.call.origins.items()]


def compared(found: Standing) -> str:
    """Return what is known of the state now, in one sentence."""
    if found.call is None or found.call.look is None or found.undo is None:
        return ""
    if not found.looked:
        return "Nobody has looked whether the state is still what the effect left."
    if found.changes:
        return "The state is not what the effect left any more:"
    return "The state was what the effect left when this was asked for."


def as_text(value: JSON) -> str:
    """Return a value as text: a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


__all__ = ["arguments", "as_text", "compared", "lines", "origin", "state_of", "to_json", "under"]
