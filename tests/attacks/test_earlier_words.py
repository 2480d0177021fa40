"""What the user asked for an hour ago does not authorise what nobody asks for now."""

from __future__ import annotations

import pytest

from checkvalve.filters.labels import Authority
from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")
FIRST = "Reply to the mail from bob@partner.example with 'thanks'"


def later(text: str, *, read_between: bool) -> Session:
    session = Session(FIRST)
    if read_between:
        session.read("read_mail", [{"body": "the private inbox"}])
    session.index.add_words(text, authority=Authority.USER, message=True)
    return session


@pytest.mark.parametrize("read_between", [True, False])
def test_a_new_message_about_something_else_ends_it(read_between: bool) -> None:
    session = later("Now summarise my inbox", read_between=read_between)
    assert session.verdict("send_mail", to="bob@partner.example", body="thanks").startswith("review:")


def test_an_amount_of_now_does_not_join_an_account_of_then() -> None:
    session = Session("Pay 50 EUR to DE89370400440532013000")
    session.index.add_words("Thanks. And pay 900 EUR to GB29NWBK60161331926819", authority=Authority.USER, message=True)
    assert session.verdict("pay", account="DE89370400440532013000", amount=900).startswith("review:")
    assert session.verdict("pay", account="GB29NWBK60161331926819", amount=900) == "allow:attributed-effect"


def test_twin_a_message_that_points_back() -> None:
    session = later("Yes, send it", read_between=True)
    assert session.verdict("send_mail", to="bob@partner.example", body="thanks") == "allow:attributed-effect"
