"""Edits in the store, on every database: races, bounds, and links that were planted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import plans
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.decision import Decision
from checkvalve.approvals.edits import MAX_EDITS, current, edit, edited, first_of, lineage
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import (
    ConflictError,
    DigestError,
    EditRefusedError,
    StoreCorruptError,
)
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import ALLOW, DENY, REVIEW, Desk, decided

HOUR = 3_600_000_000
ARGS: dict[str, JSON] = {"to": "ann@corp.example", "n": 1}


def by(verdict: Any) -> Callable[[Proposal, Mapping[str, JSON]], Decision]:
    return lambda _old, _args: decided(verdict)


def another(desk: Desk, name: str) -> Reviewer:
    return desk.queue.reviewers.authenticate(desk.queue.reviewers.add(name, by=desk.reviewer))


@pytest.fixture(autouse=True)
def ben(desk: Desk) -> Reviewer:
    """Add a second reviewer: an editor's yes does not count alone."""
    return another(desk, "ben")


def kinds(desk: Desk, row: Proposal) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in read_events(connection, subject=row.id)]


@pytest.mark.claim("C4")
def test_an_edit_is_another_call_with_a_question_of_its_own(desk: Desk, ben: Reviewer) -> None:
    old = desk.propose()
    new = edit(desk.queue, old.id, ben, old.digest, ARGS, by(ALLOW))
    assert (new.state, new.call_id, new.args()) == (State.PENDING, f"{old.call_id}~1", ARGS)
    assert (new.rule, new.verdict_name) == ("edited", "review")  # what a rule would allow waits for a person
    same = ("tool", "server", "thread", "requester", "idempotency", "mode")
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    gone = desk.queue.get(old.id)
    assert (gone.state, gone.code, gone.decided_by) == (State.SUPERSEDED, "edited", "reviewer:ben")
    assert current(desk.queue, old.id) == new
    assert first_of(desk.queue, new) == gone
    assert lineage(desk.queue, new) == (gone, None)
    assert lineage(desk.queue, gone) == (None, new)
    assert [(item.path, item.before, item.after, item.kind) for item in edited(gone, new)] == [
        ("to", "eve@evil.example", "ann@corp.example", "changed")
    ]
    with desk.queue.store.read() as connection:
        plan = plans.read(connection, new.id)
    assert (plan.parent, plan.edited_by) == (old.id, "ben")
    with pytest.raises(ConflictError, match="superseded by ben"):
        desk.approve(old)
    with pytest.raises(DigestError):
        desk.queue.approve(new.id, desk.reviewer, old.digest)
    assert desk.queue.approve(new.id, desk.reviewer, new.digest).state is State.APPROVED
    assert desk.queue.grant(old.id) is None
    assert verify(desk.queue.store).ok


def test_edits_of_edits_are_followed_and_bounded(desk: Desk) -> None:
    first = row = desk.propose()
    for number in range(MAX_EDITS):
        row = edit(desk.queue, row.id, desk.reviewer, row.digest, {"to": f"a{number}@corp.example"}, by(REVIEW))
    assert row.call_id == f"{first.call_id}~{MAX_EDITS}"
    assert current(desk.queue, first.id) == row
    assert first_of(desk.queue, row).id == first.id
    with pytest.raises(ConflictError, match="edited 20 times"):
        edit(desk.queue, row.id, desk.reviewer, row.digest, ARGS, by(REVIEW))
    assert desk.queue.get(row.id).state is State.PENDING
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("args", "digest", "decide", "error"),
    [
        (ARGS, "", by(REVIEW), DigestError),
        (ARGS, "sha256:" + "0" * 64, by(REVIEW), DigestError),
        ({"to": "eve@evil.example", "n": 1}, None, by(REVIEW), EditRefusedError),  # nothing was changed
        ({"to": float("nan")}, None, by(REVIEW), EditRefusedError),
        ({"to": {1: 2}}, None, by(REVIEW), EditRefusedError),
        (ARGS, None, by(DENY), EditRefusedError),
    ],
)
def test_an_edit_that_cannot_be_leaves_the_question_as_it_was(
    args: dict[str, Any], digest: str | None, decide: Any, error: type[Exception], desk: Desk
) -> None:
    old = desk.propose()
    with pytest.raises(error):
        edit(desk.queue, old.id, desk.reviewer, old.digest if digest is None else digest, args, decide)
    assert desk.queue.get(old.id) == old
    assert len(desk.queue.list()) == 1
    assert kinds(desk, old)[1:] in ([], ["edit.refused"])
    assert desk.approve(old).state is State.APPROVED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C5")
def test_a_refused_edit_is_in_the_log_with_who_tried_it(desk: Desk) -> None:
    old = desk.propose()
    with pytest.raises(EditRefusedError, match="refused by the rule unknown-tool"):
        edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(DENY))
    with desk.queue.store.read() as connection:
        event = list(read_events(connection, subject=old.id))[-1]
    assert (event.kind, '"by":"reviewer:ann"' in event.body, '"rule":"unknown-tool"' in event.body) == (
        "edit.refused",
        True,
        True,
    )
    assert "ann@corp.example" not in event.body


