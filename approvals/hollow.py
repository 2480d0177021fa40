"""Members of lists that hold nothing, and the pattern that many of them make.

Guarantees: pure. An argument without a value carries nothing, and a few empty members are usual; but which members of a
list are null, empty text or empty lists is a choice, and enough choices spell any secret. So from :data:`FEW` on each
counts as a value that the model made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from checkvalve.approvals.requests import Leaf
from checkvalve.filters.strictjson import JSON

FEW: Final = 4
"""Empty members of one call that are let through: they say a few bits."""
_NOTHING: Final = "null"
Path = tuple[str | int, ...]


def hollow_leaves(args: Mapping[str, JSON]) -> list[Leaf]:
    """Return a leaf for each empty member of the lists in a call; none where there are only a few."""
    found = [Leaf(path, _NOTHING) for name, value in args.items() for path in _hollow(name, value)]
    return found if len(found) > FEW else []


def _hollow(name: str, value: JSON) -> Iterator[Path]:
    waiting: list[tuple[Path, JSON, bool]] = [((name,), value, False)]
    while waiting:
        where, item, inside = waiting.pop()
        if inside and item in (None, "", [], {}):
            yield where
        elif isinstance(item, list):
            waiting += [((*where, place), member, True) for place, member in enumerate(item)]
        elif isinstance(item, dict):
            waiting += [((*where, name), member, inside) for name, member in item.items()]


__all__ = ["FEW", "hollow_leaves"]
