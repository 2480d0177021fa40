"""Read the rules out of Cedar text: their ids, their decisions, and the line each starts on.

Cedar reports neither lines nor misspelt annotations, and calls rules ``policy0``, ``policy1`` by position; the text is
therefore cut at the semicolons that end rules, which Cedar uses for nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

import cedarpy

from checkvalve.approvals.errors import PolicyError
from checkvalve.approvals.strictyaml import nearest

ANNOTATIONS: Final = {
    "permit": frozenset({"id", "decision", "reason", "remedy", "description"}),
    "forbid": frozenset({"id", "reason", "remedy", "description"}),
}
"""What may be written before a rule; anything else is a misspelling that would change its meaning."""

MAX_NESTING: Final = 64
"""Brackets within brackets: the engine's parser recurses, and a few thousand end the whole process."""
MAX_RULE: Final = 10_000
"""Characters of one rule, for the same reason: a chain of operators nests as well."""

_DECISIONS: Final = ("allow", "review")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_BRACKET: Final = re.compile(r'//[^\n]*+|"(?:[^"\\]++|\\.)*+"?|[\[\](){}<>]', re.DOTALL)
_TOKEN: Final = re.compile(r'//[^\n]*+|"(?:[^"\\]++|\\.)*+"?|;|[^\s;"/]++|/', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``decision`` is ``deny`` for a ``forbid``; the last three are annotations for people."""

    id: str
    decision: Literal["allow", "review", "deny"]
    line: int
    reason: str = ""
    remedy: str = ""
    description: str = ""


def read_rules(text: str, name: str, *, reserved: Collection[str] = ()) -> dict[str, Rule]:
    """Return the rules of ``text`` in order, under the ids that Cedar gives them by position.

    Raises:
        PolicyError: the text does not parse, or a rule lacks what the loader requires of it.
    """
    check_nesting(text, name, "([{", ")]}")
    parts = _split(text)
    for line, part in parts:
        if len(part) > MAX_RULE:
            raise PolicyError(
                f"a rule of more than {MAX_RULE} characters", file=name, line=line, remedy="split it into several"
            )
    try:
        parsed = json.loads(cedarpy.policies_to_json_str(text))
    except ValueError as error:
        raise PolicyError(
            f"not Cedar: {error}", file=name, line=_broken(parts), remedy="mend the rule that begins there"
        ) from None
    except RecursionError:
        raise PolicyError(
            "a rule with too long a chain of operators", file=name, remedy="split it into several"
        ) from None
    if parsed.get("templates") or parsed.get("templateLinks"):
        raise PolicyError(
            "holds a template, which decides nothing", file=name, remedy="write out `?principal` and `?resource`"
        )
    policies = parsed["staticPolicies"]
    if not policies:
        raise PolicyError("holds no rule", file=name, remedy="everything would be denied; write at least one permit")
    if sorted(policies) != sorted(f"policy{number}" for number in range(len(parts))):
        raise PolicyError(
            "the rules cannot be told apart by line", file=name
        )  # our cut and Cedar's parser disagree: fail closed
    rules: dict[str, Rule] = {}
    used: dict[str, int] = dict.fromkeys(reserved, 0)
    for number, (line, _) in enumerate(parts):
        rule = _rule(policies[f"policy{number}"], line, name, used)
        used[rule.id] = line
        rules[f"policy{number}"] = rule
    return rules


def check_nesting(text: str, name: str, opening: str, closing: str) -> None:
    """Refuse text that nests deeper than the engine's parsers can take.

    Raises:
        PolicyError: with the line on which it gets too deep.
    """
    depth = 0
    for found in _BRACKET.finditer(text):
        mark = found.group()
        if mark in opening:
            depth += 1
        elif mark in closing:
            depth = max(0, depth - 1)
        if depth > MAX_NESTING:
            raise PolicyError(
                f"more than {MAX_NESTING} nested brackets", file=name, line=text.count("\n", 0, found.start()) + 1
            )


def _rule(policy: dict[str, object], line: int, name: str, used: dict[str, int]) -> Rule:
    """Check one rule: 1. known annotations only, each with a text; 2. its own id; 3. a decision exactly on a permit."""
    effect = str(policy["effect"])
    notes = policy.get("annotations") or {}
    rule_id = notes.get("id") if isinstance(notes, dict) else None
    known = ANNOTATIONS[effect]

    def fail(message: str, remedy: str) -> PolicyError:
        return PolicyError(
            message, file=name, line=line, field=rule_id if isinstance(rule_id, str) else "", remedy=remedy
        )

    texts: dict[str, str] = {}
    for key, value in notes.items() if isinstance(notes, dict) else ():
        if key not in known:
            remedy = "remove it: a forbid always denies" if key == "decision" else nearest(key, sorted(known))
            raise fail(f"unknown annotation `@{key}` on a {effect}", remedy)
        if not isinstance(value, str) or not value:
            raise fail(f"the annotation `@{key}` has no text", f'write `@{key}("...")`')
        texts[key] = value
    if "id" not in texts:
        raise fail(f"a {effect} without an id", 'write `@id("...")` before it')
    if not _ID.fullmatch(texts["id"]):
        raise fail("an id of other than small letters, digits, dots, dashes and underscores", "rename the rule")
    if texts["id"] in used:
        first = used[texts["id"]]
        raise fail(
            f"the id stands here a second time, first on line {first}" if first else "the id is reserved",
            "rename the rule",
        )
    if effect == "permit" and texts.get("decision") not in _DECISIONS:
        raise fail("a permit that does not say what it decides", 'write `@decision("allow")` or `@decision("review")`')
    decision: Literal["allow", "review", "deny"] = "deny"
    if effect == "permit":
        decision = "review" if texts["decision"] == "review" else "allow"
    return Rule(texts["id"], decision, line, *(texts.get(key, "") for key in ("reason", "remedy", "description")))


def _split(text: str) -> list[tuple[int, str]]:
    """Return each rule's first line, from 1, and its text; what follows the last semicolon is one more part."""
    parts: list[tuple[int, str]] = []
    start: int | None = None
    line = seen = 0
    for token in _TOKEN.finditer(text):
        if token.group().startswith("//"):
            continue
        if start is None:
            start = token.start()
            line += text.count("\n", seen, start)
            seen = start
        if token.group() == ";":
            parts.append((line + 1, text[start : token.end()]))
            start = None
    return parts if start is None else [*parts, (line + 1, text[start:])]


def _broken(parts: list[tuple[int, str]]) -> int | None:
    """Return the line of the first rule that does not parse by itself."""
    for line, part in parts:
        try:
            cedarpy.policies_to_json_str(part)
        except ValueError:
            return line
    return None
