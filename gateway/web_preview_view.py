"""What a card says of the effect that a call would have: as its tool said, untrusted, or why there is no preview.

Guarantees: the text is in :class:`Shown` and nowhere else; what a rule redacts is a mark in it, as in the call itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.previews import Preview
from checkvalve.gateway.web_text import Shown, line, shown


@dataclass(frozen=True, slots=True)
class PreviewView:
    """One card's part. ``why`` is a word of ours where there is no preview; ``at`` is in microseconds."""

    why: str
    at: int
    tool: Shown
    dry_run: bool
    ok: bool
    text: Shown
    end: Shown | None
    left_out: int
    noted: int


def preview_view(found: Preview | None) -> PreviewView | None:
    """Return what the card of a call says of its effect, if its tool offers a preview."""
    if found is None:
        return None
    return PreviewView(
        why=found.why,
        at=found.at,
        tool=line(found.tool),
        dry_run=found.dry_run,
        ok=found.ok,
        text=shown(found.text),
        end=shown(found.end) if found.left_out else None,
        left_out=found.left_out,
        noted=int(found.why != "edited"),
    )


__all__ = ["PreviewView", "preview_view"]
