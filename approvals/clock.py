"""The one notion of now: UTC, in whole microseconds since 1970. Rows store the number, people see RFC 3339."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from checkvalve.approvals.moments import micros, rfc3339, to_the_second

Clock: TypeAlias = Callable[[], int]
"""Returns now, in microseconds since 1970-01-01T00:00:00Z."""


def system_clock() -> int:
    """Return the machine's wall-clock time in microseconds."""
    return time.time_ns() // 1_000


__all__ = ["Clock", "micros", "rfc3339", "system_clock", "to_the_second"]
