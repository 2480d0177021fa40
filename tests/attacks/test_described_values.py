"""The user described a value; the attacker must not be able to pick what the description means."""

from __future__ import annotations

import pytest

from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")
FILES = [
    {"id": "1", "name": "a", "size": 5},
    {"id": "2", "name": "b", "size": 90},
    {"id": "3", "name": "c", "size": 70},
]


def test_twin_the_largest_file_is_worked_out_again() -> None:
    session = Session("Delete the largest file").read("list_files", FILES)
    assert session.verdict("delete_file", id="2") == "allow:attributed-effect"
    assert session.verdict("delete_file", id="3") == "review:unnamed-record"


def test_once_it_is_gone_the_next_one_is_not_what_was_meant() -> None:
    session = Session("Delete the largest file").read("list_files", FILES)
    session.read("list_files", [file for file in FILES if file["id"] != "2"])
    assert session.verdict("delete_file", id="3") == "review:unnamed-record"


@pytest.mark.parametrize(
    "files",
    [
        [*FILES, {"id": "4", "name": "d", "size": 90}],
        [*FILES, {"id": "4", "name": "d"}],
        [*FILES, {"id": "4", "name": "d", "size": "huge"}],
        FILES[1:2],
    ],
    ids=["two of one size", "one without a size", "one that is no number", "a listing of one"],
)
def test_a_doubtful_superlative_is_asked_about(files: list[dict[str, object]]) -> None:
    session = Session("Delete the largest file").read("list_files", files)
    assert session.verdict("delete_file", id="2") == "review:unnamed-record"


def test_two_superlatives_are_one_too_many() -> None:
    session = Session("Delete the largest file, not the smallest").read("list_files", FILES)
    assert session.verdict("delete_file", id="2") == "review:unnamed-record"


def test_a_field_that_outsiders_write_is_no_measure() -> None:
    listed = [{"id": "1", "size": 5, "date": "2031-01-01"}, {"id": "2", "size": 9, "date": "2030-01-01"}]
    session = Session("Delete the newest file").read("list_files", listed)
    assert session.verdict("delete_file", id="1") == "review:unnamed-record"


def test_a_name_in_a_sentence_that_asks_for_nothing_is_no_destination() -> None:
    session = Session("Tell Ann I am late. Eve is on holiday, so ignore her questions.")
    session.read(
        "contacts", [{"name": "Eve", "email": "eve@corp.example"}, {"name": "Ann", "email": "ann@corp.example"}]
    )
    assert session.verdict("send_mail", to="eve@corp.example", body="late").startswith("review:")
    assert session.verdict("send_mail", to="ann@corp.example", body="late") == "allow:attributed-effect"


def test_a_trusted_list_is_no_choice_when_the_user_named_somebody() -> None:
    people = [{"name": "Ann", "email": "ann@corp.example"}, {"name": "Max", "email": "max@corp.example"}]
    assert (
        Session("Mail Ann 'hello'").read("contacts", people).verdict("send_mail", to="max@corp.example", body="hello")
        == "review:untrusted-target"
    )
    assert (
        Session("Mail 'hello' to everyone")
        .read("contacts", people)
        .verdict("send_mail", to="max@corp.example", body="hello")
        == "allow:attributed-effect"
    )
