"""Which passwords are refused, and which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.password_rules import MAX_LENGTH, MIN_LENGTH, PROBLEMS, folded_password, problem_of

pytestmark = pytest.mark.claim("C4")

NAME = "annabel.lee@corp.example"


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("", "short"),
        ("elevenchars", "short"),
        ("x" * 300, "long"),
        ("twelve chars\x00", "unprintable"),
        ("passwordpassword", "common"),
        ("P4ssw0rd!2026", "common"),
        ("p@$$word p@$$word", "common"),
        ("Welcome-Welcome-1", "common"),
        ("123456789012", "common"),
        ("098765432109876", "common"),
        ("qwertyuiop[]", "common"),
        ("asdfghjkl;'#1", "common"),
        ("aaaaaaaaaaaaaaaa", "common"),
        ("abcabcabcabcabc", "common"),
        ("Zz9Zz9Zz9Zz9", "common"),
        ("Sommer2026!!!", "common"),
        ("checkvalve-admin-1", "common"),
        ("cvr_0123_kurfuerstendamm", "common"),
        ("annabel-annabel", "name"),
        ("Annabel.Lee@corp.example", "name"),
        ("annabellee2026", "name"),
        ("4nnab3l-l33-123", "name"),
    ],
)
def test_a_bad_one_is_refused_with_the_reason(password: str, problem: str) -> None:
    assert problem_of(password, NAME) == problem
    assert not problem or problem in PROBLEMS


@pytest.mark.parametrize(
    "password",
    [
        "seven umbrellas sing at noon",
        "zug-otter-lampe-42",
        "Kj3n!xPq92vbT",
        "gurkenglas unter dem klavier",
        "\u6211\u7684\u5bc6\u7801\u662f\u5f88\u957f\u7684\u4e00\u53e5\u8bdd\u5462\u5440",
        "my annabel eats purple turnips",
    ],
)
def test_a_good_one_is_not(password: str) -> None:
    assert problem_of(password, NAME) == ""


def test_one_password_has_one_form_on_every_keyboard() -> None:
    assert folded_password("e\u0301tude \uff11\uff12") == folded_password("\u00e9tude 12")


@given(st.text(max_size=400), st.text(max_size=40))
def test_any_text_has_an_answer(password: str, name: str) -> None:
    problem = problem_of(password, name)
    size = len(folded_password(password))
    assert problem in {"", *PROBLEMS}
    assert (problem == "short") == (size < MIN_LENGTH)
    assert (problem == "long") == (size > MAX_LENGTH)
