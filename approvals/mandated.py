"""Whether a mandate covers a value of one call. Pure: time, thread and what was used up are settled by ``permits``.

1. Which tool: the named tool or effect; ``remember`` and ``configure`` only when the effect is named. 2. The call as a
whole stays within the limits: calls, amounts, allowed values, hosts. 3. Value by value: a role that is named, and the
value stands in the named source, as itself and not by accident, and the agent did not put it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol

from checkvalve.approvals.attributed import spec_for
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.mandate_source import NamedSource
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.requests import ActionRequest, Leaf
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.fields import scalar_text
from checkvalve.filters.index import DECODED, AttributionIndex
from checkvalve.filters.labels import Authority
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Attribution, MatchKind, Origin
from checkvalve.filters.values import canonical, url_host
from checkvalve.filters.words import is_evidence

_EXPLICIT: Final = frozenset({Effect.REMEMBER, Effect.CONFIGURE})
_TOOL: Final = "tool:"
_BLANKS: Final = re.compile(r"\s+")
_MAX_RESPACED, _MAX_TABS = 3, 4
"""Runs of tabs in a text that may be longer or shorter than its source's, and tabs in one: a few bits."""
_QUOTES: Final = frozenset(
    {("'", "'"), ('"', '"'), ("`", "`"), ("\u2018", "\u2019"), ("\u201c", "\u201d"), ("\u201e", "\u201c")}
)


class Granted(Protocol):
    """A mandate that was granted, as it stands: its id, and what is left of it."""

    @property
    def id(self) -> str:
        """Return the id of the record."""

    @property
    def mandate(self) -> Mandate:
        """Return what was granted."""

    @property
    def calls_left(self) -> int:
        """Return how many calls may still use it."""

    @property
    def amount_left(self) -> Decimal | None:
        """Return how much may still be moved, None where it moves nothing."""


@dataclass(frozen=True)
class Bound:
    """A mandate over one call that is within its limits."""

    id: str
    mandate: Mandate
    named: NamedSource
    amount: str
    index: AttributionIndex
    reads: Reads | None
    outgoing: bool = True

    @property
    def use(self) -> Use:
        """What a call that relies on it uses up."""
        return Use("mandate", self.id, self.amount)

    @property
    def delegates(self) -> bool:
        """Say whether the source may ask for the effect in the user's place."""
        return bool(self.mandate.delegates)

    def covers(self, attribution: Attribution, role: Role, tool: str) -> bool:  # noqa: ARG002  # bound to it already
        """Do step 3."""
        if role not in self.mandate.roles:
            return False
        # a text that leaves is covered letter by letter: its case and its blanks would carry something else out
        letters = role is Role.CONTENT and self.outgoing
        whole = _letter_by_letter(attribution) if letters else attribution.origins
        return any(self._answers(origin, attribution) for origin in whole)

    def _answers(self, origin: Origin, attribution: Attribution) -> bool:
        if origin.match in {MatchKind.DERIVED, MatchKind.NONE} or origin.field.authority is not Authority.NONE:
            return False
        if origin.field.echo or origin.field.path.endswith(DECODED):
            return False
        if not self._is_meant(origin) or not _is_itself(origin, attribution):
            return False
        return self.reads is None or not self.reads.was_passed(attribution.value, attribution.kind, origin.source)

    def _is_meant(self, origin: Origin) -> bool:
        if self.reads is not None:
            meant = self.reads.is_meant(self.named, origin.source)
        else:  # nothing is known of the calls: a name can be compared, arguments cannot
            name = origin.source.removeprefix(_TOOL).partition("/")[0]
            meant = self.named.args is None and self.named.name in {origin.source, name}
        return meant and all(self._has(origin, *pair) for pair in self.named.fields)

    def _has(self, origin: Origin, name: str, value: str) -> bool:
        """Say whether the record around a value has this field."""
        found = self.index.record_fields(origin.field.record) if origin.field.record else ()
        return any(field.path.rpartition(".")[2] == name and field.text == value for field in found)


def bind(
    mandates: Iterable[Mandate | Granted],
    request: ActionRequest,
    spec: ToolSpec,
    index: AttributionIndex,
    reads: Reads | None = None,
) -> tuple[Bound, ...]:
    """Return the mandates that this call may rely on, by steps 1 and 2."""
    found = (_bind(item, request, spec, index, reads) for item in mandates)
    return tuple(item for item in found if item is not None)


