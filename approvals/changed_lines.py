"""What an edit changed, and what was said about a call, for the terminal: content as plain text, like everything there.

Guarantees: every piece of content has passed :mod:`render` and stands behind a bar, so no remark, value or name of an
argument can draw a line of the card.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.editing import Change
from checkvalve.approvals.preview_lines import Barred
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.remarks import Remark
from checkvalve.approvals.render import block, neutralise
from checkvalve.approvals.story_lines import SIDES
from checkvalve.filters.strictjson import JSON

_INDENT: Final = (0, 0, 0, 4)
MEANS: Final = {
    "reviewer": "",
    "client": " (by a program's token)",
    "agent": " (by the agent's own process)",
}
"""What is said of the credential that a remark came by."""


def change_lines(found: Sequence[Change]) -> RenderableType:
    """Return old and new value of everything that an edit changed."""
    if not found:
        return Text("nothing was changed")
    return Group(*(part for item in found for part in _change(item)))


def _change(item: Change) -> Iterator[RenderableType]:
    yield Text(f"{item.kind}:", style="bold")
    yield Barred(Text(neutralise(item.path), style="bold", overflow="fold"))
    for side, value, there in (("before", item.before, "added"), ("after", item.after, "removed")):
        if item.kind != there:
            bar, style = SIDES[side]
            yield Barred(Text(block(_text(value)), style=style, overflow="fold"), bar)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def edit_lines(before: Proposal | None, after: Proposal | None, found: Sequence[Change]) -> Iterator[RenderableType]:
    """Yield of which call this one is an edit, or what it was edited to."""
    if before is not None:
        by = neutralise(before.decided_by.removeprefix("reviewer:"))
        yield Text(f"An edit of {before.id[:8]} by {by}, which it replaces", style="bold")
        yield change_lines(found)
    if after is not None:
        yield Text(f"Edited: {after.id[:8]} took its place (checkvalve approvals show {after.id[:8]})", style="bold")


def talk_lines(said: Iterable[Remark], now: str = "") -> Iterator[RenderableType]:
    """Yield what was asked and answered, each under its author; what is not about call ``now`` was before its edit."""
    for number, item in enumerate(said):
        if number == 0:
            yield Text("Asked and answered (words of their authors, verified by nobody)", style="bold")
        who = f"{item.kind} by {neutralise(item.author)}{MEANS.get(item.means, '')}, {to_the_second(item.at)}"
        who += ", before the edit" if now and item.proposal_id != now else ""
        yield Padding(Text(who, style="dim", overflow="fold"), _INDENT)
        yield Barred(Text(block(item.text), overflow="fold"))


__all__ = ["MEANS", "change_lines", "edit_lines", "talk_lines"]
