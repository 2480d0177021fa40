"""Values the user only described: "the largest file", "the difference", "10% of what I paid".

Guarantees: pure; a description counts only when code can work it out again from the user's own words and fields that
outsiders cannot write, so that an attacker cannot pick among its results. Nothing else is called derived.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from checkvalve.approvals.attributed import AttributedLeaf, asking_words, in_field
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.asking import asking_clauses, refers_back, returning_clauses
from checkvalve.filters.entities import entities
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Trust
from checkvalve.filters.mentions import clauses, is_negated, sentences
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Field, MatchKind
from checkvalve.filters.values import NUMBER, canonical, spoken_number
from checkvalve.filters.vocabulary import STOPWORDS
from checkvalve.filters.words import tokens

MAX_NUMBERS: Final = 12
"""Numbers taken from the user's words and from matching records each; more could reach any sum by accident."""

_CENT: Final = Decimal("0.01")
_DIFFERENCES: Final = frozenset(
    {"difference", "rest", "remainder", "remaining", "minus", "less", "differenz", "restbetrag"}
)
_SUMS: Final = frozenset({"plus", "additional", "extra", "sum", "total", "together", "zuzüglich"})
_HALVES: Final = frozenset({"share", "half", "split", "halves", "hälfte", "anteil", "moitié", "mitad"})
_PERCENTAGE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)\s*(?:%|percent|prozent)")
_SIZE, _PRICE, _TIME, _SCORE = ("size", "bytes", "length"), ("price", "cost", "amount"), ("date", "time"), ("rating",)
_COUNTS: Final = frozenset(
    {"size", "bytes", "length", "count", "rank", "position", "page", "pages", "rating", "score", "age", "version", "id"}
)
_SUPERLATIVES: Final[dict[str, tuple[tuple[str, ...], Callable[..., str | Decimal]]]] = {
    **dict.fromkeys(("largest", "biggest", "longest"), (_SIZE, max)),
    **dict.fromkeys(("smallest", "shortest"), (_SIZE, min)),
    **dict.fromkeys(("dearest", "priciest"), (_PRICE, max)),
    **dict.fromkeys(("cheapest",), (_PRICE, min)),
    **dict.fromkeys(("newest", "latest"), (_TIME, max)),
    **dict.fromkeys(("oldest", "earliest"), (_TIME, min)),
    **dict.fromkeys(("best", "highest"), (_SCORE, max)),
    **dict.fromkeys(("worst", "lowest"), (_SCORE, min)),
}


Measured: TypeAlias = dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], Decimal | str | None]]
"""The measures of whole listings, by their first record and what is measured: one decision asks for each many times."""


def is_extreme(record: str, index: AttributionIndex, verbs: Sequence[str], measured: Measured | None = None) -> bool:
    """Say whether ``record`` is the one that the user's superlative picks out of its listing.

    1. Exactly one clause with a superlative asks for this effect, or says "it" after one. 2. The tool was called
    without any argument once: a search chosen by the model has another extreme. 3. Each record that this tool has ever
    listed has one field of that meaning that outsiders cannot write. 4. This record alone holds the extreme value: once
    the largest file is gone, the next one is not what the user meant.
    """
    if not index.is_listed_whole(record):
        return False
    text = index.user_text()
    if (said := _superlative(text, tuple(verbs))) is None:
        return False
    names, pick = _SUPERLATIVES[said]
    listed = _measures(record, index, names, {} if measured is None else measured)
    values = [value for value in listed.values() if value is not None]
    if len(values) != len(listed) or len(listed) < 2 or len({type(value) for value in values}) != 1:  # noqa: PLR2004
        return False
    extreme = pick(values)
    return listed.get(identity(record, index)) == extreme and values.count(extreme) == 1


