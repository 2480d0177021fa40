"""A session is as old as the proof behind it, and a proof opens nothing any more once its way in was taken back."""

from __future__ import annotations

import pytest

from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.identities import Identity
from checkvalve.approvals.proofs import FRESH, Proof
from checkvalve.approvals.reissue import reissue
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.account import BETTER, GOOD, Office
from tests.approvals.made import HandClock

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def office(store: Store, clock: HandClock) -> Office:
    return Office.over(store, clock)


def open_(office: Office, name: str) -> Proof:
    """Return the proof that a session has."""
    found = office.sessions.find(name)
    assert found is not None
    return found.proof


def test_changing_password_or_token_makes_no_proof_younger(office: Office) -> None:
    began = office.clock()
    name = office.sessions.start(office.proof())
    for turn in range(3):
        office.clock.advance(seconds=90)
        proof = open_(office, name)
        assert proof.at == began
        if turn % 2:
            proof = reissue(office.board, proof.reviewer, proof)[1]
        else:
            proof = office.checks.passwords.change(proof.reviewer, [GOOD, BETTER][turn // 2], proof)
        name = office.sessions.start(proof)
    assert open_(office, name).at == began
    assert verify(office.store).ok
    office.clock.advance(microseconds=FRESH)
    with pytest.raises(CredentialError, match="fresh proof"):
        office.checks.passwords.change(open_(office, name).reviewer, GOOD, open_(office, name))


def test_a_proof_from_before_a_change_opens_no_session_after_it(office: Office) -> None:
    office.checks.passwords.change(office.ann, GOOD, office.proof())
    early = office.checks.passwords.authenticate("ann", GOOD)  # somebody who knows the old password is just signing in
    office.checks.passwords.change(office.ann, BETTER, office.proof())
    with pytest.raises(CredentialError, match="no more"):
        office.sessions.start(early)
    assert office.sessions.start(office.checks.passwords.authenticate("ann", BETTER))
    assert verify(office.store).ok


def test_a_session_that_was_ended_meanwhile_changes_nothing(office: Office) -> None:
    stolen = open_(office, office.sessions.start(office.proof()))
    office.checks.passwords.change(office.ann, GOOD, office.proof())  # its person changes the password, which ends it
    for change in (
        lambda: office.checks.passwords.change(office.ann, BETTER, stolen),
        lambda: reissue(office.board, office.ann, stolen),
        lambda: office.sessions.start(stolen),
        lambda: office.identities.link(office.ann, Identity("https://id.example", "eve", "eve"), stolen),
    ):
        with pytest.raises(CredentialError, match="no more"):
            change()
    assert office.checks.passwords.authenticate("ann", GOOD).reviewer == office.ann
    assert verify(office.store).ok


def test_an_identity_that_was_taken_off_meanwhile_opens_nothing(office: Office) -> None:
    mine = Identity("https://id.example", "1", "ann")
    office.identities.link(office.ann, mine, office.proof())
    early = office.identities.find(mine)
    assert early is not None
    office.identities.remove(office.ann, mine.issuer, mine.subject, office.proof())
    with pytest.raises(CredentialError, match="no more"):
        office.sessions.start(early)


@pytest.mark.parametrize("method", ["password", "passkey", "oidc"])
def test_a_proof_that_names_nothing_holds_nowhere(office: Office, method: str) -> None:
    with pytest.raises(CredentialError, match="no more"):
        office.sessions.start(Proof(office.ann, method, office.clock()))
    with pytest.raises(CredentialError, match="no more"):
        office.sessions.start(Proof(office.ann, method, office.clock(), "something:else"))
