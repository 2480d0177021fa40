"""A model that sees only references can send only what it put in; one that sees content may paraphrase all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.requests import ActionRequest
from checkvalve.filters.labels import Readers
from checkvalve.filters.origins import Field, FieldRule
from tests.attacks.world import MANIFEST, POLICY, Session

pytestmark = pytest.mark.claim("C1", "C3")
PEOPLE = [{"name": "Ann", "email": "ann@corp.example"}]


def send(session: Session, body: str, *put_in: Field, isolated: bool) -> Decision:
    context = DecisionContext(manifest=MANIFEST, policy=POLICY, index=session.index, isolated=isolated)
    context = replace(context, references={"body": put_in})
    args = {"to": "jane@home.example", "body": body}
    return decide(ActionRequest.build("send_mail", args), context)


def session() -> tuple[Session, Field, Field]:
    made = (
        Session("Write jane@home.example how things are")
        .read("contacts", PEOPLE)
        .read("profile", {"card": "4237-4252"})
    )
    fields = list(made.index.content_fields())
    card = next(field for field in fields if field.text == "4237-4252")
    name = next(field for field in fields if field.text == "Ann")
    return made, name, card


def test_what_was_not_put_in_does_not_count_against_it() -> None:
    made, *_ = session()
    assert send(made, "Things are fine", isolated=True).verdict.name == "allow"
    assert send(made, "Things are fine", isolated=False).verdict.rule == "readers"


def test_what_was_put_in_does() -> None:
    made, name, card = session()
    assert send(made, "4237-4252", card, isolated=True).verdict.rule == "readers"
    assert send(made, "Ann", name, isolated=True).verdict.name == "allow"  # the user chose Jane, and it is no secret


def test_what_a_reader_extracted_for_it_may_be_in_it() -> None:
    made, *_ = session()
    assert send(made, "Things are fine", isolated=True).verdict.name == "allow"
    owner_only = [FieldRule("digits", readers=Readers.of(["@owner", "me@corp.example"]))]
    made.index.add_result({"digits": 4237}, tool="reader/extraction", call="e1", args={}, rules=owner_only)
    assert send(made, "Things are fine", isolated=True).verdict.rule == "readers"
