"""What the inbound filters said of the results of one thread: stored with its history, so every process knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkvalve.approvals.decision import Decision
from checkvalve.approvals.detectors import BUILT_IN, Detector
from checkvalve.approvals.flagged import FlaggedContent, with_scans
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.fields import source_of
from checkvalve.filters.inbound import Carry
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.calls import Call
from checkvalve.graphs.inbound import Inbound, worth_noting

SCAN: Final = "scan"
"""The kind of a history item that holds what was found in a result."""
MEDIA: Final = frozenset({"audio", "file", "image", "image_url", "input_audio", "video"})
"""Types of blocks whose content nobody here reads: they are never called clean."""


class Scans:
    """The scans of one thread that did not come out clean, by source; a source only ever gets more codes."""

    def __init__(self, inbound: Inbound, manifest: Manifest) -> None:
        """Scan with ``inbound``, and remember the ends of what was read."""
        self._inbound = inbound
        self._manifest = manifest
        self._carry = Carry()
        self._codes: dict[str, tuple[str, ...]] = {}

    def look(self, call: Call, value: JSON) -> dict[str, JSON] | None:
        """Look at one value of a result; return what is to be stored of that, or nothing."""
        if self._inbound.mode == "off":
            return None
        if isinstance(value, dict) and value.get("type") in MEDIA:
            return {"source": source_of(call.tool, call.id), "status": "unscanned", "codes": ["unscanned:media"]}
        found = self._inbound.scan(value, self._carry)
        if not worth_noting(found):
            return None
        codes = [*found.codes, *([f"unscanned:{found.reason}"] if found.reason else [])]
        return {"source": source_of(call.tool, call.id), "status": str(found.status), "codes": list[JSON](codes)}

    def note(self, stored: Mapping[str, JSON]) -> None:
        """Take in what was stored, here or by another process."""
        source, codes = str(stored["source"]), stored["codes"]
        named = {str(code) for code in codes} if isinstance(codes, list) else set()
        self._codes[source] = tuple(sorted(named | set(self._codes.get(source, ()))))

    def detectors(self, *others: Detector) -> tuple[Detector, ...]:
        """Return all detectors of a session; calls with flagged content wait unless the mode is ``report``."""
        ours = (FlaggedContent(self._codes, self._manifest),) if self._inbound.mode == "on" and self._codes else ()
        return (*BUILT_IN, *others, *ours)

    def beside(self, decision: Decision) -> Decision:
        """Return ``decision`` with the codes beside the origins that they belong to."""
        return with_scans(decision, self._codes)
