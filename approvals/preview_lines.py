"""The preview of a call for a terminal: what its tool said, as text that no terminal takes for anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.previews import Preview
from checkvalve.approvals.render import block, neutralise, warnings

_INDENT: Final = (0, 0, 0, 4)
_UNTRUSTED: Final = "red"


def preview_lines(found: Preview | None, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what the call would do, as its tool said, or why there is no preview; nothing where none is offered."""
    if found is None:
        return
    yield Text("What it would do", style="bold")
    if found.why:
        yield Padding(Text(neutralise(found.reason), overflow="fold"), _INDENT)
        return
    yield Padding(Text(neutralise(found.heading), style="dim", overflow="fold"), _INDENT)
    text = found.whole()
    yield Padding(Text(block(text, full=full) or "(it said nothing)", style=_UNTRUSTED, overflow="fold"), _INDENT)
    for warning in warnings(text):
        yield Padding(Text(f"! {warning}", style="bold red"), _INDENT)


__all__ = ["preview_lines"]
