"""Whether where a value came from is good enough for what the argument does.

Guarantees: pure; no origin, or none that suffices, means no. An origin suffices only as a positive statement: the
user or the system said it in a fitting way, or it is an entire field that outsiders cannot write.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from checkvalve.approvals.endorsements import Cover, Endorsement, Use, answering, full_name
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.hollow import hollow_leaves
from checkvalve.approvals.open_folders import open_place
from checkvalve.approvals.requests import ActionRequest, Leaf
from checkvalve.approvals.switches import is_safe
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.aiming import (
    has_rivals,
    is_asked_of,
    is_destination,
    is_introduced,
    is_looked_at,
    is_of,
    is_replaced,
    is_somebody_elses,
    points_at,
    shape,
)
from checkvalve.filters.asking import asking_clauses, asks_for, gives_back
from checkvalve.filters.beside import is_spoken_of
from checkvalve.filters.fields import scalar_text
from checkvalve.filters.index import MAX_ORIGINS, AttributionIndex
from checkvalve.filters.labels import Authority, Trust
from checkvalve.filters.mentions import Mention, has_currency, has_sum, is_sum
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Attribution, Field, MatchKind, Origin
from checkvalve.filters.values import canonical, spoken_number
from checkvalve.filters.vocabulary import DETERMINERS, FINITE, PRONOUNS, RECORD_TYPES
from checkvalve.filters.words import is_evidence, stem, tokens

UNDECLARED_ARGUMENT: Final = ArgumentSpec()
"""An argument nobody declared is a target."""

PEOPLE: Final = frozenset({"email", "user", "phone", "account", "name", "channel"})
"""Kinds of values that name somebody, or a group."""
_ARE: Final = [["is"], ["are"], ["ist"], ["est"], ["es"]]
_TYPED: Final = frozenset({"email", "url", "host", "account", "phone", "number", "date", "path"})
_NAMES: Final = frozenset({"user", "name", "channel"})
_ROOTS: Final = (b"/", b"~", b".", b"\\")
_Judged: TypeAlias = tuple[Attribution, ArgumentSpec, bool, bool]


@dataclass(frozen=True, slots=True)
class AttributedLeaf:
    """One scalar argument with its spec, everywhere it was found, and whether that suffices for its role."""

    leaf: Leaf
    spec: ArgumentSpec
    attribution: Attribution
    sufficient: bool
    by_user: bool
    covered_by: str = ""  # "endorsement", "mandate", "refund", "open_host" "open_folder"
    uses: tuple[Use, ...] = ()  # what answers for it, or for the effect
    delegated: bool = False  # whether a mandate lets the source of this value ask for the effect

    @property
    def authority_bearing(self) -> bool:
        """Say whether somebody's word is needed: everything but content."""
        return self.spec.role is not Role.CONTENT


def spec_for(leaf: Leaf, tool: ToolSpec) -> ArgumentSpec:
    """Return the declared spec of a leaf: that of its argument, or of the member of an object argument."""
    spec = tool.args.get(str(leaf.path[0]), UNDECLARED_ARGUMENT) if leaf.path else UNDECLARED_ARGUMENT
    for step in leaf.path[1:]:
        if isinstance(step, str) and spec.fields:
            spec = spec.fields.get(step, UNDECLARED_ARGUMENT)
    return spec


def attribute_leaves(
    request: ActionRequest,
    tool: ToolSpec,
    index: AttributionIndex,
    endorsements: Sequence[Endorsement] = (),
    mandates: Sequence[Cover] = (),
    references: Mapping[str, Sequence[Field]] = MappingProxyType({}),
    *,
    knows: Callable[[str, str], bool] | None = None,
) -> Iterator[AttributedLeaf]:
    """Attribute every scalar argument of ``request``; absent ones (null) carry nothing and are left out.

    ``references`` names, by dotted path, the stored fields that were put in for references. They are origins of the
    best match, and no more than that: whether one suffices depends on its field, as for every other origin. ``knows``
    says of a value and its kind whether it is a contact of the user; without it nobody is.
    """
    said, judged = index.user_text(), dict[tuple[int, int], _Judged]()
    for leaf in (*request.leaves(), *_data_keys(request, tool), *hollow_leaves(request.args)):
        if leaf.value is None or leaf.value == "":
            continue
        spec = spec_for(leaf, tool)
        attribution = _attribute(leaf, spec.kind, index, references)
        same = id(attribution), id(spec)  # the index keeps its answers, and a list may hold one value many times
        if (known := judged.get(same)) is None:  # both are kept in it, so that no other can get such an id
            origins = [one for one in attribution.origins if _is_this_place(one, attribution.value, spec, tool)]
            by_user = any(said_so(origin, spec, tool, said) for origin in origins)
            known = judged[same] = attribution, spec, by_user, any(in_field(origin, spec) for origin in origins)
        by_user, from_field = known[2:]
        sufficient = (
            by_user
            or is_safe(leaf, spec, tool, index)
            or from_field
            or (knows is not None and _is_known(leaf, spec, knows))
        )
        about = attribution, spec.role, full_name(tool)
        opened = "" if sufficient else open_place(leaf.value, spec, tool)
        cover = None if sufficient or opened else answering((*endorsements, *mandates), *about)
        asks = answering((item for item in mandates if item.delegates), *about)
        uses = tuple(item.use for item in (cover, asks) if item is not None)
        covered = uses[0].kind if cover else opened
        good = sufficient or bool(opened) or cover is not None
        yield AttributedLeaf(leaf, spec, attribution, good, by_user, covered, uses=uses, delegated=asks is not None)


