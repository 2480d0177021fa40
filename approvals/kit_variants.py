"""Draft and lint what a tool is when an argument has certain values: one tool that reads, writes and deletes.

Guarantees: pure; a draft writes a weaker form as a comment only, for a person to say; a value that names a stronger
effect makes the draft of the whole tool stricter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.kit_arguments import plain
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.kit_schemas import ToolSchema
from checkvalve.approvals.kit_words import RANK, guess_effect, parts
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.approvals.variants import VariantSpec

_CHOOSES: Final = frozenset({"action", "operation", "op", "method", "verb", "mode", "command", "function", "kind"})
"""Words in the name of an argument that chooses what the tool does."""
_OVERRIDES: Final = frozenset({"header", "headers", "override", "options", "extra", "params"})
"""Words in the name of an argument that could say once more what the tool does, against the first."""


def choices(tool: ToolSchema) -> Iterator[tuple[str, dict[str, Effect]]]:
    """Yield each argument that chooses what a tool does, with the effect that each of its values names."""
    for name, schema in tool.arguments.items():
        listed = plain(schema).get("enum") if isinstance(schema, Mapping) else None
        if not isinstance(listed, list) or not set(parts(name)) & _CHOOSES:
            continue
        guessed = {str(value): guess_effect(str(value)) for value in listed if isinstance(value, str)}
        found = {value: effect for value, (effect, sure) in guessed.items() if sure == "high"}
        if found:
            yield name, found


def strongest_choice(tool: ToolSchema) -> Effect | None:
    """Return the strongest effect that a value of an argument names, None where none does."""
    named = [effect for _, found in choices(tool) for effect in found.values()]
    return max(named, key=RANK.__getitem__, default=None)


def drafted_variants(tool: ToolSchema, effect: Effect) -> Iterator[str]:
    """Yield, as comments of a draft, the weaker forms that a person could declare."""
    for name, found in choices(tool):
        for weaker in sorted({one for one in found.values() if RANK[one] < RANK[effect]}, key=RANK.__getitem__):
            values = ", ".join(value for value, one in found.items() if one is weaker and value.isidentifier())
            if values and name.isidentifier():
                said = f"when: {{{name}: [{values}]}}, effect: {weaker}, evidence: why it does nothing else then"
                yield f"    # variants: [{{{said}}}]"


def check_variants(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    """Yield what is wrong with the variants of one tool.

    1. A form stronger than the tool: whatever fits no variant would count as the weaker one. 2. A form weaker than one
    of its values says. 3. A form that an earlier one hides. 4. An argument that could say otherwise, and is left.
    """
    for place, variant in enumerate(spec.variants):
        where = ("variants", place)
        if RANK[variant.effect] > RANK[spec.effect]:
            yield report(
                "weak-effect",
                f"another spelling of these values would count as a `{spec.effect}`",
                f"declare the tool as its strongest form, `effect: {variant.effect}`, and the weaker ones as variants",
                *where,
                "effect",
            )
        yield from _values(variant, where, report)
        if any(_hides(earlier, variant) for earlier in spec.variants[:place]):
            yield report("unreachable", "an earlier variant fits every such call", "delete it, or put it first", *where)
        loose = [name for name in spec.args if name not in (*variant.when, *variant.without) and _may_override(name)]
        if loose and RANK[variant.effect] < RANK[spec.effect]:
            yield report(
                "loose-variant",
                f"{loose[0]!r} could say that the call does something else, as the header X-HTTP-Method-Override does",
                f"write `without: [{', '.join(loose)}]`, or make sure that it cannot",
                *where,
                level="warning",
            )


def _values(variant: VariantSpec, where: tuple[str, int], report: Report) -> Iterator[Finding]:
    for name, values in variant.when.items():
        for value in values:
            named, sure = guess_effect(str(value)) if isinstance(value, str) else (variant.effect, "low")
            if sure == "high" and RANK[named] > RANK[variant.effect]:
                yield report(
                    "weak-effect",
                    f"`{name}: {value}` sounds like a `{named}`, not like a `{variant.effect}`",
                    f"take it out of this variant, or write `effect: {named}`",
                    *where,
                    "when",
                )


def _hides(earlier: VariantSpec, later: VariantSpec) -> bool:
    """Say whether every call of the later form is of the earlier one."""
    same = all(name in later.when and set(later.when[name]) <= set(values) for name, values in earlier.when.items())
    return same and set(earlier.without) <= set(later.without)


def _may_override(name: str) -> bool:
    return bool(set(parts(name)) & _OVERRIDES)


__all__ = ["check_variants", "choices", "drafted_variants", "strongest_choice"]
