"""How much content may steer what the actor sees: a bit account for each source of a task.

Guarantees: every closed value that crosses is charged with the logarithm of its domain before it is shown; what does
not fit into the account is not shown; an account only grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OUTCOME_BITS: Final = 1.6
"""Whether the reader could answer, could not, or failed: log2(3), rounded up."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The answer to "may this cross?": ``bits`` were charged (0 when not), ``spent`` is the account after that."""

    source: str
    fits: bool
    bits: float
    spent: float


def charge(accounts: Mapping[str, float], source: str, bits: float, cap: float) -> Charge:
    """Return whether ``bits`` more of ``source`` may cross under ``cap``."""
    spent = accounts.get(source, 0.0)
    if spent + bits > cap:
        return Charge(source, False, 0.0, spent)
    return Charge(source, True, bits, spent + bits)
