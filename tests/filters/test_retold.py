"""What still counts as the user's own words, and what a model may not change in them."""

from __future__ import annotations

import pytest

from checkvalve.filters.retold import is_retold

SAID = "Reply there that you've seen it in the meeting room. Write to each: you are the k-th of n people. "
SAID += "Bring cake, please"


@pytest.mark.parametrize(
    "value",
    [
        "seen it in the meeting room",
        "Seen it in the meeting room!",
        "I've seen it in the meeting room.",
        "you are the 3-th of 12 people",
        "Bring cake please",
    ],
)
def test_the_users_words_and_those_told_again(value: str) -> None:
    assert is_retold(value, SAID)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "seen it in the kitchen",
        "room meeting the in it seen",
        "seen It in the meeting room",
        "Seen It In The meeting room",
        "seen\nit in the meeting room",
        "seen\u2003it in the meeting room",
        "seen it.. in the meeting room",
        "seen, it, in, the, meeting room",  # one sign too many
        "my seen it in the meeting room",
        "ME've seen it in the meeting room",
        "you are the 1000-th of 12 people",
        "you are the 007-th of 12 people",
        "you are the abc-th of n people",
    ],
)
def test_anything_more_could_carry_something(value: str) -> None:
    assert not is_retold(value, SAID)


def test_one_placeholder_is_one_number() -> None:
    assert is_retold("row 7 goes before row 7", "row k goes before row k")
    assert not is_retold("row 7 goes before row 8", "row k goes before row k")