@lru_cache(maxsize=64)
def _superlative(text: str, verbs: tuple[str, ...]) -> str | None:
    """Return the only superlative of the user's words, where a clause with it asks, and nothing negates it."""
    said = {word for word, *_ in tokens(text) if word in _SUPERLATIVES}
    if len(said) != 1 or _negates(text, said):
        return None
    asking = asking_clauses(text, verbs)
    asked = any(said & {word for word, *_ in tokens(clause)} or refers_back(clause, verbs) for clause in asking)
    return said.pop() if asked else None


def _measures(
    record: str, index: AttributionIndex, names: tuple[str, ...], measured: Measured
) -> dict[tuple[str, ...], Decimal | str | None]:
    """Return the measure of every record that was listed in the same place as ``record``, by what makes it itself."""
    listing = index.siblings(record)
    about = (listing[0] if listing else record), names
    if about not in measured:
        measured[about] = {identity(name, index): _measure(index.record_fields(name), names) for name in listing}
    return measured[about]


def _negates(text: str, said: set[str]) -> bool:
    """Say whether a superlative stands under a negation: "do not touch the largest file"."""
    return any(
        word in said and is_negated(clause[:start])
        for sentence in sentences(text)
        for clause in clauses(sentence)
        for word, start, _ in tokens(clause)
    )


def identity(record: str, index: AttributionIndex) -> tuple[str, ...]:
    """Return what makes a record the same when it is listed twice: its typed ids, or everything in it without one."""
    ids = tuple(
        sorted(f"{field.kind} {field.text}" for field in index.record_fields(record) if field.kind.startswith("id:"))
    )
    return ids or tuple(sorted(field.text for field in index.record_fields(record)))


def _measure(fields: Iterable[Field], names: Sequence[str]) -> Decimal | str | None:
    for field in fields:
        step = field.path.rpartition(".")[2].casefold()
        if field.trust >= Trust.VERIFIED and not field.echo and any(name in step.split("_") for name in names):
            if number := canonical("number", field.text):
                return Decimal(number)
            return canonical("date", field.text)
    return None