@pytest.mark.claim("C4")
def test_of_an_edit_and_a_yes_at_once_one_wins_and_nothing_of_the_other_is_stored(desk: Desk) -> None:
    """Ten rounds: the call is approved as it was, or replaced; never both, and never neither."""
    won = set()
    for number in range(10):
        old = desk.propose()
        edited: dict[str, JSON] = {
            "to": "ann@corp.example",
            "n": number,
        }  # a refused call is not asked again
        barrier, outcomes = threading.Barrier(2), dict[str, str]()

        def race(name: str, act: Callable[[], Any], at: threading.Barrier, told: dict[str, str]) -> None:
            at.wait()
            try:
                act()
                told[name] = "won"
            except ConflictError:
                told[name] = "late"

        yes = lambda row=old: desk.queue.approve(row.id, desk.reviewer, row.digest)  # noqa: E731
        other = lambda row=old, args=edited: edit(desk.queue, row.id, desk.reviewer, row.digest, args, by(REVIEW))  # noqa: E731
        workers = [
            threading.Thread(target=race, args=(name, act, barrier, outcomes))
            for name, act in (("yes", yes), ("edit", other))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(outcomes.values()) == ["late", "won"]
        end, after = desk.queue.get(old.id), current(desk.queue, old.id)
        edit_won = outcomes["edit"] == "won"
        won.add(edit_won)
        assert end.state is (State.SUPERSEDED if edit_won else State.APPROVED)
        assert (desk.queue.grant(old.id) is None) == edit_won
        assert (after.id != old.id) == edit_won
        if edit_won:
            desk.queue.reject(after.id, desk.reviewer)
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_two_edits_of_one_question_leave_one_successor(desk: Desk) -> None:
    old = desk.propose()
    told: list[str] = []
    barrier = threading.Barrier(2)

    def race(to: str) -> None:
        barrier.wait()
        try:
            told.append(edit(desk.queue, old.id, desk.reviewer, old.digest, {"to": to}, by(REVIEW)).id)
        except ConflictError:
            told.append("late")

    workers = [threading.Thread(target=race, args=(f"{name}@corp.example",)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert told.count("late") == 1
    (pending,) = desk.queue.list([State.PENDING])
    assert pending.id in told
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_an_agent_that_named_its_call_like_an_edit_is_no_edit(desk: Desk) -> None:
    planted = desk.queue.propose(desk.request(to="x@corp.example", call_id="c~1"), decided(REVIEW))
    old = desk.queue.propose(desk.request(call_id="c"), decided(REVIEW))
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    assert new.call_id == "c~2"
    assert current(desk.queue, old.id).id == new.id
    assert current(desk.queue, planted.id).id == planted.id
    assert desk.queue.get(planted.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_changed_arguments_of_the_agent_also_close_the_edit_of_what_they_replace(desk: Desk, ben: Reviewer) -> None:
    old = desk.queue.propose(desk.request(call_id="c"), decided(REVIEW))
    new = edit(desk.queue, old.id, ben, old.digest, ARGS, by(REVIEW))
    desk.queue.approve(new.id, desk.reviewer, new.digest)
    other = desk.queue.propose(desk.request(to="zoe@corp.example", call_id="c"), decided(REVIEW))
    assert desk.queue.get(new.id).state is State.INVALIDATED
    assert other.state is State.PENDING


@pytest.mark.claim("C5")
def test_a_planted_link_is_not_followed(desk: Desk) -> None:
    old, other = desk.propose(), desk.propose()
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    with desk.queue.store.write() as connection:
        connection.execute(sa.text("UPDATE plans SET parent='' WHERE proposal_id=:id"), {"id": new.id})
        connection.execute(
            sa.text("UPDATE plans SET parent=:old, edited_by='ann' WHERE proposal_id=:id"),
            {"old": old.id, "id": other.id},
        )
    with pytest.raises(StoreCorruptError):
        current(desk.queue, old.id)
    assert not verify(desk.queue.store).ok


@pytest.mark.claim("C4")
def test_the_editor_alone_does_not_carry_a_grave_edit(desk: Desk, ben: Reviewer) -> None:
    old = desk.propose()  # its effect is not known, so it is grave
    new = edit(desk.queue, old.id, desk.reviewer, old.digest, ARGS, by(REVIEW))
    assert desk.queue.approve(new.id, desk.reviewer, new.digest).state is State.PENDING
    assert desk.queue.approve(new.id, ben, new.digest).state is State.APPROVED
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C5")
@pytest.mark.parametrize("which", ["old", "new"])
def test_erasing_one_of_a_line_of_edits_erases_all_of_it(desk: Desk, ben: Reviewer, which: str) -> None:
    old = desk.propose()
    new = edit(desk.queue, old.id, ben, old.digest, {"to": "canary@corp.example", "n": 1}, by(REVIEW))
    chosen = {"old": old, "new": new}[which]
    with pytest.raises(ConflictError, match="not over yet"), desk.queue.store.write() as connection:
        erase_call(connection, chosen.id, at=desk.clock(), by="ann", reason="asked to")
    desk.queue.reject(new.id, ben)
    with desk.queue.store.write() as connection:
        erase_call(connection, chosen.id, at=desk.clock(), by="ann", reason="asked to")
    with desk.queue.store.read() as connection:
        rows = connection.execute(sa.select(proposals)).mappings().all()
    assert len(rows) == 2
    assert not [row["id"] for row in rows if b"@" in row["canonical"]]
    assert verify(desk.queue.store).ok
