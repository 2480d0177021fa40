"""What still counts as the user's own words, and what a model may not change in them."""

from __future__ import annotations

import pytest

from checkvalve.filters.retold import is_retold, is_shortened

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


NOTED = "Yes, and remember my birthday is the 3 May. Ann is not my sister, she is a friend of the family"


@pytest.mark.parametrize(
    "value", ["Birthday 3 May", "birthday is 3 May.", "my birthday the 3 May", "a friend of family"]
)
def test_small_words_may_be_left_out_of_what_the_user_said(value: str) -> None:
    assert is_shortened(value, NOTED)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "May",
        "Birthday 4 May",
        "Birthday May",  # the day is no small word
        "BIRTHDAY 3 May",
        "Birthday  3 May",
        "Birthday, 3 May",
        "Birthday 3 may",
        "Birthday 3 May!",
        "May 3 birthday",
        "3 May Ann",  # over the end of a sentence
        "Ann my sister",  # what denies cannot be left out
        "Ann sister",
        "your birthday 3 May",
        "birthday \u2003 3 May",
        " birthday 3 May",
        "birthday 3 May ",
        "birthday 3 May.\n",
        "\u24d5\u24de\u24e1 birthday 3 May",  # letters in circles are no words, and say something all the same
        "\U0001f600\U0001f601 birthday 3 May",
    ],
)
def test_nothing_else_may_be_left_out_or_changed(value: str) -> None:
    assert not is_shortened(value, NOTED)


def test_only_a_few_words_may_be_left_out_at_all() -> None:
    said = "is it a my the an hour"
    assert is_shortened("it my an hour", "it is my an hour")
    assert not is_shortened("it hour", said)
    assert is_shortened("it dog the cat", "it is a my dog the cat")
    assert not is_shortened("it dog cat", "it is a my dog the cat")  # few between any two, and too many in all
