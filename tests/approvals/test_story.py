"""What stands around a call on its card: the words of the user and their sender, sub-agents, differences, expiry."""

from __future__ import annotations

import json

import pytest

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.story import EXPIRES, LAPSES, story_of, sub_agents
from checkvalve.filters.strictjson import JSON
from tests.approvals.conftest import Run
from tests.approvals.made import ALLOW, Desk


def words(desk: Desk, *texts: str, thread: str = "t", kind: str = "words", authority: str = "USER") -> None:
    """Store what somebody said in a task."""
    content = SqlContentStore(desk.queue.store, desk.clock)
    for number, text in enumerate(texts):
        item: dict[str, JSON] = {"text": text} if kind == "model" else {"text": text, "authority": authority, "uri": ""}
        content.append_item(thread, f"{kind}{authority}{number}", kind, item)


def shown(run: Run, proposal: Proposal, *options: str) -> list[str]:
    """Return the lines of a card without its frame."""
    result = run("approvals", "show", proposal.id, *options)
    assert result.exit_code == 0, result.output
    return [line.strip("│ ") for line in result.output.splitlines()]


@pytest.mark.claim("C4")
def test_the_parts_of_a_card_stand_in_their_order(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    desk.approve(desk.propose(request=desk.request(to="old@corp.example")))
    words(desk, "the very first", "between", "the latest of all", thread="u")
    words(desk, "I looked at it", thread="u", kind="model")
    lines = shown(run, desk.propose(request=desk.request(thread="u")))
    text = "\n".join(lines)
    order = [
        "tier     high, no known effect, cannot be undone", "verdict", "What the user asked",
        "First message, in the name of bob", "the very first", "Latest message, in the name of bob",
        "the latest of all", "Arguments", "Differences", "Compared with the last call that a person approved",
        "changed:", "old@corp.example", "Written by the agent, not verified", "I looked at it",
        "A yes also accepts", "Details", "takes", "decide by", "then it expires and does not run", "requester  bob",
        "version 1", "digest", "History",
    ]  # fmt: skip
    places = [text.find(part) for part in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places), list(zip(order, places, strict=True))
    assert "between" not in text


def test_json_says_the_same(run: Run, desk: Desk) -> None:
    old = desk.approve(desk.propose(request=desk.request(to="old@corp.example")))
    words(desk, "only this", thread="u")
    row = desk.propose(request=desk.request(thread="u"))
    told = json.loads(run("approvals", "show", row.id, "--json").output)
    assert told["asked"] == [{"which": "message", "text": "only this", "sender": "bob"}]
    change = {"path": "to", "kind": "changed", "before": "old@corp.example", "after": "eve@evil.example"}
    assert told["compared"] == {"before": None, "usual": {"id": old.id, "changes": [change]}}
    assert (told["on_expiry"], told["agent_words"], told["sub_agents"]) == (EXPIRES, "", [])
    approved = json.loads(run("approvals", "show", old.id, "--json").output)
    assert (approved["on_expiry"], approved["asked"]) == (LAPSES, [])


def test_a_card_without_words_of_the_user_says_so(run: Run, desk: Desk) -> None:
    words(desk, "somebody else wrote this", authority="NONE")
    text = "\n".join(shown(run, desk.propose()))
    assert "No words of the user are stored for this run." in text
    assert "somebody else" not in text


def test_where_several_people_asked_in_a_task_no_sender_is_named(desk: Desk) -> None:
    words(desk, "hello")
    mine = desk.propose()
    assert story_of(desk.queue, desk.queue.veiling.seen(mine)).sender == "bob"
    desk.propose(request=desk.request(requester="carol"))
    assert story_of(desk.queue, desk.queue.veiling.seen(mine)).sender == ""


@pytest.mark.parametrize(
    ("call_id", "through"),
    [
        ("c2x2/c1x1@t1", ("send",)),
        ("c2x2/c1x1~2@t1", ("send",)),
        ("0a1b2c3d/c2x2/c1x1@t1", ("c2x2",)),  # of another run: that call is not stored
        ("c2x2/c9x9/c1x1@t1", ("send", "c9x9")),
        ("0a1b2c3d/c1x1@t1", ()),  # a run is no agent
        ("c1x1@t1", ()),
        ("c2x2/call_1@0a1b2c3d", ()),  # a name that a model gave in another framework
        ("c2x2/call_1", ()),
    ],
)
def test_the_path_of_a_sub_agent_is_read_from_names_of_ours(desk: Desk, call_id: str, through: tuple[str, ...]) -> None:
    desk.propose(ALLOW, request=desk.request(call_id="c2x2@t2"))
    desk.propose(ALLOW, request=desk.request(call_id="c2x2@t2", thread="other"))
    row = desk.propose(request=desk.request(call_id=call_id))
    assert sub_agents(desk.queue, row) == through


def test_a_card_names_the_sub_agent(run: Run, desk: Desk) -> None:
    desk.propose(ALLOW, request=desk.request(call_id="c2x2@t2"))
    row = desk.propose(request=desk.request(call_id="c2x2/c1x1@t1"))
    assert any(line.split() == ["through", "the", "sub-agent", "send"] for line in shown(run, row))
    assert json.loads(run("approvals", "show", row.id, "--json").output)["sub_agents"] == ["send"]


def test_a_list_has_the_tier(run: Run, desk: Desk) -> None:
    desk.propose()
    head, row = run("approvals", "list").output.splitlines()[:2]
    assert (head.split()[1], row.split()[1]) == ("tier", "high")


def test_long_words_are_bounded_and_full_shows_them(run: Run, desk: Desk) -> None:
    words(desk, "start " + "x" * 5_000 + "MIDDLE" + "y" * 5_000 + " end")
    row = desk.propose()
    short, full = shown(run, row), shown(run, row, "--full")
    assert any("bytes not shown here" in line for line in short)
    assert "MIDDLE" not in "".join(short)
    assert len(short) < 60
    assert "MIDDLE" in "".join(full).replace("│ ", "").replace(" ", "")
