from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.content import SqlContentStore, label_from_json, label_to_json
from checkvalve.approvals.errors import QueueError, StoreCorruptError
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import content
from checkvalve.filters.errors import UnknownReferenceError
from checkvalve.filters.labels import UNKNOWN, Authority, Label, Readers, Source, Trust
from checkvalve.filters.tainted import ContentStore, Reference, Tainted

MAIL = Label(Trust.VERIFIED, Authority.NONE, Readers.of(["ann"]), frozenset({Source("tool", "read_mail/c1")}))

labels = st.builds(
    Label,
    st.sampled_from(Trust),
    st.sampled_from(Authority),
    st.one_of(st.just(Readers.everyone()), st.builds(Readers.of, st.frozensets(st.text()))),
    st.frozensets(st.builds(Source, st.text(), st.text(), st.text()), max_size=3),
)


@pytest.fixture
def contents(store: Store) -> SqlContentStore:
    return SqlContentStore(store)


def test_content_keeps_its_label(contents: SqlContentStore) -> None:
    keeper: ContentStore = contents
    for text in ("", "hello", "nul\x00 and lone \ud800 surrogate", "\u00e4" * 1000):
        reference = keeper.put(Tainted(text, MAIL), thread="t", kind="email")
        assert keeper.get(reference).reveal() == (text, MAIL)
        assert reference.kind == "email"
        assert reference.size == len(text.encode("utf-8", "surrogatepass"))


def test_a_handle_says_nothing_of_the_content(contents: SqlContentStore) -> None:
    first, second = (contents.put(Tainted("same", MAIL), thread="t") for _ in range(2))
    assert first.id != second.id
    with pytest.raises(UnknownReferenceError):
        contents.get(Reference("0" * 32, "text", 4))


@given(labels)
def test_labels_survive_storage(label: Label) -> None:
    assert label_from_json(json.loads(json.dumps(label_to_json(label)))) == label


@pytest.mark.claim("C3")
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text()), lambda inner: st.dictionaries(st.text(), inner)
    )
)
def test_what_is_no_label_is_the_worst_label(value: object) -> None:
    assert label_from_json(value) == UNKNOWN


@pytest.mark.parametrize(
    "change",
    [{"trust": "GOD"}, {"public": 1}, {"readers": None}, {"sources": [{}]}, {"public": True, "readers": ["x"]}],
)
def test_a_label_that_is_wrong_in_one_part_is_the_worst_label(change: dict[str, object]) -> None:
    assert label_from_json({**label_to_json(MAIL), **change}) == UNKNOWN


@pytest.mark.claim("C3")
def test_an_edited_label_or_value_gains_nothing(contents: SqlContentStore, store: Store) -> None:
    reference = contents.put(Tainted("x", MAIL), thread="t")
    with store.write() as connection:
        connection.execute(sa.update(content).values(label="{"))
    assert contents.get(reference).label == UNKNOWN
    with store.write() as connection:
        connection.execute(sa.update(content).values(value="{"))
    with pytest.raises(StoreCorruptError):
        contents.get(reference)


def test_history_keeps_order_and_stores_the_same_thing_once(contents: SqlContentStore) -> None:
    first = contents.append_item("t", "m1", "user", {"text": "hi"}, MAIL)
    contents.append_item("u", "m1", "user", "elsewhere")
    contents.append_item("t", "m2", "tool", [1, None])
    assert contents.append_item("t", "m1", "user", {"text": "hi"}, UNKNOWN) == first
    items = contents.items("t")
    assert [(item.key, item.kind, item.value, item.label) for item in items] == [
        ("m1", "user", {"text": "hi"}, MAIL),
        ("m2", "tool", [1, None], UNKNOWN),
    ]
    assert [item.key for item in contents.items("t", after=items[0].seq)] == ["m2"]


def test_changed_content_under_an_old_key_is_seen_as_well(contents: SqlContentStore) -> None:
    for text in ("first", "second", "first"):
        contents.append_item("t", "m1", "tool", text)
    assert [item.value for item in contents.items("t")] == ["first", "second"]


def test_history_holds_json_only(contents: SqlContentStore) -> None:
    for value in (float("nan"), object(), {"x": b""}):
        with pytest.raises(QueueError):
            contents.append_item("t", "k", "tool", value)  # type: ignore[arg-type]
    with pytest.raises(QueueError):
        contents.put(Tainted(b"bytes", MAIL), thread="t")  # type: ignore[arg-type]
