"""A person accepts data: this value, from this source, in this role, for this tool. Nothing else follows from it."""

from __future__ import annotations

import pytest

from checkvalve.approvals.endorsements import Endorsement
from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")
GIVEN = Endorsement("bob@news.example", "tool:read_mail/c1", "target", "send_mail", "email")


def session(*given: Endorsement) -> Session:
    made = Session("Send Bob a note").read("read_mail", [{"from": "bob@news.example"}, {"from": "eve@drop.example"}])
    made.endorsements.extend(given)
    return made


def test_the_same_value_is_not_asked_about_again() -> None:
    asked = session().propose("send_mail", to="bob@news.example", body="note")
    assert asked.verdict.rule == "untrusted-target"
    assert asked.endorsable == (GIVEN,)
    again = session(*asked.endorsable)
    assert again.verdict("send_mail", to="bob@news.example", body="note").startswith("allow:")
    # the same person, but whose letters the model chose: they could tell something, so this is about readers now
    assert again.verdict("send_mail", to="Bob@News.example", body="note") == "review:readers"


@pytest.mark.parametrize(
    "given",
    [
        Endorsement("eve@drop.example", "tool:read_mail/c1", "target", "send_mail", "email"),
        Endorsement("bob@news.example", "tool:fetch/c9", "target", "send_mail", "email"),
        Endorsement("bob@news.example", "tool:read_mail/c1", "content", "send_mail", "email"),
        Endorsement("bob@news.example", "tool:read_mail/c1", "target", "add_event", "email"),
        Endorsement("bob@news.example", "tool:read_mail/c1", "target", "send_mail", "text"),
    ],
    ids=["value", "source", "role", "tool", "kind"],
)
def test_another_value_source_role_tool_or_kind_is(given: Endorsement) -> None:
    assert session(given).verdict("send_mail", to="bob@news.example", body="note").startswith("review:")
