"""What a card says of what it does not show. Guarantees: whether somebody may look is checked again when they do."""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals.reveals import may_reveal
from checkvalve.approvals.seen import Seen
from checkvalve.gateway.web_desk import Visit


@dataclass(frozen=True, slots=True)
class RevealView:
    """``revealed``: nothing is left out on this page. ``may``: this person has the right to look."""

    revealed: bool
    may: bool


def reveal_view(visit: Visit, row: Seen) -> RevealView:
    """Return what the page of a call says of its redaction."""
    return RevealView(row.veil.lifted, may_reveal(visit.desk.queue, row.exact, visit.reviewer))


__all__ = ["RevealView", "reveal_view"]
