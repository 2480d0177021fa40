"""Attack: a yes outlives the right to say it, or one voice is used twice while people come and go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from checkvalve.approvals.delegations import Delegation, Delegations
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.kinds import join, make_program
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.still_given import accepted, granted
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.made import HandClock
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as opened:
        yield opened


def ends(queue: Queue, row: Proposal) -> tuple[State, str, list[str]]:
    ran = list[str]()
    found = Executor(queue, wait=timedelta()).run(row.id, lambda args, key: ran.append("ran")).proposal
    return found.state, found.code, ran


def whose(at: Panel, row: Proposal) -> Any:
    (event,) = at.events(row, "proposal.invalidated")
    return event["gone"]


VOID: Final = (State.INVALIDATED, "rights_gone", list[str]())


def hand(at: Panel, giver: Reviewer, taker: str) -> Delegation:
    hands = Delegations(at.store, at.clock, at.queue.reviewers)
    return hands.give(giver, taker, reason="on holiday", expires_at=at.clock() + 3_600_000_000)


def end(at: Panel, given: Delegation, by: Reviewer) -> None:
    Delegations(at.store, at.clock, at.queue.reviewers).end(given.id, by)


def test_two_who_said_yes_turn_out_to_be_one_person(store: Store) -> None:
    at = Panel(store, HandClock(), TWO)
    row = at.desk.propose()
    for name in ("ann", "ann-phone"):
        at.yes(row, at.add(name))
    assert at.queue.get(row.id).state is State.APPROVED
    join(at.queue.reviewers, "ann-phone", person="ann", by=at.boss)
    assert ends(at.queue, row) == VOID
    assert {one["why"] for one in whose(at, row)} == {"same_person"}


def test_who_said_yes_turns_out_to_be_a_program(store: Store) -> None:
    at = Panel(store, HandClock(), "{}")
    row = at.desk.propose()
    at.yes(row, at.add("bot"))
    make_program(at.queue.reviewers, "bot", owner="boss", by=at.boss)
    assert ends(at.queue, row) == VOID
    assert whose(at, row) == [{"reviewer": "bot", "why": "program"}]


def test_a_looser_process_runs_what_a_stricter_one_would_not(store: Store) -> None:
    """The rule is that of the record: a process with single_user, or with looser rules, counts no more yeses."""
    at = Panel(store, HandClock(), TWO)
    row = at.desk.propose(request=at.desk.request(requester="zoe"))
    for name in ("ann", "ben"):
        at.yes(row, at.add(name))
    at.add("zoe", person="ben")
    assert ends(at.other("{}", single_user=True), row) == VOID
    assert whose(at, row) == [{"reviewer": "ben", "why": "asked"}]


def test_the_call_is_asked_about_again_and_not_let_through_by_what_came_with_that_yes(store: Store) -> None:
    at = Panel(store, HandClock(), "{}")
    row = at.desk.propose()
    at.yes(row, at.add("eve"))
    at.queue.reviewers.disable("eve", by=at.boss)
    assert ends(at.queue, row) == VOID
    assert at.queue.endorsements("t") == []
    again = at.desk.propose()
    assert (again.digest, again.state) == (row.digest, State.PENDING)
    assert ends(at.queue, again)[0] is State.PENDING
    assert verify(store).ok


def test_standing_in_for_somebody_else_keeps_no_yes_of_the_first_alive(store: Store) -> None:
    at = Panel(store, HandClock(), "{}")
    ann, cem, ben = at.add("ann"), at.add("cem"), at.add("ben", Role.VIEWER)
    hand(at, ann, "ben")
    row = at.desk.propose()
    at.yes(row, ben)
    at.queue.reviewers.disable("ann", by=at.boss)
    hand(at, cem, "ben")
    assert ends(at.queue, row) == VOID
    assert whose(at, row) == [{"reviewer": "ben", "why": "delegation"}]


def test_one_voice_goes_from_hand_to_hand_and_fills_one_place(store: Store) -> None:
    at = Panel(store, HandClock(), TWO)
    ann = at.add("ann")
    takers = {name: at.add(name, Role.VIEWER) for name in ("ben", "cem", "dora")}
    row = at.desk.propose()
    for name, who in takers.items():
        given = hand(at, ann, name)
        assert at.yes(row, who).state is State.PENDING
        end(at, given, ann)
    hand(at, ann, "ben")  # the first one stands in again
    for who in (ann, takers["ben"]):
        with pytest.raises(ConflictError):
            at.yes(row, who)
    assert at.missing(row) == "one approver"
    assert at.queue.grant(row.id) is None


def test_one_person_with_two_accounts_hands_over_twice(store: Store) -> None:
    at = Panel(store, HandClock(), TWO)
    ann, phone = at.add("ann"), at.add("ann-phone", person="ann")
    ben, cem = at.add("ben", Role.VIEWER), at.add("cem", Role.VIEWER)
    row, given = at.desk.propose(), hand(at, ann, "ben")
    at.yes(row, ben)
    end(at, given, ann)
    hand(at, phone, "cem")
    assert at.yes(row, cem).state is State.PENDING
    hand(at, ann, "ben")  # now both stand in for ann, and both have said yes for ann
    assert at.missing(row) == "one approver"
    assert at.yes(row, at.add("dora")).state is State.APPROVED
    assert ends(at.queue, row)[0] is State.SUCCEEDED
    assert verify(store).ok


def test_no_list_says_in_force_of_what_nobody_may_rely_on_any_more(store: Store) -> None:
    at = Panel(store, HandClock(), "{}")
    row = at.desk.propose()
    at.yes(row, at.add("eve"))
    wide = Mandate("read_file(path=bill.txt)", "pay", ("target",), max_calls=3)
    mandate = at.queue.grant_mandate(wide, at.add("kim"), thread="t", requester="bob")

    def states() -> list[list[str]]:
        return [[item.state(at.clock()) for item in listed(at.queue)] for listed in (accepted, granted)]

    assert states() == [["in force"], ["in force"]]
    assert len(at.queue.endorsements("t")) == 1
    for name in ("eve", "kim"):
        at.queue.reviewers.set_roles(name, [Role.RESPONDER], by=at.boss)
    assert at.queue.endorsements("t") == []
    assert states() == [["void"], ["void"]]
    assert [item.to_json(at.clock())["state"] for item in accepted(at.queue)] == ["void"]
    for name in ("eve", "kim"):
        at.queue.reviewers.set_roles(name, [Role.APPROVER], by=at.boss)
    assert states() == [["in force"], ["in force"]], "a right that came back counts again"
    for name in ("eve", "kim"):
        at.queue.reviewers.disable(name, by=at.boss)
    assert states() == [["void"], ["void"]]
    at.queue.revoke_endorsement(accepted(at.queue)[0].id, at.boss)
    assert states() == [["revoked"], ["void"]], "what is void can be taken back"
    assert mandate.id == granted(at.queue)[0].id


def test_what_was_changed_beside_the_log_is_void_and_hides_nothing_else(store: Store) -> None:
    at = Panel(store, HandClock(), "{}")
    eve = at.add("eve")
    changed = at.desk.propose()
    at.yes(changed, eve)
    at.yes(at.desk.propose(request=at.desk.request(thread="other")), eve)
    with store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == changed.id).values(decision="{"))
    assert {item.proposal_id == changed.id: item.state(at.clock()) for item in accepted(at.queue)} == {
        True: "void",
        False: "in force",
    }
