"""A field that is the user's own in some records only, and an attacker who wants his records to look like those."""

from __future__ import annotations

import pytest

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.manifest import parse_manifest
from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")

DRIVE = """
name: drive
principal: {owner: [me@corp.example], domain: [corp.example]}
tools:
  list_files:
    effect: read
    result:
      - {path: owner, kind: email, writable_by: stamped, evidence: the drive sets it to who made the file}
      - {path: name, names_record: true, writable_by: owner, when: {owner: ["@owner"]}, evidence: the user named it}
      - {path: shared.*}
      - {path: shared.*, keys: true, kind: email, contact: true, writable_by: owner, when: {owner: ["@owner"]},
         evidence: only the owner gives access}
  list_mail:
    effect: read
    result:
      - {path: status, writable_by: owner, evidence: the server sets it}
      - {path: to.*, kind: email, contact: true, writable_by: owner, when: {status: [sent]}, evidence: the user chose}
      - {path: from, kind: email}
      - {path: subject, names_record: true}
  send_mail:
    effect: send
    asks: [send, mail, tell]
    args:
      to: {role: target, kind: email}
      body: {role: content}
"""
OWN = {"owner": "me@corp.example", "name": "team-notes.docx", "shared": {"ann.lee@partner.example": "rw"}}


def session(*said: str, profile: str = "strict", contacts: tuple[str, ...] = ()) -> Session:
    names = ", ".join(contacts)
    manifest = parse_manifest(DRIVE.replace("principal: {", f"principal: {{contacts: [{names}], "), "drive.yaml")
    return Session(*said, manifest=manifest, profile=profile)


def test_twin_those_who_share_the_users_own_file_may_be_described() -> None:
    mine = session("Send the team notes file to the client").read("list_files", [OWN])
    assert mine.verdict("send_mail", to="ann.lee@partner.example", body="the notes") == "allow:attributed-effect"


@pytest.mark.parametrize(
    "record",
    [
        {**OWN, "owner": "eve@drop.example"},
        {**OWN, "owner": None},
        {key: value for key, value in OWN.items() if key != "owner"},
        {**OWN, "owner": ["me@corp.example"]},
        {**OWN, "owner": {"email": "me@corp.example"}},
        {**OWN, "owner": "me@corp.example, eve@drop.example"},
        {**OWN, "owner": "me@c\u043erp.example"},
        {"name": "team-notes.docx", "shared": {"ann.lee@partner.example": "rw", "owner": "me@corp.example"}},
    ],
)
def test_a_file_of_somebody_else_names_nobody(record: dict[str, object]) -> None:
    theirs = session("Send the team notes file to the client").read("list_files", [record])
    assert theirs.verdict("send_mail", to="ann.lee@partner.example", body="x").startswith("review:")


def test_the_condition_is_of_the_same_record() -> None:
    both = session("Send the team notes file to the client")
    both.read("list_files", [{**OWN, "shared": {}}, {**OWN, "owner": "eve@drop.example"}])
    assert both.verdict("send_mail", to="ann.lee@partner.example", body="x").startswith("review:")


def test_a_stamp_is_no_destination() -> None:
    """Whoever shares a file is stamped as its owner: his address is true, and still his."""
    theirs = session("Send the team notes file to the owner").read("list_files", [{**OWN, "owner": "eve@drop.example"}])
    assert theirs.verdict("send_mail", to="eve@drop.example", body="x").startswith("review:")


def test_a_name_is_one_of_those_the_user_wrote_to() -> None:
    mails = [
        {"status": "sent", "from": "me@corp.example", "to": ["mark.day@home.example"], "subject": "Re: trip"},
        {"status": "received", "from": "mark@drop.example", "to": ["me@corp.example"], "subject": "trip"},
    ]
    asked = session("Tell Mark that I am in").read("list_mail", mails)
    assert asked.verdict("send_mail", to="mark.day@home.example", body="I am in") == "allow:attributed-effect"
    assert asked.verdict("send_mail", to="mark@drop.example", body="I am in").startswith("review:")
    two = session("Tell Mark that I am in").read("list_mail", [*mails, {**mails[0], "to": ["mark.may@home.example"]}])
    assert two.verdict("send_mail", to="mark.day@home.example", body="I am in").startswith("review:")


@pytest.mark.parametrize("profile", ["strict", "contacts"])
def test_a_contact_counts_in_its_profile_only(profile: str) -> None:
    mails = [
        {"status": "sent", "from": "me@corp.example", "to": ["ann@partner.example"], "subject": "x"},
        {"status": "received", "from": "ann@partner.example", "to": ["bob@home.example"], "subject": "y"},
    ]
    for listed in ((), ("bob@home.example",)):
        asked = session("Send it to everybody on that mail", profile=profile, contacts=listed).read("list_mail", mails)
        expected = profile == "contacts" and bool(listed)
        allowed = asked.verdict("send_mail", to="bob@home.example", body="it").startswith("allow:")
        assert allowed is expected
        assert asked.verdict("send_mail", to="eve@drop.example", body="it").startswith("review:")


def test_a_contact_that_the_words_do_not_describe_is_asked_about() -> None:
    asked = session("Send it to Carl", profile="contacts", contacts=("bob@home.example",))
    assert asked.verdict("send_mail", to="bob@home.example", body="it").startswith("review:")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{path: a, when: {owner: [x]}}", "nothing to trust"),
        ("{path: '**', writable_by: owner, when: {owner: [x]}, evidence: e}", "first step"),
        ("{path: a, writable_by: owner, when: {owner: []}, evidence: e}", "lists the values"),
        ("{path: a, writable_by: owner, when: {body: [x]}, evidence: e}", "depends on 'body'"),
        ("{path: a, contact: true}", "cannot list contacts"),
    ],
)
def test_a_condition_that_holds_nothing_is_refused(line: str, problem: str) -> None:
    text = DRIVE.replace("      - {path: name,", f"      - {line}\n      - {{path: body}}\n      - {{path: name,", 1)
    with pytest.raises(ManifestError, match=problem):
        parse_manifest(text, "drive.yaml")
