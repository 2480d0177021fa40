"""What the inbound filters say of labelled texts: counted by corpus and group for attacks, by kind for harmless texts.

There is no pooled number: corpora differ in what they call an attack, and their rows repeat one another. A share is the
mean over groups of the share of a group's rows; its interval is Wilson's at 95 %, with groups as the sample.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from checkvalve.corpora.texts.disguises import ATTACK, CARRIER, DISGUISES, FORMS, TWIN
from checkvalve.corpora.texts.rows import Row
from checkvalve.corpora.texts.surfaces import SURFACES
from checkvalve.filters.inbound import scan_inbound
from checkvalve.filters.outcomes import ScanResult, Severity, Status

HALVES: Final = ("dev", "held-out")
_Z: Final = 1.96
WHOLE: Final = frozenset({"letters in tags", "meta description"})
"""Disguises that are a page of their own and stand in no mail; those that begin like a file do so, too."""


@dataclass(slots=True)
class Share:
    """How many of some rows ended how; groups count once each."""

    rows: int = 0
    groups: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, Status), 0))

    def add(self, group: str, result: ScanResult) -> None:
        """Count one row."""
        self.rows += 1
        self.groups[group].append(result.status is Status.FLAGGED)
        self.statuses[str(result.status)] += 1

    @property
    def flagged(self) -> float:
        """The mean over groups of the share of flagged rows."""
        if not self.groups:
            return 0.0
        return sum(sum(marks) / len(marks) for marks in self.groups.values()) / len(self.groups)

    def interval(self) -> tuple[float, float]:
        """Return Wilson's interval at 95 %, with groups as the sample."""
        n, p = len(self.groups), self.flagged
        if not n:
            return 0.0, 1.0
        middle, width = p + _Z**2 / (2 * n), _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
        return max(0.0, (middle - width) / (1 + _Z**2 / n)), min(1.0, (middle + width) / (1 + _Z**2 / n))

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        low, high = self.interval()
        return {
            "rows": self.rows,
            "groups": len(self.groups),
            "flagged": round(self.flagged, 4),
            "interval": [round(low, 4), round(high, 4)],
            **{"flagged_rows" if name == "flagged" else name: count for name, count in self.statuses.items()},
        }


@dataclass(frozen=True, slots=True)
class Caught:
    """What became of one technique: of the attack, and of the harmless sentence in the same disguise."""

    technique: str
    status: str
    twin: str


@dataclass(slots=True)
class TextsReport:
    """Everything that was measured."""

    attacks: dict[tuple[str, str], Share] = field(default_factory=lambda: defaultdict(Share))
    harmless: dict[tuple[str, str], Share] = field(default_factory=lambda: defaultdict(Share))
    techniques: list[Caught] = field(default_factory=list)

    def kinds(self) -> list[tuple[str, str]]:
        """Return corpus and kind of the harmless texts, in order."""
        return sorted(self.harmless)

    def corpora(self) -> list[str]:
        """Return the corpora that hold attacks, in order."""
        return sorted({corpus for corpus, _ in self.attacks})

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return {
            "attacks": {name: {half: self.attacks[name, half].to_json() for half in HALVES} for name in self.corpora()},
            "harmless": [{"corpus": c, "kind": kind, **self.harmless[c, kind].to_json()} for c, kind in self.kinds()],
            "techniques": [asdict(item) for item in self.techniques],
        }


def measure(rows: Iterable[Row]) -> TextsReport:
    """Scan every row, each on its own and with no clock, so that a run repeats exactly."""
    report = TextsReport()
    for row in rows:
        result = scan_inbound(row.content, tools=row.carrier == "tool_description")
        if row.attack:
            report.attacks[row.corpus, row.half].add(row.group, result)
        else:
            report.harmless[row.corpus, row.kind].add(row.group, result)
    report.techniques = techniques()
    return report


def techniques() -> list[Caught]:
    """Return what becomes of each technique of our own list."""
    found = [Caught(name, _status(name, ATTACK), _status(name, TWIN)) for name in DISGUISES]
    found += [Caught(name, said(scan(ATTACK)), said(scan(TWIN))) for name, scan in SURFACES.items()]
    return found + [Caught(name, str(scan_inbound(text).status), "-") for name, text in FORMS.items()]


def said(result: ScanResult) -> str:
    """Return ``flagged`` where something of weight was found: beside a picture, too, whose status is ``unscanned``."""
    heavy = any(item.severity >= Severity.MEDIUM for item in result.findings)
    return str(Status.FLAGGED if heavy else result.status)


def disguised(name: str, sentence: str) -> str:
    """Return ``sentence`` in a disguise, inside the mail that carries it unless it is a file of its own."""
    text = DISGUISES[name](sentence)
    alone = name in WHOLE or text.startswith(("{", "id,", "service:", "BEGIN:", "From:"))
    return text if alone else CARRIER.format(text)


def _status(name: str, sentence: str) -> str:
    return str(scan_inbound(disguised(name, sentence)).status)


def worst_first(shares: Mapping[tuple[str, str], Share]) -> list[tuple[str, str]]:
    """Return the keys, those with the largest share of flagged rows first."""
    return sorted(shares, key=lambda key: (-shares[key].flagged, key))
