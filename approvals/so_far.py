"""How far the quorum of open questions is, for lists: of those that take several people, how many there are.

Guarantees: nothing here writes or decides; a plan that cannot be read has no entry, and its card says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import plans
from checkvalve.approvals.counting import Standing
from checkvalve.approvals.plans import Alternative
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import votes

_BATCH: Final = 200
SoFar = Mapping[str, tuple[int, int]]
"""By the id of a question: places that are filled, of how many."""


def so_far(queue: Queue, rows: Sequence[Proposal]) -> SoFar:
    """Return how far each open question is that takes more than one person; of several ways the nearest one counts."""
    names = [row.id for row in rows if row.state is State.PENDING]
    found: dict[str, tuple[int, int]] = {}
    for at in range(0, len(names), _BATCH):
        part = names[at : at + _BATCH]
        with queue.store.read() as connection:
            known = plans.read_sound(connection, part)
            said = set(
                connection.execute(sa.select(votes.c.proposal_id).where(votes.c.proposal_id.in_(part))).scalars()
            )
        for name, plan in known.items():
            wanted = min(map(_people, plan.approve))
            if name in said:
                found[name] = _filled(queue.standing(name))
            elif wanted > 1:
                found[name] = 0, wanted
    return {name: (done, wanted) for name, (done, wanted) in found.items() if wanted > 1}


def _filled(standing: Standing) -> tuple[int, int]:
    """Return the places of the nearest way that are filled, and all of them."""
    missing, yes = _people(standing.tally.missing), len(standing.tally.yes)
    ways = sorted(map(_people, standing.plan.approve))
    wanted = next((size for size in ways if 0 <= size - missing <= yes), ways[0])
    return max(0, wanted - missing), wanted


def _people(needs: Alternative) -> int:
    return sum(need.count for need in needs)


__all__ = ["SoFar", "so_far"]
