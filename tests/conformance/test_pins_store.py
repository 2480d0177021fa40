"""Versions in the store, on every database: written once and before any yes, compared where the permit is taken."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.breakglass import break_glass
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.pin_record import is_known, note, noted
from checkvalve.approvals.pins import FAILED, READ, Found, Part, Version, names_of
from checkvalve.approvals.pins_shown import pinned_of
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verdicts import Verdict
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import REASON, add, busy, proven
from tests.approvals.made import ALLOW, REVIEW, Desk, HandClock, decided

pytestmark = pytest.mark.claim("C4", "C5")
FIRST = Found("d", (Version("path", "file", (Part("$", "sha256:a"),), 8),))
OTHER = Found("d", (Version("path", "file", (Part("$", "sha256:b"),), 9),))
FAILING = Found("d", of="path", why="link")


def asked(desk: Desk, verdict: Verdict = REVIEW) -> Proposal:
    return desk.queue.propose(desk.request(), replace(decided(verdict), pins=("path",)))


def kinds(desk: Desk, name: str) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in read_events(connection, subject=name)]


def ran(desk: Desk, row: Proposal, pinned: Found | None) -> tuple[State, str, list[str]]:
    done = list[str]()
    outcome = Executor(desk.queue).run(row.id, lambda _args, _key: done.append("ran"), pinned=pinned)
    return outcome.state, outcome.proposal.code, done


def test_what_was_read_is_read_back_and_bound_to_the_digest(desk: Desk) -> None:
    row = asked(desk)
    assert names_of(row) == ("path",)
    assert note(desk.queue, row, FIRST) == row
    with desk.queue.store.read() as connection:
        assert noted(connection, row) == (desk.clock.now, FIRST)
        assert noted(connection, replace(row, digest="sha256:" + "0" * 64)) is None
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize(
    ("now", "state", "code"),
    [
        (FIRST, State.SUCCEEDED, ""),
        (OTHER, State.INVALIDATED, "pin_changed"),
        (FAILING, State.INVALIDATED, "pin_unreadable"),
        (Found("d", of="path", why="missing"), State.INVALIDATED, "pin_missing"),
        (Found("e", FIRST.versions), State.INVALIDATED, "pin_redeclared"),
        (None, State.INVALIDATED, "pin_not_read"),
    ],
)
def test_a_permit_is_used_only_for_what_was_asked_about(desk: Desk, now: Found | None, state: State, code: str) -> None:
    row = asked(desk)
    note(desk.queue, row, FIRST)
    desk.approve(row)
    found, said, done = ran(desk, row, now)
    assert (found, done) == (state, ["ran"] if state is State.SUCCEEDED else [])
    assert not code or said == code
    again = ran(desk, row, FIRST)
    assert again[2] == [], "what is void stays void"
    assert verify(desk.queue.store).ok


def test_no_yes_is_taken_before_it_is_written(desk: Desk) -> None:
    row = asked(desk)
    with pytest.raises(ConflictError, match="not been read yet"):
        desk.approve(row)
    note(desk.queue, row, FIRST)
    assert desk.approve(row).state is State.APPROVED


def test_a_glass_is_not_broken_before_it_is_written(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock)
    eve, row = add(desk, "eve", Role.BREAKER), asked(desk)
    proof = proven(desk, eve, row)
    with pytest.raises(ConflictError, match="not been read yet"):
        break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proof)
    note(desk.queue, row, FIRST)
    assert break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proof).state is State.APPROVED


def test_what_cannot_be_read_closes_the_question_in_one_transaction(desk: Desk) -> None:
    row = asked(desk)
    closed = note(desk.queue, row, FAILING)
    assert (closed.state, closed.code, closed.decided_by) == (State.CANCELLED, "pin_unreadable", "gateway")
    assert kinds(desk, row.id)[-2:] == [FAILED, "proposal.cancelled"]
    with pytest.raises(ConflictError):
        desk.approve(row)
    assert verify(desk.queue.store).ok


def test_what_was_written_first_stays(desk: Desk) -> None:
    row = asked(desk)
    note(desk.queue, row, FIRST)
    assert note(desk.queue, row, OTHER).state is State.PENDING
    assert note(desk.queue, row, FAILING).state is State.PENDING
    desk.approve(row)
    note(desk.queue, row, OTHER)
    assert kinds(desk, row.id).count(READ) == 1
    assert ran(desk, row, OTHER)[1] == "pin_changed"


def test_of_many_who_read_at_once_one_is_written(desk: Desk) -> None:
    row, start = asked(desk), threading.Barrier(4)
    given = [FIRST, OTHER, FAILING, FIRST]

    def write(found: Found) -> None:
        start.wait(60)
        note(desk.queue, row, found)

    threads = [threading.Thread(target=write, args=(found,)) for found in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [kind for kind in kinds(desk, row.id) if kind in {READ, FAILED}]
    assert len(said) == 1
    assert is_known(desk.queue, row)
    assert (desk.queue.get(row.id).state is State.CANCELLED) == (said == [FAILED])
    assert verify(desk.queue.store).ok


def test_of_many_who_run_it_at_once_with_two_versions_one_runs_at_most(desk: Desk) -> None:
    """Whoever read the other version may void the permit first; nobody runs it twice, and nobody with that version."""
    row, start = asked(desk), threading.Barrier(4)
    note(desk.queue, row, FIRST)
    desk.approve(row)
    done = list[Found]()

    def run(found: Found) -> None:
        start.wait(60)
        Executor(desk.queue).run(row.id, lambda _args, _key: done.append(found), pinned=found)

    threads = [threading.Thread(target=run, args=(found,)) for found in (FIRST, OTHER, FIRST, OTHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = desk.queue.get(row.id).state
    assert (state, done) in [(State.SUCCEEDED, [FIRST]), (State.INVALIDATED, [])]
    assert verify(desk.queue.store).ok


def test_a_rules_permit_needs_none(desk: Desk) -> None:
    row = asked(desk, ALLOW)
    assert ran(desk, row, None)[0] is State.SUCCEEDED
    found = pinned_of(desk.queue, row)
    assert found is not None
    assert found.stand == "nobody_asked"


def test_observe_mode_needs_none(desk: Desk) -> None:
    row = desk.queue.propose(desk.request(), replace(decided(REVIEW), pins=("path",)), mode="observe")
    assert ran(desk, row, None)[0] is State.SUCCEEDED
    assert pinned_of(desk.queue, row) is None


def test_it_is_erased_with_its_call(desk: Desk) -> None:
    row = asked(desk)
    kept = Found("d", (Version("get", "record", (Part("$.state", "sha256:a", "open for Eve"),)),))
    note(desk.queue, row, kept)
    desk.queue.reject(row.id, desk.reviewer)
    with desk.queue.store.write() as connection:
        erase_call(connection, row.id, at=desk.clock.now, by="ann", reason="asked to")
        left = str([event.body for event in read_events(connection)])
    assert "open for Eve" not in left
    assert pinned_of(desk.queue, desk.queue.get(row.id)) is None
    assert verify(desk.queue.store).ok
