"""``scan_outbound``: the one look at a text that leaves, whole or in a stream.

1. The text is cut into pieces (``units``), the same ones however it arrives. 2. Each piece is rewritten by itself
(``pieces``). 3. A canary, a text that is too long, or a deadline that has passed withholds the whole text; of a stream,
all that has not left yet. Guarantees: never an exception for anything a text can contain; what was not looked at never
leaves, and is called ``unscanned``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from checkvalve.filters.outbound.judge import Origins, nobody
from checkvalve.filters.outbound.pieces import Before, Change, changes_in
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.units import Cutter
from checkvalve.filters.outcomes import (
    Channel,
    ContentOutcome,
    Edit,
    Finding,
    ScanResult,
    Severity,
    Status,
    apply_edits,
    worse,
)
from checkvalve.filters.pii.detect import PiiHit, UnscannedError, find_pii
from checkvalve.filters.secrets.scan import mark
from checkvalve.filters.secrets.vendors import RULES as KEYS
from checkvalve.filters.secrets.vendors import Rule, begins_private_key, private_key_end, relevant

Expired = Callable[[], bool]
"""Says whether the time for a scan is over; filters have no clock of their own."""
RULES: Final = OutboundRules()
"""What is looked for when a deployer sets nothing: resources, links, keys."""


def never() -> bool:
    """Say that there is no deadline."""
    return False


def scan_outbound(
    text: str, rules: OutboundRules = RULES, *, origins: Origins = nobody, expired: Expired = never
) -> ScanResult:
    """Return what of ``text`` may leave.

    Args:
        text: an answer, a message, a body.
        rules: what may not leave.
        origins: says of a link who named it; without it every link counts as composed by a model.
        expired: the deadline; what was not looked at by then does not leave.
    """
    scanner = Scanner(rules, origins, expired)
    cutter = Cutter(rules.registered.open_from)
    keys = relevant(text)  # asked once: what the text cannot hold, none of its pieces can
    for piece in (*cutter.feed(text), *cutter.close()):
        scanner.piece(piece, keys)
        if scanner.withheld:
            break
    return scanner.result(text)


class Scanner:
    """Rewrites pieces one after the other and remembers what it found."""

    def __init__(self, rules: OutboundRules, origins: Origins, expired: Expired) -> None:
        self._rules = rules
        self._origins = origins
        self._expired = expired
        self._before = Before()
        self._chars = self._bytes = 0
        self._in_key = False
        self._edits: list[Edit] = []
        self._findings: list[Finding] = []
        self.withheld = ""
        self._unscanned = False

    def piece(self, piece: str, keys: Sequence[Rule] = KEYS) -> str:
        """Return what of the next piece may leave; when the text is withheld a coded note, and then nothing."""
        if self.withheld:
            return ""
        if self._expired():
            return self._withhold("deadline", unscanned=True)
        if self._chars + len(piece) > self._rules.max_chars:
            return self._withhold("too-long", unscanned=True)
        try:
            changes = self._changes(piece, keys)
        except UnscannedError as error:
            return self._withhold(error.code, unscanned=True)
        self._note(piece, changes)
        if stop := next(
            (one.detail or one.code for one in changes if {one.code, one.detail} & self._rules.withhold), ""
        ):
            return self._withhold(stop)
        self._before = self._before.then(piece, self._rules)
        self._chars, self._bytes = self._chars + len(piece), self._bytes + _size(piece)
        return apply_edits(piece, [one.edit for one in changes])[0]

    def _changes(self, piece: str, keys: Sequence[Rule]) -> list[Change]:
        """Return the changes of a piece; in a private key that began before it, everything goes up to its end."""
        end = private_key_end(piece) if self._in_key else 0
        self._in_key = end == len(piece) if self._in_key else self._rules.secrets and begins_private_key(piece)
        found = changes_in(piece[end:], self._before, self._rules, self._origins, self._find_pii, keys)
        if not end:
            return found
        return [
            Change(Edit(0, end, "", "secret"), "secret", "private-key", Severity.HIGH),
            *(_moved(one, end) for one in found),
        ]

    def _find_pii(self, piece: str, before: str) -> Iterable[PiiHit]:
        return find_pii(piece, self._rules.pii, before=before, expired=self._expired)

    def _note(self, piece: str, changes: list[Change]) -> None:
        for one in changes:
            start = self._bytes + _size(piece[: one.edit.start])
            size = _size(piece[one.edit.start : one.edit.end])
            self._findings.append(Finding(one.code, start, start + size, Channel.VISIBLE, one.severity, one.detail))
            moved = Edit(one.edit.start + self._chars, one.edit.end + self._chars, one.edit.replacement, one.edit.code)
            self._edits.append(moved)

    def _withhold(self, code: str, *, unscanned: bool = False) -> str:
        self.withheld, self._unscanned = code, unscanned
        return note(code)

    def result(self, text: str) -> ScanResult:
        """Return the result for the whole text, which was handed over piece by piece."""
        findings = tuple(self._findings)
        if self.withheld:
            status = Status.UNSCANNED if self._unscanned else Status.FLAGGED
            return ScanResult(status, ContentOutcome.WITHHOLD, note(self.withheld), findings, (), self.withheld)
        if not self._edits:
            return ScanResult(Status.CLEAN, ContentOutcome.PASS, text)
        shown, spans = apply_edits(text, self._edits)
        heavy = max(finding.severity for finding in findings) > Severity.LOW
        status = worse(Status.CHANGED, Status.FLAGGED if heavy else Status.CHANGED)
        return ScanResult(status, ContentOutcome.SANITISE, shown, findings, spans)


def note(code: str) -> str:
    """Return what is shown instead of a text that is withheld for the reason ``code``."""
    return f"⟨withheld: {code}⟩"


def _moved(change: Change, by: int) -> Change:
    edit = Edit(change.edit.start + by, change.edit.end + by, change.edit.replacement, change.edit.code)
    return Change(edit, change.code, change.detail, change.severity)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


__all__ = ["RULES", "Scanner", "mark", "note", "scan_outbound"]
