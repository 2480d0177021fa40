"""The figures of a report about attention, each with its definition; ``docs/attention.md`` has the same list.

1. A share is a count of a count. 2. Below :data:`LEAST` there is no percentage, only the two counts: of so few it would
say nothing. 3. What a surface cannot know is counted as not known, never as the better answer.

Guarantees: pure counting over what the log says; nothing here names a person but :class:`Person`, and who sees those is
decided where they are shown.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.strictjson import JSON

LEAST: Final = 5
"""Cases from which on a share or a middle is told."""
TALL: Final = 0.9
"""The part of the tasks below the second figure of prompts."""
OPENED: Final = "opened"
NOT_OPENED: Final = "not_opened"
NOT_KNOWN: Final = "not_known"


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of``."""

    count: int = 0
    of: int = 0

    @property
    def share(self) -> float | None:
        """The share, 0 to 1; None of fewer than :data:`LEAST`."""
        return self.count / self.of if self.of >= LEAST else None

    def in_words(self) -> str:
        """Return it for people: a percentage where there are enough, else the counts; what nothing is known of."""
        if not self.of:
            return "none"
        return f"{self.count} of {self.of}" if self.share is None else f"{self.share:.0%} ({self.count} of {self.of})"

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {"count": self.count, "of": self.of, "share": self.share}


@dataclass(frozen=True, slots=True)
class Middle:
    """The median of some spans in seconds; None of fewer than :data:`LEAST`."""

    seconds: float | None = None
    of: int = 0

    @classmethod
    def among(cls, found: Sequence[float]) -> Middle:
        """Return the median of these."""
        return cls(statistics.median(found) if len(found) >= LEAST else None, len(found))

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {"seconds": self.seconds, "of": self.of}


@dataclass(frozen=True, slots=True)
class Opened:
    """Of the answers of people: before how many the arguments were shown to them whole, or not, or nobody knows."""

    opened: int = 0
    not_opened: int = 0
    not_known: int = 0

    @property
    def unseen(self) -> Share:
        """The share decided without opening the arguments, among those of which it is known."""
        return Share(self.not_opened, self.opened + self.not_opened)

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        known: dict[str, JSON] = {OPENED: self.opened, NOT_OPENED: self.not_opened, NOT_KNOWN: self.not_known}
        return {**known, "without_opening": self.unseen.to_json()}


@dataclass(frozen=True, slots=True)
class Reversals:
    """Yeses that did not last; a call that was taken back in several ways counts once in ``share``.

    ``taken_back``: a yes became a no while the question was open, or the approval was revoked before its call ran.
    ``undone``: the effect was undone. ``disagreed``: who looked after a broken glass wrote that it should not have run.
    """

    taken_back: int = 0
    undone: int = 0
    disagreed: int = 0
    share: Share = field(default_factory=Share)

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        counts: dict[str, JSON] = {
            "taken_back": self.taken_back,
            "undone": self.undone,
            "disagreed": self.disagreed,
        }
        return {**counts, "share": self.share.to_json()}


@dataclass(frozen=True, slots=True)
class Prompts:
    """Questions of one task: the median of all tasks, what nine of ten stay within, and the worst one with its tool.

    Tasks that made a call in the span and asked nothing count with 0. Median and ``tall`` are None of fewer than
    :data:`LEAST` tasks.
    """

    tasks: int = 0
    median: float | None = None
    tall: int | None = None
    worst: int = 0
    worst_tool: str = ""
    worst_thread: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        worst: dict[str, JSON] = {"questions": self.worst, "tool": self.worst_tool, "thread": self.worst_thread}
        return {"tasks": self.tasks, "median": self.median, "p90": self.tall, "worst": worst}


@dataclass(frozen=True, slots=True)
class Attention:
    """The figures of everybody together."""

    asked: int = 0
    approved: Share = field(default_factory=Share)
    expired: Share = field(default_factory=Share)
    wait: Middle = field(default_factory=Middle)
    look: Middle = field(default_factory=Middle)
    quick: Share = field(default_factory=Share)
    opened: Opened = field(default_factory=Opened)
    reversals: Reversals = field(default_factory=Reversals)
    prompts: Prompts = field(default_factory=Prompts)
    rules: tuple[tuple[str, Share], ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        return {
            "asked": self.asked,
            "approved": self.approved.to_json(),
            "expired": self.expired.to_json(),
            "median_wait": self.wait.to_json(),
            "median_look": self.look.to_json(),
            "quick": self.quick.to_json(),
            "arguments": self.opened.to_json(),
            "reversals": self.reversals.to_json(),
            "prompts": self.prompts.to_json(),
            "rules": [{"rule": rule, "approved": share.to_json()} for rule, share in self.rules],
        }


def prompts_of(calls: Iterable[tuple[str, str, bool]]) -> Prompts:
    """Return the figure of calls, each given as its task, its tool, and whether a person was asked about it."""
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for thread, tool, is_question in calls:
        asked[thread][tool] += is_question
    if not asked:
        return Prompts()
    counts = {thread: sum(tools.values()) for thread, tools in asked.items()}
    worst = max(sorted(counts), key=lambda thread: counts[thread])
    listed, tools = sorted(counts.values()), asked[worst]
    enough = len(listed) >= LEAST
    if not counts[worst]:
        return Prompts(len(listed), 0.0 if enough else None, 0 if enough else None)
    return Prompts(
        len(listed),
        statistics.median(listed) if enough else None,
        listed[math.ceil(TALL * len(listed)) - 1] if enough else None,
        counts[worst],
        max(sorted(tools), key=lambda tool: tools[tool]),
        worst,
    )


def opened_of(known: Mapping[str, int]) -> Opened:
    """Return the figure of counted answers, by :data:`OPENED` and the other two."""
    return Opened(known.get(OPENED, 0), known.get(NOT_OPENED, 0), known.get(NOT_KNOWN, 0))


__all__ = [
    "LEAST", "NOT_KNOWN", "NOT_OPENED", "OPENED", "Attention", "Middle", "Opened", "Prompts", "Reversals", "Share",
    "opened_of", "prompts_of",
]  # fmt: skip
