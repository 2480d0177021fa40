"""The values of a call one by one, each with its dotted path. Guarantees: nothing of a call is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkvalve.filters.strictjson import JSON


def leaves(value: JSON, path: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield every scalar and every empty container with its dotted path."""
    inner: Iterable[tuple[object, JSON]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    if isinstance(value, dict | list) and value:
        for key, item in inner:
            yield from leaves(item, below(path, key))
    elif path:
        yield path, value


def below(path: str, key: object) -> str:
    """Return the path of what stands under a name or a number."""
    return f"{path}.{key}" if path else str(key)


__all__ = ["below", "leaves"]
