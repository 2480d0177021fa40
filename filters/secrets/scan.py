"""Secrets in a text: where they are, and the text without them.

1. Values that were registered, in any form. 2. Keys by the form their vendors gave them. 3. Values that a name before
them calls secret. Hits become disjoint stretches, the longest first. Coming in, each is replaced by a coded mark; going
out, whoever sends decides. Nothing is ever tried out against a service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from checkvalve.filters.outcomes import (
    Channel,
    ContentOutcome,
    Edit,
    Finding,
    ScanResult,
    Severity,
    Status,
    apply_edits,
)
from checkvalve.filters.secrets.context import context_secrets
from checkvalve.filters.secrets.registered import NOTHING, Registered
from checkvalve.filters.secrets.vendors import SecretHit, vendor_secrets

REGISTERED: Final = "registered-value"
"""The code that values of the deployer are usually registered under."""


def find_secrets(text: str, registered: Registered = NOTHING) -> list[SecretHit]:
    """Return the secrets of ``text`` in order and without overlaps, in characters."""
    return merged([*registered.find(text), *vendor_secrets(text), *context_secrets(text)])


def redact_secrets(text: str, registered: Registered = NOTHING) -> ScanResult:
    """Return ``text`` with a mark in the place of each secret: what content becomes before a model reads it."""
    hits = find_secrets(text, registered)
    if not hits:
        return ScanResult(Status.CLEAN, ContentOutcome.PASS, text)
    shown, spans = apply_edits(text, [Edit(hit.start, hit.end, mark(hit.code), hit.code) for hit in hits])
    return ScanResult(Status.FLAGGED, ContentOutcome.SANITISE, shown, tuple(findings(text, hits)), spans)


def mark(code: str) -> str:
    """Return what is shown in the place of what was taken out for the reason ``code``."""
    return f"⟨removed: {code}⟩"


def merged(hits: Iterable[SecretHit]) -> list[SecretHit]:
    """Return disjoint hits: those that overlap become one stretch under the code of the longest."""
    found: list[SecretHit] = []
    for hit in sorted(hits, key=lambda one: (one.start, -one.end)):
        if found and hit.start < found[-1].end:
            last = found[-1]
            code = hit.code if hit.end - hit.start > last.end - last.start else last.code
            found[-1] = SecretHit(last.start, max(last.end, hit.end), code)
        else:
            found.append(hit)
    return found


def findings(text: str, hits: Iterable[SecretHit]) -> Iterator[Finding]:
    """Yield the findings of ``hits``, with places in bytes."""
    for hit in hits:
        start = len(text[: hit.start].encode("utf-8", "surrogatepass"))
        size = len(text[hit.start : hit.end].encode("utf-8", "surrogatepass"))
        yield Finding("secret", start, start + size, Channel.VISIBLE, Severity.HIGH, hit.code)
