"""The versions of what a call points at, for a terminal: as text that no terminal takes for anything else."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from checkvalve.approvals.pins_shown import Pinned
from checkvalve.approvals.preview_lines import Barred
from checkvalve.approvals.render import block


def pin_lines(found: Pinned | None) -> Iterator[RenderableType]:
    """Yield what is pinned of a call; nothing where the manifest pins nothing of it."""
    if found is None:
        return
    yield Text("Pinned", style="bold")
    for text in found.lines():
        yield Barred(Text(block(text), overflow="fold"))


__all__ = ["pin_lines"]
