"""Headlines: what may be one, what it says of a call, and what it leaves to the card."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.decision import ArgumentReport
from checkvalve.approvals.errors import ManifestError
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.hand import TYPED
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_titles import drafted_title
from checkvalve.approvals.manifest import manifest_digest, parse_manifest, tool_digest
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.seen import Seen, seen
from checkvalve.approvals.titled import in_a_message, in_words, without_values
from checkvalve.approvals.titles import SENTENCES
from checkvalve.approvals.titlespec import without_quotes
from tests.approvals.made import REVIEW, Desk, decided

TOOL = """
name: office
tools:
  send:
    title: TITLE
    effect: send
    args:
      to: {role: target, kind: email}
      cc: {role: target, kind: email, optional: true}
      body: {role: content}
      key: {role: credential}
      secret: {role: content, redact: true}
      draft: {role: content, fields: {subject: {role: content}, word: {role: credential}}}
"""
ORIGINS: dict[str, dict[str, object]] = {
    "untrusted": {"source": "tool:read_mail/c1#body", "span": [0, 1], "match": "exact", "trust": "untrusted"},
    "verified": {"source": "tool:book/c1#email", "span": [0, 1], "match": "exact", "trust": "verified"},
    "authoritative": {"source": "user", "span": [0, 1], "match": "exact", "trust": "authoritative"},
    TYPED: {"source": "edit:ann", "span": [0, 1], "match": TYPED, "trust": "authoritative"},
}


def manifest(title: str) -> str:
    return TOOL.replace("TITLE", json.dumps(title))


def report(path: str, role: str, trust: str = "untrusted", *, kind: str = "text", sure: bool = False) -> ArgumentReport:
    found = () if trust == "unknown" else (dict(ORIGINS[trust]),)
    return ArgumentReport(path, role, kind, sufficient=sure, origins=found)


def call(
    desk: Desk, args: dict[str, Any], reports: Sequence[ArgumentReport], *, title: str = "", action: str = "send"
) -> Seen:
    """Return a recorded call as it is shown."""
    request = ActionRequest.build("send", args, thread="t", call_id=f"c{len(args)}{title}{action}", requester="ann")
    decision = replace(decided(REVIEW), arguments=tuple(reports), title=title, action=action)
    return desk.queue.veiling.seen(desk.queue.propose(request, decision))


@pytest.mark.parametrize(
    "title",
    ["Send a mail to {to}", "Schicke {to} eine Nachricht", "给 {to} 发邮件", "Send {draft.subject} to {to}", ""],
)
def test_plain_words_with_names_of_arguments_are_a_title(title: str) -> None:
    (spec,) = parse_manifest(manifest(title), "m.yaml").tools.values()
    assert spec.title == title


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("{to} gets a mail", "begin with a word of yours"),
        ("  {to}", "begin with a word of yours"),
        ("Send to {nobody}", "no declared argument; declared are: to, cc, body"),
        ("Send to {to.name}", "no declared argument"),
        ("Send to {}", "no declared argument"),
        ("Send to {to!r}", "no declared argument"),
        ("Send {key}", "which is secret"),
        ("Send {secret}", "which is secret"),
        ("Send {draft.word}", "which is secret"),
        ("Send {draft}", "name one of them, such as draft.subject"),
        ("Send to {to", "a brace without its other half"),
        ("Send {{to}}", "a brace without its other half"),
        ("Send to {to} }", "a brace without its other half"),
        ("Send **now** to {to}", "markup"),
        ("Send <b>now</b> to {to}", "markup"),
        ("Send [now](x) to {to}", "markup"),
        ("See https://corp.example and {to}", "markup, an address"),
        ("Mail ann@corp.example and {to}", "markup, an address"),
        ("Send \u201chello\u201d to {to}", "quotation marks"),
        ('Send "hello" to {to}', "quotation marks"),
        ("Send \u27e8untrusted\u27e9 to {to}", "characters that hide"),
        ("Send\nto {to}", "characters that hide"),
        ("Send\u202e to {to}", "characters that hide"),
        ("Send\u200b to {to}", "characters that hide"),
        ("Send " + "x" * 120, "125 characters; say it in 120"),
        ("Send {to} {to} {to} {to} {to}", "5 slots; name at most 4"),
    ],
)
def test_whatever_could_mislead_does_not_load(title: str, said: str) -> None:
    with pytest.raises(ManifestError, match=re.escape(said)):
        parse_manifest(manifest(title), "m.yaml")


def test_a_form_of_a_tool_has_its_own_title_or_none() -> None:
    text = """
