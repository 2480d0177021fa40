"""The bytes that were decided on, piece by piece: what is not shown keeps its place and its length.

Guarantees: pure; together the pieces are exactly the stored bytes; where that cannot be made sure, all of them are one
piece that is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from checkvalve.approvals.argument_leaves import below
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.veiled import Hidden, Veiled, as_veiled
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes in a row; with a ``mark`` they are not shown."""

    data: bytes
    mark: str = ""


def pieces(row: Seen) -> list[Piece]:
    """Return the canonical bytes of a call as they are shown.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    row.exact.args()  # hashes them
    stored = row.exact.canonical
    if row.veil.lifted:
        return [Piece(stored)]
    try:
        call = json.loads(stored)
        found = list(_members(call["args"], "", row)) if isinstance(call, dict) else []
        start, end = _around(stored, b"".join(piece.data for piece in found))
    except (ValueError, KeyError, HostileInputError):
        return [Piece(stored, row.veil.mark(stored.decode("utf-8", "replace")))]
    return [Piece(start), *found, Piece(end)]


def text_of(found: list[Piece]) -> Veiled:
    """Return the pieces as one text, with a mark in the place of what is not shown."""
    text = Veiled("".join(piece.mark or as_veiled(piece.data.decode("utf-8", "replace")) for piece in found))
    text.size, text.warned = sum(len(piece.data) for piece in found), ()
    return text


def within(found: list[Piece], first: int, last: int) -> list[Piece]:
    """Return the pieces between two places; one that is not shown has its mark as soon as a byte of it is there."""
    kept, at = list[Piece](), 0
    for piece in found:
        start, end = max(first - at, 0), min(last - at, len(piece.data))
        kept += [Piece(piece.data[start:end], piece.mark)] if start < end else []
        at += len(piece.data)
    return kept


def _around(stored: bytes, args: bytes) -> tuple[bytes, bytes]:
    """Return what stands before and behind the arguments, which are the first member of every call."""
    start = b'{"args":'
    if not stored.startswith(start + args):
        raise ValueError("these are not the stored bytes")
    return start, stored[len(start) + len(args) :]


def _members(value: JSON, path: str, row: Seen) -> Iterator[Piece]:
    if isinstance(value, dict):
        yield Piece(b"{")
        names = row.hidden_names(path, value)
        for number, (key, item) in enumerate(value.items()):
            yield Piece(b"," if number else b"")
            yield from _string(key, names[key])
            yield Piece(b":")
            yield from _members(item, below(path, key), row)
        yield Piece(b"}")
    elif isinstance(value, list):
        yield Piece(b"[")
        for number, item in enumerate(value):
            yield Piece(b"," if number else b"")
            yield from _members(item, below(path, number), row)
        yield Piece(b"]")
    elif isinstance(value, str):
        yield from _string(value, row.hidden(path, value))
    else:
        hidden = row.hidden(path, value)
        yield Piece(canonical(value), hidden[0].mark if hidden else "")


def _string(text: str, hidden: list[Hidden]) -> Iterator[Piece]:
    """Yield a text as it stands in the bytes: characters are escaped one by one, so it can be cut between any two."""
    at = 0
    yield Piece(b'"')
    for one in hidden:
        yield Piece(canonical(text[at : one.start])[1:-1])
        yield Piece(canonical(text[one.start : one.end])[1:-1], one.mark)
        at = one.end
    yield Piece(canonical(text[at:])[1:-1])
    yield Piece(b'"')


__all__ = ["Piece", "pieces", "text_of", "within"]