def _is_known(leaf: Leaf, spec: ArgumentSpec, knows: Callable[[str, str], bool]) -> bool:
    """Say whether a target is a person the user knows; where only the user's words suffice, that is not enough."""
    person = spec.role is Role.TARGET and spec.kind in PEOPLE and "fields" in spec.accepts
    return person and knows(scalar_text(leaf.value), spec.kind)


def _data_keys(request: ActionRequest, tool: ToolSpec) -> Iterator[Leaf]:
    """Yield the keys inside arguments that nobody declared: a key can carry a destination just as well as a value."""
    return (leaf for leaf in request.inner_keys() if not _is_declared(leaf, tool))


def _is_declared(leaf: Leaf, tool: ToolSpec) -> bool:
    spec = tool.args.get(str(leaf.path[0]), UNDECLARED_ARGUMENT)
    for step in leaf.path[1:]:
        if isinstance(step, str):
            if step not in spec.fields:
                return False
            spec = spec.fields[step]
    return True


def _attribute(
    leaf: Leaf, kind: str, index: AttributionIndex, references: Mapping[str, Sequence[Field]]
) -> Attribution:
    """Look the value up; fields that were put in and hold exactly this value come first.

    One that is a part of the value comes last: an origin that is not whole suffices for nothing.
    """
    text = scalar_text(leaf.value)
    found = index.attribute(text, kind)
    given = (field for field in references.get(leaf.dotted(), ()) if field.text and field.text in text)
    fields = [index.held(field) for field in itertools.islice(given, MAX_ORIGINS)]
    if not fields:
        return found
    put_in = [
        Origin(
            field, (0, len(field.text.encode("utf-8", "surrogatepass"))), MatchKind.REFERENCE, whole=field.text == text
        )
        for field in fields
    ]
    whole, parts = ([origin for origin in put_in if origin.whole is kind_of] for kind_of in (True, False))
    return Attribution(text, kind, (*whole, *found.origins, *parts))


def said_so(origin: Origin, spec: ArgumentSpec, tool: ToolSpec, words_in_force: str = "") -> bool:
    """Say whether the user or the system named the value, in a way that fits its role.

    1. The words have authority, the argument accepts it, and they belong to what is asked now. 2. It is exactly this
    value, and the mention is neither negated nor part of a quotation. 3. A destination stands where people put
    destinations, or a clause that asks points back at it ("pay them"). 4. A credential is quoted or introduced, to
    the last byte. 5. An amount is no number of a record, and where sums carry a currency it does, too. 6. It is
    evidence: not a common word, and a number names a record only beside its noun; the value of a setting may be
    common ("on") in a sentence that asks.
    """
    field, seen = origin.field, origin.mention
    if seen is None or origin.stale or origin.match is MatchKind.DERIVED or seen.negated or seen.cited:
        return False
    if field.authority.name.lower() not in spec.accepts:
        return False
    text = field.text.encode()[origin.span[0] : origin.span[1]].decode("utf-8", "replace")
    verbs = asking_words(tool)
    capitalised = _is_proper(seen, text, verbs)
    acts = tool.effect is not Effect.READ
    if spec.role is Role.TARGET and acts and not _is_aimed_at(seen, text, spec, verbs, words_in_force):
        return False
    if spec.role is Role.CREDENTIAL:
        told = seen.sentence.partition(normalise(text).text)[0]
        given = seen.quoted or _introduces(seen.before) or told.rstrip().endswith(":")
        return given and origin.match is MatchKind.EXACT and not is_replaced(seen)
    if spec.role is Role.AMOUNT and not _is_amount(origin, verbs, words_in_force):
        return False
    if spec.role is Role.CONTROL and tool.asks and asks_for(seen.sentence, verbs, ()):
        return not _is_verb(seen)
    return is_evidence(normalise(text).text, spec.kind, marked=seen.marked, capitalised=capitalised)


