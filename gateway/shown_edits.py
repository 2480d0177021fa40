"""From what a foreign approval UI was shown, and sends back edited, to the exact arguments of the call.

1. A value that comes back as it was shown is the stored one, to the last byte. 2. In what was edited, characters that
were shown by their code point become themselves again. 3. UIs of this family send every value as a text: one that was
a number, a truth value, a list or an object is read as that again. 4. What was not shown to its end cannot be edited.

Guarantees: no value changes that nobody changed; what cannot be read is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from checkvalve.approvals.editing import parse_as
from checkvalve.approvals.errors import EditRefusedError, QueueError
from checkvalve.approvals.inert import inert
from checkvalve.filters.strictjson import JSON

MAX_VALUE: Final = 3_000
"""Bytes of a value that such a UI is shown, from both ends."""
_POINT: Final = re.compile("\u27e8U\\+([0-9A-F]{4,6})\u27e9")
_CUT: Final = re.compile("\u27e8[0-9]+ bytes not shown\u27e9|\u27e8deeper than is shown here\u27e9")
_LAST: Final = 0x10FFFF


def exact(old: Mapping[str, JSON], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are meant by what came back for ``old``.

    Raises:
        EditRefusedError: a value was not shown to its end, or is no value of its kind any more.
    """
    names = {inert(name): name for name in old}
    return {names.get(name, _plain(name)): _exact(old.get(names.get(name, "")), value) for name, value in given.items()}


def _exact(old: JSON, given: Any) -> Any:
    if isinstance(old, str) and given == inert(old, limit=MAX_VALUE):
        return old
    if isinstance(old, dict) and isinstance(given, Mapping):
        return exact(old, given)
    if isinstance(old, list) and isinstance(given, list):
        return [_exact(old[place] if place < len(old) else None, item) for place, item in enumerate(given)]
    if not isinstance(given, str):
        return given
    said = _plain(given)
    if isinstance(old, str) or old is None:
        return said
    try:
        return parse_as(old, said)
    except QueueError as error:
        raise EditRefusedError(error.message, remedy=error.remedy) from error


def _plain(text: str) -> str:
    if _CUT.search(text):
        raise EditRefusedError("a value was not shown to its end here", remedy="edit it on the review pages")
    return _POINT.sub(lambda found: chr(int(found[1], 16)) if int(found[1], 16) <= _LAST else found[0], text)


__all__ = ["MAX_VALUE", "exact"]
