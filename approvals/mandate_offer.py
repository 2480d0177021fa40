"""The mandate that would have made a question unnecessary, where the user's words plainly named the source. Pure.

1. Every value that a person is asked about stands in the result of one call. 2. An argument of that call is what the
user named, such as a file: unnegated, in words that are in force, and not by accident. 3. The offer is for exactly that
call's arguments, for the roles and the amount of this question, once. Memory, settings and code are never offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf
from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.mandate_source import NamedSource
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.reads import Read, Reads
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import MatchKind, Origin
from checkvalve.filters.values import canonical
from checkvalve.filters.words import is_evidence

_NEVER: Final = frozenset({Effect.REMEMBER, Effect.CONFIGURE, Effect.EXECUTE})


def offer(
    leaves: Sequence[AttributedLeaf], spec: ToolSpec, reads: Reads | None, index: AttributionIndex
) -> Mandate | None:
    """Return the mandate to offer with a question, by the module's steps, or None."""
    asked = [item for item in leaves if item.authority_bearing and not item.sufficient]
    if reads is None or not asked or spec.effect in _NEVER:
        return None
    common = set.intersection(*({origin.source for origin in item.attribution.origins} for item in asked))  # 1.
    named = [source for source in reads.by_source if source in common and _is_named(reads.by_source[source], index)]
    return _body(reads.by_source[named[0]], asked, spec) if named else None


def _is_named(read: Read, index: AttributionIndex) -> bool:
    """Do step 2."""
    return any(
        _is_meant(origin, value)
        for _, value in read.pairs()
        for origin in index.attribute(value, "name").origins
        if origin.field.authority is Authority.USER
    )


def _is_meant(origin: Origin, value: str) -> bool:
    seen = origin.mention
    if seen is None or seen.negated or seen.cited or origin.stale or origin.match is MatchKind.DERIVED:
        return False
    form = normalise(value).text
    return not form.isdecimal() and is_evidence(form, "name", marked=False, capitalised=False)


def _body(read: Read, asked: Sequence[AttributedLeaf], spec: ToolSpec) -> Mandate | None:
    """Do step 3; what cannot be written as a mandate is not offered."""
    numbers = [canonical("number", str(item.leaf.value)) for item in asked if item.spec.role is Role.AMOUNT]
    if any(number is None for number in numbers):
        return None
    amount = sum((Decimal(number) for number in numbers if number is not None), Decimal(0))
    try:
        return Mandate(
            source=str(NamedSource(read.name, read.pairs())),
            tool=f"{spec.server}/{spec.name}" if spec.server else spec.name,
            roles=tuple(item.spec.role.value for item in asked),
            max_amount=amount if numbers else None,
        )
    except MandateError:
        return None


__all__ = ["offer"]
