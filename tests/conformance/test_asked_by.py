"""None of those who asked for a call decides about it, under whatever identity of theirs: the matrix of both.

Those who asked: in whose name it was, for whom it was started, who owns the token, who owns the agent. Identities of
one person: an account, a further one, one that was joined later, an address and a subject at a provider, an id in
Teams, and a program that the person owns.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals.account_tables import identities
from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.asked_by import AGENT, FOR, TOKEN, Behind
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.errors import AccountError, ConflictError, NotAllowedError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.identities import Identities, Identity
from checkvalve.approvals.kinds import join
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import proposals
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, add, broken, busy, looks
from tests.approvals.made import REVIEW, HandClock
from tests.conformance.test_votes import Panel

pytestmark = pytest.mark.claim("C4")

RULES = "everywhere: {approve: [{approver: 1}], break_glass: true}"
ISSUER = "https://id.example"
NAMES = {
    "the account": "ann",
    "a further account": "ann-phone",
    "an account that was joined later": "joined",
    "the address at a provider": "ann@corp.example",
    "the subject at a provider": "u-17",
    "the id in Teams": "0b1c2d3e-0000-4000-8000-000000000001",
    "a program that the person owns": "ann-bot",
}
"""Under which names one person may have asked."""
PLACES: dict[str, Callable[[str], tuple[str, tuple[Behind, ...]]]] = {
    "the requester": lambda name: (name, ()),
    "for whom it was started": lambda name: ("service", (Behind(FOR, name),)),
    "the owner of the token": lambda name: ("service", (Behind(TOKEN, name),)),
    "the owner of the agent": lambda name: ("bob", (Behind(TOKEN, "service"), Behind(AGENT, name))),
}
"""As what."""


class People:
    """Ann under all her identities, and others."""

    def __init__(self, store: Store, clock: HandClock, **settings: object) -> None:
        self.panel = Panel(store, clock, RULES, glass=Glass(enabled=True), **settings)
        self.clock, self.queue = clock, self.panel.queue
        add, board = self.panel.add, self.queue.reviewers
        self.ann, self.ben = add("ann", *Role), add("ben", *Role)
        self.phone, self.joined = add("ann-phone", *Role, person="ann"), add("joined", *Role)
        join(board, "joined", person="ann", by=self.panel.boss)
        board.add("ann-bot", by=self.panel.boss, owner="ann")
        linked, proof = Identities(board), Proof(self.ann, "token", clock())
        linked.link(self.ann, Identity(ISSUER, "u-17", "Ann@corp.example"), proof)
        linked.link(self.ann, Identity("teams:t", NAMES["the id in Teams"]), proof)

    @property
    def mine(self) -> tuple[Reviewer, ...]:
        return self.ann, self.phone, self.joined

    def propose(self, requester: str, behind: tuple[Behind, ...] = ()) -> Proposal:
        number = next(self.panel.desk.calls)
        names = {"thread": f"t{number}", "call_id": f"c{number}", "requester": requester}
        request = ActionRequest.build("send", {"to": f"{number}@x.example"}, **names, behind=behind)
        return self.panel.desk.propose(REVIEW, request=request)

    def waits(self, row: Proposal) -> bool:
        return self.queue.get(row.id).state is State.PENDING


@pytest.fixture
def at(store: Store, clock: HandClock) -> People:
    return People(store, clock)


@pytest.mark.parametrize("place", PLACES)
def test_nobody_who_asked_says_yes(at: People, place: str) -> None:
    for name in NAMES.values():
        requester, behind = PLACES[place](name)
        row = at.propose(requester, behind)
        for identity in at.mine:
            with pytest.raises(NotAllowedError) as refused:
                at.panel.yes(row, identity)
            assert refused.value.cause is Cause.OWN_CALL, (place, name, identity.name)
        assert at.waits(row), (place, name)
    other = at.propose(*PLACES[place]("ann"))
    assert at.panel.yes(other, at.ben).state is State.APPROVED  # another person does
    assert verify(at.queue.store).ok


@pytest.mark.parametrize("place", PLACES)
def test_nobody_who_asked_breaks_the_glass_or_looks_afterwards(store: Store, clock: HandClock, place: str) -> None:
    desk = busy(store, clock)
    mine = (add(desk, "zoe", *Role), add(desk, "zoe-phone", *Role, person="zoe"))
    eve = add(desk, "eve", Role.BREAKER)
    requester, behind = PLACES[place]("zoe")
    request = ActionRequest.build(
        "send", {"to": "a@x.example"}, thread="t", call_id="c", requester=requester, behind=behind
    )
    row = desk.propose(REVIEW, request=request)
    for identity in mine:
        with pytest.raises(NotAllowedError) as refused:
            broken(desk, identity, row)
        assert refused.value.cause is Cause.OWN_CALL
    Executor(desk.queue, wait=timedelta()).run(broken(desk, eve, row).id, lambda args, key: "sent")
    for identity in mine:
        with pytest.raises(NotAllowedError) as refused:
            looks(desk).close(row.id, identity, FINDING)
        assert refused.value.cause is Cause.OWN_CALL
    assert not looks(desk).close(row.id, desk.reviewer, FINDING).is_open
    assert verify(store).ok


@pytest.mark.parametrize("place", PLACES)
def test_nobody_who_asked_is_helped_by_a_hand_over(at: People, place: str) -> None:
    """A colleague who stands in for Ann has no voice of hers, and Ann has none by standing in for a colleague."""
    handing, until = Delegations(at.queue.store, at.clock, at.queue.reviewers), at.clock() + 10**9
    cem = at.panel.add("cem", Role.RESPONDER)
    handing.give(at.phone, "cem", reason="on holiday", expires_at=until)
    handing.give(at.ben, "ann", reason="on holiday", expires_at=until)
    requester, behind = PLACES[place]("ann@corp.example")
    row = at.propose(requester, behind)
    for identity in (cem, at.ann):
        with pytest.raises(NotAllowedError):
            at.panel.yes(row, identity)
    assert at.waits(row)


def test_an_owner_who_cannot_be_read_may_be_anybody(at: People) -> None:
    row = at.propose("service", (Behind(TOKEN, "\u3164"),))
    with pytest.raises(NotAllowedError) as refused:
        at.panel.yes(row, at.ben)
    assert refused.value.cause is Cause.REQUESTER_UNKNOWN
    assert not at.queue.standing(row.id).reachable


def test_who_turns_out_to_have_asked_has_no_voice_any_more(store: Store, clock: HandClock) -> None:
    """Two accounts are joined, or an address is linked, after the yes and before the last one."""
    panel = Panel(store, clock, "everywhere: {approve: [{approver: 2}]}")
    ann, ben, cem = (panel.add(name) for name in ("ann", "ben", "cem"))
    row = panel.desk.propose(request=panel.desk.request(requester="zoe@corp.example"))
    panel.yes(row, ann)
    proof = Proof(ann, "token", clock())
    Identities(panel.queue.reviewers).link(ann, Identity(ISSUER, "u-18", "zoe@corp.example"), proof)
    assert panel.yes(row, ben).state is State.PENDING
    assert panel.yes(row, cem).state is State.APPROVED


def test_two_accounts_that_are_joined_have_one_voice(store: Store, clock: HandClock) -> None:
    panel = Panel(store, clock, "everywhere: {approve: [{approver: 2}]}")
    ann, twin, ben = (panel.add(name) for name in ("ann", "anna", "ben"))
    row = panel.desk.propose()
    panel.yes(row, ann)
    join(panel.queue.reviewers, "anna", person="ann", by=panel.boss)
    with pytest.raises(ConflictError, match="said yes"):
        panel.yes(row, twin)
    assert panel.yes(row, ben).state is State.APPROVED
    assert verify(store).ok


def test_an_account_in_a_name_that_somebody_has_elsewhere_is_that_persons(at: People) -> None:
    """Ann is known as an address: an account of this name, by an administrator or a provider, is no second voice."""
    added = at.panel.add("ANN@corp.example")
    assert at.queue.reviewers.account(added.name).person == "ann"
    at.queue.reviewers.disable(added.name, by=at.panel.boss)
    with pytest.raises(AccountError, match="an account of this name"):
        Identities(at.queue.reviewers).add(Identity("https://other.example", "u-3", "u-17"))


def test_one_user_alone_approves_and_every_record_says_so(store: Store, clock: HandClock) -> None:
    at = People(store, clock, single_user=True)
    for place, named in PLACES.items():
        requester, behind = named("ann")
        row = at.panel.yes(at.propose(requester, behind), at.ann)
        assert (row.state, row.self_approved) == (State.APPROVED, True), place


def test_the_whole_set_stands_in_the_signed_record(at: People) -> None:
    row = at.propose("service", (Behind(TOKEN, "ann"), Behind(AGENT, "zoe"), Behind(AGENT, "ANN")))
    told = [{"why": TOKEN, "name": "ann"}, {"why": AGENT, "name": "zoe"}]
    assert row.to_json()["behind"] == told
    assert at.panel.events(row, "proposal.recorded")[0]["behind"] == told
    assert row.asked_by == ("service", "ann", "zoe")
    with at.queue.store.write() as connection:
        changed = sa.update(proposals).where(proposals.c.id == row.id)
        connection.execute(changed.values(behind='[{"name":"zoe","why":"agent"}]'))
    with pytest.raises(StoreCorruptError):
        at.panel.yes(row, at.ben)
    assert "row_differs" in {one.code for one in verify(at.queue.store).findings}


def test_a_link_that_was_taken_out_by_hand_is_found(at: People) -> None:
    """Who takes their address out of the table would be nobody's requester any more."""
    with at.queue.store.write() as connection:
        connection.execute(sa.update(identities).where(identities.c.subject == "u-17").values(address=""))
    assert "row_differs" in {one.code for one in verify(at.queue.store).findings}
    row = at.propose("ann@corp.example")
    with pytest.raises(StoreCorruptError):
        at.panel.yes(row, at.ann)