def _is_this_place(origin: Origin, value: str, spec: ArgumentSpec, tool: ToolSpec) -> bool:
    """Say whether an origin names the very file that is to be changed: with another letter case it is another one."""
    if spec.kind != "path" or tool.effect is Effect.READ or origin.match in {MatchKind.EXACT, MatchKind.REFERENCE}:
        return True
    text, (start, end) = origin.field.text.encode("utf-8", "surrogatepass"), origin.span
    while start and text[start - 1 : start] in _ROOTS:  # words begin behind the signs that a path begins with
        start -= 1
    return text[start:end].decode("utf-8", "replace").removeprefix("./") == value.removeprefix("./")


def _is_aimed_at(seen: Mention, text: str, spec: ArgumentSpec, verbs: Sequence[str], words_in_force: str) -> bool:
    """Say whether a mention stands where a destination of its kind stands, or something that asks points at it."""
    capitalised = _is_proper(seen, text, verbs)
    # "acme/site" and "minutes-2024" are no words of a sentence
    spelled = spec.kind == "name" and any(sign in "/:.@_-" or sign.isdigit() for sign in text)
    if spec.kind not in PEOPLE or spelled:
        if spec.kind == "text" and not (seen.marked or capitalised or text[:1].isdigit() or is_introduced(seen)):
            return is_destination(seen, verbs, typed=False, capitalised=capitalised)
        if is_spoken_of(seen, file=spec.kind == "path"):
            return False
        if has_rivals(text, words_in_force):
            return is_asked_of(seen, verbs, shape(text))
        return not is_looked_at(seen, verbs) or (spec.kind == "name" and is_of(seen))
    typed = spec.kind not in _NAMES and canonical(spec.kind, text) is not None
    if text.lower() in frozenset().union(*RECORD_TYPES) or (typed and is_somebody_elses(seen, words_in_force, verbs)):
        return False  # "update *row* 4" names no table, and "Eve's address is ..." none of Ann's
    if is_destination(seen, verbs, typed=typed, capitalised=capitalised):
        return True
    if (capitalised or typed or seen.marked) and points_at(seen, words_in_force, verbs, typed=typed):
        return True
    return typed and seen.as_source and gives_back(words_in_force, verbs)


def _is_proper(seen: Mention, text: str, verbs: Sequence[str]) -> bool:
    """Say whether a capital marks a name; the first word of a sentence always has one, verbs that ask included."""
    if not text[:1].isupper():
        return False
    return bool(seen.before.strip()) or not (_is_verb(seen) or stem(text.lower()) in {stem(verb) for verb in verbs})


def _is_verb(seen: Mention) -> bool:
    """Say whether a word is used as a verb: "and *write* her a note" sets nothing to "write"."""
    following = next((word for word, *_ in tokens(seen.after)), "")
    return following in DETERMINERS | PRONOUNS | FINITE | {"me", "us", "to"}


def asking_words(tool: ToolSpec) -> tuple[str, ...]:
    """Return the words that ask for a tool's effect: those declared, or else those of its name."""
    return tool.asks or tuple(word for word, *_ in tokens(normalise(tool.name.replace("_", " ")).text))


def _introduces(before: str) -> bool:
    last = [word for word, *_ in tokens(before)][-1:]
    return before.rstrip().endswith((":", "=")) or bool(last and last[0] in {"to", "is", "as", "be", "auf", "ist"})


def _is_amount(origin: Origin, verbs: Sequence[str], words_in_force: str) -> bool:
    """Say whether a number of the user's words is the sum: marked by its currency, or else by its place.

    Where the sentence of the number does not ask, and what asks has a sum of its own, that one is meant.
    """
    seen = origin.mention
    said = origin.field.text.encode()[origin.span[0] : origin.span[1]].decode("utf-8", "replace")
    if seen is None or spoken_number(said) is None:
        return False
    if seen.currency:
        return True
    if not is_sum(seen) or has_currency(normalise(origin.field.text).text):
        return False
    if [word for word, *_ in tokens(seen.before)][-1:] in _ARE:  # "the rent *is* 900"
        return True
    return asks_for(seen.sentence, verbs, ()) or not any(has_sum(c) for c in asking_clauses(words_in_force, verbs))


def in_field(origin: Origin, spec: ArgumentSpec) -> bool:
    """Say whether the value is an entire field that outsiders cannot write, of a kind that fits, and no echo.

    Plain text is an address only where it has the form of one, and sets no switch.
    """
    field = origin.field
    if "fields" not in spec.accepts or field.authority is not Authority.NONE:
        return False
    if field.trust < Trust.VERIFIED or not origin.whole or field.echo or origin.match is MatchKind.DERIVED:
        return False
    if spec.kind.startswith("id:") or field.kind.startswith("id:"):
        return spec.kind == field.kind
    if spec.role is Role.CONTROL and "text" in {spec.kind, field.kind}:
        return False  # that a word stands somewhere does not mean that a switch is to be set to it
    if field.kind == "text" and spec.kind in _TYPED:
        return canonical(spec.kind, field.text) is not None
    return "text" in {spec.kind, field.kind} or spec.kind == field.kind
