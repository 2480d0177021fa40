"""Moments on the pages: in words, with the exact moment as the title; in tables of the log exactly.

Guarantees: what is returned is markup of our own around a number and words of the catalogue, and holds no content.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from checkvalve.approvals.clock import to_the_second
from checkvalve.gateway.web_words import Words

_MINUTE = 16  # characters of a moment to its minute
_UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)  # microseconds


class Markup(str):
    """Markup of our own, which a template does not escape again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return it as it is."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Moments:
    """How moments are said, in microseconds, seen from ``now``."""

    words: Words
    now: int

    def __call__(self, moment: int) -> Markup:
        """Return how long ago a moment was, or how far it is away."""
        if moment <= self.now:
            return self._said(moment, self.words("age", span=self.words.span(self.now - moment)))
        return self._said(moment, self.words("ahead", span=self.left(moment)))

    def left(self, moment: int, *, plain: bool = False) -> str:
        """Return how long it is until a moment, rounded: thirty days less a second are thirty days.

        ``plain`` as in :meth:`Words.span`.
        """
        gap = max(0, moment - self.now)
        return self.words.span(gap + next((unit // 2 for unit in _UNITS if gap >= unit), 0), plain=plain)

    def exact(self, moment: int) -> Markup:
        """Return the moment to the second."""
        return self._said(moment, _readable(moment))

    def plain(self, moment: int) -> str:
        """Return the moment to the minute, as text."""
        return f"{_readable(moment)[:_MINUTE]} UTC"

    def _said(self, moment: int, said: str) -> Markup:
        title = f"{_readable(moment)} UTC"
        return Markup(f'<time datetime="{to_the_second(moment)}" title="{title}">{escape(said)}</time>')


def _readable(moment: int) -> str:
    return to_the_second(moment).replace("T", " ").removesuffix("Z")


__all__ = ["Moments"]
