"""Bounds on work that hostile inputs cause, in processor time: what other programs do on the machine is not counted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 10.0
"""Seconds: many times what any of these inputs takes, and far below what one takes whose work grows with its square."""


@contextmanager
def bounded(seconds: float = MOST) -> Iterator[None]:
    """Fail when the block costs this thread more than so many seconds of processor time."""
    before = time.thread_time()
    yield
    spent = time.thread_time() - before
    assert spent < seconds, f"{spent:.1f} seconds of processor time"


__all__ = ["MOST", "bounded"]
