"""What seeded items tell about attention: of a team, and of nobody but oneself.

Guarantees: a team's figures are of several people, at least :data:`MIN_PEOPLE`, so that they tell about none of them;
one's own are told to oneself alone; what expired counts as neither seen nor missed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.seed_tables import seeds
from checkvalve.approvals.seeds import CAUGHT, YES
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON

MIN_PEOPLE: Final = 3
"""People who have answered, from which on the figures of a team are told."""
_row = seeds.c


@dataclass(frozen=True, slots=True)
class Figures:
    """Items that were answered: how many people saw, and how many approved."""

    caught: int
    missed: int

    @property
    def answered(self) -> int:
        """How many were answered."""
        return self.caught + self.missed

    @property
    def rate(self) -> float | None:
        """The share that was seen; None where nothing was answered."""
        return self.caught / self.answered if self.answered else None

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {**asdict(self), "rate": self.rate}


def own(store: Store, reviewer: Reviewer, *, since: int = 0) -> Figures:
    """Return one's own figures."""
    return _figures(store, _row.reviewer == reviewer.name, since)


def team(store: Store, *, since: int = 0) -> Figures | None:
    """Return the figures of everybody together, None where too few people have answered."""
    closed = (_row.answer.in_({YES, *CAUGHT}), _row.answered_at >= since)
    with store.read() as connection:
        people = connection.execute(sa.select(sa.func.count(_row.reviewer.distinct())).where(*closed)).scalar_one()
    return _figures(store, sa.true(), since) if people >= MIN_PEOPLE else None


def _figures(store: Store, whose: sa.ColumnElement[bool], since: int) -> Figures:
    counted = sa.select(_row.answer, sa.func.count()).where(whose, _row.answered_at >= since).group_by(_row.answer)
    with store.read() as connection:
        found = {str(answer): int(count) for answer, count in connection.execute(counted)}
    return Figures(sum(found.get(name, 0) for name in CAUGHT), found.get(YES, 0))


__all__ = ["MIN_PEOPLE", "Figures", "own", "team"]
