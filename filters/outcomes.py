"""What a scan of content says: one status, one content outcome, findings with their place, and what to show instead.

Guarantees: a result is a value and never an exception; :func:`worst` only ever gets worse, so that joining results
cannot make one cleaner; places are byte ranges of the original's UTF-8 form; ``detail`` repeats none of the content.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final


class Status(enum.StrEnum):
    """How a scan ended, from best to worst. ``UNSCANNED`` is never to be read as clean."""

    CLEAN = "clean"
    CHANGED = "changed"
    FLAGGED = "flagged"
    UNSCANNED = "unscanned"


class ContentOutcome(enum.StrEnum):
    """What is done to the content, from mildest to strictest. It says nothing of whether an action may run."""

    PASS = "pass"  # noqa: S105 - a word of the domain
    SANITISE = "sanitise"
    WITHHOLD = "withhold"


class Channel(enum.StrEnum):
    """Where in an item a finding stands, as a person who looks at the item would see it."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    HEADER = "header"
    METADATA = "metadata"
    DECODED = "decoded"


class Severity(enum.IntEnum):
    """How much a finding weighs. ``NOTE`` alone never makes an item flagged."""

    NOTE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


_STATUS_ORDER: Final = {status: rank for rank, status in enumerate(Status)}
_OUTCOME_ORDER: Final = {outcome: rank for rank, outcome in enumerate(ContentOutcome)}


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that a scan saw.

    ``code`` is stable (``role-token``, ``hidden-text``); ``start`` and ``end`` are bytes of the original's UTF-8 form;
    ``detail`` says more in words of our own, a rule's or a technique's name, and never repeats the content.
    """

    code: str
    start: int
    end: int
    channel: Channel = Channel.VISIBLE
    severity: Severity = Severity.LOW
    detail: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """One piece of a changed text: ``text[start:end]`` came from bytes ``origin_start`` to ``origin_end``.

    ``start`` and ``end`` are characters of the changed text; an empty piece marks what was taken out. ``code`` is the
    reason of a change, and empty where the text is the original's.
    """

    start: int
    end: int
    origin_start: int
    origin_end: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a scan says of one item.

    ``text`` is what may be shown on: the original where ``outcome`` is ``pass``, a changed copy where it is
    ``sanitise``, a coded note where it is ``withhold``. ``spans`` maps ``text`` back to bytes of the original; it is
    empty where nothing was changed. ``reason`` is the code of what made an item ``unscanned`` or ``withhold``.
    """

    status: Status
    outcome: ContentOutcome
    text: str
    findings: tuple[Finding, ...] = ()
    spans: tuple[Span, ...] = ()
    reason: str = ""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, each once, sorted."""
        return tuple(sorted({finding.code for finding in self.findings}))

    @property
    def severity(self) -> Severity:
        """The weight of the heaviest finding."""
        return max((finding.severity for finding in self.findings), default=Severity.NOTE)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the smallest byte range of the original that ``text[start:end]`` was made from."""
        touched = [span for span in self.spans if span.start < end and start < span.end]
        if not touched:
            return len(_utf8(self.text[:start])), len(_utf8(self.text[:end]))
        first, last = touched[0], touched[-1]
        return self._left(first, start), self._right(last, end)

    def _left(self, span: Span, start: int) -> int:
        if span.code or start <= span.start:
            return span.origin_start
        return span.origin_start + len(_utf8(self.text[span.start : start]))

    def _right(self, span: Span, end: int) -> int:
        if span.code or end >= span.end:
            return span.origin_end
        return span.origin_start + len(_utf8(self.text[span.start : end]))


def worst(results: Iterable[ScanResult]) -> tuple[Status, ContentOutcome]:
    """Return the worst status and the strictest outcome of several results; none at all is ``unscanned``."""
    items = list(results)
    if not items:
        return Status.UNSCANNED, ContentOutcome.PASS
    return (
        max((item.status for item in items), key=_STATUS_ORDER.__getitem__),
        max((item.outcome for item in items), key=_OUTCOME_ORDER.__getitem__),
    )


def worse(one: Status, other: Status) -> Status:
    """Return the worse of two statuses."""
    return max(one, other, key=_STATUS_ORDER.__getitem__)


def stricter(one: ContentOutcome, other: ContentOutcome) -> ContentOutcome:
    """Return the stricter of two outcomes."""
    return max(one, other, key=_OUTCOME_ORDER.__getitem__)


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace characters ``start`` to ``end`` of a text by ``replacement``, for the reason ``code``."""

    start: int
    end: int
    replacement: str = field(compare=False)
    code: str = ""


def apply_edits(text: str, edits: Iterable[Edit], *, errors: str = "surrogatepass") -> tuple[str, tuple[Span, ...]]:
    """Return ``text`` with the edits made, and its spans; of edits that overlap the first, then the longest, is made.

    What no edit covers stays as it was, character by character. ``errors`` says how many bytes a lone surrogate stands
    for: three in a text, or one (``surrogateescape``) in bytes that were decoded so.
    """
    chosen = list(disjoint(edits))
    if not chosen:
        return text, ()
    pieces: list[str] = []
    spans: list[Span] = []
    position = size = origin = 0
    for edit in chosen:
        kept = text[position : edit.start]
        removed = len(_utf8(text[edit.start : edit.end], errors))
        for piece, width, code in (
            (kept, len(_utf8(kept, errors)), ""),
            (edit.replacement, removed, edit.code or "changed"),
        ):
            if piece or width:
                spans.append(Span(size, size + len(piece), origin, origin + width, code))
            pieces.append(piece)
            size, origin = size + len(piece), origin + width
        position = edit.end
    rest = text[position:]
    if rest:
        spans.append(Span(size, size + len(rest), origin, origin + len(_utf8(rest, errors))))
    return "".join((*pieces, rest)), tuple(spans)


def disjoint(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits that are made, in order: of those that overlap the first, then the longest."""
    reached = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= reached:
            yield edit
            reached = edit.end


def _utf8(text: str, errors: str = "surrogatepass") -> bytes:
    return text.encode("utf-8", errors)
