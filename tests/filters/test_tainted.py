"""A tainted value cannot be used, printed or compared by accident."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkvalve.filters.errors import LabelError
from checkvalve.filters.labels import Label, Source, Trust
from checkvalve.filters.tainted import Reference, Tainted

LABEL = Label(Trust.UNTRUSTED, sources=frozenset({Source("page", "https://x.example")}))
SECRET = "the-secret-text"


def test_reveal_is_the_only_way_out_and_carries_the_label() -> None:
    assert Tainted(SECRET, LABEL).reveal() == (SECRET, LABEL)
    assert Tainted(SECRET, LABEL).with_value(3).reveal() == (3, LABEL)


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "{!r:>80}".format, lambda value: f"{value}"],
    ids=["repr", "str", "format", "padded", "f-string"],
)
def test_no_way_of_printing_shows_the_value(show: Callable[[object], str]) -> None:
    shown = show(Tainted(SECRET, LABEL))
    assert SECRET not in shown
    assert "page:https://x.example" in shown


@pytest.mark.parametrize(
    "use",
    [bool, len, iter, hash, lambda value: value == SECRET, lambda value: value < SECRET],
    ids=["bool", "len", "iter", "hash", "eq", "lt"],
)
def test_using_it_directly_is_an_error(use: Callable[[object], object]) -> None:
    with pytest.raises(LabelError, match="call reveal"):
        use(Tainted(SECRET, LABEL))


def test_adding_it_to_text_is_an_error() -> None:
    with pytest.raises(TypeError):
        "a" + Tainted(SECRET, LABEL)  # type: ignore[operator]


def test_a_reference_shows_its_handle_only() -> None:
    assert str(Reference("r1", "text", 15)) == "ref:r1"
