"""What an edited call is, before anything is stored: which values changed, whose they are, and that a person decides.

Guarantees: pure; a value that a reviewer typed has that reviewer as its first origin, untrusted, and is decided on as
what nobody is known to have said: only where it also stands in the user's words or in a trusted field does it count as
that; an edit is never allowed by a rule alone, so it always waits for a person; a yes to it accepts no typed value for
later calls.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from checkvalve.approvals.argument_leaves import leaves
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.hand import HAND, TYPED
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.verdicts import Allow, Review
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, parse_strict

EDITED: Final = "edited"
"""The rule by which an edited call waits for a person, and the code of the question that it replaces."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value of a call that an edit changed. A side that is None was not there."""

    path: str
    before: JSON
    after: JSON
    kind: str  # added, removed or changed

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        sides: dict[str, JSON] = {}
        if self.kind != "added":
            sides["before"] = self.before
        if self.kind != "removed":
            sides["after"] = self.after
        return {"path": self.path, "kind": self.kind, **sides}


def changes(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> list[Change]:
    """Return every scalar, and every empty list or object, that differs between two calls, in the order of the old."""
    old, new = _by_path(before), _by_path(after)
    found = []
    for path in {**old, **new}:
        one, two = old.get(path), new.get(path)
        if one is None or two is None:
            kind = "added" if one is None else "removed"
            found.append(Change(path, one and one[1], two and two[1], kind))
        elif one[0] != two[0]:
            found.append(Change(path, one[1], two[1], "changed"))
    return found


def _by_path(args: Mapping[str, JSON]) -> dict[str, tuple[list[str], JSON]]:
    """Return each value by its path; two that share one, since a name may hold a dot itself, are compared together."""
    found: dict[str, list[JSON]] = defaultdict(list)
    for path, value in leaves(dict(args)):
        found[path].append(value)
    return {path: ([_form(value) for value in values], values[0]) for path, values in found.items()}


def _form(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)  # here 1, 1.0 and true differ


def as_edit(decision: Decision, before: Mapping[str, JSON], after: Mapping[str, JSON], *, editor: str) -> Decision:
    """Return the fresh decision on an edited call as it is recorded.

    1. The editor is the first origin of each typed value. 2. What a rule would allow waits for a person; a refusal
    stays one. 3. Nothing is used up, and of what a yes would accept for later calls the typed values are left out.
    """
    typed = {item.path for item in changes(before, after)}
    arguments = tuple(_by_hand(item, editor) if item.path in typed else item for item in decision.arguments)
    hands = {_text(item.after) for item in changes(before, after)} | (_names(dict(after)) - _names(dict(before)))
    offered = tuple(item for item in decision.endorsable if item.value not in hands)
    verdict = decision.verdict
    if isinstance(verdict, Allow):
        verdict = Review(EDITED, EDITED, remedy_for(EDITED))
    first = (verdict.rule,) if verdict.rule == EDITED else ()
    rules = (*first, *decision.rules) if first else (*decision.rules, EDITED)
    return replace(
        decision, verdict=verdict, rules=rules, arguments=arguments, endorsable=offered, uses=(), mandate=None
    )


def _by_hand(item: ArgumentReport, editor: str) -> ArgumentReport:
    hand: dict[str, object] = {"source": f"{HAND}{editor}", "span": [0, 0], "match": TYPED, "trust": "untrusted"}
    return replace(item, origins=(hand, *item.origins))


def _names(value: JSON) -> set[str]:
    """Return every name of a field in a value, at any depth: an edit may type names as well."""
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def parse_as(old: JSON, text: str) -> JSON:
    """Return what a person typed for an argument, as the kind of value that stood there before.

    A text stays a text, whatever it looks like; a number stays a whole or a broken one where it can; everything else
    is JSON.

    Raises:
        QueueError: it is not a value of this kind.
    """
    if isinstance(old, str):
        return text
    try:
        found = parse_strict(text.strip())
    except HostileInputError:
        raise QueueError(f"this is not {_kind(old)}", remedy="an argument keeps its kind of value") from None
    if type(found) is not type(old) and old is not None and not (_is_number(found) and _is_number(old)):
        raise QueueError(f"this is not {_kind(old)}", remedy="an argument keeps its kind of value")
    return found


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "true or false"
    if _is_number(value):
        return "a number"
    return "a JSON list" if isinstance(value, list) else "a JSON object" if isinstance(value, dict) else "a JSON value"


__all__ = ["EDITED", "HAND", "TYPED", "Change", "as_edit", "changes", "parse_as"]
