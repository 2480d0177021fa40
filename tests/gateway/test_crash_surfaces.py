"""A call of unknown end says how it is tried again or looked up: the same on the card, in the terminal, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from checkvalve.approvals.crash_shown import after_crash
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.probes import WHY
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.web_words import LANGUAGES, words_in
from checkvalve.graphs.probing import Probing
from tests.gateway import review_world
from tests.gateway.review_world import Review, reviewing
from tests.gateway.terminal import Terminal

pytestmark = pytest.mark.claim("C4")
READ = """  account:
    effect: read
    args: {key: {role: selector}}
    result: [{path: state, writable_by: members, readers: domain, evidence: the bank sets it}]
"""
PROBE = """    idempotency: probe
    probe_with:
      tool: account
      args: {key: {key: true}}
      done_when: {path: $.state, values: [booked]}
      not_done_when: {path: $.state, values: [unheard_of]}
      seconds: 60
"""
ASKS = "    asks: [pay]\n"


@pytest.fixture(params=[PROBE])
def review(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    manifest = review_world.MANIFEST.replace("  pay:\n", f"{READ}  pay:\n").replace(ASKS, ASKS + request.param)
    monkeypatch.setattr(review_world, "MANIFEST", manifest)
    with reviewing(tmp_path) as found:
        yield found


with_key = pytest.mark.parametrize("review", ["    idempotency: key\n"], indirect=True)


def lost(review: Review) -> Proposal:
    """Return a payment whose answer got lost."""
    row = review.bill()
    review.wait()
    assert review.answer(row).status_code == 303
    return tried(review, row)


def tried(review: Review, row: Proposal) -> Proposal:
    def cut(*_: Any) -> Any:
        raise TimeoutError

    return Executor(review.gateway.queue).run(row.id, cut).proposal


def looked(review: Review, state: Any, row: Proposal | None = None) -> Proposal:
    """Return a lost payment that was looked for."""

    @tool
    def account(key: str) -> dict[str, Any]:
        """Look for a payment."""
        return {"state": state}

    row, services = row or lost(review), review.gateway.services
    return Probing(services).after(services.executor.look(row.id), {"account": account}.get).proposal


def part(page: str) -> str:
    found = re.search(r'<section aria-labelledby="crash">(.*?)</section>', page, re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", found[1]).split()).replace(" ,", ",") if found else ""


@pytest.fixture
def shown(
    review: Review, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Proposal], str]:
    monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(review.gateway.store.address))
    terminal = Terminal(capsys, monkeypatch)

    def show(row: Proposal) -> str:
        code, out, _ = terminal("approvals", "show", row.id)
        assert code == 0
        return " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())

    return show


@with_key
def test_another_try_is_counted_everywhere(review: Review, shown: Callable[[Proposal], str]) -> None:
    row = lost(review)
    assert "Whoever comes back to this call tries it again with the same key. The last moment for that:" in part(
        review.card(row)
    )
    tried(review, row)
    assert "Tried again with the same key: try 2 of 3." in part(review.card(row))
    assert "tried again with the same key: try 2 of 3" in shown(row)
    row = tried(review, row)
    assert part(review.card(row)).endswith("try 3 of 3. It is not tried again. A person settles it.")
    assert "it is not tried again; a person settles it" in shown(row)
    found = after_crash(review.gateway.queue, row)
    assert found is not None
    told = found.to_json()
    assert (told["state"], told["tries"], told["of"], told["until"]) == ("over", 3, 3, None)


@with_key
def test_of_a_call_that_ended_at_once_nothing_is_said(review: Review, shown: Callable[[Proposal], str]) -> None:
    row = review.bill()
    review.wait()
    assert review.answer(row).status_code == 303
    Executor(review.gateway.queue).run(row.id, lambda *_: "paid")
    assert part(review.card(row)) == ""
    assert "After a crash" not in shown(row)


def test_what_a_probe_settled_is_said_with_its_name(review: Review, shown: Callable[[Proposal], str]) -> None:
    row = looked(review, "booked")
    assert part(review.card(row)).startswith("After a crash Settled by the probe: it happened. Probe: account,")
    assert "settled by the probe account: it happened" in shown(row)


def test_a_probe_that_settled_nothing_says_why(review: Review, shown: Callable[[Proposal], str]) -> None:
    row = lost(review)
    assert "Its probe was not read yet." in part(review.card(row))
    row = looked(review, "<b>booked</b>", row)
    page = part(review.card(row))
    assert "The probe settled nothing. Its answer says neither that the effect happened nor that it did not." in page
    assert "settled nothing: its answer says neither" in shown(row)
    assert "booked" not in page, "what a probe says is nobody's to read here"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_word_for_every_reason(review: Review, language: str) -> None:
    texts = words_in(language).texts
    assert all(texts[f"crash.why.{why}"] for why in WHY)
    row = looked(review, "nothing")
    page = review.client.get(f"/review/items/{row.id}", headers={"Accept-Language": language}).text
    assert texts["crash.undecided"] in page
