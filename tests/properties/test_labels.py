"""The label lattice: joining only ever makes a label worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.filters.errors import LabelError
from checkvalve.filters.labels import CLEAN, UNKNOWN, Authority, Label, Readers, Source, Trust, join

names = st.frozensets(st.sampled_from(["ann", "bob", "eve", "@domain"]), max_size=3)
readers = st.builds(Readers.everyone) | names.map(Readers.of)
sources = st.frozensets(st.sampled_from([Source("user"), Source("tool", "t/1"), Source("page", "p")]))
labels = st.builds(Label, st.sampled_from(Trust), st.sampled_from(Authority), readers, sources)


@pytest.mark.claim("C3")
@given(labels, labels)
def test_join_is_at_most_as_good_as_either_and_does_not_care_about_order(a: Label, b: Label) -> None:
    joined = a.join(b)
    assert joined <= a
    assert joined <= b
    assert joined == b.join(a)


@given(labels, labels, labels)
def test_join_is_associative_and_idempotent(a: Label, b: Label, c: Label) -> None:
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(a) == a


@given(labels, labels, labels)
def test_join_is_the_best_label_below_both(a: Label, b: Label, c: Label) -> None:
    if c <= a and c <= b:
        assert c <= a.join(b)


@given(labels)
def test_the_clean_label_is_neutral_and_the_order_is_reflexive(a: Label) -> None:
    assert CLEAN.join(a) == a
    assert a <= a  # noqa: PLR0124 - reflexivity is the property


def test_no_label_is_untrusted_and_private() -> None:
    assert join([]) == UNKNOWN
    assert UNKNOWN.trust is Trust.UNTRUSTED
    assert UNKNOWN.authority is Authority.NONE
    assert not UNKNOWN.readers.allows("ann")


@given(names, names, st.sampled_from(["ANN", "bob", "Eve"]))
def test_a_reader_of_the_meet_reads_both(a: frozenset[str], b: frozenset[str], name: str) -> None:
    met = Readers.of(a).meet(Readers.of(b))
    assert met.allows(name) == (Readers.of(a).allows(name) and Readers.of(b).allows(name))


def test_public_readers_with_names_are_refused() -> None:
    with pytest.raises(LabelError, match="either public or a set"):
        Readers(public=True, names=frozenset({"ann"}))