def is_booked(item: AttributedLeaf, leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> bool:
    """Say whether an amount is a trusted number of a record that this payment is about.

    The record has the call's own destination in a field that outsiders cannot write, or its name (which they cannot
    write either) shares a word with what the user said; any other number of the session, such as the balance or the
    sum of a stranger's payment whose subject mentions the destination, would let the attacker pick the sum.
    """
    about = _records(leaf for leaf in leaves if leaf.spec.role is Role.TARGET)
    said = {word for word, *_ in tokens(index.user_text()) if word not in STOPWORDS and not word.isdecimal()}
    for origin in item.attribution.origins:
        record = origin.field.record
        if not in_field(origin, item.spec) or not record:
            continue
        if _counts(origin.field):
            continue
        names = (
            field.text
            for field in index.record_fields(record)
            if field.names_record and field.trust >= Trust.VERIFIED and not field.echo
        )
        if record in about or any(said & {word for word, *_ in tokens(normalise(name).text)} for name in names):
            return True
    return False


def _counts(field: Field) -> bool:
    """Say whether a number is a size or a count by its name, and no sum of money."""
    return bool(_COUNTS & set(field.path.rpartition(".")[2].casefold().split("_")))


def is_computed(item: AttributedLeaf, leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> bool:
    """Say whether an amount follows by simple arithmetic from the user's numbers and records about the same target.

    1. Every target of the call is sufficient by itself. 2. Take the numbers in the user's words, and the trusted
    numbers of records that mention one of those targets. 3. An operation that the user's words name (a difference, a
    sum, a percentage, a percentage with a sum; of what was shared, also with half of it), of one number of each side,
    rounded to cents, has to give the amount.
    """
    targets = [leaf for leaf in leaves if leaf.spec.role is Role.TARGET]
    value = canonical("number", str(item.leaf.value))
    if (
        item.spec.role is not Role.AMOUNT
        or value is None
        or not targets
        or not all(leaf.sufficient for leaf in targets)
    ):
        return False
    text = index.user_text()
    said = list(dict.fromkeys(_spoken(text)))[:MAX_NUMBERS]
    booked = list(dict.fromkeys(_booked(targets, index)))[:MAX_NUMBERS]
    return Decimal(value).quantize(_CENT) in set(_results(text, said, booked))


def is_refund(item: AttributedLeaf, leaves: Sequence[AttributedLeaf], index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether a payment only gives back what came: the very sum that the user named, to where it came from.

    1. A clause that asks for the payment speaks of giving back, and names no destination of this kind: who names one
    means that one. 2. The amount stands in the user's words. 3. One record, and no other, has that amount in
    a field outsiders cannot write, and the destination where the system stamps who paid. Whoever sends money gets that
    money back, and nothing more.
    """
    if tool.effect is not Effect.PAY or item.spec.role is not Role.TARGET:
        return False
    returning = list(returning_clauses(index.user_text(), asking_words(tool)))
    if not returning or any(kind == item.spec.kind for clause in returning for kind, *_ in entities(clause)):
        return False
    amounts = [leaf for leaf in leaves if leaf.spec.role is Role.AMOUNT]
    if len(amounts) != 1 or not _is_said(amounts[0]):
        return False
    paid = {
        identity(origin.field.record, index)
        for origin in amounts[0].attribution.origins
        if in_field(origin, amounts[0].spec) and _payer(origin.field.record, index)
    }
    came = {
        identity(origin.field.record, index)
        for origin in item.attribution.origins
        if origin.whole and origin.field.stamped and not origin.field.echo
    }
    return len(paid) == 1 and paid <= came


def _is_said(item: AttributedLeaf) -> bool:
    return any(
        origin.mention is not None
        and not origin.stale
        and not origin.mention.negated
        and origin.match is not MatchKind.DERIVED
        for origin in item.attribution.origins
    )


def _payer(record: str, index: AttributionIndex) -> bool:
    return any(field.stamped and canonical("account", field.text) for field in index.record_fields(record))


def _spoken(text: str) -> Iterator[Decimal]:
    for match in NUMBER.finditer(text):
        if form := spoken_number(match[0]):
            yield Decimal(form)


def _booked(targets: Sequence[AttributedLeaf], index: AttributionIndex) -> Iterator[Decimal]:
    for record in sorted(_records(targets)):
        for field in index.record_fields(record):
            trusted = field.kind == "number" and field.trust >= Trust.VERIFIED and not field.echo
            number = canonical("number", field.text) if trusted else None
            if number is not None:
                yield abs(Decimal(number))


def _records(leaves: Iterable[AttributedLeaf]) -> set[str]:
    """Return the records that hold one of the values in a field that outsiders cannot write, or as who acted.

    Whoever writes a destination into the subject of a payment must not make the payment a record about it.
    """
    return {
        origin.field.record
        for leaf in leaves
        for origin in leaf.attribution.origins
        if origin.field.record
        and not origin.field.echo
        and origin.match is not MatchKind.DERIVED
        and ((origin.field.stamped and origin.whole) or origin.field.trust >= Trust.VERIFIED)
    }


def _results(text: str, said: Sequence[Decimal], booked: Sequence[Decimal]) -> Iterator[Decimal]:
    spoken_words = {word for word, *_ in tokens(text)}
    said = [*said, *(number / 2 for number in said if _HALVES & spoken_words)]
    differ, add = bool(_DIFFERENCES & spoken_words), bool(_SUMS & spoken_words)
    shares = {Decimal(match[1]) for match in _PERCENTAGE.finditer(text)}
    for spoken, base in product(said, booked):
        if differ:
            yield abs(spoken - base).quantize(_CENT)
        if add:
            yield (spoken + base).quantize(_CENT)
    for share, base in product(shares, booked):
        part = base * share * _CENT
        yield part.quantize(_CENT)
        yield (base + part).quantize(_CENT)
        for extra in said if add else ():
            yield (part + extra).quantize(_CENT)
