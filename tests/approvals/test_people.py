from __future__ import annotations

import pytest

from checkvalve.approvals.people import folded, is_usable, same_person


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ann", "ann", True),
        ("ann  lee", "Ann Lee", True),
        ("\u0441\u043e\u0440", "cop", True),  # all Cyrillic
        ("\u0130lk", "ilk", True),
        ("jos\u00e9", "jose\u0301", True),
        ("ann", "anna", False),
        ("\u5f20\u4f1f", "\u5f20\u8587", False),
    ],
)
def test_names_that_look_the_same_are_one_person(one: str, other: str, same: bool) -> None:
    assert same_person(one, other) is same


@pytest.mark.parametrize(
    "name", ["ann", "ann.lee+x@corp.example", "Jos\u00e9", "\u0410\u043d\u043d\u0430", "\u5f20\u4f1f lee"]
)
def test_ordinary_names_are_usable_and_stay_themselves(name: str) -> None:
    assert is_usable(name)
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("name", ["", " \t", "\u200b", "\u2800", "a\u200db", "a\x00", "\u0430nn", "x" * 101, "\u0301"])
def test_a_name_that_cannot_be_read_is_none(name: str) -> None:
    assert not is_usable(name)
