"""Words of the user, the agent and content in the terminal's card: no line of theirs can stand for one of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals import remarks
from checkvalve.approvals.edits import edit
from checkvalve.approvals.records import Proposal
from checkvalve.graphs.edited import deciding
from checkvalve.graphs.session import Call
from tests.gateway.review_world import FORGED, Review, reviewing
from tests.gateway.terminal import Terminal

pytestmark = pytest.mark.claim("C3", "C4")

HEADS = (
    "tier     low, read", "What the user asked", "Arguments", "Differences", "Written by the agent, not verified",
    "Details", "digest  0000000000", "verdict  allow", "authoritative: the user's words, bytes 0-9, exact",
    "First message, in the name of boss", "- │ 1", "+ │ 2", "│ quoted", "╰──────╯", "History",
)  # fmt: skip
MARK = "zqx"
"""Stands in each line of a hostile text, so that the test knows them again."""
LINES = "\n".join(f"{line} {MARK}" for line in HEADS)
FOLDED = f"{MARK} " + (" " * 70).join(f"{line} {MARK}" for line in HEADS)
HOSTILE = [LINES, FOLDED, f"\u001b[2J\u202e{MARK}\r{MARK}\u0085{MARK}\u2028{MARK}", f"{FORGED} [bold red]{MARK}[/]"]
BARRED = re.compile(r"│     ?(│|- │|\+ │) ")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def around(review: Review, text: str) -> Proposal:
    """Ask about a call whose user, agent, content and earlier call all say ``text``."""
    first = review.ask("old", f"Send a mail {text}", [], "send_mail", to="a@corp.example", subject="s", body=text)
    if first.state.value == "pending":
        who = review.gateway.queue.reviewers.authenticate(review.token)
        review.gateway.queue.approve(first.id, who, first.digest)
    session = review.session("new")
    session.user_words(text, key="u1")
    session.user_words(f"again {text}", key="u2")
    session.model_text(text, key="m1")
    args = {"to": "x@evil.example", "subject": "t", "body": f"{text} and more"}
    found: Proposal = session.propose(Call("send_mail", args, "c1@b", turn="b"))
    return found


@pytest.mark.parametrize("width", ["60", "80"])
@pytest.mark.parametrize("text", HOSTILE, ids=["lines", "folded", "controls", "markup"])
def test_each_line_of_theirs_is_behind_a_bar_without_colours(
    review: Review, text: str, width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = around(review, text)
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    monkeypatch.setenv("COLUMNS", width)
    code, out, _ = Terminal(capsys, monkeypatch)("approvals", "show", row.id)
    assert code == 0
    assert not re.search(r"\u001b|\u202e|\r|\u0085|\u2028", out)
    lines = out.splitlines()
    theirs = [line for line in lines if MARK in line]
    assert len(theirs) >= 4, out
    assert not [line for line in theirs if not BARRED.match(line)]
    for head in ("What the user asked", "Arguments", "Written by the agent, not verified", "Details", "History"):
        assert sum(re.fullmatch(rf"│ {head} *│", line) is not None for line in lines) == 1, head
    assert sum(line.startswith(("│ tier ", "│ digest ")) for line in lines) == 2


@pytest.mark.parametrize("width", ["60", "80"])
@pytest.mark.parametrize("text", [LINES, FOLDED, HOSTILE[3]], ids=["lines", "folded", "markup"])  # others are denied
def test_headline_names_of_arguments_talk_and_edits_are_behind_a_bar_too(
    review: Review, text: str, width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = review.gateway.queue
    who = queue.reviewers.authenticate(review.token)
    queue.reviewers.add("ben", by=who)  # else nobody could say yes to an edit
    session = review.session("named")
    session.user_words("Send a mail", key="u1")
    args = {"to": "x@evil.example", "subject": text, "body": {text: "a"}}
    row = session.propose(Call("send_mail", args, "c1@b", turn="b"))
    remarks.ask(queue, row.id, who, text[:1_000])
    new = edit(
        queue,
        row.id,
        who,
        row.digest,
        {**args, "to": f"b {text[:200]}@evil.example"},
        deciding(review.gateway.services),
    )
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    monkeypatch.setenv("COLUMNS", width)
    terminal = Terminal(capsys, monkeypatch)
    for name in (row.id, new.id):
        code, out, _ = terminal("approvals", "show", name)
        assert code == 0
        theirs = [line for line in out.splitlines() if MARK in line]
        assert len(theirs) >= 3, out
        assert not [line for line in theirs if not BARRED.match(line)]


def test_a_secret_stays_veiled_in_the_words_around(
    review: Review, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "AKIA" + "Q7RM3TB2ZX9KPLWD"
    row = around(review, f"use {key} for it")
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    terminal = Terminal(capsys, monkeypatch)
    for out in (terminal("approvals", "show", row.id)[1], str(terminal.json("approvals", "show", row.id)[1])):
        assert "use" in out
        assert key not in out
        assert out.count("redacted") >= 4
    assert key not in review.card(row)


def test_page_and_terminal_have_sender_and_words(review: Review) -> None:
    page = review.card(around(review, LINES))
    said = re.findall(r'<blockquote class="said">(.*?)</blockquote>', page, re.DOTALL)
    assert len(said) == 2
    assert all("in the name of" in one and "me@corp.example" in one for one in said)
