"""Attack: a reason that nobody can see, and words that no database keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkvalve.approvals import remarks, responding
from checkvalve.approvals.afterlooks import AfterLooks
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import NoteNeededError, QueueError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import REASON, add, broken, busy
from tests.approvals.made import Desk, HandClock

pytestmark = [pytest.mark.claim("C4"), pytest.mark.claim("C5")]

UNSEEN = ["\u3164" * 40, "\u115f\u1160" * 20, "\u200b" * 40, "\u2061" * 40, "\U000e0041" * 40, " \u3164\u00ad" * 20]
NO_TEXT = "\udcff a reason in words that is long enough"
RULES = """
everywhere: {note_required: true, break_glass: true}
rules: [{name: two, when: {tool: [send]}, approve: [{approver: 2}], note_required: true}]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield busy(store, HandClock(), rules=RULES)


def asked(desk: Desk, to: str = "x@x.example") -> Proposal:
    return desk.propose(request=desk.request(to=to))


def handing(desk: Desk) -> Delegations:
    return Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)


@pytest.mark.parametrize("unseen", UNSEEN)
def test_a_reason_that_leaves_no_mark_is_none(unseen: str, desk: Desk) -> None:
    eve, row = add(desk, "eve", Role.BREAKER), asked(desk)
    with pytest.raises(NoteNeededError):
        desk.queue.approve(row.id, desk.reviewer, row.digest, note=unseen)
    with pytest.raises(QueueError, match="a reason is words"):
        broken(desk, eve, row, reason=unseen)
    with pytest.raises(QueueError, match="takes a reason"):
        handing(desk).give(desk.reviewer, "eve", reason=unseen, expires_at=desk.clock() + 10**9)
    assert desk.queue.get(row.id).state is State.PENDING
    looks = AfterLooks(desk.queue.store, desk.clock, desk.queue.reviewers)
    broken(desk, eve, row, reason=REASON)
    with pytest.raises(QueueError, match="a finding is words"):
        looks.close(row.id, desk.reviewer, unseen)
    assert [item.proposal_id for item in looks.list()] == [row.id]
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize("note", ["4711", "\u597d", "\u3164ok"])
def test_harmless_twin_a_reason_that_can_be_seen_is_one(note: str, desk: Desk) -> None:
    row = asked(desk)
    assert desk.queue.approve(row.id, desk.reviewer, row.digest, note=note).state is State.PENDING


def _settle(desk: Desk, row: Proposal) -> None:
    desk.queue.settle(row.id, desk.reviewer, done=True, note=NO_TEXT)


def _erase(desk: Desk, row: Proposal) -> None:
    with desk.queue.store.write() as connection:
        erase_call(connection, row.id, at=desk.clock(), by="ann", reason=NO_TEXT)


def _breaker(desk: Desk) -> Reviewer:
    return add(desk, "eve", Role.BREAKER)


WAYS: dict[str, Callable[[Desk, Proposal], object]] = {
    "a yes": lambda desk, row: desk.queue.approve(row.id, desk.reviewer, row.digest, note=NO_TEXT),
    "a no": lambda desk, row: desk.queue.reject(row.id, desk.reviewer, "rejected", NO_TEXT),
    "the code of a no": lambda desk, row: desk.queue.reject(row.id, desk.reviewer, NO_TEXT),
    "an answer": lambda desk, row: responding.respond(desk.queue, row.id, desk.reviewer, NO_TEXT),
    "a question": lambda desk, row: remarks.ask(desk.queue, row.id, desk.reviewer, NO_TEXT),
    "the glass": lambda desk, row: broken(desk, _breaker(desk), row, reason=NO_TEXT),
    "standing in": lambda desk, row: handing(desk).give(desk.reviewer, "x", reason=NO_TEXT, expires_at=row.decide_by),
    "an outcome": _settle,
    "an erasure": _erase,
    "a person": lambda desk, row: desk.queue.reviewers.add("zed", by=desk.reviewer, person=NO_TEXT),
    "an unseen person": lambda desk, row: desk.queue.reviewers.add("zed", by=desk.reviewer, person="\u3164"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_text_is_refused_before_anything_is_stored(way: str, desk: Desk) -> None:
    """A terminal hands bytes that are no UTF-8 over as lone surrogates; that is no traceback."""
    row = asked(desk)
    with pytest.raises(QueueError):
        WAYS[way](desk, row)
    assert desk.queue.get(row.id).state is State.PENDING
    assert verify(desk.queue.store).ok


LOOKS: dict[str, Callable[[Desk], object]] = {
    "a call": lambda desk: desk.queue.get(NO_TEXT),
    "calls of a task": lambda desk: desk.queue.list(thread=NO_TEXT),
    "the start of an id": lambda desk: desk.queue.find(NO_TEXT),
    "an after-look": lambda desk: AfterLooks(desk.queue.store, desk.clock, desk.queue.reviewers).close(
        NO_TEXT, desk.reviewer, "it went to the right customer"
    ),
    "a mandate": lambda desk: desk.grant(thread=NO_TEXT),
    "a requester": lambda desk: desk.grant(requester=NO_TEXT),
    "endorsements": lambda desk: desk.queue.endorsements(NO_TEXT),
    "a pause": lambda desk: desk.queue.let_go_on(NO_TEXT, desk.reviewer, more=1),
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_name_that_is_no_text_finds_nothing_and_says_so(what: str, desk: Desk) -> None:
    with pytest.raises(QueueError):
        LOOKS[what](desk)
    assert verify(desk.queue.store).ok
