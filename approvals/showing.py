"""One call in the terminal, with everything around it: what ``show`` prints, and every command that asks about a call.

Guarantees: a call is printed as :class:`Seen`; what people said, how it ended and the talk before an edit are printed
under the same veil.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rich.text import Text

from checkvalve.approvals import audit
from checkvalve.approvals.card import card
from checkvalve.approvals.changed_lines import edit_lines, talk_lines
from checkvalve.approvals.crash_shown import after_crash, crash_lines
from checkvalve.approvals.edits import edited, lineage, whole_talk
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.pin_lines import pin_lines
from checkvalve.approvals.pins_shown import seen_pinned
from checkvalve.approvals.preview_lines import preview_lines
from checkvalve.approvals.previews import seen_preview
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.seen_bytes import pieces, text_of
from checkvalve.approvals.story import story_of
from checkvalve.approvals.story_lines import agent_lines, compared_lines
from checkvalve.approvals.terminal import console
from checkvalve.filters.strictjson import JSON


def print_card(queue: Queue, row: Seen, unpack: Callable[[JSON], str], *, full: bool) -> None:
    """Print the card of a call."""
    with queue.store.read() as connection:
        events = list(audit.read_events(connection, subject=row.id))
    before, after = (item if item is None else queue.veiling.beside(row, item) for item in lineage(queue, row.exact))
    story = story_of(queue, row)
    around = [*edit_lines(before, after, edited(before, row) if before else ())]
    around += compared_lines(story, row, full=full)
    around += [*pin_lines(seen_pinned(queue, row)), *preview_lines(seen_preview(queue, row), full=full)]
    around += [*crash_lines(after_crash(queue, row.exact)), *agent_lines(story, full=full)]
    talk = [replace(item, text=row.veil.text(item.text)) for item in whole_talk(queue, row.exact)]
    around += talk_lines(talk, row.id)
    asked = row.verdict_name == "review" and row.mode != OBSERVE
    console().print(
        card(
            row,
            outcome=Executor(queue).look(row.id),
            grant=queue.grant(row.id),
            events=events,
            full=full,
            unpack=unpack,
            around=around,
            standing=row.said(queue.standing(row.id)) if asked else None,
            story=story,
        )
    )


def print_bytes(row: Seen) -> None:
    """Print the canonical bytes that were decided on."""
    console().print(Text(neutralise(text_of(pieces(row))), overflow="fold"))


__all__ = ["print_bytes", "print_card"]
