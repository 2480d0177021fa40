"""The Merkle tree of RFC 6962 (and 9162, section 2.1): hashes, inclusion proofs and consistency proofs. Pure.

A leaf is ``SHA-256(0x00 || data)``, a node ``SHA-256(0x01 || left || right)``. Hashes are 32 bytes; indexes start at 0.
Who keeps the hashes is somebody else's business: functions that make proofs ask ``subtree(level, position)`` for the
hash of the complete subtree of ``2**level`` leaves that starts at leaf ``position * 2**level``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

Subtree: TypeAlias = Callable[[int, int], bytes]

SIZE: Final = 32
"""Bytes of a hash."""
EMPTY: Final = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of one leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node over two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root over neighbouring hashes of one level; their number is a power of two."""
    level = list(hashes)
    while len(level) > 1:
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0]


class Frontier:
    """The right edge of a growing tree: all that is needed to add leaves and to know the root, in O(log n) memory."""

    def __init__(self) -> None:
        """Begin with the empty tree."""
        self.size = 0
        self._edge: list[tuple[int, bytes]] = []  # complete subtrees from left to right: level, hash

    def add(self, leaf: bytes) -> None:
        """Add the hash of the next leaf."""
        level, hashed = 0, leaf
        while self._edge and self._edge[-1][0] == level:
            hashed = node_hash(self._edge.pop()[1], hashed)
            level += 1
        self._edge.append((level, hashed))
        self.size += 1

    def root(self) -> bytes:
        """Return the root over the leaves so far."""
        if not self._edge:
            return EMPTY
        root = self._edge[-1][1]
        for _level, left in reversed(self._edge[:-1]):
            root = node_hash(left, root)
        return root


def in_memory(leaves: Sequence[bytes]) -> Subtree:
    """Return the subtrees over hashes of leaves that are at hand."""
    known: dict[tuple[int, int], bytes] = {}

    def subtree(level: int, position: int) -> bytes:
        if level == 0:
            return leaves[position]
        if (level, position) not in known:
            left, right = subtree(level - 1, 2 * position), subtree(level - 1, 2 * position + 1)
            known[level, position] = node_hash(left, right)
        return known[level, position]

    return subtree


def tree_hash(first: int, end: int, subtree: Subtree) -> bytes:
    """Return the hash over the leaves ``first`` to ``end - 1``, where a tree of RFC 6962 has that part."""
    count = end - first
    if count <= 0:
        return EMPTY
    if count & (count - 1) == 0:
        level = count.bit_length() - 1
        return subtree(level, first >> level)
    middle = first + _split(count)
    return node_hash(tree_hash(first, middle, subtree), tree_hash(middle, end, subtree))


def inclusion_proof(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """Return the proof that leaf ``index`` is in the tree of ``size`` leaves, from the leaf's sibling upwards.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    first, end, path = 0, size, list[bytes]()
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            path.append(tree_hash(middle, end, subtree))
            end = middle
        else:
            path.append(tree_hash(first, middle, subtree))
            first = middle
    return path[::-1]


def consistency_proof(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """Return the proof that the tree of ``new`` leaves begins with the tree of ``old`` leaves.

    Raises:
        ValueError: ``old`` is larger than ``new``, or negative.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves does not begin with one of {old}")
    if old in {0, new}:
        return []
    first, end, whole, path = 0, new, True, list[bytes]()
    while old != end:
        middle = first + _split(end - first)
        if old <= middle:
            path.append(tree_hash(middle, end, subtree))
            end = middle
        else:
            path.append(tree_hash(first, middle, subtree))
            first, whole = middle, False
    return ([] if whole else [tree_hash(first, end, subtree)]) + path[::-1]


def root_of_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that a proof leads to, or None where it has the wrong length (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size:
        return None
    at, last, root = index, size - 1, leaf
    for hashed in proof:
        if last == 0:
            return None
        if at & 1 or at == last:
            root = node_hash(hashed, root)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            root = node_hash(root, hashed)
        at, last = at >> 1, last >> 1
    return root if last == 0 else None


def is_consistent(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Say whether a proof shows that one tree begins with the other (RFC 9162, section 2.1.4.2)."""
    if not 0 <= old <= new:
        return False
    if old in {0, new}:
        return not proof and (old_root == new_root if old == new else old_root == EMPTY)
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = path[0]
    for hashed in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node_hash(hashed, before), node_hash(hashed, after)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, hashed)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == new_root


def _split(count: int) -> int:
    """Return the largest power of two below ``count``."""
    return 1 << (count - 1).bit_length() - 1
