"""The weekly report and who is on call: the same figures in the terminal, over HTTP and on the page."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.ladder_steps import REASONS
from checkvalve.approvals.report import report
from checkvalve.approvals.report_words import NAMES
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.gateway import cli
from checkvalve.gateway.web_words import LANGUAGES, words_in
from tests.gateway.review_world import Review, reviewing
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk

ONCALL = """
[[schedule]]
name = "payments"
zone = "UTC"

[[schedule.rotation]]
people = [["boss", "<b>cem</b>"]]
start = 2020-01-06T00:00:00
every = "999w"
"""


def test_every_figure_and_every_reason_has_words_on_the_page_in_each_language() -> None:
    for code in LANGUAGES:
        words = words_in(code)
        assert [key for key in NAMES if not words.has(f"report.{key}")] == []
    english = words_in("en")
    for key, said in NAMES.items():
        assert english.texts[f"report.{key}"] == said.strip()
    for code in ("no_account", "disabled", "no_right", "nobody", "no_hook", "bad_answer", "hook_error", "timeout"):
        assert code in REASONS
        assert english.has(f"oncall.why.{code}")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    (tmp_path / "oncall.toml").write_text(ONCALL)
    with reviewing(tmp_path, oncall=tmp_path / "oncall.toml") as found:
        yield found


def said_on(page: str) -> dict[str, str]:
    """Return the rows of the first table of a page."""
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td>(.*?)</td></tr>", table, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", "", value).split()) for name, value in rows}


def test_the_page_says_what_the_log_says_and_no_percentage_of_few(review: Review) -> None:
    assert "Nobody was asked anything" in review.get("/review/report?days=1")
    row = review.poisoned("lunch", "c1")
    review.answer(row)
    page = review.get("/review/report")
    said = said_on(page)
    assert said["questions"] == "1"
    assert said[NAMES["approved"]] == "1 of 1 too few for a percentage"
    assert said["questions of a task, the most"].startswith("1")
    assert NAMES["unopened"] not in said  # one person has answered: it would be about them
    assert "1 approved, 0 rejected" in page
    opened = report(review.gateway.store, since=0, until=review.gateway.queue.clock(), fast=2.0).attention.opened
    assert (opened.opened, opened.not_opened, opened.not_known) == (1, 0, 0)  # the card showed all of it
    for path in ("/review/attention", "/review/standing"):
        assert "/review/report" in review.get(path)


def test_who_is_on_call_is_content_and_has_no_right_by_it(review: Review) -> None:
    page = review.get("/review/oncall")
    assert "payments" in page
    assert "no account here" in page
    assert "<b>cem" not in page
    assert "/review/oncall" in review.get("/review/delegations")
    rules = "everywhere: {escalate: [{after: 0.5, to: ['oncall:payments', 'oncall:night']}]}"
    review.gateway.queue.rules = parse_review_rules(rules, "rules.yaml")
    page = review.get("/review/oncall")
    assert "there is none of this name" in page
    file = review.gateway.settings.oncall
    assert file is not None
    file.write_text("[[schedule]")
    assert review.get("/review/oncall").count("the file cannot be used") == 2


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "oncall.toml").write_text(ONCALL.replace('["boss", "<b>cem</b>"]', '"boss", "cem"'))
    with serving(tmp_path, oncall=tmp_path / "oncall.toml") as api:
        yield Desk(api)


def test_the_same_figures_come_over_http_to_a_reviewer_and_to_no_client(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = desk.waiting()
    assert desk.decide(row, "reject").status_code == 200
    told = desk.get("/report").json()
    assert (told["people"], told["few_people"], told["mine"]["rejected"]) == (None, True, 1)
    assert told["attention"]["approved"] == {"count": 0, "of": 1, "share": None}
    assert told["attention"]["arguments"] is None
    for path in ("/report", "/oncall"):
        assert problem(desk.get(path, desk.api.ann))[0] == 403
    assert desk.get("/report?days=0").status_code == 422
    terminal = run(monkeypatch, capsys, desk, "approvals", "report", "--json")
    assert terminal["attention"] | dict.fromkeys(("median_look", "quick", "arguments")) == told["attention"]
    assert (
        terminal["attention"]["arguments"]["not_known"] == 1
    )  # nothing was asked for before: what they saw is not known
    assert [one["name"] for one in terminal["people"]] == ["boss"]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], desk: Desk, *words: str) -> Any:
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", desk.api.gateway.settings.database_url)
    monkeypatch.setenv("CHECKVALVE_ONCALL", str(desk.api.gateway.settings.oncall))
    monkeypatch.setattr(sys, "argv", ["checkvalve", *words])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    return json.loads(capsys.readouterr().out)


def test_who_is_on_call_is_the_same_over_http_and_in_the_terminal(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (told,) = desk.get("/oncall").json()
    assert (told["name"], told["people"], told["cannot_approve"]) == ("payments", ["boss"], {})
    assert run(monkeypatch, capsys, desk, "oncall", "now", "--json") == [told]
    assert run(monkeypatch, capsys, desk, "oncall", "now", "payments", "--json") == [told]
