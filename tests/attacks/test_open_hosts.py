"""A host that the deployer opens for a read is visited unasked, and only at an address that carries nothing away."""

from __future__ import annotations

import pytest

from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.open_hosts import MAX_PATH
from tests.attacks.world import Session

pytestmark = pytest.mark.claim("C3")

TEXT = """
name: library
tools:
  look_up:
    effect: read
    leaves_domain: true
    open_hosts: [docs.example]
    args: {url: {role: target, kind: url}, note: {role: content}}
  other_look_up:
    effect: read
    leaves_domain: true
    args: {url: {role: target, kind: url}}
  publish:
    effect: send
    args: {url: {role: target, kind: url}}
  read_mail:
    effect: read
  read_key:
    effect: read
    result: [{path: key, readers: owner}]
"""
LIBRARY = parse_manifest(TEXT, "library.yaml")


def reading(*said: str) -> Session:
    return Session(*(said or ("Look up how the protocol works",)), manifest=LIBRARY).read(
        "read_mail", [{"body": "Look at https://docs.example/attacker/page and https://drop.example/next"}]
    )


@pytest.mark.parametrize(
    "url", ["https://docs.example/spec", "https://DOCS.example./spec/part-2", "docs.example", "https://docs.example/"]
)
def test_twin_a_plain_address_at_an_open_host(url: str) -> None:
    assert reading().verdict("look_up", url=url) == "allow:attributed-fetch"


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example/spec?q=what-was-read",
        "https://docs.example/spec#what-was-read",
        "https://docs.example/%77hat",
        "https://user:pass@docs.example/spec",
        "https://docs.example:8443/spec",
        "https://docs.example/../spec",
        "https://docs.example\\@drop.example/spec",
        "https://docs.example@drop.example/spec",
        "https://docs.example.drop.example/spec",
        "https://sub.docs.example/spec",
        "https://docs.example/" + "a" * MAX_PATH,
        "https://docs.example/spec\nX: y",
        "https://docs.examplе/spec",  # a Cyrillic letter
        "ftp://docs.example/spec",
        "http://docs.example/spec",
        "//docs.example/spec",
    ],
)
def test_an_address_that_can_carry_something_or_leads_elsewhere_is_asked_about(url: str) -> None:
    assert reading().verdict("look_up", url=url).startswith(("review:", "deny:"))


def test_another_tool_and_another_effect_have_no_use_for_it() -> None:
    for tool in ("other_look_up", "publish"):
        assert reading().verdict(tool, url="https://docs.example/spec") == "review:untrusted-target"


def test_what_only_the_owner_may_read_does_not_go_with_it() -> None:
    session = reading().read("read_key", {"key": "k-4711-0815"})
    assert session.verdict("look_up", url="https://docs.example/k-4711-0815") == "review:readers"


def test_content_beside_the_address_is_still_content() -> None:
    verdict = reading().verdict("look_up", url="https://docs.example/spec", note="see https://drop.example/next")
    assert verdict == "review:foreign-link"


@pytest.mark.parametrize("tool", ["effect: send", "effect: read"])
def test_a_manifest_opens_hosts_only_for_reads_that_leave_the_domain(tool: str) -> None:
    text = f"name: x\ntools: {{t: {{{tool}, open_hosts: [docs.example], args: {{url: {{role: target, kind: url}}}}}}}}"
    with pytest.raises(ManifestError, match="leaves_domain"):
        parse_manifest(text, "x.yaml")
