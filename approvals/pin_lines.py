"""The versions of what a call points at, for a terminal: as text that no terminal takes for anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.pins_shown import Pinned
from checkvalve.approvals.render import block

_INDENT: Final = (0, 0, 0, 4)


def pin_lines(found: Pinned | None) -> Iterator[RenderableType]:
    """Yield what is pinned of a call; nothing where the manifest pins nothing of it."""
    if found is None:
        return
    yield Text("Pinned", style="bold")
    for text in found.lines():
        yield Padding(Text(block(text), overflow="fold"), _INDENT)


__all__ = ["pin_lines"]
