"""Which values of a control argument need no origin: those declared safe, and a switch that the user spoke of.

Guarantees: pure; a value that is neither needs a positive origin like that of every other argument.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.fieldspec import ArgumentSpec, Role
from checkvalve.approvals.requests import Leaf
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.mentions import Mention
from checkvalve.filters.origins import MatchKind
from checkvalve.filters.vocabulary import DESTINATION_MARKERS
from checkvalve.filters.words import stem, tokens

_REACH: Final = 3
"""Words behind a switch's name in which its noun must follow."""


def is_safe(leaf: Leaf, spec: ArgumentSpec, tool: ToolSpec, index: AttributionIndex) -> bool:
    """Say whether a control value needs no origin: declared safe, or a switch whose name the user spoke, unnegated."""
    if spec.role is not Role.CONTROL:
        return False
    if any(type(safe) is type(leaf.value) and safe == leaf.value for safe in spec.safe_values):
        return True
    if leaf.value is not True:
        return False
    spoken = index.attribute_trusted(str(leaf.path[-1]).replace("_", " "), "name").origins
    return any(
        origin.mention is not None
        and not origin.stale
        and not origin.mention.negated
        and not origin.mention.question
        and origin.match is not MatchKind.DERIVED
        and _is_about(origin.mention, tool)
        for origin in spoken
    )


def _is_about(seen: Mention, tool: ToolSpec) -> bool:
    """Say whether a switch's name is said of the effect itself: "a *recurring* transfer", not "the *public* sector"."""
    things = {stem(word.casefold()) for word in (*tool.about, *tool.asks)}
    following = [word for word, *_ in tokens(seen.after)][:_REACH]
    alone = not following or following[0] in DESTINATION_MARKERS | {"and", "or", "please", "now", "too"}
    return alone or any(stem(word) in things for word in following)


__all__ = ["is_safe"]
