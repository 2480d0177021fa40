"""Which records the user named: by an id or a title in the user's words, or by a superlative that code can check.

Guarantees: pure; a name that two records share names neither of them.
"""

from __future__ import annotations

from checkvalve.approvals.attributed import AttributedLeaf, in_field, said_so
from checkvalve.approvals.described import identity, is_extreme
from checkvalve.approvals.toolspec import ArgumentSpec, Role, ToolSpec
from checkvalve.filters.index import AttributionIndex


def is_chosen(item: AttributedLeaf, index: AttributionIndex, tool: ToolSpec) -> bool:
    """Say whether the user chose this value: named it, named the record it is a trusted field of, or a person did.

    A record picked from a list by anything else could have been picked by the attacker.
    """
    if item.by_user or item.covered_by:
        return True
    records = {origin.field.record for origin in item.attribution.origins if in_field(origin, item.spec)}
    return any(_is_named(record, item.spec.role, index, tool) or is_extreme(record, index) for record in records)


def _is_named(record: str, role: Role, index: AttributionIndex, tool: ToolSpec) -> bool:
    for field in index.record_fields(record):
        if not field.names_record or not _user_said(field.text, role, index, tool):
            continue
        # The same record may have been listed twice; two different records of one name are ambiguous.
        alike = {identity(other.record, index) for other in index.named_alike(field.text)}
        if len(alike) == 1:
            return True
    return False


def _user_said(text: str, role: Role, index: AttributionIndex, tool: ToolSpec) -> bool:
    wanted = ArgumentSpec(role=role, kind="name")
    return any(said_so(origin, wanted, tool) for origin in index.attribute(text, "name").origins)
