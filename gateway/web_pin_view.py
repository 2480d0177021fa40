"""What a card says of the versions of what a call points at: when they were read, and what ended the call.

Guarantees: paths and values are in :class:`Shown` and nowhere else; what a rule redacts is a mark, as in the call.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.pins_shown import Pinned, PinnedItem
from checkvalve.gateway.web_text import Shown, line


@dataclass(frozen=True, slots=True)
class PartView:
    """One field of a version, or a file's bytes (``path`` is empty)."""

    path: str
    digest: str
    value: Shown | None


@dataclass(frozen=True, slots=True)
class ItemView:
    """One thing; without parts it is a file that was not there."""

    of: Shown
    target: Shown | None
    size: int
    parts: tuple[PartView, ...]


@dataclass(frozen=True, slots=True)
class MovedView:
    """What ended the call: a code of ours, a word why, and both versions where both were read."""

    code: str
    of: Shown
    why: str
    was: ItemView | None
    now: ItemView | None


@dataclass(frozen=True, slots=True)
class PinView:
    """One card's part. ``stand``, ``why`` and the code are words of ours; ``at`` is in microseconds."""

    stand: str
    at: int
    of: Shown
    why: str
    items: tuple[ItemView, ...]
    moved: MovedView | None
    noted: int


def pin_view(found: Pinned | None) -> PinView | None:
    """Return what the card of a call says of its versions, if anything is pinned."""
    if found is None:
        return None
    moved = found.moved
    return PinView(
        stand=found.stand,
        at=found.at,
        of=line(found.of),
        why=found.why or "failed",
        items=tuple(_item(item) for item in found.items),
        moved=None
        if moved is None
        else MovedView(
            moved.code,
            line(moved.of),
            moved.why,
            None if moved.was is None else _item(moved.was),
            None if moved.now is None else _item(moved.now),
        ),
        noted=int(found.at > 0),
    )


def _item(item: PinnedItem) -> ItemView:
    parts = tuple(
        PartView("" if item.kind == "file" else part.path, part.digest, line(part.value) if part.value else None)
        for part in item.parts
    )
    return ItemView(line(item.of), line(item.target) if item.target else None, item.size or 0, parts)


__all__ = ["ItemView", "MovedView", "PartView", "PinView", "pin_view"]
