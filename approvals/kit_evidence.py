"""Lint what a manifest trusts in results: whether the evidence says anything, and whether the field can be trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_words import MAYBE_STRANGERS, STRANGERS, parts
from checkvalve.approvals.toolspec import ToolSpec, WritableBy

MIN_WORDS: Final = 3
"""Words below which a sentence cannot say who writes a field and why nobody else can."""
_NOTHING: Final = re.compile(
    r"(?i)^\W*(?:todo|tbd|fixme|n/?a|none|yes|ok|true|x+|trusted|safe|because|unknown|see above|obvious)\b"
    r"[\w\s]{0,12}\W*$"
)
_HEDGED: Final = re.compile(
    r"(?i)\b(?:usually|normally|probably|should be|mostly|often|i think|presumably|typically|likely|"
    r"we trust|is trusted|seems?|hopefully)\b"
)
_EVERYTHING: Final = frozenset({"$", "**", "*", "*.*"})


def check_results(spec: ToolSpec, report: Callable[..., Finding]) -> Iterator[Finding]:
    """Yield what is wrong with the trusted fields of one tool."""
    written = set(parts(spec.name)) & (STRANGERS - {"page", "text", "content", "message", "messages"})
    for number, field in enumerate(spec.result):
        if field.writable_by is WritableBy.OUTSIDERS:
            continue
        place = ("result", number)
        if _NOTHING.match(field.evidence) or len(field.evidence.split()) < MIN_WORDS:
            yield report(
                "empty-evidence",
                f"{field.path!r} is trusted, and its evidence says nothing",
                "say who writes the field and why nobody outside can, or leave `writable_by` out",
                *place,
            )
        elif _HEDGED.search(field.evidence):
            yield report(
                "empty-evidence",
                f"the evidence for {field.path!r} is a guess",
                "trust it only where no outsider can write it, not where they rarely do",
                *place,
                level="warning",
            )
        last = field.path.rsplit(".", 1)[-1]
        words = set(parts(last))
        number_or_date = field.kind in {"number", "date"} or field.kind.startswith("id:")
        if number_or_date:
            continue
        if words & STRANGERS or (written and not words & {"id", "ids", "count"}):
            yield report(
                "stranger-field",
                f"{field.path!r} of {spec.name} is what other people write, and is called trusted",
                "leave `writable_by` out; accept it with `# lint-ok: stranger-field REASON` on this line if you must",
                *place,
            )
        elif words & MAYBE_STRANGERS:
            yield report(
                "stranger-field",
                f"a field called {last!r} is often an outsider's",
                "make sure that the evidence covers every way it gets its value",
                *place,
                level="warning",
            )
        elif field.path in _EVERYTHING and field.path != "$":
            yield report(
                "wide-trust",
                f"{field.path!r} trusts every field, those of the next version too",
                "name the fields",
                *place,
                level="warning",
            )
