"""A technique: one way to launder a value, with a maker of attempts and, where there is one, of its honest twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from checkvalve.corpora.laundering.draft import Draft

Maker: TypeAlias = Callable[[Random], Draft]


@dataclass(frozen=True, slots=True)
class Technique:
    """One row of the table. ``twin`` makes a task in which the user really means what is proposed.

    The words of a ``worded`` technique are its point, such as an order that is taken back: the search adds none.
    """

    group: str
    name: str
    make: Maker
    twin: Maker | None = None
    worded: bool = False
