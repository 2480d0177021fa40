"""The figures of attention as rows for people: one key for each, its English name, and its value in words. Pure.

The pages say the same keys in their own languages; a test holds the English names together. Values are numbers, a
unit and, where there are too few cases, the two counts instead of a percentage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.report_figures import LEAST, Attention, Middle, Share

NAMES: Final[Mapping[str, str]] = {
    "asked": "questions",
    "approved": "approved, of those that people answered",
    "expired": "expired, of those that ended",
    "wait": "from question to answer, the middle one",
    "look": "from the card to the answer, the middle one",
    "quick": "yes within {fast} s after the card was shown",
    "unopened": "answered without opening the arguments",
    "not_known": "answered where nobody knows what was opened",
    "reversed": "yes that did not last",
    "taken_back": "of these, taken back before the call ran",
    "undone": "of these, whose effect was undone",
    "disagreed": "of these, disagreed with afterwards: it should not have run",
    "tasks": "tasks that made a call",
    "prompts": "questions of a task, the middle one",
    "tall": "questions of a task, nine of ten stay within",
    "worst": "questions of a task, the most",
}
"""By key: what a figure is called. ``docs/attention.md`` defines each."""
TIMED: Final = frozenset({"look", "quick", "unopened", "not_known"})
"""Figures of how people look: of a team of fewer than three they would be about one of them."""
FEW: Final = "too few"
_MINUTE: Final = 60
_HOUR: Final = 3_600


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its key and what it says. ``few`` is the number of cases, where there are too few for a figure."""

    key: str
    value: str
    few: int | None = None
    share: Share | None = None
    tool: str = ""
    thread: str = ""


def rows_of(found: Attention) -> Iterator[Row]:
    """Yield the figures in the order of :data:`NAMES`."""
    back = found.reversals
    yield Row("asked", str(found.asked))
    yield _share("approved", found.approved)
    yield _share("expired", found.expired)
    yield _middle("wait", found.wait)
    yield _middle("look", found.look)
    yield _share("quick", found.quick)
    yield _share("unopened", found.opened.unseen)
    yield Row("not_known", str(found.opened.not_known))
    yield _share("reversed", back.share)
    yield from (Row(key, str(getattr(back, key))) for key in ("taken_back", "undone", "disagreed"))
    prompts = found.prompts
    yield Row("tasks", str(prompts.tasks))
    few = prompts.tasks if prompts.median is None else None
    yield Row("prompts", "" if prompts.median is None else f"{prompts.median:g}", few)
    yield Row("tall", "" if prompts.tall is None else str(prompts.tall), few)
    yield Row("worst", str(prompts.worst), tool=prompts.worst_tool, thread=prompts.worst_thread)


def _share(key: str, found: Share) -> Row:
    return Row(key, found.in_words(), found.of if found.share is None else None, found)


def _middle(key: str, found: Middle) -> Row:
    return Row(key, "" if found.seconds is None else span(found.seconds), found.of if found.seconds is None else None)


def value_in_words(row: Row) -> str:
    """Return the value of a figure in English, with what there is to say about few cases."""
    if row.few is None:
        return row.value
    if not row.few:
        return "none"
    return f"{row.value}, {FEW} for a percentage" if row.value else f"{FEW}: {row.few}, it takes {LEAST}"


def span(seconds: float) -> str:
    """Return a length of time with its unit."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


__all__ = ["FEW", "NAMES", "TIMED", "Row", "rows_of", "span", "value_in_words"]
