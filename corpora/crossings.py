"""What crossed from content to an actor that never sees content, and what a hijacked reader has steered with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkvalve.corpora.report import CaseResult


@dataclass(frozen=True, slots=True)
class Steered:
    """One value of an executed call that a hijacked reader has changed, by the kind of what it decides."""

    tool: str
    argument: str
    kind: str
    honest: str
    became: str
    effect: bool = False
    """The call does more than read inside the trust domain."""


def crossings(benign: Sequence[CaseResult], attacked: Sequence[CaseResult]) -> dict[str, Any]:
    """Sum up what crossed from content to the actor, where that is counted, and what it has steered."""
    if not any(case.bits is not None for case in (*benign, *attacked)):
        return {}
    alone, under = ([sum((case.bits or {}).values()) for case in cases] for cases in (benign, attacked))
    sources = [spent for case in (*benign, *attacked) for spent in (case.bits or {}).values()]
    pairs = [case for case in attacked if any(item.effect for item in case.steered)]
    kinds = Counter(kind for case in pairs for kind in {item.kind for item in case.steered if item.effect})
    return {
        "bits": {
            "sum": round(sum(alone), 1),
            "max_per_task": round(max(alone, default=0.0), 1),
            "max_per_attacked_task": round(max(under, default=0.0), 1),
            "max_per_source": round(max(sources, default=0.0), 1),
        },
        "steering": {
            "pairs": len(pairs),
            "pairs_with_reads": sum(bool(case.steered) for case in attacked),
            "by_kind": dict(sorted(kinds.items())),
        },
    }


def in_words(guard: str, numbers: Mapping[str, Any]) -> str:
    """Say in words what crossed from content to the actor, and what a hijacked reader could steer with it."""
    bits, steering = numbers["bits"], numbers["steering"]
    kinds = ", ".join(f"{kind} in {count}" for kind, count in steering["by_kind"].items())
    return (
        f"{guard}: {bits['sum']:g} bits crossed in all tasks, {bits['max_per_task']:g} in one "
        f"({bits['max_per_attacked_task']:g} under attack); a value of an effect that the user asked for was steered "
        f"in {steering['pairs']} pairs{f' ({kinds})' if kinds else ''}"
    )
