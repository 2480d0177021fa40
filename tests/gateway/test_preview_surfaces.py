"""What a call would do, as people and programs see it: the same words everywhere, and none is taken for ours."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.tools import tool

from checkvalve.approvals.previews import preview_of
from checkvalve.approvals.records import Proposal, State
from checkvalve.gateway import http_runs, worker
from checkvalve.graphs.previewing import Previewing
from tests.gateway import review_world
from tests.gateway.preview_world import seen
from tests.gateway.review_world import BIDI, FORGED, Review, reviewing
from tests.gateway.runs_world import EXAMPLES, serving
from tests.gateway.terminal import Terminal
from tests.gateway.test_http_answers import Table

pytestmark = pytest.mark.claim("C4")
PREVIEW = "  pay:\n    effect: pay\n    preview: {dry_run: {dry_run: true}, seconds: 60}\n"
MANIFEST = review_world.MANIFEST.replace("  pay:\n    effect: pay\n", PREVIEW)
SAID = "60.00 EUR would go to Power Co; 12.00 EUR would be left"


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    monkeypatch.setattr(review_world, "MANIFEST", MANIFEST)
    with reviewing(tmp_path) as found:
        yield found


def tried(review: Review, says: str = SAID, thread: str = "bill") -> Proposal:
    """Return a question about a payment whose tool said what it would do."""

    @tool
    def pay(to: str, amount: float, dry_run: bool = False) -> str:
        """Pay."""
        assert dry_run
        if says == "fails":
            raise RuntimeError("down")
        return says

    row = review.bill(thread)
    Previewing(review.gateway.services).show(row, {"pay": pay}.get)
    return row


def part(page: str) -> str:
    """Return the part of a card that says what the call would do."""
    found = re.search(r'<section aria-labelledby="preview">(.*?)</section>', page, re.DOTALL)
    return found[1] if found else ""


def test_the_card_shows_it_hatched_after_the_differences_and_before_the_agents_words(review: Review) -> None:
    row = tried(review)
    page = review.card(row)
    assert SAID in part(page)
    assert 'class="passage m-untrusted"' in part(page)
    assert "<time" in part(page)
    assert "is its own word" in part(page)
    assert page.index('id="arguments"') < page.index('id="preview"') < page.index('id="clock"')


def test_a_card_without_a_preview_says_why(review: Review) -> None:
    assert "No preview: the tool failed." in " ".join(part(review.card(tried(review, "fails"))).split())
    assert part(review.card(review.poisoned())) == "", "a tool that offers none is not talked about"


@pytest.mark.parametrize("says", [FORGED, BIDI, "\u001b[2J\u001b[31mAPPROVED", "a\n" * 3_000 + "the end"])
def test_hostile_words_stay_in_their_place(
    review: Review, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = tried(review, says)
    page = part(review.card(row))
    assert not re.search(r"<script|<img|\u202e|\u001b", page)
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    code, out, _ = Terminal(capsys, monkeypatch)("approvals", "show", row.id)
    assert code == 0
    assert "What it would do" in out
    assert not re.search(r"\u202e|\u001b\[2J", out)
    if says.endswith("the end"):
        assert "the end" in page
        assert "the end" in out


def test_a_page_that_stays_open_is_told(review: Review) -> None:
    row = review.bill()
    before = review.client.get(f"/review/changes?item={row.id}").json()["item"]["said"]
    page = review.card(row)
    tried(review)
    after = review.client.get(f"/review/changes?item={row.id}").json()["item"]["said"]
    assert f'data-said="{before}"' in page
    assert (after, f'data-said="{after}"' in review.card(row)) == (before + 1, True)


def test_what_is_redacted_in_the_call_is_redacted_in_its_preview(review: Review) -> None:
    key = "AKIA" + "Q7RM3TB2ZX9KPLWD"
    row = tried(review, f"would pay with {key}")
    assert key not in part(review.card(row))
    assert "would pay with" in part(review.card(row))


def test_the_terminal_says_the_same_and_gives_it_to_programs(
    review: Review, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = tried(review)
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    terminal = Terminal(capsys, monkeypatch)
    _, out, _ = terminal("approvals", "show", row.id)
    assert "What it would do" in out
    assert "untrusted words of a dry run" in out
    code, told = terminal.json("approvals", "show", row.id)
    assert (code, told["preview"]["text"], told["preview"]["trust"]) == (0, SAID, "untrusted")
    failed = tried(review, "fails", thread="other")
    _, out, _ = terminal("approvals", "show", failed.id)
    assert "no preview: the tool failed" in out


TOOLS = """
from langchain_core.tools import tool
from run_tools import contacts, read_mail

def _send(to: str, body: str, only_check: bool = False) -> str:
    "Send a mail."
    return f"**would** reach {to}: <b>{body[:40]}</b>" if only_check else "sent"

TOOLS = [read_mail, contacts, tool("send_mail")(_send)]
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    text = (EXAMPLES / "run_tools.yaml").read_text()
    declared = "    effect: send\n    preview: {dry_run: {only_check: true}, seconds: 60}\n"
    (tmp_path / "tools.yaml").write_text(text.replace("    effect: send\n", declared))
    (tmp_path / "preview_tools.py").write_text(TOOLS)
    with serving(tmp_path, manifest=tmp_path / "tools.yaml", tools=str(tmp_path / "preview_tools.py")) as api:
        yield Table(api)


def test_the_pipeline_tries_it_and_programs_get_it_with_its_label(desk: Table) -> None:
    row = desk.waiting()
    told = desk.get(f"/approvals/{row.id}").json()["preview"]
    assert told["text"].startswith("**would** reach eve@evil.example")
    assert (told["dry_run"], told["trust"], told["why_not"]) == (True, "untrusted", "")
    assert "would" not in json.dumps(desk.log("t1")), "the actor is told nothing of it"


def test_a_chat_client_gets_it_as_text_and_nothing_else(desk: Table) -> None:
    desk.waiting()
    (found,) = desk.get("/threads/t1/interrupts", desk.api.ann).json()
    said = found["value"]["action_requests"][0]["description"]
    assert "What it would do, untrusted words of a dry run" in said
    assert "reach eve" in said
    assert "<b>" not in said
    assert "**" not in said


def test_an_edit_is_tried_anew_by_whoever_has_the_tools(desk: Table) -> None:
    row = desk.waiting()
    new = desk.edit(row, body="changed by a person").json()
    queue = desk.api.gateway.queue
    until = time.monotonic() + 60
    while (found := seen(preview_of(queue, queue.get(new["id"])))).why == "edited":
        assert time.monotonic() < until
        time.sleep(0.05)
    assert "changed by a person" in found.text
    assert queue.get(new["id"]).state is State.PENDING
