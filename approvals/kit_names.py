"""Lint the names in a manifest against the schemas that are shipped or given: checks on a field that is not there.

Guarantees: pure; an argument that belongs to another tool is named with that tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_roles import guess_role
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.strictyaml import Document, dotted, nearest
from checkvalve.approvals.toolspec import Manifest, ToolSpec

Report = Callable[..., Finding]


def reporter(document: Document, name: str, key: str) -> Report:
    """Return a function that makes findings about one tool of a manifest."""

    def report(
        code: str, message: str, remedy: str, *steps: str | int, level: Literal["error", "warning"] = "error"
    ) -> Finding:
        path = ("tools", key, *steps)
        return Finding(name, document.line(path) or 1, code, level, dotted(path), message, remedy)

    return report


def schema_of(known: Mapping[str, ToolSchema], name: str) -> Mapping[str, Any] | None:
    """Return the schema of the tool called ``name``, where one was given."""
    return known[name].schema if name in known else None


def owners_of(manifest: Manifest, known: Mapping[str, ToolSchema]) -> dict[str, list[str]]:
    """Return which tools have an argument of a given name: those whose schema is shipped, and all that were given."""
    shipped: dict[str, object] = {name: tool.schema.get("properties") for name, tool in known.items()}
    for spec in manifest.tools.values():
        if spec.input_schema is not None:
            shipped[spec.name] = spec.input_schema.get("properties")
    found: dict[str, list[str]] = {}
    for tool, names in shipped.items():
        for argument in names if isinstance(names, Mapping) else ():
            found.setdefault(str(argument), []).append(tool)
    return found


def unknown_arguments(document: Document, name: str, schemas: Sequence[ToolSchema]) -> list[Finding]:
    """Name the tool that a misplaced argument belongs to, where the manifest does not load because of it."""
    tools = document.value.get("tools") if isinstance(document.value, dict) else None
    properties = {tool.name: set(tool.arguments) for tool in schemas}
    declared: dict[str, set[str]] = {}
    for key, spec in tools.items() if isinstance(tools, dict) else ():
        if not isinstance(spec, dict):
            continue
        shipped = spec.get("input_schema")
        members = shipped.get("properties") if isinstance(shipped, dict) else None
        if isinstance(members, dict):
            properties[key] = set(members)
        arguments = spec.get("args")
        declared[key] = set(arguments) if isinstance(arguments, dict) else set()
    owners: dict[str, list[str]] = {}
    for key, names in properties.items():
        for argument in names:
            owners.setdefault(argument, []).append(key)
    return [
        _misplaced(key, argument, sorted(properties[key]), owners, reporter(document, name, key))
        for key, given in declared.items()
        for argument in sorted(given - properties.get(key, given))
    ]


def _misplaced(
    tool: str, argument: str, known: list[str], owners: Mapping[str, Sequence[str]], report: Report
) -> Finding:
    others = [other for other in owners.get(argument, ()) if other != tool]
    if others:
        message = f"{tool} has no argument {argument!r}; {', '.join(others)} has"
        remedy = f"move it to {others[0]}, and declare the arguments that {tool} really has: {', '.join(known)}"
        return report("other-tools-argument", message, remedy, "args", argument)
    return report(
        "unknown-argument", f"{tool} has no argument {argument!r}", nearest(argument, known), "args", argument
    )


def check_names(
    spec: ToolSpec,
    shipped: Mapping[str, Any] | None,
    owners: Mapping[str, Sequence[str]],
    report: Report,
    *,
    ships: bool,
) -> Iterator[Finding]:
    """Yield arguments that the tool does not have, and those it has that nobody declared."""
    if shipped is None:
        if ships:
            yield report("unknown-tool", "no such tool in the schemas given", "remove it, or correct its name")
        elif spec.args and spec.schema_digest is None:
            yield report(
                "not-pinned",
                "no schema is shipped or pinned, so the names of arguments cannot be checked",
                "give `--tools FILE`, and run `checkvalve policy pin`",
                level="warning",
            )
        return
    properties = shipped.get("properties")
    known = [str(name) for name in properties] if isinstance(properties, Mapping) else []
    for argument in spec.args:
        if argument not in known:
            yield _misplaced(spec.name, argument, known, owners, report)
    tried = spec.preview.dry_run if spec.preview is not None else ()  # the gateway's own argument
    for argument in known:
        if argument not in (*spec.args, *tried) and (spec.effect is not Effect.READ or spec.leaves_domain):
            yield report(
                "undeclared-argument",
                f"the tool also takes {argument!r}: "
                + ("a call with it is denied" if spec.args else "it counts as a target of any kind"),
                f"declare it: {argument}: {{role: {guess_role(argument, spec.effect)[0]}}}",
                "args",
                level="warning",
            )
