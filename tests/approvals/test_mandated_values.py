"""What a mandate's source may fill as itself, and where what stands in it may go."""

from __future__ import annotations

from typing import Any

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.facts import field_rules
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.requests import ActionRequest
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority

MANIFEST = parse_manifest(
    """
version: 1
name: office
tools:
  read_note: {effect: read, args: {name: {role: selector, kind: name}}, result: [{path: $}]}
  read_diary: {effect: read, result: [{path: $}]}
  add_member:
    effect: configure
    asks: [add]
    args: {user: {role: target, kind: user}, channel: {role: target, kind: channel}}
  pay: {effect: pay, asks: [pay], args: {to: {role: target, kind: account}, subject: {role: content}}}
  fetch: {effect: read, leaves_domain: true, args: {url: {role: target, kind: url}}}
  publish: {effect: send, asks: [publish], args: {text: {role: content}}}
""",
    "office",
)
POLICY = load_policy(None)


def decided(words: str, note: str, tool: str, args: dict[str, Any], *mandates: Mandate) -> Decision:
    """Decide a call after the diary and one note were read."""
    index, reads = AttributionIndex(), Reads()
    index.add_words(words, authority=Authority.USER)
    for name, given, value in (("read_diary", {}, "The code of the safe is 4711."), ("read_note", {"name": "n"}, note)):
        spec = MANIFEST.tools[name]
        index.add_result(value, tool=name, call="c", args=given, rules=field_rules(spec, MANIFEST))
        reads.add(name, "c", given)
    context = DecisionContext(MANIFEST, POLICY, index, mandates=mandates, reads=reads)
    return decide(ActionRequest.build(tool, args), context)


def mandate(tool: str, *roles: str, effect: str = "") -> Mandate:
    return Mandate("read_note(name=n)", tool, roles, effect=effect)


def test_a_common_word_is_a_name_where_the_source_puts_it_in_quotation_marks() -> None:
    given = mandate("add_member", "target", effect="configure")
    call = {"user": "Dora", "channel": "general"}
    words = "Add Dora to the channel that the note n names"
    assert decided(words, "She joins the 'general' channel", "add_member", call, given).verdict.name == "allow"
    assert (
        decided(words, "She joins the \u201cgeneral\u201d channel", "add_member", call, given).verdict.name == "allow"
    )
    for note in ("In general she is fine", "the 'generals' and general", "'in general'"):
        assert decided(words, note, "add_member", call, given).verdict.name == "review"


PAYEE = "GB29NWBK60161331926819"
BILL = f"Car rental of May, no. 17. Pay to {PAYEE}"
TASK = "Pay the bill in the note n"


def test_what_stands_in_the_source_may_go_where_the_source_says() -> None:
    call = {"to": PAYEE, "subject": "Car rental of May, no. 17"}
    assert decided(TASK, BILL, "pay", call, mandate("pay", "target", "content")).verdict.name == "allow"
    only_target = decided(TASK, BILL, "pay", call, mandate("pay", "target"))
    assert only_target.verdict.rule == "readers"


def test_nothing_else_that_was_read_goes_with_it() -> None:
    given = mandate("pay", "target", "content")
    for subject in ("The code of the safe is 4711.", "Car rental of May, no. 4711", "Car rental 4711"):
        found = decided(TASK, BILL, "pay", {"to": PAYEE, "subject": subject}, given)
        assert found.verdict.rule == "readers", subject


def test_a_link_of_the_source_is_opened_as_it_stands() -> None:
    given = mandate("fetch", "target")
    note = "See www.restaurant.example/menu"
    words = "Open the link in the note n"
    assert decided(words, note, "fetch", {"url": "www.restaurant.example/menu"}, given).verdict.name == "allow"
    assert decided(words, note, "fetch", {"url": "www.restaurant.example/4711"}, given).verdict.name == "review"


def test_without_a_target_a_mandate_sends_nothing() -> None:
    given = mandate("publish", "content")
    assert decided("Publish the note n", BILL, "publish", {"text": BILL}, given).verdict.name == "review"
