"""Which records the user named: by an id or a title in the user's words, or by a superlative that code can check.

Guarantees: pure; a name that two records share names neither of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.approvals.attributed import AttributedLeaf, asking_words, in_field, said_so
from checkvalve.approvals.described import Measured, identity, is_extreme
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.aiming import leads_to
from checkvalve.filters.asking import asking_clauses, refers_back
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Trust
from checkvalve.filters.origins import Field, Origin
from checkvalve.filters.values import canonical
from checkvalve.filters.words import names_in, spoken_name


class Chosen:
    """Which values of one call the user chose. Each is worked out once, when it is asked for first.

    It belongs to one decision, which holds the values as long as this.
    """

    def __init__(self, index: AttributionIndex, tool: ToolSpec) -> None:
        self._index, self._tool = index, tool
        self._known: dict[int, bool] = {}
        self._measured: Measured = {}

    def __call__(self, item: AttributedLeaf) -> bool:
        """Say whether the user chose this value, see :func:`is_chosen`."""
        if (known := self._known.get(id(item))) is None:
            known = self._known[id(item)] = is_chosen(item, self._index, self._tool, self._measured)
        return known


def is_chosen(item: AttributedLeaf, index: AttributionIndex, tool: ToolSpec, measured: Measured | None = None) -> bool:
    """Say whether the user chose this value: named it, or named the record that it is a trusted field of.

    A record picked from a list by anything else could have been picked by the attacker.
    """
    if item.by_user:
        return item.spec.role is not Role.SELECTOR or not is_final(tool) or _asked_about(item, index, tool)
    records = {origin.field.record for origin in item.attribution.origins if in_field(origin, item.spec)}
    if records and item.spec.kind == "email" and _is_called(item, index, tool):
        return True
    return any(
        _is_named(record, item.spec.role, index, tool) or is_extreme(record, index, asking_words(tool), measured)
        for record in records
    )


def _is_called(item: AttributedLeaf, index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether the user named, as a destination, the one person in trusted fields whose address this is."""
    address = canonical("email", str(item.leaf.value)) or ""
    return any(
        index.people_called(name) == {address} and _user_said(name, item.spec.role, index, tool)
        for name in names_in(address)
    )


def is_final(tool: ToolSpec) -> bool:
    """Say whether a tool picks one record for good: it deletes or pays."""
    return tool.effect in {Effect.DELETE, Effect.PAY}


def _asked_about(item: AttributedLeaf, index: AttributionIndex, tool: ToolSpec) -> bool:
    return any(_in_asking_clause(origin, index, tool) for origin in item.attribution.origins)


def _in_asking_clause(origin: Origin, index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether a mention stands in a clause that asks for the effect, or such a clause says "it" of it.

    "Delete temp.txt but keep contract.pdf" is about one of the two.
    """
    if origin.mention is None or origin.stale or origin.mention.negated:
        return False
    verbs = asking_words(tool)
    if leads_to(origin.mention, verbs):
        return True
    return any(refers_back(clause, verbs) for clause in asking_clauses(index.user_text(), verbs))


def _is_named(record: str, role: Role, index: AttributionIndex, tool: ToolSpec) -> bool:
    for field in index.record_fields(record):
        if not field.names_record or not _is_spoken(field, role, index, tool):
            continue
        if role is Role.TARGET and field.trust < Trust.VERIFIED:
            continue  # whoever picks a display name must not become the one that the user meant
        # The same record may have been listed twice; two different records of one name are ambiguous.
        # A stranger's record of the same name could not be meant as a target, so it makes nothing ambiguous.
        others = (
            other for other in index.named_alike(field.text) if role is not Role.TARGET or other.trust >= Trust.VERIFIED
        )
        if _are_one(others, index):
            return True
    return False


def _are_one(fields: Iterator[Field], index: AttributionIndex) -> bool:
    """Say whether all fields, and at least one, belong to the same record; the first of another one settles it."""
    first = next((identity(field.record, index) for field in fields), None)
    return first is not None and all(identity(field.record, index) == first for field in fields)


def _is_spoken(field: Field, role: Role, index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether the user said the name of a record, as it is written or as people say it.

    A document that the user speaks of need not stand where a destination stands, as the name of a person must.
    """
    if _user_said(field.text, role, index, tool):
        return True
    spoken = spoken_name(field.text)
    if field.kind != "text" or " " not in spoken:
        return False
    return _user_said(spoken, Role.SELECTOR if role is Role.TARGET else role, index, tool)


def _user_said(text: str, role: Role, index: AttributionIndex, tool: ToolSpec) -> bool:
    wanted = ArgumentSpec(role=role, kind="name")
    said = index.user_text()
    return any(
        said_so(origin, wanted, tool, said)
        and (not is_final(tool) or role is Role.TARGET or _in_asking_clause(origin, index, tool))
        for origin in index.attribute_trusted(text, "name").origins
    )
