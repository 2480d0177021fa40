"""Lists and cards at the width of a terminal: one line each, nothing broken in the middle of a word."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from checkvalve.approvals.audit import Event
from checkvalve.approvals.lists import ago, events_table
from checkvalve.approvals.origin_words import place_of
from tests.approvals.conftest import Run
from tests.approvals.made import ALLOW, DENY, MAIL, REVIEW, Desk, decided


def test_what_observe_mode_let_run_is_listed_with_its_verdict(run: Run, desk: Desk) -> None:
    assert "there is no such call in" in run("approvals", "list", "--observed").output
    seen = desk.propose(DENY, observe=True)
    quiet, enforced = desk.propose(ALLOW, observe=True), desk.propose(DENY)
    rows = json.loads(run("approvals", "list", "--observed", "--json").output)
    assert [row["id"] for row in rows] == [seen.id]
    listed = run("approvals", "list", "--observed").output
    assert listed.splitlines()[0].split() == ["id", "tier", "tool", "reason", "verdict", "state", "age"]
    assert listed.splitlines()[1].split()[-3:-1] == ["deny", "approved"]
    everything = run("approvals", "list", "--all").output
    assert all(row.id[:8] in everything for row in (seen, quiet, enforced))
    assert "verdict" in everything


@pytest.mark.parametrize("width", ["80", "100"])
def test_a_list_has_one_line_for_each_call(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    for number in range(3):
        desk.propose(request=desk.request(to=f"{number}@corp.example.com", requester="nora@corp.example.com"))
    listed = run("approvals", "list").output.splitlines()
    assert ("nora@corp.example.com" in listed[1], "target-not-known" in listed[1]) == (True, True)
    assert len(listed) == len(run("approvals", "list", "--all").output.splitlines()) == 12
    ids = [row[:8] for row in listed[1:4]]
    assert ids == [row[:8] for row in listed[5:8]], "each once more, with what it would do"
    assert ids == [row[:8] for row in listed[9:]], "and with what it is about"
    events = run("audit", "show").output.splitlines()
    assert len(events) == 5
    assert "proposal.recorded" in events[2]
    assert "send review target-not-known" in events[2]


def test_an_age_is_shown_in_its_largest_unit() -> None:
    second = 1_000_000
    assert [ago(0, span * second) for span in (0, 59, 60, 3_599, 3_600, 86_399, 86_400)] == [
        "now", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d",
    ]  # fmt: skip


def test_a_card_names_every_rule_and_keeps_origins_whole(
    run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch, token: dict[str, str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    decision = replace(decided(REVIEW, [MAIL]), rules=("target-not-known", "readers", "third"))
    proposal = desk.queue.propose(desk.request(), decision)
    shown = run("approvals", "show", proposal.id).output
    assert "target-not-known; also readers; also third" in shown
    assert "untrusted: what read_mail returned, field body, bytes 3-19, exact" in shown
    assert proposal.digest[7:] in shown
    assert "A yes also accepts" in shown
    assert run("approvals", "reject", proposal.id, env=token).exit_code == 0
    assert "A yes also accepts" not in run("approvals", "show", proposal.id).output


def test_a_list_says_below_it_what_each_question_is_about_and_where_that_stands(run: Run, desk: Desk) -> None:
    asked = desk.queue.propose(desk.request(), decided(REVIEW, [MAIL]))
    listed = run("approvals", "list").output
    head, row = listed.splitlines()[-2:]
    assert head.split() == ["asked", "about", "from"]
    assert row.split(maxsplit=2) == [asked.id[:8], MAIL.value, place_of(MAIL.source).in_words()]
    assert "read_mail" in row


def test_a_log_names_the_account_that_an_event_is_about() -> None:
    subjects = ("account:", "account:alice", "0a1b2c3d-1111")
    said = [Event(at, at, "account.invited", subject, "{}", "", "") for at, subject in enumerate(subjects)]
    out = io.StringIO()
    Console(width=100, file=out).print(events_table(said))
    rows = out.getvalue().splitlines()[1:]
    assert [row.split("account.invited")[1].strip() for row in rows] == ["(first start)", "alice", "0a1b2c3d"]
