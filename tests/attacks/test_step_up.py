"""A second factor that was given for something else, before, by somebody else, or by nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkvalve.approvals import challenges, stepup
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import ApprovalError, CredentialError, DigestError, StepUpError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.stepup import Item, StepUp, with_passkey, with_secret
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.account import GOOD, SITE, Office
from tests.approvals.authenticator import UP, Device
from tests.approvals.made import Desk, HandClock

pytestmark = pytest.mark.claim("C4")

RULES = "everywhere: {step_up: true}"


class World:
    """A queue in which every yes takes a step-up, and Ann, who has a passkey."""

    def __init__(self, store: Store) -> None:
        self.clock = HandClock()
        self.office = Office.over(store, self.clock)
        queue = Queue(store, self.clock, rules=parse_review_rules(RULES, "rules.yaml"))
        queue.reviewers = self.office.board
        self.desk = Desk.over(queue, self.clock, self.office.ann)
        self.device = self.office.device()

    def answer(self, item: Item, device: Device | None = None) -> tuple[str, str]:
        nonce = challenges.draw_nonce(self.clock())
        options = self.office.checks.passkeys.proving(SITE, item.challenge(nonce), name="ann")
        return nonce, (device or self.device).answer(options)

    def step(self, item: Item) -> StepUp:
        nonce, response = self.answer(item)
        return with_passkey(self.office.checks, SITE, self.office.ann, item, nonce=nonce, response=response)

    def approve(self, proposal: Proposal, step_up: StepUp | None) -> Proposal:
        return self.desk.queue.approve(proposal.id, self.office.ann, proposal.digest, step_up=step_up)

    def state(self, proposal: Proposal) -> State:
        return self.desk.queue.get(proposal.id).state


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield World(store)


def test_harmless_twin_a_proof_for_this_call_lets_it_run_once(world: World) -> None:
    proposal = world.desk.propose()
    assert world.approve(proposal, world.step(Item.of(proposal))).state is State.APPROVED
    assert verify(world.desk.queue.store).ok


def test_without_a_proof_a_yes_is_none(world: World) -> None:
    proposal = world.desk.propose()
    with pytest.raises(StepUpError, match="fresh proof"):
        world.approve(proposal, None)
    assert world.state(proposal) is State.PENDING


def test_a_proof_for_another_call_digest_or_decision_is_none(world: World) -> None:
    proposal, other = world.desk.propose(), world.desk.propose(request=world.desk.request(to="other@evil.example"))
    for item in (
        Item.of(other),
        Item(proposal.id, other.digest),
        Item(other.id, proposal.digest),
        Item.of(proposal, "break_glass"),
    ):
        with pytest.raises(StepUpError, match="another call"):
            world.approve(proposal, world.step(item))
    assert world.state(proposal) is State.PENDING


def test_an_answer_to_one_challenge_is_no_answer_to_another(world: World) -> None:
    """The stale second factor: what a browser signed for one item is sent for another one."""
    proposal, other = world.desk.propose(), world.desk.propose(request=world.desk.request(to="other@evil.example"))
    nonce, response = world.answer(Item.of(other))
    for item in (Item.of(proposal), Item(other.id, proposal.digest), Item.of(other, "break_glass")):
        with pytest.raises(CredentialError):
            with_passkey(world.office.checks, SITE, world.office.ann, item, nonce=nonce, response=response)
    sign_in = challenges.challenge("sign-in", nonce=nonce)
    with pytest.raises(CredentialError):  # nor does it sign anybody in
        world.office.checks.passkeys.verify(SITE, response, sign_in)


def test_a_proof_is_good_once(world: World) -> None:
    proposal = world.desk.propose()
    step = world.step(Item.of(proposal))
    world.approve(proposal, step)
    with world.desk.queue.store.write() as connection, pytest.raises(StepUpError, match="used before"):
        stepup.spend(connection, step, proposal, world.office.ann, at=world.clock())
    nonce, response = world.answer(Item.of(proposal))
    with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=response)
    with pytest.raises(CredentialError):  # the counter of the device stands where it stood
        with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=response)


def test_a_device_that_counts_nothing_gives_one_decision_all_the_same(world: World) -> None:
    quiet = world.office.device(counts=False)
    proposal = world.desk.propose()
    nonce, response = world.answer(Item.of(proposal), quiet)
    steps = [
        with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=response)
        for _ in range(2)
    ]
    with world.desk.queue.store.write() as connection:
        stepup.spend(connection, steps[0], proposal, world.office.ann, at=world.clock())
    with pytest.raises(StepUpError, match="used before"):
        world.approve(proposal, steps[1])


def test_an_old_proof_is_none(world: World) -> None:
    proposal = world.desk.propose()
    step = world.step(Item.of(proposal))
    nonce, response = world.answer(Item.of(proposal))
    world.clock.advance(minutes=6)
    with pytest.raises(StepUpError, match="too old"):
        world.approve(proposal, step)
    with pytest.raises(CredentialError, match="too long ago"):
        with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=response)


def test_another_persons_proof_is_none(world: World) -> None:
    ben = world.office.add("ben")
    proposal = world.desk.propose()
    nonce, response = world.answer(Item.of(proposal))
    with pytest.raises(CredentialError, match="another person"):
        with_passkey(world.office.checks, SITE, ben, Item.of(proposal), nonce=nonce, response=response)
    with pytest.raises(StepUpError, match="another person"):
        world.desk.queue.approve(proposal.id, ben, proposal.digest, step_up=world.step(Item.of(proposal)))


BAD: dict[str, Callable[[World], Device]] = {
    "nobody was verified": lambda world: replace(world.device, flags=UP),
    "nobody was there": lambda world: replace(world.device, flags=0),
    "another site": lambda world: replace(world.device, origin="https://gate.example.evil.example"),
    "another port": lambda world: replace(world.device, origin="https://gate.example:8443"),
    "no TLS": lambda world: replace(world.device, origin="http://gate.example"),
    "an unknown key": lambda _: Device(),
    "the id of a known key": lambda world: Device(id=world.device.id, handle=world.device.handle),
    "another account": lambda world: replace(world.device, handle=b"x" * 32),
    "a copy that lags behind": lambda world: replace(world.device, count=-1, counts=True),
}


@pytest.mark.parametrize("what", BAD)
def test_an_answer_that_is_not_the_persons_is_refused(what: str, world: World) -> None:
    proposal = world.desk.propose()
    world.step(Item.of(proposal))  # its counter is 1 from here on
    nonce, response = world.answer(Item.of(proposal), BAD[what](world))
    with pytest.raises(CredentialError):
        with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=response)
    assert world.state(proposal) is State.PENDING


@pytest.mark.parametrize(
    "sent", ["", "{}", "[]", "null", '{"rawId": 3}', '{"rawId": "AA", "response": []}', "x" * 99_999]
)
def test_what_is_no_answer_is_refused(sent: str, world: World) -> None:
    proposal = world.desk.propose()
    nonce = challenges.draw_nonce(world.clock())
    with pytest.raises(CredentialError, match="not accepted"):
        with_passkey(world.office.checks, SITE, world.office.ann, Item.of(proposal), nonce=nonce, response=sent)


def test_what_can_be_typed_is_not_taken_from_who_has_a_passkey(world: World) -> None:
    world.office.checks.passwords.change(world.office.ann, GOOD, world.office.proof())
    proposal = world.desk.propose()
    for secret in (GOOD, world.office.token):
        with pytest.raises(StepUpError, match="you have a passkey"):
            with_secret(world.office.checks, world.office.ann, Item.of(proposal), secret)


def test_a_password_proves_its_own_person_for_one_call(world: World) -> None:
    ben = world.office.add("ben")
    world.office.checks.passwords.change(ben, GOOD, world.office.proof(ben))
    proposal, other = world.desk.propose(), world.desk.propose()
    for secret in ("", "wrong", world.office.token):
        with pytest.raises(ApprovalError):
            with_secret(world.office.checks, ben, Item.of(proposal), secret)
    step = with_secret(world.office.checks, ben, Item.of(proposal), GOOD)
    with pytest.raises(StepUpError):
        world.desk.queue.approve(other.id, ben, other.digest, step_up=step)
    approved = world.desk.queue.approve(proposal.id, ben, proposal.digest, step_up=step)
    assert approved.state is State.APPROVED


def test_nobody_makes_a_step_up_by_hand(world: World) -> None:
    proposal = world.desk.propose()
    item = Item.of(proposal)
    with pytest.raises(TypeError):
        StepUp(item, world.office.ann, "passkey", b"", world.clock(), None)
    with pytest.raises(StepUpError):  # a real one that was bent to another call
        world.approve(world.desk.propose(), world.step(item))
    with pytest.raises(DigestError):
        world.desk.queue.approve(proposal.id, world.office.ann, "sha256:" + "0" * 64, step_up=world.step(item))


def test_a_call_that_was_erased_keeps_its_proof_spent(world: World) -> None:
    proposal = world.desk.propose()
    step = world.step(Item.of(proposal))
    world.approve(proposal, step)
    world.clock.advance(days=2)
    world.desk.queue.sweep()
    with world.desk.queue.store.write() as connection:
        erase_call(connection, proposal.id, at=world.clock(), by="ann", reason="asked to")
    assert verify(world.desk.queue.store).ok
    with world.desk.queue.store.write() as connection, pytest.raises(StepUpError, match="used before"):
        challenges.spend(connection, step.challenge, "step-up", "ann", world.clock())


def test_a_note_that_a_proof_was_used_is_missed_when_it_is_gone(world: World) -> None:
    import sqlalchemy as sa

    from checkvalve.approvals.account_tables import spent_proofs

    proposal = world.desk.propose()
    world.approve(proposal, world.step(Item.of(proposal)))
    with world.desk.queue.store.write() as connection:
        connection.execute(sa.delete(spent_proofs).where(spent_proofs.c.purpose == "step-up"))
    assert [finding.code for finding in verify(world.desk.queue.store).findings] == ["row_missing"]
