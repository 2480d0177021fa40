"""The preview of a call for a terminal: what its tool said, as text that no terminal takes for anything else.

Guarantees: every line that is printed of it begins with a bar, also where a long one is folded and where there are no
colours, so nothing that a tool says can stand where a line of the card stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from checkvalve.approvals.previews import Preview
from checkvalve.approvals.render import block, neutralise, warnings

_INDENT: Final = (0, 0, 0, 4)
_UNTRUSTED: Final = "red"
BAR: Final = "    \u2502 "
"""What each line of untrusted text begins with."""


class Barred:
    """Untrusted text behind a bar."""

    def __init__(self, text: Text, bar: str = BAR, rest: str = "") -> None:
        """Show ``text``, which is neutralised, behind ``bar``, which is ours.

        ``rest`` is what the lines after the first one have in its place; it is as wide.
        """
        self._text, self._bar, self._rest = text, bar, rest or bar

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield it line by line, each behind a bar of ours."""
        inner = options.update(width=max(1, options.max_width - len(self._bar)))
        for number, line in enumerate(console.render_lines(self._text, inner, pad=False)):
            yield Segment(self._rest if number else self._bar)
            yield from line
            yield Segment.line()


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
    yield Barred(Text(block(text, full=full) or "(it said nothing)", style=_UNTRUSTED, overflow="fold"))
    for warning in warnings(text):
        yield Padding(Text(f"! {warning}", style="bold red"), _INDENT)


__all__ = ["BAR", "Barred", "preview_lines"]