def _bind(
    item: Mandate | Granted, request: ActionRequest, spec: ToolSpec, index: AttributionIndex, reads: Reads | None
) -> Bound | None:
    mandate = item if isinstance(item, Mandate) else item.mandate
    calls = item.max_calls if isinstance(item, Mandate) else item.calls_left
    left = item.total if isinstance(item, Mandate) else item.amount_left
    if not _fits(mandate, spec):  # 1.
        return None
    amount = Decimal(0) if mandate.per_call is None else _amount_of(request, spec)  # 2.
    if calls < 1 or amount is None:
        return None
    if mandate.per_call is not None and (left is None or amount > mandate.per_call or amount > left):
        return None
    if not _has_allowed(mandate, request) or not all(_is_at(mandate, leaf) for leaf in _targets(request, spec)):
        return None
    name = "" if isinstance(item, Mandate) else item.id
    source, used = NamedSource.parse(mandate.source), format(amount, "f")
    return Bound(name, mandate, source, used, index, reads, outgoing=spec.effect is not Effect.WRITE)


def _fits(mandate: Mandate, spec: ToolSpec) -> bool:
    full = f"{spec.server}/{spec.name}" if spec.server else spec.name
    if mandate.tool and mandate.tool != full:
        return False
    if mandate.effect and mandate.effect != spec.effect:
        return False
    return bool(mandate.effect) or spec.effect not in _EXPLICIT


def _amount_of(request: ActionRequest, spec: ToolSpec) -> Decimal | None:
    """Return all amounts of a call together; None when one of them is no plain number above zero."""
    total = Decimal(0)
    for leaf in request.leaves():
        if spec_for(leaf, spec).role is not Role.AMOUNT or leaf.value is None:
            continue
        form = None if isinstance(leaf.value, bool) else canonical("number", str(leaf.value))
        if form is None or Decimal(form) <= 0:
            return None
        total += Decimal(form)
    return total


def _has_allowed(mandate: Mandate, request: ActionRequest) -> bool:
    leaves = [leaf for leaf in request.leaves() if leaf.value is not None]
    for name, allowed in mandate.values:
        found = [scalar_text(leaf.value) for leaf in leaves if leaf.path[0] == name or leaf.dotted() == name]
        if not found or not set(found) <= set(allowed):
            return False
    return True


def _targets(request: ActionRequest, spec: ToolSpec) -> Iterator[Leaf]:
    for leaf in request.leaves():
        if leaf.value not in (None, "") and spec_for(leaf, spec).role is Role.TARGET:
            yield leaf


def _is_at(mandate: Mandate, leaf: Leaf) -> bool:
    """Say whether a destination is at one of the hosts; one whose host cannot be told is not."""
    if not mandate.hosts:
        return True
    text = str(leaf.value)
    mailbox = canonical("email", text)
    host = mailbox.rpartition("@")[2] if mailbox else url_host(text)
    return host is not None and any(_is_below(host, allowed) for allowed in mandate.hosts)


def _is_below(host: str, allowed: str) -> bool:
    if allowed.startswith("*."):
        return host.endswith(allowed[1:]) and host != allowed[2:]
    return host == allowed


def _is_itself(origin: Origin, attribution: Attribution) -> bool:
    """Say whether the value stands there as itself: as a whole field or line, or as words that mean something."""
    if origin.whole:
        return True
    if origin.match is MatchKind.REFERENCE:
        return False
    form = normalise(attribution.value).text
    return is_evidence(form, attribution.kind, marked=_is_quoted(origin), capitalised=False)


def _letter_by_letter(attribution: Attribution) -> list[Origin]:
    return [
        origin
        for origin in attribution.origins
        if origin.match in {MatchKind.EXACT, MatchKind.REFERENCE} or _is_respaced(origin, attribution.value)
    ]


def _is_respaced(origin: Origin, value: str) -> bool:
    """Say whether a text differs from its source in the number of a few tabs only, as columns of a table do."""
    start, end = origin.span
    source = origin.field.text.encode("utf-8", "surrogatepass")[start:end].decode("utf-8", "replace")
    if value.split() != source.split():
        return False
    pairs = zip(_BLANKS.findall(value), _BLANKS.findall(source), strict=True)
    changed = [one for one, two in pairs if one != two]
    return len(changed) <= _MAX_RESPACED and all(set(one) == {"\t"} and len(one) <= _MAX_TABS for one in changed)


def _is_quoted(origin: Origin) -> bool:
    """Say whether quotation marks stand around a value: then a common word is a name there, too."""
    text, (start, end) = origin.field.text.encode("utf-8", "surrogatepass"), origin.span
    around = text[:start].decode("utf-8", "ignore")[-1:], text[end:].decode("utf-8", "ignore")[:1]
    return around in _QUOTES


def uses_of(found: Sequence[Use]) -> tuple[Use, ...]:
    """Return each use once, in a fixed order."""
    return tuple(sorted(set(found), key=lambda use: (use.kind, use.id)))


__all__ = ["Bound", "Granted", "bind", "uses_of"]
