"""Waiting for what another thread or process does: for the thing itself, never for a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 60.0
"""Seconds after which something does not happen any more, on the most loaded machine."""


def until(happened: Callable[[], object], what: str = "") -> None:
    """Look until it is so; fails after a minute, with ``what`` was waited for."""
    end = time.monotonic() + LONG
    while not happened():
        assert time.monotonic() < end, what or "it never happened"
        time.sleep(0.01)


__all__ = ["LONG", "until"]
