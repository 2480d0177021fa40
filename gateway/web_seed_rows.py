"""Seeded items in the list of what waits: behind every real question that is as grave, and beside the page's own rows.

Guarantees: no real question is moved to another page, and none that is as grave or graver stands below an item; the
counts that an item adds are on this person's page alone, and in no figure that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checkvalve.approvals import seeds
from checkvalve.approvals.pages_data import PAGE, Load, tier
from checkvalve.approvals.risk import TIERS
from checkvalve.approvals.seed_cards import as_question, items_of
from checkvalve.gateway.web_card import view
from checkvalve.gateway.web_desk import Visit
from checkvalve.gateway.web_views import CardView


def with_seeds(visit: Visit, rows: Sequence[CardView], load: Load, *, page: int) -> tuple[list[CardView], Load]:
    """Return the rows of a page with the items of whoever looks, and what the page says of how much waits.

    An item stands on the page on which the real questions of its tier end.
    """
    found, counts, ends = list(rows), dict(load.tiers), max(0, load.open - 1) // PAGE
    for seed in seeds.open_for(visit.desk.queue, visit.reviewer):
        row = as_question(seed)
        place = TIERS.index(tier(row))
        before = sum(load.tiers.get(one, 0) for one in TIERS[: place + 1])
        counts[tier(row)] = counts.get(tier(row), 0) + 1
        if page == min(before // PAGE, ends):
            graver = sum(TIERS.index(card.tier) <= place for card in found)
            found.insert(graver, view(visit.desk.queue.veiling.seen(row), items=items_of(seed)))
    tiers = {one: counts[one] for one in TIERS if one in counts}
    return found, replace(load, open=sum(counts.values()), tiers=tiers)


__all__ = ["with_seeds"]