name: web
tools:
  request:
    title: "Send a request to {url}"
    effect: send
    args: {method: {role: control}, url: {role: target, kind: url}}
    variants:
      - {when: {method: [GET]}, effect: read, leaves_domain: true, title: "Open {url}", evidence: it only reads}
      - {when: {method: [HEAD]}, effect: read, leaves_domain: true, evidence: it only reads}
"""
    (spec,) = parse_manifest(text, "m.yaml").tools.values()
    said = [spec.called_with({"method": method}).title for method in ("POST", "GET", "HEAD")]
    assert said == ["Send a request to {url}", "Open {url}", ""]
    with pytest.raises(ManifestError, match="no declared argument"):
        parse_manifest(text.replace("Open {url}", "Open {page}"), "m.yaml")


def test_a_manifest_without_titles_keeps_its_digests_and_a_title_counts() -> None:
    plain, titled, other = (parse_manifest(manifest(title), "m.yaml") for title in ("", "Send to {to}", "Mail to {to}"))
    without = parse_manifest(TOOL.replace("    title: TITLE\n", ""), "m.yaml")
    assert manifest_digest(plain) == manifest_digest(without)
    assert tool_digest(plain.tools["send"]) == tool_digest(without.tools["send"])
    assert len({manifest_digest(one) for one in (plain, titled, other)}) == 3


def test_the_values_of_a_slot_stand_in_marks_the_doubtful_ones_first(desk: Desk) -> None:
    args = {"to": ["ann@corp.example", "ben@corp.example", "eve@evil.example", "cy@corp.example", "nobody@x.example"]}
    trusts = ["authoritative", "verified", "untrusted", TYPED, "unknown"]
    reports = [report(f"to.{number}", "target", trust, sure=number < 2) for number, trust in enumerate(trusts)]
    row = call(desk, args, reports, title="Send a mail to {to}")
    assert in_words(row) == (
        "Send a mail to \u201ceve@evil.example\u201d \u27e8untrusted\u27e9 and "
        "\u201cnobody@x.example\u201d \u27e8origin unknown\u27e9 and "
        "\u201ccy@corp.example\u201d \u27e8typed by a reviewer\u27e9 and 2 more"
    )
    assert without_values(row) == in_a_message(row, values=False) == "Send a mail to \u27e8to\u27e9"


def test_what_the_question_is_about_is_never_left_out(desk: Desk) -> None:
    args = {"to": "ann@corp.example", "bcc": "eve@evil.example", "subject": "Hello"}
    reports = [
        report("to", "target", "authoritative", sure=True),
        report("bcc", "target"),
        report("subject", "content", sure=True),
    ]
    row = call(desk, args, reports, title="Send a mail to {to}")
    assert in_words(row).endswith("; also \u201ceve@evil.example\u201d \u27e8untrusted\u27e9")
    assert "eve" not in without_values(row)


def test_a_slot_that_the_call_leaves_out_says_so(desk: Desk) -> None:
    row = call(desk, {"to": "a@b.example"}, [report("to", "target")], title="Send {cc} to {to}")
    assert in_words(row).startswith("Send \u27e8no cc\u27e9 to \u201ca@b.example\u201d")


def test_a_long_value_keeps_both_ends_and_free_text_only_its_start(desk: Desk) -> None:
    args = {"to": "a" * 500 + "@evil.example", "body": "b" * 500}
    reports = [report("to", "target"), report("body", "content")]
    said = in_words(call(desk, args, reports, title="Send {body} to {to}"))
    assert f"\u201c{'b' * 40}\u27e8460 bytes more\u27e9\u201d" in said
    assert f"{'a' * 60}\u27e8433 bytes more\u27e9{'a' * 7}@evil.example\u201d" in said


@pytest.mark.parametrize("effect", [effect.value for effect in Effect])
def test_without_a_title_there_is_a_sentence_for_every_effect(desk: Desk, effect: str) -> None:
    roles = ("target", "selector", "command", "amount", "control")
    args = {role: f"the {role}" for role in roles}
    row = call(desk, args, [report(role, role, "authoritative", sure=True) for role in roles], action=effect)
    said = in_words(row)
    assert said.startswith("send: ")
    assert "\u201cthe " in said
    assert without_values(row) == SENTENCES[f"{effect}.bare"].replace("{tool}", "send")
    bare = call(desk, {}, [], action=effect)
    assert in_words(bare) == SENTENCES[f"{effect}.bare"].replace("{tool}", "send")


def test_a_payment_says_how_much_and_where(desk: Desk) -> None:
    reports = [report("to", "target", kind="account"), report("sum", "amount", "authoritative", sure=True)]
    said = in_words(call(desk, {"to": "DE89", "sum": 60}, reports, action="pay"))
    assert said == "send: pays \u201c60\u201d to \u201cDE89\u201d \u27e8untrusted\u27e9"


def test_what_was_refused_before_it_was_looked_at_says_that(desk: Desk) -> None:
    row = call(desk, {"to": "x"}, [], action="")
    assert in_words(row) == without_values(row) == "send: what it does was not looked at"


def test_what_is_redacted_in_the_call_is_a_mark_in_the_headline(desk: Desk) -> None:
    key = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    row = call(desk, {"body": f"the key is {key}"}, [report("body", "content")], title="Send {body}")
    hidden = in_words(seen(row.exact, Veil(b"k" * 32)))
    assert key not in hidden + in_words(row) + in_a_message(row, values=True)


def test_the_lint_warns_of_free_text_and_of_a_title_that_hides_the_target() -> None:
    found = {item.code for item in lint_manifest(manifest("Send {body}"), "m.yaml")}
    assert {"free-text-in-title", "title-without-target"} <= found
    quiet = {item.code for item in lint_manifest(manifest("Send a mail to {to}"), "m.yaml")}
    assert quiet.isdisjoint({"free-text-in-title", "title-without-target"})


def test_a_drafted_title_is_made_of_the_name_and_the_roles() -> None:
    pay = {"iban": Role.TARGET, "sum": Role.AMOUNT, "note": Role.CONTENT}
    assert drafted_title("sendEmail", Effect.SEND, {"to": Role.TARGET}) == "Send email to {to}"
    assert drafted_title("make_payment", Effect.PAY, pay) == "Make payment of {sum} to {iban}"
    assert drafted_title("delete_file", Effect.DELETE, {"path": Role.SELECTOR}) == "Delete file: {path}"
    assert drafted_title("\u202e\u202e", Effect.SEND, {}) == ""
    assert drafted_title("send", Effect.SEND, {"a\rb": Role.TARGET}) == "Send"


def test_the_english_sentences_of_the_pages_are_the_same() -> None:
    folder = Path(__file__).resolve().parents[2] / "gateway" / "web" / "words"
    texts = json.loads((folder / "en.json").read_text("utf-8"))
    assert {key: texts[f"title.{key}"] for key in SENTENCES} == SENTENCES
    slots = {key: sorted(re.findall(r"{\w+}", text)) for key, text in SENTENCES.items()}
    for language in ("de", "zh"):
        there = json.loads((folder / f"{language}.json").read_text("utf-8"))
        assert {key: sorted(re.findall(r"{\w+}", there[f"title.{key}"])) for key in SENTENCES} == slots


@pytest.mark.parametrize(
    "mark",
    [*'"\u201d\u02ba\u02ee\u05f4\u02dd\u2036\u2034\u2057\u3003\u2e42\U0001f676', "''", "\u2019\u2019", "`\u00b4"],
)
def test_no_value_holds_what_looks_like_the_closing_mark(mark: str) -> None:
    each = "".join(f"\u27e8U+{ord(one):04X}\u27e9" for one in mark)
    assert without_quotes(f"boss{mark} ok") == f"boss{each} ok"


def test_twin_an_apostrophe_stays() -> None:
    assert without_quotes("Ann\u2019s and Bob's") == "Ann\u2019s and Bob's"


@pytest.mark.parametrize(
    ("sure", "said"), [(False, "\u201ca@b.example\u201d \u27e8untrusted\u27e9"), (True, "\u201ca@b.example\u201d")]
)
def test_of_several_origins_the_worst_one_is_said_unless_the_best_one_is_enough(
    desk: Desk, sure: bool, said: str
) -> None:
    both = (dict(ORIGINS["untrusted"]), dict(ORIGINS["verified"]))
    found = ArgumentReport("to", "target", "text", sufficient=sure, origins=both)
    row = call(desk, {"to": "a@b.example"}, [found], title="Write to {to}")
    assert in_words(row) == f"Write to {said}"
