"""The tree against RFC 6962's own definition, written a second time in the most literal way, and known answers."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.merkle import (
    EMPTY,
    Frontier,
    consistency_proof,
    in_memory,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    root_of_inclusion,
    tree_hash,
)

# the leaves and roots of the reference tests of Certificate Transparency
DATA = [bytes.fromhex(one) for one in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
DATA.append(bytes.fromhex("606162636465666768696a6b6c6d6e6f"))
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def mth(data: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1."""
    if not data:
        return hashlib.sha256().digest()
    if len(data) == 1:
        return hashlib.sha256(b"\x00" + data[0]).digest()
    k = 1
    while k * 2 < len(data):
        k *= 2
    return hashlib.sha256(b"\x01" + mth(data[:k]) + mth(data[k:])).digest()


def path(m: int, data: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(data) == 1:
        return []
    k = 1
    while k * 2 < len(data):
        k *= 2
    if m < k:
        return [*path(m, data[:k]), mth(data[k:])]
    return [*path(m - k, data[k:]), mth(data[:k])]


def subproof(m: int, data: list[bytes], whole: bool) -> list[bytes]:
    """SUBPROOF of RFC 6962, section 2.1.2."""
    if m == len(data):
        return [] if whole else [mth(data)]
    k = 1
    while k * 2 < len(data):
        k *= 2
    if m <= k:
        return [*subproof(m, data[:k], whole), mth(data[k:])]
    return [*subproof(m - k, data[k:], False), mth(data[:k])]


def leaves(data: list[bytes]) -> list[bytes]:
    return [leaf_hash(one) for one in data]


def numbered(count: int) -> list[bytes]:
    return [f"leaf {number}".encode() for number in range(count)]


def test_the_roots_that_everybody_knows() -> None:
    frontier = Frontier()
    assert frontier.root() == EMPTY == bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    for size, root in enumerate(ROOTS, 1):
        frontier.add(leaf_hash(DATA[size - 1]))
        assert frontier.root().hex() == root == tree_hash(0, size, in_memory(leaves(DATA))).hex()


def test_roots_of_every_size_up_to_a_thousand_are_those_of_the_definition() -> None:
    data = numbered(1_025)
    subtree, frontier = in_memory(leaves(data)), Frontier()
    for size in range(1_025):
        if size < 70 or size % 37 == 0 or size in {127, 128, 129, 255, 256, 257, 511, 512, 513, 1_023, 1_024}:
            assert frontier.root() == mth(data[:size]) == tree_hash(0, size, subtree)
        frontier.add(leaf_hash(data[size]))


def test_every_proof_of_every_small_tree_is_that_of_the_definition_and_verifies() -> None:
    for size in range(1, 34):
        data = numbered(size)
        subtree, root = in_memory(leaves(data)), mth(data)
        for index in range(size):
            proof = inclusion_proof(index, size, subtree)
            assert proof == path(index, data)
            assert root_of_inclusion(index, size, leaf_hash(data[index]), proof) == root
        for old in range(size + 1):
            proof = consistency_proof(old, size, subtree)
            assert proof == ([] if old == 0 else subproof(old, data, True))
            assert is_consistent(old, size, mth(data[:old]), root, proof)


@settings(max_examples=60)
@given(st.integers(1, 1_024), st.data())
def test_proofs_between_any_two_sizes(size: int, data: st.DataObject) -> None:
    told = numbered(size)
    subtree = in_memory(leaves(told))
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    assert inclusion_proof(index, size, subtree) == path(index, told)
    assert consistency_proof(old, size, subtree) == subproof(old, told, True)


@settings(max_examples=150)
@given(st.integers(2, 200), st.data())
def test_a_proof_that_was_touched_is_none(size: int, data: st.DataObject) -> None:
    """One bit, one hash more or less, another place, another size, another root: none of them verifies."""
    told = numbered(size)
    hashes = leaves(told)
    subtree, root = in_memory(hashes), mth(told)
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size - 1))
    included, consistent = inclusion_proof(index, size, subtree), consistency_proof(old, size, subtree)
    for proof in (included, consistent):
        at, bit = (
            data.draw(st.integers(0, max(0, len(proof) * 256 - 1))),
            data.draw(st.sampled_from(["flip", "cut", "more"])),
        )
        touched = list(proof)
        if bit == "flip" and touched:
            one = bytearray(touched[at // 256])
            one[at % 256 // 8] ^= 1 << at % 8
            touched[at // 256] = bytes(one)
        elif bit == "cut" and touched:
            touched.pop(at % len(touched))
        else:
            touched.append(hashes[0])
        if proof is included:
            assert root_of_inclusion(index, size, hashes[index], touched) != root
        else:
            assert not is_consistent(old, size, mth(told[:old]), root, touched)
    other = data.draw(st.integers(0, size - 1).filter(lambda n: n != index))
    assert root_of_inclusion(other, size, hashes[index], included) != root
    assert not is_consistent(old, size, root, root, consistent)
    assert not is_consistent(old, size, mth(told[:old]), mth(told[:-1]), consistent)


def test_what_does_not_exist_has_no_proof() -> None:
    subtree = in_memory(leaves(DATA))
    for index, size in ((0, 0), (3, 3), (-1, 3)):
        with pytest.raises(ValueError, match="has no leaf"):
            inclusion_proof(index, size, subtree)
        assert root_of_inclusion(index, size, EMPTY, []) is None
    with pytest.raises(ValueError, match="does not begin"):
        consistency_proof(5, 4, subtree)
    root = mth(DATA)
    assert not is_consistent(9, 8, root, root, [])
    assert not is_consistent(8, 8, EMPTY, root, [])
    assert not is_consistent(8, 8, root, root, [root])
    assert not is_consistent(0, 8, root, root, []), "an empty tree has one root only"
    assert not is_consistent(3, 8, mth(DATA[:3]), root, [])


def test_a_verifier_that_skips_a_check_would_be_caught() -> None:
    """Negative control: folding a proof without looking at its length accepts a node as a leaf."""

    def careless(index: int, leaf: bytes, proof: list[bytes]) -> bytes:
        for hashed in proof:
            pair = (hashed, leaf) if index & 1 else (leaf, hashed)
            leaf, index = hashlib.sha256(b"\x01" + pair[0] + pair[1]).digest(), index >> 1
        return leaf

    subtree, root = in_memory(leaves(DATA)), mth(DATA)
    node, proof = subtree(1, 1), [subtree(1, 0), subtree(2, 1)]
    assert careless(1, node, proof) == root
    assert root_of_inclusion(1, 8, node, proof) != root
