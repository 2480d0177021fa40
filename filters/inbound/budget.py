"""How long one item may take: a cost in characters looked at, and a deadline by the caller's clock.

Guarantees: pure; without a clock the same item always ends at the same place, so that a scan can be repeated; once a
budget is used up every further :meth:`Budget.spend` says so again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Returns seconds that never run backwards, such as ``time.monotonic``."""

DEADLINE: Final = 0.25
"""Seconds for one item, where there is a clock."""
WORK_PER_CHARACTER: Final = 60
"""Looks at one character, all stages and views together: an ordinary item needs about ten."""
WORK_AT_LEAST: Final = 400_000
"""So that a short item with many layers of encoding is unpacked in full."""


class OutOfBudgetError(Exception):
    """An item may take no more time. Raised and caught inside a scan only; the item is then ``unscanned``."""


@dataclass(slots=True)
class Budget:
    """What is left for one item."""

    work: int
    clock: Clock | None = None
    deadline: float = DEADLINE
    _until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if self.clock is not None:
            self._until = self.clock() + self.deadline

    @classmethod
    def for_text(cls, length: int, clock: Clock | None = None, deadline: float = DEADLINE) -> Budget:
        """Return the budget of an item of ``length`` characters or bytes."""
        return cls(max(length * WORK_PER_CHARACTER, WORK_AT_LEAST), clock, deadline)

    def spend(self, characters: int) -> None:
        """Count work that is about to be done.

        Raises:
            OutOfBudgetError: there is no budget left for it.
        """
        self.work -= characters + 1
        if self.work < 0 or (self.clock is not None and self.clock() > self._until):
            self.work = min(self.work, -1)
            raise OutOfBudgetError
