"""A finding of the policy kit: where, what, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

_ACCEPTED: Final = re.compile(r"#\s*lint-ok:\s*([a-z-]+(?:,\s*[a-z-]+)*)\s+(\S.*)")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong, or looks wrong. Only an ``error`` fails the command."""

    file: str
    line: int
    code: str
    level: Literal["error", "warning"]
    field: str
    message: str
    remedy: str

    def __str__(self) -> str:
        """Return ``file:line: level [code] field: message (remedy)``."""
        return f"{self.file}:{self.line}: {self.level} [{self.code}] {self.field}: {self.message} ({self.remedy})"

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return asdict(self)


def without_accepted(findings: Iterable[Finding], text: str) -> list[Finding]:
    """Leave out what the author accepted on that very line: ``# lint-ok: CODE, CODE reason``, with a reason."""
    lines: Sequence[str] = text.splitlines()
    kept = []
    for finding in findings:
        line = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
        noted = _ACCEPTED.search(line)
        if noted is None or finding.code not in re.split(r",\s*", noted[1]):
            kept.append(finding)
    return sorted(set(kept))
