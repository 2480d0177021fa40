"""The headline of a call for the pages: the sentence in the page's language, its values as content in boxes.

Guarantees: words of the frame and of the manifest are outside of the boxes, and values inside; what nobody vouches for
is hatched, and a screen reader says so; a value keeps its own direction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.overdue import readable
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise, size_of
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.titles import Headline, Slot, Value, headline
from checkvalve.gateway.web_text import Shown, line, pieces
from checkvalve.gateway.web_words import Words

ANSWER: Final = "answer"
"""The sentence that names no tool."""


@dataclass(frozen=True, slots=True)
class SlotView:
    """What fills one slot: the values that are said, and how many more there are."""

    name: Shown
    values: tuple[Shown, ...]
    more: int


@dataclass(frozen=True, slots=True)
class TitleView:
    """One headline."""

    found: Headline

    def parts(self, words: Words) -> Iterator[tuple[str, Shown | SlotView]]:
        """Yield in order ``frame`` for words of ours, ``words`` of the manifest, ``tool``, ``slot`` and ``also``."""
        key = f"title.{self.found.key}"
        template = words(key) if self.found.key and words.has(key) else ""
        for kind, part in self.found.parts(template):
            if isinstance(part, Slot):
                yield kind, SlotView(line(part.name), tuple(map(_value, part.values)), part.more)
            else:
                yield "frame" if kind == "words" and self.found.key else kind, line(part)

    def says(self, shown: Collection[Shown]) -> bool:
        """Return whether it is our own sentence and has the tool and all of these values, none of them shortened."""
        if not self.found.key or self.found.key == ANSWER:
            return False
        slots = [*self.found.slots.values(), *([self.found.also] if self.found.also is not None else [])]
        said = {value.plain() for slot in slots for value in slot.values if not value.clipped()[1]}
        return all(not one.left_out and one.plain in said for one in shown)


def title_view(row: Seen) -> TitleView:
    """Return the headline of a call."""
    return TitleView(headline(row))


def titles_of(queue: Queue, names: Collection[str]) -> dict[str, TitleView]:
    """Return the headlines of calls by their ids, without those that cannot be read."""
    with queue.store.read() as connection:
        rows = connection.execute(sa.select(proposals).where(proposals.c.id.in_(sorted(names)))).mappings().all()
    found = [row for row in map(readable, rows) if row is not None]
    return {row.id: title_view(row) for row in queue.veiling.all(found)}


def _value(value: Value) -> Shown:
    kind = f"text {value.trust}"
    start, left_out, end = value.clipped()
    return Shown(pieces(neutralise(start), kind), size_of(value.text), left_out, pieces(neutralise(end), kind))


__all__ = ["SlotView", "TitleView", "title_view", "titles_of"]
