"""One odd call among nineteen that are alike: it is split out of the table, and one answer never reaches it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import plans
from checkvalve.approvals.batching import MAX_SHOWN, batch_of, split
from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.equal import equal_to
from checkvalve.approvals.pages_data import MAX_BATCH
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.store import Store
from checkvalve.approvals.verdicts import Review
from tests.approvals.made import MAIL, Desk, HandClock
from tests.gateway.review_world import Review as Pages
from tests.gateway.review_world import reviewing

pytestmark = pytest.mark.claim("C4")

ASKED = Review("untrusted-target", "untrusted-target")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path / 'batch.db'}") as store:
        yield Desk.at(store, HandClock())


def question(**changed: Any) -> Decision:
    """Return a question about a mail whose destination stands in what an outsider wrote."""
    origin: dict[str, object] = {"source": "tool:read_mail/c1#body", "span": [3, 19], "match": "exact"}
    origin["trust"] = "untrusted"
    reports = (
        ArgumentReport("to", "target", "email", sufficient=False, origins=(origin,)),
        ArgumentReport("body", "content", "text", sufficient=False, origins=()),
    )
    facts = {"targets_ok": False, "readers_ok": True}
    values: dict[str, Any] = {"verdict": ASKED, "rules": ("untrusted-target",), "arguments": reports, "facts": facts}
    return Decision(**{**values, "action": "send", "endorsable": (MAIL,), "tool_digest": "sha256:t", **changed})


def propose(desk: Desk, decision: Decision | None = None, *, requester: str = "bob", **args: Any) -> Proposal:
    number = next(desk.calls)
    given = {"to": MAIL.value, "body": f"text {number}", **args}
    request = ActionRequest.build("send", given, thread="t", call_id=f"c{number}", requester=requester)
    desk.clock.advance(seconds=1)
    return desk.queue.propose(request, decision or question())


def flagged() -> Decision:
    plain = question()
    to, body = plain.arguments
    return replace(plain, arguments=(replace(to, origins=({**to.origins[0], "flags": ["odd"]},)), body))


def _odd(desk: Desk, name: str) -> Proposal:
    plain = question()
    to, body = plain.arguments
    more = ArgumentReport("bcc", "target", "email", sufficient=True, origins=())
    ways: dict[str, Any] = {
        "a further argument": lambda: propose(desk, replace(plain, arguments=(to, body, more)), bcc="x@corp.example"),
        "an argument that is not declared": lambda: propose(desk, bcc=None),
        "a list instead of a text": lambda: propose(desk, body=["text", "more"]),
        "a fact": lambda: propose(desk, replace(plain, facts={**plain.facts, "readers_ok": False})),
        "a further rule": lambda: propose(desk, replace(plain, rules=("untrusted-target", "readers"))),
        "a flagged source": lambda: propose(desk, flagged()),
        "a hidden character": lambda: propose(desk, body="text\u202egnp.exe"),
        "a word of two alphabets": lambda: propose(desk, body="p\u0430ypal"),
        "a value that no page holds": lambda: propose(desk, body="x" * (MAX_SHOWN + 1)),
        "another requester": lambda: propose(desk, requester="eve"),
        "a tool that was declared anew": lambda: propose(desk, replace(plain, tool_digest="sha256:u")),
        "a role": lambda: propose(desk, replace(plain, arguments=(to, replace(body, role="selector")))),
    }
    found: Proposal = ways[name]()
    return found


ODD = [
    "a further argument",
    "an argument that is not declared",
    "a list instead of a text",
    "a fact",
    "a further rule",
    "a flagged source",
    "a hidden character",
    "a word of two alphabets",
    "a value that no page holds",
    "another requester",
    "a tool that was declared anew",
    "a role",
]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("place", [0, 7, 18])
def test_one_odd_call_among_nineteen_is_split_out(desk: Desk, name: str, place: int) -> None:
    rows = [_odd(desk, name) if number == place else propose(desk) for number in range(19)]
    odd = rows.pop(place)
    assert odd.state is State.PENDING
    for first in (rows[0], odd):
        batch = batch_of(desk.queue.store, first)
        assert {row.id for row in batch.rows} == {row.id for row in rows}
        assert [row.id for row in batch.odd] == [odd.id]


def test_harmless_twin_calls_that_differ_in_their_values_are_one_table(desk: Desk) -> None:
    rows = [propose(desk) for _ in range(20)]
    batch = batch_of(desk.queue.store, rows[3])
    assert (len(batch.rows), batch.rows[0].id, batch.odd) == (20, rows[3].id, ())


def test_a_table_has_at_most_twenty_calls(desk: Desk) -> None:
    rows = [propose(desk) for _ in range(MAX_BATCH)]
    more = [replace(rows[0], id=f"{number:036d}") for number in range(5)]
    known = {row.id: Plan(Tier.HIGH) for row in (*rows, *more)}
    batch = split([*rows, *more], known)
    assert (len(batch.rows), batch.odd) == (MAX_BATCH, ())


def test_what_takes_a_proof_of_its_own_is_in_no_table(desk: Desk) -> None:
    rows = [propose(desk) for _ in range(3)]
    with desk.queue.store.read() as connection:
        known = plans.read_all(connection, [row.id for row in rows])
    strict = {name: replace(plan, step_up=True) for name, plan in known.items()}
    assert len(split(rows, known).rows) == 3
    assert len(split(rows, strict).rows) == 1


def test_nothing_critical_is_in_a_table(desk: Desk) -> None:
    rows = [propose(desk, question(action="execute")) for _ in range(2)]
    assert equal_to(desk.queue.store, rows[0]) == []
    assert batch_of(desk.queue.store, rows[0]).rows == ()


def test_one_answer_reaches_each_call_of_the_table_and_never_the_odd_one(tmp_path: Path) -> None:
    with reviewing(tmp_path) as pages:
        rows = [pages.poisoned(number=f"c{number}", body=f"text {number}") for number in range(3)]
        odd = pages.poisoned(number="c9", body="text\u202egnp.exe")
        if odd.state is not State.PENDING:  # where the detectors deny it
            odd = pages.poisoned(number="c8", body="p\u0430ypal")
        where = f"/review/equal/{rows[0].id}"
        page = pages.get(where)
        assert f'name="shown-{odd.id}"' not in page
        assert f"/review/items/{odd.id}" in page
        answered = _answer(pages, page, where, [*(row.id for row in rows), odd.id], rows[0])
        assert answered.status_code == 200
        states = [pages.state(row) for row in (*rows, odd)]
        assert states == [State.APPROVED, State.APPROVED, State.APPROVED, State.PENDING]
        grants = [pages.gateway.queue.grant(row.id) for row in rows]
        assert [grant.digest for grant in grants if grant] == [row.digest for row in rows]


def _answer(pages: Pages, page: str, where: str, chosen: list[str], first: Proposal) -> Any:
    fields = pages.fields(page, where)
    shown = dict(re.findall(r'name="(shown-[0-9a-f-]+)" value="([^"]+)"', page))
    pages.wait()
    given = {"answer": "yes", "item": chosen, "digest": first.digest[7:13], "note": "seen"}
    return pages.client.post(where, data={**fields, **shown, **given})
