"""What stands around a call, for the terminal: words and values of others as text that no terminal takes for ours.

Guarantees: every line that is printed of somebody's words or of a value begins with a bar, also where a long one is
folded and where there are no colours; long ones keep both ends, and say what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.editing import Change
from checkvalve.approvals.preview_lines import BAR, Barred
from checkvalve.approvals.render import block, neutralise, warnings
from checkvalve.approvals.seen import Seen, as_text
from checkvalve.approvals.story import Story

HEAD: Final = 480
"""Bytes of the start of a text around a call: the arguments are what a card is for."""
TAIL: Final = 240
"""Bytes of its end."""
LINES: Final = 6
"""Lines that one may take at its start, and again at its end."""
SUB: Final = " \u203a "
"""Between a sub-agent and the one that it called."""
_INDENT: Final = (0, 0, 0, 4)
_NAMES: Final = {
    "before": "Compared with the call of this tool before it in this task",
    "usual": "Compared with the last call that a person approved",
}
SIDES: Final = {"before": ("    - \u2502 ", "red"), "after": ("    + \u2502 ", "green")}
"""The bars of an old value and of a new one, and their colours."""


def excerpt(text: str, *, full: bool = False, style: str = "", bar: str = BAR) -> Iterator[RenderableType]:
    """Yield a text behind bars, and what to beware of in it."""
    yield Barred(Text(block(text, full=full, head=HEAD, tail=TAIL, lines=LINES), style=style, overflow="fold"), bar)
    for warning in warnings(text):
        yield Padding(Text(f"! {warning}", style="bold red"), _INDENT)


def said_lines(story: Story, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what the user asked: the first and the latest words, with the sender."""
    yield Text("What the user asked", style="bold")
    if not story.said:
        yield Padding(Text("No words of the user are stored for this run.", style="bold red"), _INDENT)
    names = ("The message",) if len(story.said) == 1 else ("First message", "Latest message")
    sender = f"in the name of {neutralise(story.sender)}" if story.sender else "nobody knows from whom"
    for name, text in zip(names, story.said, strict=False):
        yield Padding(Text(f"{name}, {sender}", style="dim", overflow="fold"), _INDENT)
        yield from excerpt(text, full=full)


def compared_lines(story: Story, row: Seen, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what differs from the calls that this one is compared with."""
    for number, (name, other, differs) in enumerate(story.compared(row)):
        if number == 0:
            yield Text("Differences", style="bold")
        yield Padding(Text(f"{_NAMES[name]}, {other.id[:8]}", style="dim", overflow="fold"), _INDENT)
        for item in differs:
            yield from _change(item, full=full)
        if not differs:
            yield Padding(Text("every argument is the same"), _INDENT)


def _change(item: Change, *, full: bool) -> Iterator[RenderableType]:
    yield Padding(Text(f"{item.kind}:"), _INDENT)
    yield Barred(Text(neutralise(item.path), style="bold", overflow="fold"))
    for side, value in item.to_json().items():
        if side in SIDES:
            bar, style = SIDES[side]
            yield from excerpt(as_text(value), full=full, style=style, bar=bar)


def agent_lines(story: Story, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what the agent wrote; nothing where it wrote nothing."""
    if story.agent:
        yield Text("Written by the agent, not verified", style="bold")
        yield from excerpt(story.agent, full=full, style="dim")


__all__ = ["SIDES", "SUB", "agent_lines", "compared_lines", "excerpt", "said_lines"]
