"""The inbound filters of one process: what a model is shown of a value, and what is remembered of the scan.

Guarantees: attribution always works on the original; a changed or withheld value is only what a model sees; in mode
``report`` nothing is changed; the same text is scanned once while it is remembered, whichever surface asks.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.inbound import Carry, InboundDetector, InboundOptions, scan_inbound
from checkvalve.filters.inbound.chain import WITHHELD
from checkvalve.filters.outcomes import ContentOutcome, ScanResult, Status
from checkvalve.filters.secrets.registered import NOTHING, Registered
from checkvalve.filters.secrets.scan import redact_secrets
from checkvalve.filters.strictjson import JSON, parse_strict
from checkvalve.filters.tokens import count_tokens

InboundMode: TypeAlias = Literal["on", "report", "off"]

REMEMBERED: Final = 64
"""Scans that are remembered; a result is looked at when it is taken in and when it is shown, right after each other."""
_TOO_LONG: Final = "too-many-tokens"
_LONGEST: Final = 100_000  # characters of a text that is remembered with its scan
_PASSED: Final = ScanResult(Status.CLEAN, ContentOutcome.PASS, "")


@dataclass(frozen=True)
class Inbound:
    """How this process scans. ``off`` scans nothing, ``report`` only remembers, ``on`` also changes and asks.

    With ``redact`` a model is shown a mark in the place of each key, password and registered value, except in results
    of the tools in ``kept``. An item of more than ``max_tokens`` is withheld; 0 is no bound.
    """

    mode: InboundMode = "off"
    options: InboundOptions = field(default_factory=InboundOptions)
    others: Sequence[InboundDetector] = ()
    clock: Callable[[], float] | None = time.monotonic
    redact: bool = False
    registered: Registered = field(default=NOTHING, repr=False)
    kept: frozenset[str] = frozenset()
    max_tokens: int = 0
    _seen: OrderedDict[str, ScanResult] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def scan(self, value: JSON, carry: Carry | None = None) -> ScanResult:
        """Look at one value as it entered; JSON is looked at as its text."""
        if self.mode == "off":
            return _PASSED
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if carry is None and (known := self._known(text)) is not None:
            return known
        found = scan_inbound(text, options=self.options, clock=self.clock, carry=carry, others=self.others)
        self._remember(text, found)
        return found

    def shown(self, value: JSON, tool: str = "") -> JSON:
        """Return what a model is shown of ``value``: the value itself, or a copy without what hides in it.

        ``tool`` is the tool that returned it, where that is known.
        """
        if self.mode != "on":
            return value
        found = self._cleaned(value)
        if self.redact and tool not in self.kept:
            found = self._without_keys(found)
        return WITHHELD.format(code=_TOO_LONG) if self._is_too_long(found) else found

    def _is_too_long(self, value: JSON) -> bool:
        """Say whether a model would pay more tokens for ``value`` than one item may cost."""
        if not self.max_tokens:
            return False
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        bound = len(text.encode("utf-8", "surrogatepass"))  # no text has more tokens than bytes
        return bound > self.max_tokens and count_tokens(text) > self.max_tokens

    def _without_keys(self, value: JSON) -> JSON:
        if isinstance(value, dict):
            return {str(self._without_keys(name)): self._without_keys(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._without_keys(item) for item in value]
        if not isinstance(value, str):
            return value
        found = redact_secrets(value, self.registered)
        if not _breaks(value, found.text):
            return found.text
        return json.dumps(self._without_keys(parse_strict(value)), ensure_ascii=False)

    def _cleaned(self, value: JSON) -> JSON:
        found = self.scan(value)
        if found.outcome is ContentOutcome.PASS:
            return value
        if found.outcome is ContentOutcome.WITHHOLD:
            return found.text
        if isinstance(value, str) and not _breaks(value, found.text):
            return found.text
        if isinstance(value, str):
            return json.dumps(self._leaf_by_leaf(parse_strict(value)), ensure_ascii=False)
        return self._leaf_by_leaf(value)

    def _leaf_by_leaf(self, value: JSON) -> JSON:
        if isinstance(value, str):
            return self.scan(value).text
        if isinstance(value, dict):
            return {name: self._leaf_by_leaf(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._leaf_by_leaf(item) for item in value]
        return value

    def _known(self, text: str) -> ScanResult | None:
        with self._lock:
            if text in self._seen:
                self._seen.move_to_end(text)
            return self._seen.get(text)

    def _remember(self, text: str, found: ScanResult) -> None:
        if len(text) > _LONGEST:
            return
        with self._lock:
            self._seen[text] = found
            while len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)


def _breaks(before: str, after: str) -> bool:
    """Say whether a text that was JSON is none any more."""
    if before.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        parse_strict(before)
    except HostileInputError:
        return False
    try:
        parse_strict(after)
    except HostileInputError:
        return True
    return False


def worth_noting(found: ScanResult) -> bool:
    """Say whether a scan is kept: one that flagged something, or could not look."""
    return found.status in {Status.FLAGGED, Status.UNSCANNED}
