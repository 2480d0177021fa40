"""What was read from a place may go back to that place, and to no other that is merely called like it."""

from __future__ import annotations

import pytest

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import DecisionContext
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.requests import ActionRequest
from checkvalve.filters.fields import place_name
from tests.attacks.world import POLICY, Session

pytestmark = pytest.mark.claim("C3")

TEXT = """
name: forge
principal: {owner: [me@corp.example]}
tools:
  read_repo:
    effect: read
    args: {repo: {role: selector, kind: name}}
    result: [{path: "**", readers: ["{repo}"]}]
  list_issues:
    effect: read
    args: {repo: {role: selector, kind: name}}
    result: [{path: "**", readers: ["{repo}", ann@corp.example]}]
  propose:
    effect: send
    asks: [fix]
    args: {repo: {role: target, kind: name}, body: {role: content}}
  post_in:
    effect: send
    asks: [fix]
    args: {channel: {role: target, kind: channel}, body: {role: content}}
  mail:
    effect: send
    asks: [fix, mail]
    args: {to: {role: target, kind: email}, body: {role: content}}
  wiki/propose:
    server: wiki
    effect: send
    asks: [fix]
    args: {repo: {role: target, kind: name}, body: {role: content}}
"""
FORGE = parse_manifest(TEXT, "forge.yaml")
SAID = "Look at the issues of acme/site and fix what is easy."


def reading(*repos: str, said: str = SAID) -> Session:
    session = Session(said, manifest=FORGE)
    for number, name in enumerate(repos):
        session.read("read_repo", {"text": f"file {number} of a repository"}, repo=name)
    return session


def test_twin_what_was_read_in_a_repository_goes_back_to_it() -> None:
    assert reading("acme/site").verdict("propose", repo="acme/site", body="a typo") == "allow:attributed-effect"


@pytest.mark.parametrize("repos", [("acme/payroll",), ("acme/site", "acme/payroll"), ("acme/payroll", "acme/site")])
def test_what_was_read_in_another_repository_does_not(repos: tuple[str, ...]) -> None:
    assert reading(*repos).verdict("propose", repo="acme/site", body="a typo") == "review:readers"


def test_a_place_of_the_same_name_elsewhere_is_another_place() -> None:
    session = reading("acme/site", said="Look at acme/site and fix it in #acme/site.")
    assert session.verdict("post_in", channel="acme/site", body="x").startswith("review:")
    request = ActionRequest.build("propose", {"repo": "acme/site", "body": "a typo"}, server="wiki")
    context = DecisionContext(manifest=FORGE, policy=POLICY, index=reading("acme/site").index)
    assert decide(request, context).verdict.rule == "readers"


HASHED = place_name("@place:/name:", "acme/site")  # anybody can compute it


@pytest.mark.parametrize("name", [HASHED, HASHED.upper(), "@place:/name:acme/site", "@owner", "@domain"])
def test_no_name_of_a_destination_passes_for_a_reader(name: str) -> None:
    decision = reading("acme/site", said=f'Fix it in "{name}".').propose("propose", repo=name, body="x")
    assert decision.facts["readers_ok"] is False
    assert decision.verdict.name in {"review", "deny"}


def test_an_argument_that_was_left_out_or_is_no_text_names_nobody() -> None:
    for given in ({}, {"repo": None}, {"repo": ["acme/site"]}):
        session = Session(SAID, manifest=FORGE).read("read_repo", {"text": "x"}, **given)
        assert session.verdict("propose", repo="acme/site", body="a typo") == "review:readers"


def test_named_people_and_the_place_stand_side_by_side() -> None:
    session = Session("Mail ann@corp.example what to fix", manifest=FORGE)
    session.read("list_issues", {"text": "an issue"}, repo="acme/site")
    assert session.verdict("mail", to="ann@corp.example", body="an issue") == "allow:attributed-effect"


def test_the_principal_reads_whatever_the_agent_read() -> None:
    session = reading("acme/payroll", said="Mail me@corp.example what to fix")
    assert session.verdict("mail", to="me@corp.example", body="salaries") == "allow:attributed-effect"


def test_a_name_like_the_principals_is_no_address_of_theirs() -> None:
    text = """
name: chat
principal: {owner: [Ann]}
tools:
  read_notes: {effect: read}
  tell: {effect: send, asks: [tell], args: {who: {role: target, kind: user}, text: {role: content}}}
"""
    session = Session("Tell everybody", manifest=parse_manifest(text, "chat.yaml"))
    session.read("read_notes", {"who": "Ann", "text": "private"})
    session.endorsements.append(Endorsement("Ann", "tool:read_notes/c1", "target", "tell", "user"))
    assert session.verdict("tell", who="Ann", text="private") == "review:readers"


@pytest.mark.parametrize(
    "args", ["{}", "{repo: {role: content}}", "{repo: {role: selector}}", "{repo: {role: control, kind: name}}"]
)
def test_only_an_argument_that_names_a_place_can_be_a_reader(args: str) -> None:
    text = f'name: x\ntools: {{t: {{effect: read, args: {args}, result: [{{path: a, readers: ["{{repo}}"]}}]}}}}'
    with pytest.raises(ManifestError, match="target or selector"):
        parse_manifest(text, "x.yaml")


@pytest.mark.parametrize("other", ["Acme/Site", "acme / site", "acme/\uff53ite", "acme/site\u200b", "\u0430cme/site"])
def test_a_place_is_spelled_exactly_as_it_was_read_from(other: str) -> None:
    session = reading("acme/site", said=f"Look at acme/site and fix it in {other}")
    assert session.verdict("propose", repo=other, body="a typo").startswith(("review:", "deny:"))
