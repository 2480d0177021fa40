"""Lint a manifest: what loads, and is wrong all the same.

Each check is one function over one tool: 1. an effect weaker than the tool's name; 2. sinks that nothing guards;
3. roles that cannot be; 4. names that the schema does not have; 5. trust without real evidence; 6. what is missing.

Guarantees: pure; a finding has file, line, code and remedy; only ``error`` fails the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.kit_asks import asks_for_name
from checkvalve.approvals.kit_commands import check_commands
from checkvalve.approvals.kit_evidence import check_results
from checkvalve.approvals.kit_findings import Finding, without_accepted
from checkvalve.approvals.kit_names import Report, check_names, owners_of, reporter, schema_of, unknown_arguments
from checkvalve.approvals.kit_pins import check_pins
from checkvalve.approvals.kit_preview import check_preview
from checkvalve.approvals.kit_retries import check_retries
from checkvalve.approvals.kit_roles import guess_role
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.kit_titles import check_title
from checkvalve.approvals.kit_variants import check_variants
from checkvalve.approvals.kit_words import RANK, guess_effect, leaves_domain
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.strictyaml import Document, read_yaml
from checkvalve.approvals.toolspec import Idempotency, ToolSpec

_IMPOSSIBLE: Final[Mapping[Role, frozenset[str]]] = {
    Role.TARGET: frozenset({"number", "date"}),
    Role.CREDENTIAL: frozenset({"number", "date", "email", "url", "host", "channel"}),
    Role.AMOUNT: frozenset({"email", "url", "host", "account", "phone", "path", "channel", "user", "name", "date"}),
    Role.COMMAND: frozenset({"number", "date", "email", "phone", "account", "channel", "user"}),
    Role.CONTENT: frozenset({"email", "url", "host", "account", "phone", "channel"}),
}
"""Kinds that a role cannot have; content of such a kind is a destination by another name."""
_CARRIES: Final = frozenset({Role.TARGET, Role.SELECTOR, Role.COMMAND, Role.CREDENTIAL, Role.AMOUNT})
_LOUD: Final = frozenset({Role.TARGET, Role.CREDENTIAL, Role.AMOUNT, Role.COMMAND, Role.SELECTOR})


def lint_manifest(text: str, name: str, schemas: Sequence[ToolSchema] = ()) -> list[Finding]:
    """Return everything that is wrong with a manifest, in the order of its lines; ``schemas`` are the real tools."""
    document: Document | None = None
    try:
        document = read_yaml(text, name)
        manifest = parse_manifest(text, name)
    except ManifestError as error:
        found = Finding(
            name, error.line or 1, "does-not-load", "error", error.field, error.message, error.remedy or "mend it"
        )
        unknown = unknown_arguments(document, name, schemas) if document is not None else []
        return sorted({found, *unknown})
    known = {tool.name: tool for tool in schemas}
    owners = owners_of(manifest, known)
    findings: list[Finding] = []
    for key, spec in manifest.tools.items():
        report = reporter(document, name, key)
        shipped = spec.input_schema if spec.input_schema is not None else schema_of(known, spec.name)
        findings += _effect(spec, report)
        findings += _sinks(spec, report)
        for path, argument, schema in _arguments(spec, shipped):
            findings += _argument(spec, path, argument, schema, report)
        findings += check_names(spec, shipped, owners, report, ships=bool(schemas))
        findings += check_results(spec, report)
        findings += _missing(spec, report)
        findings += check_commands(spec, report)
        findings += check_preview(spec, shipped, report)
        findings += check_pins(spec, shipped, manifest, report)
        findings += check_retries(spec, report)
        findings += check_variants(spec, report)
        findings += check_title(spec, report)
    return without_accepted(_together(findings), text)


def _together(findings: Sequence[Finding]) -> list[Finding]:
    """Say once for the file what is true of several tools: that nobody can check the names of their arguments."""
    loose = [item for item in findings if item.code == "not-pinned"]
    if len(loose) < 2:  # noqa: PLR2004 - one is said as it is
        return list(findings)
    message = (
        f"{len(loose)} tools have no schema that is shipped or pinned, so the names of arguments cannot be checked"
    )
    kept = [item for item in findings if item.code != "not-pinned"]
    return [*kept, replace(loose[0], field="tools", message=message)]


def _effect(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    guessed, sure = guess_effect(spec.name)
    if sure != "low" and RANK[spec.effect] < RANK[guessed]:
        level = "error" if sure == "high" else "warning"
        yield report(
            "weak-effect",
            f"a tool of this name is a `{guessed}`, not a `{spec.effect}`",
            f"write `effect: {guessed}`",
            "effect",
            level=level,
        )
    if spec.effect is Effect.READ and not spec.leaves_domain and leaves_domain(spec.name, list(spec.args)):
        yield report(
            "weak-effect",
            "a read that seems to carry its arguments outside the trust domain",
            "write `leaves_domain: true`",
            "effect",
        )
    if spec.effect is not Effect.READ and spec.idempotency is Idempotency.READ:
        yield report(
            "retried-effect",
            f"`idempotency: read` lets a `{spec.effect}` run again after a crash",
            "leave `idempotency` out, or use `key` where the server knows repeated calls",
            "idempotency",
        )


def _sinks(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    if spec.effect is Effect.READ and not spec.leaves_domain:
        return
    if not spec.args:
        return  # whatever is passed is a target
    arguments = list(_every(spec.args))
    needed = {
        Effect.SEND: Role.TARGET,
        Effect.PAY: Role.TARGET,
        Effect.EXECUTE: Role.COMMAND,
    }.get(spec.effect)
    if not any(item.role in _CARRIES for item in arguments) and (needed or spec.effect is Effect.DELETE):
        yield report(
            "unguarded-sink",
            f"a `{spec.effect}` none of whose arguments needs anybody's word",
            f"give the argument that says where or what the role `{needed or Role.SELECTOR}`",
            "args",
        )
    elif needed and not any(item.role is needed for item in arguments):
        yield report(
            "unguarded-sink",
            f"a `{spec.effect}` without an argument of role `{needed}`",
            f"give the argument that decides it the role `{needed}`",
            "args",
            level="warning",
        )
    targets = [item for item in arguments if item.role is Role.TARGET]
    if spec.effect in {Effect.SEND, Effect.PAY} and targets and all(item.optional for item in targets):
        yield report(
            "unguarded-sink",
            "every destination is optional, so a call with none of them counts as going nowhere",
            "leave `optional` out for the argument that names the destination; where a record decides who gets it, its "
            "id is the `target`",
            "args",
            level="error" if guess_effect(spec.name) == (spec.effect, "high") else "warning",
        )


def _every(args: Mapping[str, ArgumentSpec]) -> Iterator[ArgumentSpec]:
    for item in args.values():
        yield item
        yield from _every(item.fields)


def _arguments(
    spec: ToolSpec, shipped: Mapping[str, Any] | None
) -> Iterator[tuple[tuple[str, ...], ArgumentSpec, Mapping[str, Any]]]:
    properties = (shipped or {}).get("properties")
    known = properties if isinstance(properties, Mapping) else {}

    def walk(path: tuple[str, ...], args: Mapping[str, ArgumentSpec]) -> Iterator[Any]:
        for name, argument in args.items():
            schema = known.get(name) if not path else None
            yield (
                (*path, "args", name) if not path else (*path, "fields", name),
                argument,
                (schema if isinstance(schema, Mapping) else {}),
            )
            yield from walk((*path, "args", name) if not path else (*path, "fields", name), argument.fields)

    yield from walk((), spec.args)


def _argument(
    spec: ToolSpec, path: tuple[str, ...], item: ArgumentSpec, schema: Mapping[str, Any], report: Report
) -> Iterator[Finding]:
    """Check one argument: 1. its kind fits its role; 2. its type does; 3. content is no destination by its name."""
    kinds = _IMPOSSIBLE.get(item.role, frozenset())
    if item.kind in kinds or (item.role is Role.CONTENT and item.kind.startswith("id:")):
        guess = guess_role(path[-1], spec.effect, final=True)[0]
        better = guess if guess is not item.role else Role.TARGET if item.role is Role.CONTENT else Role.CONTROL
        yield report(
            "content-is-target" if item.role is Role.CONTENT else "impossible-role",
            f"a `{item.role}` cannot be of kind `{item.kind}`",
            f"write `role: {better}`, or another kind",
            *path,
        )
        return
    kind = schema.get("type")
    if kind == "boolean" and item.role not in {Role.CONTROL, Role.CONTENT}:
        yield report("impossible-role", f"a switch is no `{item.role}`", "write `role: control`", *path)
    if kind in {"number", "integer"} and item.role in {Role.COMMAND, Role.CREDENTIAL}:
        yield report("impossible-role", f"a number is no `{item.role}`", "write another role", *path, level="warning")
    if item.role in {Role.CONTENT, Role.CONTROL} and (spec.effect is not Effect.READ or spec.leaves_domain):
        guess, _, sure = guess_role(path[-1], spec.effect, str(kind or ""), final=True)
        if guess in _LOUD and guess is not item.role and sure in {"high", "medium"} and not item.fields:
            code = "credential-as-content" if guess is Role.CREDENTIAL else "content-is-target"
            clear = guess in {Role.CREDENTIAL, Role.AMOUNT} or (guess is Role.TARGET and sure == "high")
            yield report(
                code,
                f"{path[-1]!r} looks like a `{guess}`, and as `{item.role}` nobody's word is needed for it",
                f"write `role: {guess}`",
                *path,
                level="error" if clear or guess is Role.SELECTOR else "warning",
            )
    if item.safe_values and item.role is not Role.CONTROL:
        yield report(
            "no-effect",
            f"`safe_values` means nothing for a `{item.role}`",
            "leave it out, or write `role: control`",
            *path,
            "safe_values",
            level="warning",
        )
    if item.role in _LOUD and "user" not in item.accepts:
        yield report(
            "contradiction",
            "not even the user's own words suffice for it" if item.accepts else "nothing suffices for it",
            "leave `accepts` out, or add `user`",
            *path,
            "accepts",
            level="warning",
        )


def _missing(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    if spec.effect is Effect.READ:
        return
    if not spec.asks and spec.effect is not Effect.EXECUTE:
        yield report(
            "no-asks",
            "no words that ask for it, so only those of its name count",
            f"write `asks: [{', '.join(asks_for_name(spec.name))}]`, and the words your users say",
            level="warning",
        )
    if spec.effect is Effect.PAY and spec.limits.amount is None:
        yield report(
            "no-limit", "a payment without a limit", "write `limits: {amount: ...}`", "limits", level="warning"
        )
    if spec.reversible and not spec.undo:
        yield report(
            "no-undo",
            "reversible, without a word on how",
            "say in `undo` what takes it back",
            "reversible",
            level="warning",
        )
    if spec.undo_with is not None and not spec.undo:
        yield report(
            "no-undo",
            "undone by a call, without a word on what stays all the same",
            "say in `undo` what the call takes back, and what it does not",
            "undo_with",
            level="warning",
        )
