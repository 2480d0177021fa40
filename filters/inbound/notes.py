"""What the stages of one scan write down: findings and edits, in characters of the item's own text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Channel, Edit, Finding, Severity

_OFTEN: Final = 256  # notes between two looks at the budget
MAX_FINDINGS: Final = 100
"""Findings of one item; what is found more often is not more true."""


@dataclass(slots=True)
class Notes:
    """Findings and edits so far. Places are characters here; the chain turns them into bytes at the end."""

    budget: Budget | None = None
    findings: list[Finding] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    _ticks: int = 0
    inside: dict[Finding, tuple[View, int]] = field(default_factory=dict)
    """Where in the text of a file a finding stands."""
    unscanned: str = ""  # the code of the first thing that could not be looked at

    def find(  # the parts of a finding
        self,
        code: str,
        view: View,
        start: int,
        end: int,
        severity: Severity,
        *,
        detail: str = "",
        channel: Channel | None = None,
    ) -> None:
        """Note that ``view.text[start:end]`` shows ``code``."""
        self._tick()
        if len(self.findings) >= MAX_FINDINGS and severity < Severity.MEDIUM:
            return
        first, last = view.origin(start, end)
        found = Finding(code, first, last, channel or view.channel, severity, detail or view.note)
        if len(self.findings) < 2 * MAX_FINDINGS and found not in self.findings:
            self.findings.append(found)
            if (place := view.within(start)) is not None:
                self.inside[found] = place

    def replace(self, view: View, start: int, end: int, replacement: str, code: str) -> None:
        """Note that this stretch is to be shown as ``replacement``."""
        self._tick()
        first, last = view.origin(start, end)
        self.edits.append(Edit(first, last, replacement, code))

    def drop(self, view: View, start: int, end: int, code: str) -> None:
        """Note that these signs are not to be shown. Decoded ones are spelt out in the item: nothing hides."""
        if view.channel is not Channel.DECODED:
            self.replace(view, start, end, "", code)

    def _tick(self) -> None:
        """Look at the budget now and then: most long loops end in a note."""
        self._ticks += 1
        if self.budget is not None and self._ticks % _OFTEN == 0:
            self.budget.spend(_OFTEN)

    def leave(self, code: str) -> None:
        """Note that something of the item was not looked at."""
        self.unscanned = self.unscanned or code
