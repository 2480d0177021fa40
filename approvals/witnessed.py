"""Whether enough witnesses stand behind a log: a policy (:mod:`logpolicy`), applied to checkpoints that fit its tree.

1. Cosignatures of one checkpoint count together, wherever they were kept: in the database, in the file of the last
   checkpoint, in anchors.
2. A signature under the name and id of a witness of the policy that is not its signature is a finding: it was forged or
   damaged. So is a checkpoint of a witness that does not fit the tree; whoever judged the tree has found that.
3. The policy is met where the *newest* signed checkpoint is cosigned by a quorum. An older one that is says how much of
   the log the witnesses have seen; of the rest nothing can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.checkpoints import Checkpoint, Opened, is_signed_by
from checkvalve.approvals.logpolicy import Policy
from checkvalve.approvals.notes import MLDSA44, PublicKey, has_mldsa, signatures_of
from checkvalve.filters.strictjson import JSON

DO: Final = "tell the witnesses again (checkvalve audit seal), or give what they have cosigned (--anchor FILE)"
"""What helps where witnesses are missing."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """How far a policy is met: ``size`` events were cosigned by a quorum, of ``of`` that are signed."""

    quorum: str
    size: int
    of: int
    by: tuple[str, ...]  # who has cosigned the newest checkpoint
    lacks: tuple[str, ...]  # what is missing for it, in words
    forged: tuple[str, ...] = ()  # findings
    notes: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Say whether a quorum stands behind the newest checkpoint."""
        return not self.lacks

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        by: list[JSON] = [*self.by]
        lacks: list[JSON] = [*self.lacks]
        return {"quorum": self.quorum, "met": self.is_met, "size": self.size, "of": self.of, "by": by, "lacks": lacks}


def judge_witnesses(policy: Policy, kept: Iterable[tuple[str, Opened]]) -> Witnessed:
    """Apply a policy to checkpoints that are signed by the log and fit its tree, each with where it was kept."""
    together: dict[Checkpoint, set[str]] = {}
    forged: list[str] = []
    for source, found in kept:
        mine = together.setdefault(found.checkpoint, set())
        for name, good in _cosigned(policy.witnesses, found):
            if good:
                mine.add(name)
            else:
                forged.append(f"{source}: the signature of the witness {name} is not its own")
    sizes = [point.size for point, names in together.items() if policy.is_met(frozenset(names))]
    newest = max(together, key=lambda point: point.size, default=None)
    by = frozenset(together[newest]) if newest is not None else frozenset[str]()
    lacks = policy.lacks(by) if newest is not None else ["a signed checkpoint"]
    return Witnessed(
        policy.quorum or "none",
        max(sizes, default=0),
        newest.size if newest is not None else 0,
        tuple(name for name in policy.witnesses if name in by),
        tuple(lacks),
        tuple(dict.fromkeys(forged)),
        tuple(_doubts(policy)),
    )


def _cosigned(witnesses: Mapping[str, PublicKey], found: Opened) -> Iterator[tuple[str, bool]]:
    """Yield who has signed a checkpoint, and whether the signature is good; keys that cannot be used here sign not."""
    for name, key in witnesses.items():
        if signatures_of(found.note, key) and (key.kind != MLDSA44 or has_mldsa()):
            yield name, is_signed_by(found.note, found.checkpoint, key)


def _doubts(policy: Policy) -> Iterator[str]:
    for name in policy.twice():
        yield f"the witness {name} stands in the policy with several keys, and each counts for itself"
    if any(key.kind == MLDSA44 for key in policy.witnesses.values()) and not has_mldsa():
        yield "this machine's `cryptography` has no ML-DSA-44: witnesses with such keys count as silent"


__all__ = ["DO", "Witnessed", "judge_witnesses"]
