"""The protocol for detectors of others: they look at windows of text and can only add findings.

A package offers one under the entry point group ``checkvalve.detectors``; the gateway loads those that the settings
name. Guarantees: a detector that raises or runs out of time makes the item ``unscanned``; it cannot take a finding
away, change a text or make an outcome milder; long texts come in windows that overlap: the end is seen like the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from checkvalve.filters.inbound.budget import Budget
from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.outcomes import Severity

GROUP: Final = "checkvalve.detectors"
"""The entry point group; each entry is a callable without arguments that returns a detector."""
_PANIC: Final = "PanicException"  # of native extensions written in Rust; it is no Exception, and ends a worker
WINDOW: Final = 1_500
OVERLAP: Final = 300
MAX_WINDOWS: Final = 40
"""Windows of one text; a longer one is ``unscanned`` by this detector."""


@dataclass(frozen=True, slots=True)
class Alert:
    """What a detector saw: a stable code, where in the window (characters), and how much it weighs."""

    code: str
    start: int
    end: int
    severity: Severity = Severity.MEDIUM


@runtime_checkable
class InboundDetector(Protocol):
    """Looks at one window of text. It may be slow and it may be wrong, so all it can do is to raise friction."""

    def look(self, text: str, /) -> Sequence[Alert]:
        """Return what is wrong with ``text``, empty when nothing is."""
        ...


def windows(length: int) -> Iterator[tuple[int, int]]:
    """Yield overlapping stretches that cover a text of ``length`` characters."""
    start = 0
    while start < length:
        yield start, min(start + WINDOW, length)
        if start + WINDOW >= length:
            return
        start += WINDOW - OVERLAP


def run(detectors: Sequence[InboundDetector], view: View, notes: Notes, budget: Budget) -> None:
    """Show ``view`` to each detector."""
    for detector in detectors:
        for number, (start, end) in enumerate(windows(len(view.text))):
            if number >= MAX_WINDOWS:
                notes.leave("too-long-for-detector")
                break
            budget.spend(end - start)
            try:
                alerts = list(detector.look(view.text[start:end]))
            except BaseException as error:
                if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                    raise
                notes.leave("detector-failed")  # somebody else's code: whatever it raises, the item was not scanned
                break
            for alert in alerts:
                first, last = max(0, alert.start), min(end - start, max(alert.end, alert.start))
                notes.find(
                    alert.code, view, start + first, start + last, max(alert.severity, Severity.LOW), detail="detector"
                )


class ScoredClassifier:
    """Makes a detector of a text classifier in the style of ``transformers`` pipelines.

    ``call`` takes a text and returns ``[{"label": ..., "score": ...}]`` or one such mapping. Nothing is imported here:
    the deployer builds the classifier, with weights of their own.
    """

    def __init__(
        self,
        call: Callable[[str], Any],
        *,
        labels: Sequence[str] = ("INJECTION", "MALICIOUS", "LABEL_1"),
        threshold: float = 0.9,
    ) -> None:
        self._call = call
        self._labels = frozenset(label.upper() for label in labels)
        self._threshold = threshold

    def look(self, text: str, /) -> Sequence[Alert]:
        """Return one alert when a label of the attack reaches the threshold."""
        answer = self._call(text)
        rows = answer if isinstance(answer, list) else [answer]
        flat = [item for row in rows for item in (row if isinstance(row, list) else [row])]
        score = max((float(item["score"]) for item in flat if str(item["label"]).upper() in self._labels), default=0.0)
        return [Alert("classifier", 0, len(text))] if score >= self._threshold else []
