"""The threads of calls that are made for another call, whose id is in their names: tries, reads of it, its undoings.

Guarantees: whoever looks for what belongs to a call (its erasure, the veil of its task, figures about tasks) asks here,
so a further kind of such a thread is known to all of them.
"""

from __future__ import annotations

import re
from typing import Final

PREVIEW: Final = "preview/"
"""A dry run that a person is shown."""
PIN: Final = "pin/"
"""A read of the version of what a call points at."""
PROBE: Final = "probe/"
"""A read that says whether an effect happened."""
UNDO: Final = "undo/"
"""An undoing; behind the call's id follows which one, by number."""
ASIDES: Final = (PREVIEW, PIN, PROBE, UNDO)
_ASIDE: Final = re.compile(rf"(?:{'|'.join(map(re.escape, ASIDES))})(?P<id>[^/]+)(?:/[0-9]+)?")


def made_for(thread: str) -> str:
    """Return the id of the call that calls of a thread are made for; empty for a task."""
    found = _ASIDE.fullmatch(thread)
    return "" if found is None else found["id"]


def threads_of(proposal_id: str) -> list[str]:
    """Return the threads that a call has one of, where it has any; its undoings have others."""
    return [f"{start}{proposal_id}" for start in ASIDES if start != UNDO]


__all__ = ["ASIDES", "PIN", "PREVIEW", "PROBE", "UNDO", "made_for", "threads_of"]
