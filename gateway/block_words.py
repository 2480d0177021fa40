"""Which strings in a block of a result a model reads as words: all but those that name things and those that are media.

Guarantees: whatever a block calls itself, its words are found: a record of data may have a field ``type`` as well, and
whoever writes its content may choose it. What is encoded (a picture, a sound, a document as bytes) is left as it is;
nesting is bounded, and what lies deeper is withheld; what does not change is returned as the same object.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from checkvalve.filters.outbound.scan import note

MAX_DEPTH: Final = 64
_MEDIA: Final = frozenset({"audio", "file", "image", "image_url", "input_audio", "video"})
_ENCODED: Final = frozenset({"data", "base64", "url", "image_url", "input_audio", "file_data"})
_NAMES: Final = frozenset({"type", "index", "mime_type", "media_type", "source_type", "cache_control"})
"""Fields whose values a program reads, where they are a plain word."""
_WORD: Final = re.compile(r"[a-z][a-z0-9_./+-]{0,39}")


def block_words(block: Any, change: Callable[[str], str], *, depth: int = 0) -> Any:
    """Return ``block`` with its words exchanged by ``change``."""
    if depth > MAX_DEPTH:
        return note("too-deep")
    if isinstance(block, str):
        return change(block)
    if isinstance(block, list | tuple):
        items = [block_words(item, change, depth=depth + 1) for item in block]
        return block if _same(items, block) else items
    if not isinstance(block, dict):
        return block
    kept = _NAMES | _ENCODED if _is_encoded(block) else _NAMES
    found = {
        _name(name, change): item if name in kept and _stays(name, item) else block_words(item, change, depth=depth + 1)
        for name, item in block.items()
    }
    return block if list(found) == list(block) and _same(list(found.values()), list(block.values())) else found


def _is_encoded(block: dict[Any, Any]) -> bool:
    kinds = [block.get("type"), block.get("source_type")]
    return any(isinstance(kind, str) and (kind in _MEDIA or kind == "base64") for kind in kinds)


def _stays(name: str, item: Any) -> bool:
    return name in _ENCODED or (isinstance(item, str) and _WORD.fullmatch(item) is not None)


def _name(name: Any, change: Callable[[str], str]) -> Any:
    return change(name) if isinstance(name, str) and name not in _NAMES | _ENCODED else name


def _same(new: list[Any], old: Any) -> bool:
    return all(one is other or (isinstance(one, str) and one == other) for one, other in zip(new, old, strict=True))
