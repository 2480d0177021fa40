"""Whether a call is all of what the user asked for, and nothing put together from two orders.

Guarantees: pure; an argument that says which record, how much or where to is not missing by accident, since many tools
take "nothing" as "all"; of two values that the user named for two different things, one call does not take one each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import Final

from checkvalve.approvals.attributed import AttributedLeaf, in_field
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.aiming import shape
from checkvalve.filters.entities import entities
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.values import canonical

_NEEDED: Final = frozenset({Role.TARGET, Role.SELECTOR, Role.AMOUNT, Role.CREDENTIAL, Role.COMMAND})
_PAIRED: Final = (Role.AMOUNT, Role.TARGET, Role.SELECTOR)
_SEGMENT: Final = re.compile(r"[,;!?\n\uff0c\u3001\uff1b\u3002]|[.:](?=\s|$)|\b(?:and|und|et|y|then|dann)\b|和|然后")
_PLAIN: Final = frozenset({"user", "name", "channel"})
_EDGES: Final = ".,;:!?'\"()<>[]#@"


def left_out(spec: ToolSpec, leaves: Sequence[AttributedLeaf], role: Role) -> bool:
    """Say whether every argument of a role was left out, is null or empty, though the effect needs one.

    1. A read needs none, and so does an argument that is declared optional. 2. What is sent along need not be there: a
    selector beside content, such as an attachment. 3. Destinations of what is sent or paid are judged by themselves.
    """
    if role is Role.AMOUNT and spec.effect is not Effect.PAY:
        return False
    if role not in _NEEDED or spec.effect is Effect.READ or any(item.spec.role is role for item in leaves):
        return False
    if role is Role.TARGET and spec.effect in {Effect.SEND, Effect.PAY}:
        return False
    beside = any(argument.role is Role.CONTENT for argument in spec.args.values())
    if role is Role.SELECTOR and spec.effect is Effect.SEND and beside:
        return False
    return any(argument.role is role and not argument.optional for argument in spec.args.values())


def crossed(spec: ToolSpec, leaves: Sequence[AttributedLeaf], index: AttributionIndex) -> set[Role]:
    """Return the roles whose values the user named for something else: "20 to Ann and 3000 to Bob", 3000 to Ann.

    Two values for two arguments have to stand in one segment of the user's words, where these hold several of both
    kinds; of a record the name that the user said counts. Of the two roles the first of amount, target and selector is
    the wrong one.
    """
    if spec.effect is Effect.READ:
        return set()
    said, found = index.user_text(), set[Role]()
    named = [(item, text) for item in leaves if item.spec.role in _PAIRED for text in _said_as(item, said, index)]
    for (one, first), (two, second) in combinations(named, 2):
        if one.leaf.path[0] == two.leaf.path[0] or not _are_choices((one, first), (two, second), said):
            continue
        if not any(_holds(part, one, first) and _holds(part, two, second) for part in _SEGMENT.split(said)):
            found.add(next(role for role in _PAIRED if role in {one.spec.role, two.spec.role}))
    return found


def _said_as(item: AttributedLeaf, said: str, index: AttributionIndex) -> list[str]:
    """Return what the user called a value: the value itself, or the name of its record."""
    if item.by_user:
        return [str(item.leaf.value)]
    records = {origin.field.record for origin in item.attribution.origins if in_field(origin, item.spec)}
    fields = (field for record in sorted(records) for field in index.record_fields(record))
    return list(islice((field.text for field in fields if field.names_record and field.text.casefold() in said), 1))


def _are_choices(one: tuple[AttributedLeaf, str], two: tuple[AttributedLeaf, str], said: str) -> bool:
    """Say whether the words hold several values for both arguments; plain names cannot be counted, so one side does."""
    others = [_has_others(item, text, said) for item, text in (one, two)]
    plain = [item.spec.kind in _PLAIN and not shape(text) for item, text in (one, two)]
    return any(others) and all(other or name for other, name in zip(others, plain, strict=True))


def _has_others(item: AttributedLeaf, text: str, said: str) -> bool:
    return len(_values(said, _kind(item), shape(text))) > 1


def _holds(segment: str, item: AttributedLeaf, text: str) -> bool:
    form = canonical(item.spec.kind, text) or text.casefold()
    known = _values(segment, _kind(item), shape(text))
    return form in known if known else bool(re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", segment))


def _kind(item: AttributedLeaf) -> str:
    """Return the kind of what the user said: of a record that was named, its name."""
    return item.spec.kind if item.by_user else "text"


@lru_cache(maxsize=256)
def _values(text: str, kind: str, wanted: str) -> frozenset[str]:
    """Return the values of a kind in the user's words; of a kind without a form, the words of the same shape."""
    family = "number" if kind.startswith("id:") else kind
    found = frozenset(form for known, form, *_ in entities(text) if known == family)
    if found or not wanted:
        return found
    words = (word.strip(_EDGES).casefold() for word in text.split())
    return frozenset(word for word in words if shape(word) == wanted)
