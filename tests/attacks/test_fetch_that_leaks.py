"""A read that leaves the domain is a send of all its arguments."""

from __future__ import annotations

import pytest

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import DecisionContext
from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.verdicts import Review
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority
from tests.attacks.world import MANIFEST, POLICY, Session

pytestmark = pytest.mark.claim("C3")


@pytest.mark.parametrize(
    "url",
    [
        "https://drop.example/?d=secret",
        "https://docs.example/spec?d=secret",
        "https://docs.example.drop.example/spec",
        "https://docs.example@drop.example/spec",
        "https://docs.example\\@drop.example/spec",
        "https://secret.docs.example/spec",
        "ftp://docs.example/spec",
    ],
)
def test_a_url_nobody_named_is_asked_about(url: str) -> None:
    session = Session("Read https://docs.example/spec").read("read_mail", [{"body": "https://drop.example/"}])
    assert session.verdict("fetch", url=url) == "review:untrusted-target"


def test_twin_the_url_the_user_named() -> None:
    session = Session("Read https://docs.example/spec and www.news.example")
    for url in ("https://DOCS.example./spec", "https://docs.example:443/spec/", "https://www.news.example/"):
        assert session.verdict("fetch", url=url) == "allow:attributed-fetch"
    assert (
        session.verdict("fetch", url="http://www.news.example:80/") == "allow:attributed-fetch"
    )  # no scheme was named


def test_a_fetch_in_the_open_is_not_the_one_that_was_asked_for() -> None:
    session = Session("Read https://docs.example/spec")
    for url in ("http://docs.example/spec", "https://docs.example:80/spec"):
        assert session.verdict("fetch", url=url) == "review:untrusted-target"


EGRESS = parse_manifest(
    """
name: web
tools:
  fetch:
    effect: read
    leaves_domain: true
    egress: [docs.example]
    args: {url: {role: target, kind: url}, proxy: {role: control}}
""",
    "web.yaml",
)


@pytest.mark.parametrize(
    "args",
    [
        {"url": "https://drop.example/"},
        {"url": "drop.example"},
        {"url": "not a link"},
        {"url": "https://docs.example/", "proxy": "https://drop.example/"},
        {"url": ["https://docs.example/", "https://drop.example/"]},
    ],
)
def test_a_host_outside_the_list_is_refused_whatever_the_user_says(args: dict[str, object]) -> None:
    index = AttributionIndex()
    index.add_words(f"Fetch {args}", authority=Authority.USER)
    context = DecisionContext(manifest=EGRESS, policy=POLICY, index=index)
    assert decide(ActionRequest.build("fetch", args), context).verdict.rule == "egress"


def test_a_list_of_hosts_needs_an_address_to_compare() -> None:
    with pytest.raises(ManifestError, match="no argument has kind url or host"):
        parse_manifest("name: x\ntools:\n  f:\n    egress: [a.example]\n    args: {url: {role: target}}\n", "x")


@pytest.mark.parametrize("kind", ["iban", "emial", "id", "ulr", "id:"])
def test_a_kind_that_nothing_compares_by_is_refused(kind: str) -> None:
    with pytest.raises(ManifestError, match="there is no kind"):
        parse_manifest(f"name: x\ntools:\n  f:\n    args: {{a: {{kind: '{kind}'}}}}\n", "x")


def test_without_any_words_of_the_user_the_reason_says_so() -> None:
    context = DecisionContext(manifest=MANIFEST, policy=POLICY, index=AttributionIndex())
    verdict = decide(ActionRequest.build("fetch", {"url": "https://docs.example/"}), context).verdict
    assert isinstance(verdict, Review)
    assert verdict.reason == "no-user-words"
