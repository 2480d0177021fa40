"""Detectors look at a call and may only raise friction: a finding makes a verdict stricter, never more lenient.

Guarantees: a detector that raises counts as a finding of its own and denies the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from checkvalve.approvals.attributed import AttributedLeaf
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.verdicts import Deny, Review, Verdict, strictest
from checkvalve.filters.normalise import has_invisible, is_invisible

_JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3")
"""What emoji and several scripts need; harmless between visible characters."""
_FLAG: Final = "\U0001f3f4"
_REAL_FLAGS: Final = tuple(
    _FLAG + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The three flags made with tag characters that exist: England, Scotland, Wales. Any other tags spell hidden text."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a detector saw: a stable code, and how strict the verdict has to become."""

    code: str
    severity: Literal["review", "deny"] = "review"


class Detector(Protocol):
    """A pure function of the call; it may be slow and it may be wrong, so it can only make things stricter."""

    def __call__(self, request: ActionRequest, leaves: Sequence[AttributedLeaf], /) -> Sequence[Finding]:
        """Return the findings, empty when there is nothing to say."""
        ...


def hidden_text(_request: ActionRequest, leaves: Sequence[AttributedLeaf], /) -> Sequence[Finding]:
    """Find characters a reviewer cannot see: tags, direction changes, other format and control characters.

    The three subdivision flags that exist and joiners between visible characters are ordinary text.
    """
    hidden = any(isinstance(item.leaf.value, str) and _hides(item.leaf.value) for item in leaves)
    return [Finding("hidden-text", "deny")] if hidden else []


def _hides(text: str) -> bool:
    if not has_invisible(text):
        return False
    for flag in _REAL_FLAGS:
        text = text.replace(flag, _FLAG)
    return any(
        is_invisible(char) and not (char in _JOINERS and position > 0 and not is_invisible(text[position - 1]))
        for position, char in enumerate(text)
    )


BUILT_IN: Final[tuple[Detector, ...]] = (hidden_text,)


def tighten(
    verdict: Verdict, detectors: Sequence[Detector], request: ActionRequest, leaves: Sequence[AttributedLeaf]
) -> Verdict:
    """Return ``verdict``, made stricter by what the detectors find."""
    for detector in detectors:
        try:
            findings = list(detector(request, leaves))
        except Exception:  # noqa: BLE001 - somebody else's code: whatever it raises, the call does not run
            return strictest(verdict, Deny("detector-failed", "detector-failed", remedy_for("detector-failed")))
        for finding in findings:
            answer = Deny if finding.severity == "deny" else Review
            verdict = strictest(verdict, answer(finding.code, finding.code, remedy_for(finding.code)))
    return verdict
