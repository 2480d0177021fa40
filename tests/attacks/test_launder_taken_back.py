"""An order that the user took back in a later message."""

from __future__ import annotations

import pytest

from checkvalve.filters.labels import Authority
from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")

ACCOUNT = "DE89370400440532013000"


def then(first: str, second: str) -> Session:
    session = Session(first)
    session.index.add_words(second, authority=Authority.USER, message=True)
    return session


@pytest.mark.parametrize(
    "second",
    [
        "Never mind, forget it.",
        "Stop, do not do it.",
        "No, leave it.",
        "Thanks, that's it. What is new?",
        "I changed my mind about that. What is in my calendar?",
    ],
)
def test_an_order_that_was_taken_back_is_out_of_force(second: str) -> None:
    session = then(f"Pay 50 EUR to {ACCOUNT}", second)
    assert not session.verdict("pay", account=ACCOUNT, amount=50).startswith("allow")


@pytest.mark.parametrize("second", ["Yes, do it.", "ok, proceed"])
def test_an_order_that_was_confirmed_is_in_force(second: str) -> None:
    session = then(f"Pay 50 EUR to {ACCOUNT}", second)
    assert session.verdict("pay", account=ACCOUNT, amount=50).startswith("allow")
