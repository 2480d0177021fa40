"""The read-only questions of the review pages: the tier in SQL is the tier in Python, and pages of lists are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import pages_data
from checkvalve.approvals.equal import equal_to, equals
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.risk import CRITICAL_RULES, MILD_RULES, TIERS, Tier, tier_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals

pytestmark = pytest.mark.claim("C3")


def put(store: Store, number: int, **changed: Any) -> None:
    """Put a row into the table as it is; nothing is decided here."""
    decision = json.dumps(
        {"action": changed.pop("action", "send"), "arguments": [], **changed.pop("more", {})}, separators=(",", ":")
    )
    row: dict[str, Any] = {
        "id": f"{number:036d}", "thread": "t", "call_id": f"c{number}", "requester": "me", "server": "", "tool": "send",
        "canonical": b"{}", "digest": f"sha256:{number:064d}", "mode": "enforce",
        "idempotency": "none", "verdict": "review",
        "rule": "untrusted-target", "reason": "", "remedy": "", "decision": decision, "endorsable": "[]",
        "state": "pending", "version": 1, "created_at": number, "updated_at": number, "decide_by": 2**60,
        "execute_by": None,
        "decided_by": "", "code": "", "note": "", "self_approved": False, **changed,
    }  # fmt: skip
    with store.write() as connection:
        connection.execute(sa.insert(proposals).values(row))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(f"sqlite:///{tmp_path / 'gate.db'}") as opened:
        yield opened


def test_the_tier_in_the_database_is_the_tier_in_the_rules(store: Store) -> None:
    rules = ["untrusted-target", "readers", "my-own-rule", *sorted(CRITICAL_RULES), *sorted(MILD_RULES)]
    effects = ["", "answer", "unheard-of", *(effect.value for effect in Effect)]
    pairs = [(effect, rule) for effect in effects for rule in rules]
    for number, (effect, rule) in enumerate(pairs):
        put(store, number, action=effect, rule=rule)
    with store.read() as connection:
        ranked = connection.execute(sa.select(proposals.c.id, pages_data._rank())).all()
    found: dict[str, int] = {row[0]: row[1] for row in ranked}
    for number, (effect, rule) in enumerate(pairs):
        assert TIERS[found[f"{number:036d}"]] is tier_of(effect, rule), (effect, rule)


def test_what_is_not_known_is_grave_and_no_text_of_a_record_changes_that(store: Store) -> None:
    assert tier_of("", "x") is Tier.HIGH
    assert tier_of("read", "untrusted-selector") is Tier.LOW
    assert tier_of("read", "untrusted-command") is Tier.CRITICAL
    fake = '{"action":"read",'
    put(store, 1, action="configure", more={"rules": [fake], "zz": fake})
    put(store, 2, action=fake)
    with store.read() as connection:
        assert connection.execute(sa.select(pages_data._rank()).order_by(proposals.c.id)).scalars().all() == [0, 1]


def test_pages_hold_every_row_once_and_the_gravest_first(store: Store) -> None:
    for number in range(130):
        put(store, number, action=("read", "pay", "configure", "write")[number % 4])
    seen = [row for page in range(4) for row in pages_data.waiting(store, page=page)]
    assert len({row.id for row in seen}) == len(seen) == 130
    ranks = [TIERS.index(pages_data.tier(row)) for row in seen]
    assert ranks == sorted(ranks)
    load = pages_data.load(store, 10**9)
    assert (load.open, sum(load.tiers.values()), load.oldest) == (130, 130, 0)
    assert pages_data.load(store, 10**17).asked_lately == 0


def test_only_the_same_data_of_the_same_tool_is_the_same_question_in_whatever_task(store: Store) -> None:
    same = '[{"kind":"email","role":"target","source":"s","tool":"send","value":"a@b.c"}]'
    put(store, 1, endorsable=same)
    put(store, 2, endorsable=same)
    put(store, 3, endorsable=same, thread="other")
    put(store, 4, endorsable=same, tool="other")
    put(store, 5, endorsable=same, rule="other")
    put(store, 6, endorsable=same.replace("a@b.c", "x@b.c"))
    put(store, 11, endorsable=same.replace('"s"', '"tool:read/c1#body"'))
    put(store, 12, endorsable=same.replace('"s"', '"tool:read/c2#body"'), thread="other")
    put(store, 13, endorsable=same.replace('"s"', '"tool:read/c2#title"'))
    put(store, 14, endorsable=same, requester="somebody else")
    put(store, 7)
    put(store, 8)
    put(store, 9, endorsable=same, action="configure")
    put(store, 10, endorsable=same, state="approved")
    groups = equals(store, limit=50)
    assert [(group.first.call_id, group.count, group.tasks) for group in groups] == [("c1", 4, 2), ("c11", 2, 2)]
    queue = Queue(store)
    assert [row.call_id for row in equal_to(store, queue.get(f"{2:036d}"))] == ["c2", "c1", "c3", "c14"]
    assert [row.call_id for row in equal_to(store, queue.get(f"{12:036d}"))] == ["c12", "c11"]
    for number in range(20, 60):
        put(store, number, endorsable=same)
    assert len(equal_to(store, queue.get(f"{2:036d}"))) == pages_data.MAX_BATCH


def test_a_search_takes_its_words_word_for_word(store: Store) -> None:
    put(store, 1, tool="pay_100%", state="rejected")
    put(store, 2, tool="pay_100x", note="50\\50")
    put(store, 3, endorsable='[{"value":"a \\"quoted\\" name"}]')
    found = {
        words: [row.call_id for row in pages_data.history(store, words=words)]
        for words in ("100%", "PAY_", "\\", '"quoted"', "")
    }
    assert found == {"100%": ["c1"], "PAY_": ["c2", "c1"], "\\": ["c2"], '"quoted"': ["c3"], "": ["c3", "c2", "c1"]}
    assert [row.call_id for row in pages_data.history(store, state=State.REJECTED)] == ["c1"]


def test_a_call_is_compared_with_what_came_before_it(store: Store) -> None:
    put(store, 1, state="succeeded", decided_by="executor:1", requester="me", thread="old")
    put(store, 2, state="succeeded", requester="somebody else", thread="old")
    put(store, 3, state="rejected")
    put(store, 5)
    put(store, 9, thread="t")
    tried, usual = pages_data.earlier(store, Queue(store).get(f"{5:036d}"))
    assert tried is not None
    assert usual is not None
    assert (tried.call_id, usual.call_id) == ("c3", "c1")


def test_names_that_differ_are_found() -> None:
    assert pages_data.differing([{"a": "1", "b": "1"}, {"a": "1", "b": "2"}, {"a": "1", "c": "3"}]) == ["b", "c"]
    assert pages_data.differing([]) == []
