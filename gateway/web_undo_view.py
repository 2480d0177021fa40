"""What a card says of undoing: whether the effect can be taken back, by what call, or what this call takes back.

Guarantees: values are in :class:`Shown` and nowhere else; a card that has nothing to say of it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.errors import NotFoundError, StoreCorruptError
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.undos import DONE, RULE
from checkvalve.gateway.undo_point import UndoPoint
from checkvalve.gateway.undo_views import as_text, origin, state_of, under
from checkvalve.gateway.web_text import Shown, line, shown


@dataclass(frozen=True, slots=True)
class UndoView:
    """One card's part. ``undoes`` is the id of the effect that this card's call takes back, empty for another card."""

    state: str
    why_not: Shown
    words: Shown
    until: int | None
    undo: str
    undoes: str
    tool: Shown | None
    args: tuple[tuple[Shown, Shown, Shown], ...]
    compared: str
    changes: tuple[tuple[Shown, Shown, Shown], ...]


def undo_view(point: UndoPoint | None, proposal: Seen) -> UndoView | None:
    """Return what the card of a call says of undoing, if anything."""
    if point is None or (proposal.rule != RULE and proposal.state not in DONE):
        return None
    try:
        found = under(point.standing(proposal.id), proposal.veil)
    except (NotFoundError, StoreCorruptError):
        return None  # the card itself says what is wrong with a record
    undoes = found.proposal.id if found.proposal.id != proposal.id else ""
    if not undoes and found.row is None and not found.words:
        return None  # a read, or a tool of which nobody said anything
    call, row = found.call, found.row
    looks = bool(undoes) and call is not None and call.look is not None
    compared = ("changed" if found.changes else "same") if found.looked else "unseen"
    origins = {} if call is None else call.origins
    values = {} if call is None else call.args
    return UndoView(
        state=state_of(found),
        why_not=line(found.why_not, limit=400),
        words=line(found.words, limit=400),
        until=None if row is None else row.expires_at,
        undo="" if found.undo is None else found.undo.id,
        undoes=undoes,
        tool=None if call is None else line(call.tool),
        args=tuple(
            (line(name), shown(as_text(values.get(name))), line(origin(where))) for name, where in origins.items()
        ),
        compared=compared if looks else "",
        changes=tuple(
            (line(path), shown(as_text(old)), shown(as_text(new), rest="untrusted")) for path, old, new in found.changes
        ),
    )


__all__ = ["UndoView", "undo_view"]
