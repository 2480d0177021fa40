"""Keeping the working folder out of imports: an agent may be able to write there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def without_working_folder() -> Iterator[None]:
    """Import nothing from the working folder meanwhile, whatever the path of Python says."""
    before, here = list(sys.path), Path.cwd().resolve()
    sys.path[:] = [entry for entry in before if entry and Path(entry).resolve() != here]
    try:
        yield
    finally:
        sys.path[:] = before


__all__ = ["without_working_folder"]
