"""How much the processes of a sandbox hold, seen from outside: memory of all of them, and what a folder grew by.

The kernel's limits are for one process each. Where no control group bounds all of them together, this does, by
looking: what is between two looks is bounded by the limits of one process times their number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_PROC: Final = Path("/proc")


def resident(root: int) -> int:
    """Return the bytes that a process and everything below it hold in memory; what is gone holds nothing."""
    return sum(_pages(pid) for pid in _family(root)) * _PAGE


def _family(root: int) -> Iterator[int]:
    left, seen = [root], {root}
    while left:
        pid = left.pop()
        yield pid
        for child in _children(pid):
            if child not in seen:
                seen.add(child)
                left.append(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except (OSError, ValueError):
        pass  # it ended meanwhile
    return found


def _pages(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def stored(folder: Path, *, enough: int) -> int:
    """Return the bytes that a folder takes on disk, links not followed; it stops counting at ``enough``."""
    total, left = 0, [os.fspath(folder)]
    while left and total < enough:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:
            continue  # removed meanwhile, or made unreadable: what is in it was counted before or is bounded by files
    return total
