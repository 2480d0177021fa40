"""What the events say of the talk about one question: who asked or answered what, and who put it off until when. Pure.

The part of ``said`` that is about remarks and snoozes; none of these events moves a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ASKED: Final = "remark.question"
ANSWERED: Final = "remark.answer"
REPLIED: Final = "remark.reply"
CALLED: Final = "remark.escalated"
"""A reviewer called others to a question before the clock did; it changes no row."""
SNOOZED: Final = "snooze.set"
WOKEN: Final = "snooze.ended"
TALK: Final = frozenset({ASKED, ANSWERED, REPLIED, SNOOZED, WOKEN})
"""The kinds that are taken in here."""


@dataclass(slots=True)
class Talk:
    """What the events of one question say of the talk about it."""

    remarks: list[tuple[str, str, str, int]] = field(default_factory=list)  # kind, by, digest of the text, at
    snoozes: dict[str, str] = field(default_factory=dict)  # by reviewer, until when

    def note(self, kind: str, body: Mapping[str, Any], at: int) -> None:
        """Take in one event of :data:`TALK`."""
        by = str(body.get("by"))
        if kind == SNOOZED:
            self.snoozes[by.removeprefix("reviewer:")] = str(body.get("until"))
        elif kind == WOKEN:
            self.snoozes.pop(by.removeprefix("reviewer:"), None)
        else:
            self.remarks.append((kind.removeprefix("remark."), by, str(body.get("text_digest")), at))


__all__ = ["ANSWERED", "ASKED", "CALLED", "REPLIED", "SNOOZED", "TALK", "WOKEN", "Talk"]
