"""Lint what a manifest trusts in results: whether the evidence says anything, and whether the field can be trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from checkvalve.approvals.fieldspec import ResultField, WritableBy
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_words import MAYBE_STRANGERS, STRANGERS, parts
from checkvalve.approvals.toolspec import ToolSpec

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
    """Yield what is wrong with the fields of one tool: 1. names that strangers choose; 2. evidence; 3. trust."""
    for number, field in enumerate(spec.result):
        place = ("result", number)
        if field.writable_by is WritableBy.OUTSIDERS:
            if field.names_record and not field.evidence:
                yield report(
                    "named-by-strangers",
                    f"outsiders choose {field.path!r}, and people call the record by it",
                    "say in `evidence` why nobody can pass off a record of his own, or leave `names_record` out",
                    *place,
                    level="warning",
                )
            continue
        yield from _evidence(field, place, report)
        yield from _trust(spec, field, place, report)


def _evidence(field: ResultField, place: tuple[str | int, ...], report: Callable[..., Finding]) -> Iterator[Finding]:
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


def _trust(
    spec: ToolSpec, field: ResultField, place: tuple[str | int, ...], report: Callable[..., Finding]
) -> Iterator[Finding]:
    """Judge by the name whether a field can be what it is declared. Whoever acted may be anybody, if it is a stamp."""
    if field.kind in {"number", "date"} or field.kind.startswith("id:"):
        return
    last = field.path.rsplit(".", 1)[-1]
    words = set(parts(last))
    written = set(parts(spec.name)) & (STRANGERS - {"page", "text", "content", "message", "messages"})
    if words & STRANGERS or (written and field.trusted and not words & {"id", "ids", "count"}):
        yield report(
            "stranger-field",
            f"{field.path!r} of {spec.name} is what other people write, and is called "
            + ("trusted" if field.trusted else "a stamp of the system"),
            "leave `writable_by` out; accept it with `# lint-ok: stranger-field REASON` on this line if you must",
            *place,
        )
    elif words & MAYBE_STRANGERS and field.trusted and not field.when:
        yield report(
            "stranger-field",
            f"a field called {last!r} is often an outsider's",
            "make sure that the evidence covers every way it gets its value; `stamped` is for whoever acted",
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
