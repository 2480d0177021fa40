"""What is pinned, as people and programs see it: the same on the card, in the terminal and over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from checkvalve.approvals.executor import Executor
from checkvalve.approvals.pins_shown import seen_pinned
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.http_approval_views import card
from checkvalve.gateway.http_interrupts import interrupt_of
from checkvalve.graphs.pinning import Pinning
from tests.gateway import review_world
from tests.gateway.review_world import BIDI, FORGED, Review, reviewing
from tests.gateway.terminal import Terminal

pytestmark = pytest.mark.claim("C4")
READ = """  account:
    effect: read
    args: {number: {role: selector, kind: account}}
    result: [{path: state, writable_by: members, readers: domain, evidence: the bank sets it}]
"""
PIN = "    pin: [{tool: account, args: {number: {argument: to}}, version: [$.state], seconds: 60}]\n"
ASKS = "    asks: [pay]\n"
MANIFEST = review_world.MANIFEST.replace("  pay:\n", f"{READ}  pay:\n").replace(ASKS, ASKS + PIN)


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    monkeypatch.setattr(review_world, "MANIFEST", MANIFEST)
    with reviewing(tmp_path) as found:
        yield found


def reading(state: Any) -> Any:
    @tool
    def account(number: str) -> dict[str, Any]:
        """Read an account."""
        return {"state": state, "owner": number}

    return {"account": account}.get


def pinned(review: Review, state: Any = "open", thread: str = "bill") -> Proposal:
    """Return a question about a payment whose account was looked at."""
    return Pinning(review.gateway.services).ask(review.bill(thread), reading(state))


def moved(review: Review) -> Proposal:
    """Return an approved payment that did not run, since its account was closed meanwhile."""
    row = pinned(review)
    review.wait()
    assert review.answer(row).status_code == 303
    now = Pinning(review.gateway.services).again(review.gateway.queue.get(row.id), reading("closed"))
    return Executor(review.gateway.queue).run(row.id, lambda *_: "paid", pinned=now).proposal


def part(page: str) -> str:
    """Return the part of a card that says what is pinned."""
    found = re.search(r'<section aria-labelledby="pinned">(.*?)</section>', page, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def said(review: Review, row: Proposal) -> Any:
    shown = review.gateway.queue.veiling.seen(row)
    return card(shown, pinned=seen_pinned(review.gateway.queue, shown)).pinned


def test_the_card_shows_what_was_read_and_what_is_left_open(review: Review) -> None:
    page = review.card(pinned(review))
    assert "$.state" in part(page)
    assert "&#34;open&#34;" in part(page)
    assert "sha256 " in part(page)
    assert "a moment is left" in part(page)
    assert page.index('id="arguments"') < page.index('id="pinned"') < page.index('id="clock"')
    assert part(review.card(review.poisoned())) == "", "of a tool that pins nothing, nothing is said"


def test_before_it_is_read_the_card_says_so_and_takes_no_yes(review: Review) -> None:
    row = review.bill()
    page = review.card(row)
    assert "has not been read yet. Nobody can say yes before it is." in part(page)
    assert "has not been read yet, so a yes would not be bound" in page
    assert "/no" in page, "a no is offered all the same"


def test_a_page_that_stays_open_is_told(review: Review) -> None:
    row = review.bill()
    before = review.client.get(f"/review/changes?item={row.id}").json()["item"]["said"]
    assert f'data-said="{before}"' in review.card(row)
    pinned(review)
    after = review.client.get(f"/review/changes?item={row.id}").json()["item"]["said"]
    assert (after, f'data-said="{after}"' in review.card(row)) == (before + 1, True)


def test_a_card_of_a_call_that_moved_says_what_it_was_and_what_it_is(review: Review) -> None:
    page = part(review.card(moved(review)))
    assert "account: what the call points at is not what it was when a person was asked." in re.sub("<[^>]*>", "", page)
    assert page.index("when a person was asked</dt>") < page.index("right before the call</dt>")
    assert "&#34;closed&#34;" in page


def test_a_card_of_what_could_not_be_read_says_why(review: Review) -> None:
    row = Pinning(review.gateway.services).ask(review.bill(), lambda _name: None)
    page = part(review.card(row))
    assert "could not be read" in page
    assert "The tool that reads it was not at hand." in page


@pytest.mark.parametrize("language", ["de", "zh"])
def test_the_other_languages_say_it_too(review: Review, language: str) -> None:
    row = pinned(review)
    page = review.client.get(f"/review/items/{row.id}", headers={"Accept-Language": language}).text
    assert {"de": "Festgehalten", "zh": "已锁定的版本"}[language] in part(page)


def test_programs_get_the_same(review: Review) -> None:
    told = said(review, pinned(review))
    (item,) = told["pins"]
    assert (told["state"], item["of"], item["kind"]) == ("read", "account", "record")
    assert item["parts"][0]["value"] == '"open"'
    assert item["parts"][0]["digest"].startswith("sha256:")
    again = said(review, moved(review))["moved"]
    assert (again["code"], again["was"]["parts"][0]["value"], again["now"]["parts"][0]["value"]) == (
        "pin_changed", '"open"', '"closed"',
    )  # fmt: skip


def test_a_chat_client_gets_it_as_text_and_nothing_else(review: Review) -> None:
    row = pinned(review, "<b>open</b> **now**")
    shown = review.gateway.queue.veiling.seen(row)
    action = interrupt_of(shown, pinned=seen_pinned(review.gateway.queue, shown)).value.action_requests[0]
    assert "Pinned: account: " in action.description
    assert "<b>" not in action.description
    assert "**" not in action.description


@pytest.mark.parametrize("state", [FORGED[:90], BIDI, "\u001b[2J\u001b[31mAPPROVED", "<script>x</script>"])
def test_hostile_words_stay_in_their_place(
    review: Review, state: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = pinned(review, state)
    page = part(review.card(row))
    assert page
    assert not re.search(r"<script|<img|\u202e|\u001b", page)
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    code, out, _ = Terminal(capsys, monkeypatch)("approvals", "show", row.id)
    assert code == 0
    assert not re.search(r"\u202e|\u001b\[2J", out)


def test_the_terminal_says_the_same_and_gives_it_to_programs(
    review: Review, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = pinned(review)
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    terminal = Terminal(capsys, monkeypatch)
    _, out, _ = terminal("approvals", "show", row.id)
    assert "Pinned" in out
    assert 'account: $.state "open", sha256' in " ".join(out.split())
    code, told = terminal.json("approvals", "show", row.id)
    assert (code, told["pinned"]["state"]) == (0, "read")
    waiting = review.bill("other")
    _, out, _ = terminal("approvals", "show", waiting.id)
    assert "not read yet: nobody can say yes before it is" in " ".join(out.split())


def test_what_is_redacted_in_the_call_is_redacted_here(review: Review) -> None:
    key = "AKIA" + "Q7RM3TB2ZX9KPLWD"
    row = pinned(review, f"open with {key}")
    assert key not in part(review.card(row))
    assert key not in str(said(review, row))
