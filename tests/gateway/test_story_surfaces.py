"""What stands around a call, over HTTP and on the page: the same as in the terminal, and of a seeded item no less."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals.records import Proposal
from checkvalve.gateway.web_words import LANGUAGES
from checkvalve.graphs.session import Call
from tests.gateway.review_world import Review, reviewing
from tests.gateway.runs_world import serving
from tests.gateway.terminal import Terminal
from tests.gateway.test_http_answers import Table

pytestmark = pytest.mark.claim("C4")
MEMBERS = ("asked", "agent_words", "sub_agents", "compared", "on_expiry")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as found:
        yield found


def nested(review: Review) -> Proposal:
    """Ask for a call of a sub-agent."""
    session = review.session("task")
    session.user_words("Let somebody write to Eve", key="u1")
    session.propose(Call("note", {"text": "go"}, "c2x2@t2", turn="t2"))
    args = {"to": "eve@evil.example", "subject": "s", "body": "b"}
    found: Proposal = session.propose(Call("send_mail", args, "c2x2/c1x1@t1", turn="c2x2/t1"))
    assert found.state.value == "pending"
    return found


def test_the_api_says_what_the_terminal_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as api:
        desk = Table(api)
        row = desk.waiting()
        told = desk.get(f"/approvals/{row.id}").json()
        monkeypatch.setenv("CHECKVALVE_DATABASE_URL", str(api.gateway.store.address))
        code, out, _ = Terminal(capsys, monkeypatch)("approvals", "show", row.id, "--json")
        assert code == 0
        shown = json.loads(out)
    assert {name: told[name] for name in MEMBERS} == {name: shown[name] for name in MEMBERS}
    (words,) = told["asked"]
    assert (words["which"], words["sender"]) == ("message", row.requester)
    assert words["text"]
    assert told["on_expiry"].startswith("then it expires")
    assert told["tier"] == "high"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_names_the_sub_agent_and_the_sender(review: Review, language: str) -> None:
    row = nested(review)
    review.client.headers["Accept-Language"] = language
    page = re.sub(r"<[^>]+>", " ", review.card(row))
    words = json.loads((Path(__file__).parents[2] / f"gateway/web/words/{language}.json").read_text())
    assert re.search(rf"{words['clock.through']}\s+{words['through.sub']}\s+note\s", page)
    assert re.search(rf"{words['said.only']},\s+{words['said.sender']}\s+me@corp.example\s", page)
    assert words["clock.then"] in page


def test_a_call_of_the_agent_itself_names_no_sub_agent(review: Review) -> None:
    assert "the sub-agent" not in review.card(review.bill())
