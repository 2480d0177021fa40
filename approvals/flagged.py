"""Content that the inbound filters flagged, or could not scan, makes a call with something of it wait for a person.

Where a task has read text that is spelt in invisible characters, a destination that stands nowhere else is denied: it
may have been spelt there. Guarantees: only ever stricter; a value that the user said is not held against the content
that repeats it; reads are not asked about. What was found is shown with the origin on the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf, in_field
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.detectors import Finding
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.index import DECODED

_SMUGGLING: Final = frozenset({"hidden-tags", "hidden-selectors", "hidden-bits"})
"""Findings that no honest text has: letters spelt in characters that nobody sees."""


@dataclass(frozen=True, slots=True)
class FlaggedContent:
    """A detector over the scans of one thread: ``scans`` holds the codes of each source that did not come out clean."""

    scans: Mapping[str, Sequence[str]]
    manifest: Manifest

    def __call__(self, request: ActionRequest, leaves: Sequence[AttributedLeaf], /) -> Sequence[Finding]:
        """Return one finding when an argument that is not the user's own came from such a source."""
        spec = self.manifest.find_called(request.tool, request.server, request.args)
        if not self.scans or spec is None or spec.effect is Effect.READ:
            return []
        if any(_SMUGGLING & set(codes) for codes in self.scans.values()) and any(
            _from_nowhere(leaf) for leaf in leaves
        ):
            return [Finding("smuggled-text", "deny")]
        touched = any(self._came_from(leaf) for leaf in leaves if not leaf.by_user)
        return [Finding("flagged-content", "review")] if touched else []

    def _came_from(self, leaf: AttributedLeaf) -> bool:
        """Say whether a value stands in a flagged source, and no trusted field elsewhere vouches for it.

        A contact's address from the address book stays that when the contact has written a mail beside a hostile one.
        """
        origins = leaf.attribution.origins
        if any(in_field(origin, leaf.spec) and origin.source not in self.scans for origin in origins):
            return False
        return any(origin.source in self.scans for origin in origins)


def _from_nowhere(leaf: AttributedLeaf) -> bool:
    """Say whether a value that needs somebody's word stands nowhere that anybody can see: nowhere, or only decoded."""
    if not leaf.authority_bearing or leaf.sufficient:
        return False
    return all(origin.field.path.endswith(DECODED) for origin in leaf.attribution.origins)


def with_scans(decision: Decision, scans: Mapping[str, Sequence[str]]) -> Decision:
    """Return ``decision`` with the codes of the scans beside each origin, for the record and the card."""
    if not scans:
        return decision
    arguments = tuple(
        replace(item, origins=tuple(_noted(origin, scans) for origin in item.origins)) for item in decision.arguments
    )
    return replace(decision, arguments=arguments)


def _noted(origin: dict[str, object], scans: Mapping[str, Sequence[str]]) -> dict[str, object]:
    codes = scans.get(str(origin.get("source", "")).partition("#")[0], ())
    return {**origin, "flags": list(codes)} if codes else origin
