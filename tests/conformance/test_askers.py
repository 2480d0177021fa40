"""Attack: who asked becomes somebody who did not, by a row of another account, a moved link, or a chain of programs.

Whoever writes the database without the key of the log edits or removes a row, says yes, and puts it back.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import AccountError, NotAllowedError, QueueError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.identities import Identities, Identity
from checkvalve.approvals.kinds import join, make_program
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.reach import requesters
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.roles import Account, Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, add, broken, busy, looks
from tests.approvals.made import REVIEW, HandClock
from tests.conformance.test_asked_by import ISSUER, PLACES, People
from tests.conformance.test_statement_counts import sent

pytestmark = pytest.mark.claim("C4")

_ROW = reviewers.c
EDITS: dict[str, tuple[str, sa.Update | sa.Delete]] = {
    "whose account it is": ("ann-phone", sa.update(reviewers).where(_ROW.name == "ann-phone").values(person="zed")),
    "nobody's further account": ("ann-phone", sa.update(reviewers).where(_ROW.name == "ann-phone").values(person="")),
    "no account": ("ann-phone", sa.delete(reviewers).where(_ROW.name == "ann-phone")),
    "a program no more": ("ann-bot", sa.update(reviewers).where(_ROW.name == "ann-bot").values(roles="")),
    "no program": ("ann-bot", sa.delete(reviewers).where(_ROW.name == "ann-bot")),
    "no link": ("ann@corp.example", sa.delete(identities)),
    "another address": ("ann@corp.example", sa.update(identities).values(address="x@y.example")),
}
"""Under which name was asked, and what is done to its row."""


@pytest.fixture
def at(store: Store, clock: HandClock) -> People:
    return People(store, clock)


def ran(at: People, row: Proposal) -> int:
    """Return how often the effect of a call ran."""
    times = list[str]()
    queue = at.queue
    try:
        Executor(queue, wait=timedelta()).run(row.id, lambda args, key: times.append(key))
    except StoreCorruptError:
        assert not times
    return len(times)


@pytest.mark.parametrize("edit", EDITS)
def test_the_row_of_who_asked_is_edited_before_the_yes(at: People, edit: str) -> None:
    name, statement = EDITS[edit]
    asked = [at.propose(*PLACES[place](name)) for place in PLACES]
    with at.queue.store.write() as connection:
        connection.execute(statement)
    for row in asked:
        with pytest.raises(StoreCorruptError):
            at.panel.yes(row, at.ann)
        assert at.waits(row)
        assert ran(at, row) == 0


def test_a_yes_of_others_waits_for_the_row_and_a_no_is_taken(at: People) -> None:
    row = at.propose("ann-phone")
    with at.queue.store.write() as connection:
        connection.execute(EDITS["whose account it is"][1])
    with pytest.raises(StoreCorruptError):
        at.panel.yes(row, at.ben)
    with at.queue.store.write() as connection:
        connection.execute(sa.update(reviewers).where(_ROW.name == "ann-phone").values(person="ann"))
    assert at.panel.yes(row, at.ben).state is State.APPROVED
    other = at.propose("ann-phone")
    with at.queue.store.write() as connection:
        connection.execute(EDITS["whose account it is"][1])
    assert at.queue.reject(other.id, at.ben, "no").state is State.REJECTED


@pytest.mark.parametrize("named", ["of-bot", "of-bot-of-bot"])
@pytest.mark.parametrize("place", PLACES)
def test_who_owns_the_program_that_owns_the_program(at: People, place: str, named: str) -> None:
    board, boss = at.queue.reviewers, at.panel.boss
    board.add("of-bot-of-bot", by=boss, owner="of-bot")  # there is no such account yet
    board.add("of-bot", by=boss, owner="late-bot")
    board.add("late-bot", by=boss, owner="ann")
    row = at.propose(*PLACES[place](named))
    for mine in at.mine:
        with pytest.raises(NotAllowedError):
            at.panel.yes(row, mine)
    assert at.panel.yes(row, at.ben).state is State.APPROVED


def test_programs_that_own_each_other_in_a_ring_are_counted_once() -> None:
    one, two, three = (
        Account(name, name, program=True, owner=owner) for name, owner in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    ann = Account("ann", "ann")
    assert requesters("a", [one, two, three, ann]) == {"a", "b", "c"}
    assert requesters("A", [one, two, replace(three, owner="ann"), ann]) == {"a", "b", "c", "ann"}


@pytest.mark.parametrize("owner", ["ann-bot", "ANN-BOT", "new-bot", "\u3164"])
def test_a_program_is_no_owner(at: People, owner: str) -> None:
    at.panel.add("robot")
    for asked in (
        lambda: at.queue.reviewers.add("new-bot", by=at.panel.boss, owner=owner),
        lambda: make_program(at.queue.reviewers, "robot", owner=owner.replace("new-bot", "robot"), by=at.panel.boss),
    ):
        with pytest.raises(QueueError):
            asked()
    assert not at.queue.reviewers.account("robot").program


def test_who_owns_a_program_becomes_one_after_it_has_another_owner(at: People) -> None:
    board, boss = at.queue.reviewers, at.panel.boss
    at.panel.add("dana")
    board.add("d-bot", by=boss, owner="dana")
    with pytest.raises(QueueError, match="owns the program d-bot"):
        make_program(board, "dana", owner="ben", by=boss)
    assert make_program(board, "d-bot", owner="ben", by=boss).owner == "ben"
    assert make_program(board, "dana", owner="ben", by=boss).program
    assert verify(at.queue.store).ok


def test_a_link_that_was_removed_stays_that_persons(at: People) -> None:
    """Ann's name at the provider is not forgotten by letting a colleague's account have the link."""
    linked, proof = Identities(at.queue.reviewers), Proof(at.ann, "token", at.clock())
    linked.remove(at.ann, ISSUER, "u-17", proof)
    vic = at.panel.add("vic", Role.VIEWER)
    with pytest.raises(AccountError, match=r"another person's .* reviewer same\)$"):
        linked.link(vic, Identity(ISSUER, "u-17", "Ann@corp.example"), Proof(vic, "token", at.clock()))
    row = at.propose("ann@corp.example")
    with pytest.raises(NotAllowedError):
        at.panel.yes(row, at.ann)
    join(at.queue.reviewers, "vic", person="ann", by=at.panel.boss)
    linked.link(vic, Identity(ISSUER, "u-17", "Ann@corp.example"), Proof(vic, "token", at.clock()))
    for mine in (*at.mine, vic):
        with pytest.raises(NotAllowedError):
            at.panel.yes(row, mine)
    assert at.panel.yes(row, at.ben).state is State.APPROVED
    assert verify(at.queue.store).ok


def test_an_address_that_another_took_the_place_of_stays_that_persons(at: People) -> None:
    linked, proof = Identities(at.queue.reviewers), Proof(at.ann, "token", at.clock())
    linked.remove(at.ann, ISSUER, "u-17", proof)
    linked.link(at.ann, Identity(ISSUER, "u-17", "ann.new@corp.example"), proof)
    for name in ("ann@corp.example", "ann.new@corp.example"):
        row = at.propose(name)
        for mine in at.mine:
            with pytest.raises(NotAllowedError, match="asked for this call"):
                at.panel.yes(row, mine)
        assert at.panel.yes(row, at.ben).state is State.APPROVED


def test_nobody_stands_in_for_who_asked_under_an_earlier_name(at: People) -> None:
    linked, proof = Identities(at.queue.reviewers), Proof(at.ann, "token", at.clock())
    linked.remove(at.ann, ISSUER, "u-17", proof)
    linked.link(at.ann, Identity(ISSUER, "u-17", "ann.new@corp.example"), proof)
    cem = at.panel.add("cem", Role.RESPONDER)
    handing = Delegations(at.queue.store, at.clock, at.queue.reviewers)
    handing.give(at.ann, "cem", reason="on holiday", expires_at=at.clock() + 10**9)
    row = at.propose("ann@corp.example")
    with pytest.raises(NotAllowedError, match="takes the role"):
        at.panel.yes(row, cem)
    assert at.waits(row)
    assert at.panel.yes(at.propose("zoe"), cem).state is State.APPROVED


def test_nobody_stands_in_for_who_asked_by_taking_a_link_out(at: People) -> None:
    cem = at.panel.add("cem", Role.RESPONDER)
    handing = Delegations(at.queue.store, at.clock, at.queue.reviewers)
    handing.give(at.ann, "cem", reason="on holiday", expires_at=at.clock() + 10**9)
    row = at.propose("ann@corp.example")
    with at.queue.store.write() as connection:
        connection.execute(sa.delete(identities))
    with pytest.raises(StoreCorruptError):
        at.panel.yes(row, cem)
    assert at.waits(row)


def test_nobody_breaks_the_glass_of_their_own_call_by_taking_a_link_out(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock)
    zoe, eve = add(desk, "zoe", *Role), add(desk, "eve", Role.BREAKER)
    proof, board = Proof(zoe, "token", clock()), desk.queue.reviewers
    Identities(board).link(zoe, Identity(ISSUER, "u-9", "zoe@corp.example"), proof)
    request = ActionRequest.build("send", {"to": "a@x.example"}, thread="t", call_id="c", requester="zoe@corp.example")
    row = desk.propose(REVIEW, request=request)
    with store.write() as connection:
        kept = dict(connection.execute(sa.select(identities)).mappings().one())
        connection.execute(sa.delete(identities))
    with pytest.raises(StoreCorruptError):
        broken(desk, zoe, row)
    assert desk.queue.get(row.id).state is State.PENDING
    Executor(desk.queue, wait=timedelta()).run(broken(desk, eve, row).id, lambda args, key: "sent")
    with pytest.raises(StoreCorruptError):
        looks(desk).close(row.id, zoe, FINDING)
    with store.write() as connection:
        connection.execute(sa.insert(identities).values(kept))
    with pytest.raises(NotAllowedError):
        looks(desk).close(row.id, zoe, FINDING)
    assert not looks(desk).close(row.id, desk.reviewer, FINDING).is_open
    assert verify(store).ok


def test_an_earlier_name_counts_for_the_glass_and_for_who_looks_afterwards(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock)
    zoe, eve = add(desk, "zoe", *Role), add(desk, "eve", Role.BREAKER)
    linked, proof = Identities(desk.queue.reviewers), Proof(zoe, "token", clock())
    linked.link(zoe, Identity(ISSUER, "u-9", "zoe@corp.example"), proof)
    linked.remove(zoe, ISSUER, "u-9", proof)
    linked.link(zoe, Identity(ISSUER, "u-9", "zoe.new@corp.example"), proof)
    request = ActionRequest.build("send", {"to": "a@x.example"}, thread="t", call_id="c", requester="zoe@corp.example")
    row = desk.propose(REVIEW, request=request)
    with pytest.raises(NotAllowedError, match="asked for this call"):
        broken(desk, zoe, row)
    Executor(desk.queue, wait=timedelta()).run(broken(desk, eve, row).id, lambda args, key: "sent")
    with pytest.raises(NotAllowedError, match="asked for this call"):
        looks(desk).close(row.id, zoe, FINDING)
    assert not looks(desk).close(row.id, desk.reviewer, FINDING).is_open


def test_a_yes_costs_no_statement_more_for_a_further_account(at: People) -> None:
    """Accounts of those who asked and of who says yes are read, and their events, in one statement each."""
    counts = []
    for name in ("ann", "nobody@x.example"):
        row = at.propose(name)
        with sent(at.queue.store) as statements:
            at.panel.yes(row, at.ben)
        counts.append(len(statements))
    assert counts[0] <= counts[1] + 1


def test_what_was_found_out_after_the_yes_holds_also_where_another_address_took_its_place(at: People) -> None:
    row = at.panel.yes(at.propose("zoe@corp.example"), at.ben)
    linked, proof = Identities(at.queue.reviewers), Proof(at.ben, "token", at.clock())
    linked.link(at.ben, Identity(ISSUER, "u-18", "zoe@corp.example"), proof)
    linked.remove(at.ben, ISSUER, "u-18", proof)
    linked.link(at.ben, Identity(ISSUER, "u-18", "ben@corp.example"), proof)
    assert ran(at, row) == 0
    assert at.queue.get(row.id).code == "rights_gone"
    assert at.panel.events(row, "proposal.invalidated")[0]["gone"] == [{"reviewer": "ben", "why": "asked"}]


def test_what_was_found_out_after_the_yes_is_not_taken_out_before_the_effect(at: People) -> None:
    row = at.panel.yes(at.propose("zoe@corp.example"), at.ben)
    linked = Identities(at.queue.reviewers)
    linked.link(at.ben, Identity(ISSUER, "u-18", "zoe@corp.example"), Proof(at.ben, "token", at.clock()))
    with at.queue.store.write() as connection:
        connection.execute(sa.delete(identities).where(identities.c.subject == "u-18"))
    assert ran(at, row) == 0
    assert at.queue.get(row.id).state is State.APPROVED  # nothing ran, and nothing was lost
