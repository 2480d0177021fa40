"""What is proposed as the rules of this gateway: the files of its settings, or others, against what is in force.

1. A part that is given counts as given; 2. one that is asked for, or all of them where nothing is said, is read from
where the settings say; 3. any other stays what is in force. 4. What can be used is compared and tried on the record.

Guarantees: nothing is stored here; every surface proposes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.rule_draft import RuleDraft
from checkvalve.approvals.ruleset_store import RuleChange
from checkvalve.approvals.rulesets import NAMES, PARTS, Line, RuleText, difference
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.rule_impact import Place, impact_of
from checkvalve.gateway.rulefiles import (
    check_texts,
    deciding_settings,
    manifest_text,
    policy_text,
    review_text,
    schema_text,
)

GIVEN = ("manifest", "policy", "review")
"""Parts that may be given as a text; the others follow from the program and its settings."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to propose. ``given`` are texts by part; ``parts`` those to read, none for all."""

    given: Mapping[str, RuleText]
    parts: Collection[str] = ()
    note: str = ""
    overlap: int = 0


def draft_of(place: Place, wanted: Wanted) -> RuleDraft:
    """Return the draft of a change, with what it would have changed.

    Raises:
        ConfigError, SettingsError: a file cannot be used.
        QueueError: there is no such part, or the first adoption leaves one out.
    """
    known = place.queue.rule_changes
    if unknown := sorted({*wanted.parts, *wanted.given} - set(PARTS)):
        raise QueueError(f"there is no part {unknown[0]!r} of the rules", remedy=f"known are {', '.join(PARTS)}")
    current = known.current()
    before = known.texts(current)
    texts = {part: RuleText(part, text, f"{NAMES[part]} in force") for part, text in before.items()}
    texts |= _read(place, wanted, has_base=bool(before)) | dict(wanted.given)
    if missing := [part for part in PARTS if part not in texts]:
        raise QueueError(
            f"nothing is in force yet, so all parts are adopted together: {', '.join(missing)} missing",
            remedy="leave out --part",
        )
    check_texts(texts)
    after = {part: texts[part].text for part in PARTS}
    impact = impact_of(place, before, after)
    return RuleDraft(after, current.id if current else "", impact, wanted.note, wanted.overlap)


def _read(place: Place, wanted: Wanted, *, has_base: bool) -> dict[str, RuleText]:
    """Return the parts that are read from where the settings say."""
    settings = place.settings
    asked = set(wanted.parts) or set(PARTS) - ({"manifest"} if has_base and settings.manifest is None else set())
    readers: dict[str, Callable[[], RuleText]] = {
        "manifest": lambda: manifest_text(settings),
        "policy": lambda: policy_text(settings.policy),
        "schema": schema_text,
        "review": lambda: review_text(settings.review_rules),
        "settings": lambda: deciding_settings(settings),
    }
    return {part: readers[part]() for part in PARTS if part in asked and part not in wanted.given}


def files_here(place: Place) -> dict[str, RuleText]:
    """Return the parts as they are where this process runs; no manifest where the settings name none."""
    return _read(place, Wanted({}), has_base=place.settings.manifest is None)


def differing(place: Place, current: RuleChange | None) -> list[RuleText]:
    """Return the parts that here are other than what is in force; none where nothing is."""
    if current is None:
        return []
    return [text for part, text in files_here(place).items() if current.parts.get(part) != text.digest]


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, list[Line]]:
    """Return how two sets of rules differ, by part; parts that are the same are left out."""
    found = {part: difference(before.get(part, ""), after.get(part, "")) for part in PARTS}
    return {part: lines for part, lines in found.items() if lines}


def texts_of_base(place: Place, change: RuleChange) -> dict[str, str]:
    """Return the texts that a change was compared with; none where nothing was in force."""
    known = place.queue.rule_changes
    base = next((item for item in known.list() if item.id == change.base), None)
    return known.texts(base)


def whole(place: Place, change: RuleChange) -> dict[str, JSON]:
    """Return one change with its differences, for programs."""
    lines = differences(texts_of_base(place, change), place.queue.rule_changes.texts(change))
    told: dict[str, JSON] = {part: [_line(line) for line in found] for part, found in lines.items()}
    return {**change.to_json(), "differences": told}


def _line(line: Line) -> JSON:
    if line.kind == "skipped":
        return {"kind": line.kind, "count": line.count}
    return {"kind": line.kind, "text": line.text, **({"no_line_end": True} if line.unended else {})}


__all__ = ["GIVEN", "Wanted", "differences", "differing", "draft_of", "files_here", "texts_of_base", "whole"]
