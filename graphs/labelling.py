"""The label that a thing carries as a whole when it enters a session, and the values whose labels are good."""

from __future__ import annotations

from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import UNKNOWN, Authority, Label, Readers, Source, Trust, join, user_label


def label_of(spec: ToolSpec | None, manifest: Manifest) -> Label:
    """Return the join of a tool's declared result fields; of a tool that nobody declared nothing is known."""
    if spec is None:
        return UNKNOWN
    return join(Label(rule.trust, Authority.NONE, rule.readers) for rule in field_rules(spec, manifest))


def speaker(authority: Authority, uri: str) -> Label:
    """Return the label of words of the user, or of the system."""
    if authority is Authority.USER:
        return user_label(uri=uri)
    return Label(Trust.AUTHORITATIVE, Authority.SYSTEM, Readers.everyone(), frozenset({Source("system", uri)}))


def verified_values(index: AttributionIndex, kind: str) -> frozenset[str]:
    """Return every value of this kind that stands in a field which outsiders cannot write."""
    found = (field for field in index.content_fields() if field.kind == kind and not field.echo)
    return frozenset(field.text for field in found if field.trust >= Trust.VERIFIED)


__all__ = ["label_of", "speaker", "verified_values"]
