"""The titles of tools in the policy kit: what a linter says of one, and the one that a draft proposes.

Guarantees: pure; a proposed title would load, and a name from a schema gets into it only as plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.titlespec import argument_of, pieces_of, title_problem
from checkvalve.approvals.toolspec import ToolSpec

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MAX_WORDS: Final = 6
_AIMS: Final[Mapping[Effect, tuple[Role, ...]]] = {
    Effect.SEND: (Role.TARGET, Role.SELECTOR),
    Effect.PAY: (Role.TARGET, Role.SELECTOR),
    Effect.EXECUTE: (Role.COMMAND, Role.TARGET),
}
"""Roles of the argument that a proposed title names, the first that there is; of other effects the record."""
_TO: Final = frozenset({Effect.SEND, Effect.PAY})


def check_title(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    """Yield what is allowed in a title, and unwise."""
    slots = [part for is_slot, part in pieces_of(spec.title) if is_slot]
    for name in slots:
        found = argument_of(name, spec.args)
        if found is not None and found.role is Role.CONTENT and found.kind == "text":
            yield report(
                "free-text-in-title",
                f"the headline would carry {name!r}, a text that anybody may have written",
                "name where it goes, or what it is about; of free text only the start is shown, as untrusted",
                "title",
                level="warning",
            )
    targets = [name for name, item in spec.args.items() if item.role is Role.TARGET and not item.optional]
    named = {name.partition(".")[0] for name in slots}
    if spec.title and targets and spec.effect is not Effect.READ and named.isdisjoint(targets):
        yield report(
            "title-without-target",
            "the headline does not say where it goes",
            f"name it in the title: {{{targets[0]}}}",
            "title",
            level="warning",
        )


def drafted_title(name: str, effect: Effect, roles: Mapping[str, Role]) -> str:
    """Return a title from a tool's name and the roles of its arguments; empty where its name gives none."""
    words = [word.lower() for word in _WORDS.findall(name)][:_MAX_WORDS]
    if not words or not words[0].isalpha():
        return ""
    sentence = " ".join(words).capitalize()
    roles = {name: role for name, role in roles.items() if _NAME.fullmatch(name)}
    aims = _AIMS.get(effect, (Role.SELECTOR, Role.TARGET))
    aim = next((arg for role in aims for arg, found in roles.items() if found is role), "")
    amount = next((arg for arg, role in roles.items() if role is Role.AMOUNT), "") if effect is Effect.PAY else ""
    title = sentence + (f" of {{{amount}}}" if amount else "")
    if aim:
        title += f"{' to' if effect in _TO else ':'} {{{aim}}}"
    declared = {arg: ArgumentSpec(role=role) for arg, role in roles.items()}
    return next((one for one in (title, sentence) if not title_problem(one, declared)), "")


__all__ = ["check_title", "drafted_title"]
