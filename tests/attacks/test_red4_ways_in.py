"""Attack: somebody gets a second voice, another name or a passkey holder's step-up by a weaker way in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import challenges
from checkvalve.approvals.account_tables import sessions as session_rows
from checkvalve.approvals.errors import AccountError, CredentialError, StepUpError
from checkvalve.approvals.identities import Identity
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.records import State
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Item, with_secret
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.gateway.errors import OidcError
from checkvalve.gateway.oidc import OidcRules, Provider
from tests.approvals.account import GOOD, SITE, Office
from tests.approvals.authenticator import Device
from tests.approvals.made import Desk, HandClock
from tests.conformance.test_votes import TWO, Panel

pytestmark = pytest.mark.claim("C4")

ISSUER = "https://id.example"
TEAM = frozenset({Role.APPROVER})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as opened:
        yield opened


@pytest.fixture
def office(store: Store) -> Office:
    return Office.over(store, HandClock())


# -- a second voice by the organisation's sign-in


def test_one_subject_gets_a_second_account_under_another_name(office: Office) -> None:
    """Sign in, set a password, unlink oneself, change the address at the provider, sign in again: two voices."""
    proof = office.identities.add(Identity(ISSUER, "u-1", "mallory@corp.example", TEAM))
    first = proof.reviewer
    office.checks.passwords.change(first, GOOD, proof)
    office.identities.remove(first, ISSUER, "u-1", office.proof(first, "password"))
    again = Identity(ISSUER, "u-1", "m.allory@corp.example", TEAM)
    assert office.identities.find(again) is None
    with pytest.raises(AccountError, match="had an account already"):
        office.identities.add(again)
    assert verify(office.store).ok


def test_who_was_disabled_comes_back_by_an_identity_unlinked_before(office: Office) -> None:
    proof = office.identities.add(Identity(ISSUER, "u-1", "mallory@corp.example", TEAM))
    office.identities.remove(proof.reviewer, ISSUER, "u-1", proof)
    office.board.disable("mallory@corp.example", by=office.ann)
    with pytest.raises(AccountError):
        office.identities.add(Identity(ISSUER, "u-1", "m.allory@corp.example", TEAM))


def test_harmless_twin_somebody_new_gets_an_account(office: Office) -> None:
    office.identities.add(Identity(ISSUER, "u-1", "mallory@corp.example", TEAM))
    proof = office.identities.add(Identity(ISSUER, "u-2", "nora@corp.example", TEAM))
    assert proof.reviewer.name == "nora@corp.example"


CHOSEN: list[dict[str, Any]] = [
    {"preferred_username": "somebody-else"},
    {"name": "Somebody Else"},
    {"email": "somebody@corp.example"},
    {"email": "somebody@corp.example", "email_verified": "true", "preferred_username": "somebody"},
    {"email": ["ann@corp.example"], "email_verified": True, "name": "x"},
]


@pytest.mark.parametrize("claims", CHOSEN)
def test_a_name_that_somebody_gave_themselves_names_no_account(claims: dict[str, Any], office: Office) -> None:
    """Who asks for calls as ``mallory`` must not decide as a person of a name that mallory chose."""
    rules = OidcRules(ISSUER, "client", f"{ISSUER}/back", roles={"team": TEAM}, auto_add=True)
    told = Provider(rules)._told({"sub": "u-1", "groups": ["team"], **claims})
    assert told.identity.name == ""
    with pytest.raises(AccountError, match="no usable name"):
        office.identities.add(told.identity)


def test_harmless_twin_a_verified_address_names_it(office: Office) -> None:
    rules = OidcRules(ISSUER, "client", f"{ISSUER}/back", roles={"team": TEAM}, auto_add=True)
    claims = {"sub": "u-1", "groups": ["team"], "email": "Mallory@corp.example", "email_verified": True, "name": "Zoe"}
    told = Provider(rules)._told(claims)
    assert office.identities.add(told.identity).reviewer.name == "mallory@corp.example"


GROUPS: list[Any] = [None, "team", {"team": True}, ["\u0442eam"], ["team\u200b"], ["TEAM"], [["team"]], [], ["x"] * 9]


@pytest.mark.parametrize("groups", GROUPS)
def test_a_group_that_only_looks_like_one_gives_nothing(groups: Any) -> None:
    rules = OidcRules(ISSUER, "client", f"{ISSUER}/back", roles={"team": TEAM}, auto_add=True)
    with pytest.raises(OidcError):
        Provider(rules)._told({"sub": "u-1", "groups": groups, "email": "a@b.example", "email_verified": True})


# -- a passkey holder's step-up by what can be typed


def _added(office: Office, proof: Proof) -> Device:
    device, nonce = Device(), challenges.draw_nonce(office.clock())
    made = device.make(office.checks.passkeys.adding(proof.reviewer, SITE, nonce))
    office.checks.passkeys.add(proof.reviewer, SITE, made, nonce=nonce, label="", proof=proof)
    return device


@pytest.mark.parametrize("method", ["password", "token", "oidc"])
def test_a_stolen_secret_neither_removes_nor_adds_a_passkey(method: str, office: Office) -> None:
    """With either a thief of a password would take the step-up that the passkey is for."""
    office.device()
    (key,) = office.checks.passkeys.of("ann")
    with pytest.raises(CredentialError, match="takes it"):
        office.checks.passkeys.remove(office.ann, key.credential, office.proof(method=method))
    with pytest.raises(CredentialError, match="takes it"):
        _added(office, office.proof(method=method))
    assert len(office.checks.passkeys.of("ann")) == 1
    with pytest.raises(StepUpError, match="you have a passkey"):
        with_secret(office.checks, office.ann, Item("x", "y"), office.token)


@pytest.mark.parametrize("method", ["passkey", "link"])
def test_harmless_twin_a_passkey_or_a_link_changes_passkeys(method: str, office: Office) -> None:
    _added(office, office.proof())  # the first one takes any proof
    _added(office, office.proof(method=method))
    for key in office.checks.passkeys.of("ann"):
        office.checks.passkeys.remove(office.ann, key.credential, office.proof(method=method))
    assert verify(office.store).ok


def test_a_session_that_began_with_a_passkey_is_proved_by_a_password(office: Office) -> None:
    """A stolen session says how its person proved it last, not how it began."""
    office.checks.passwords.change(office.ann, GOOD, office.proof())
    name = office.sessions.start(office.proof(method="passkey"))
    found = office.sessions.find(name)
    assert found is not None
    assert (found.method, found.proof.method) == ("passkey", "passkey")
    office.clock.advance(minutes=6)
    office.sessions.prove(found, office.checks.passwords.authenticate("ann", GOOD))
    again = office.sessions.find(name)
    assert again is not None
    assert (again.method, again.proof.method) == ("passkey", "password")
    assert office.sessions.of(office.ann)[0].proof.method == "", "a list proves nothing"
    with office.store.write() as connection:  # and the table alone makes it no other
        connection.execute(session_rows.update().values(method="link"))
    assert office.sessions.find(name) is None


# -- who asked turns out later to be somebody who said yes


def test_who_asked_is_found_to_have_voted(store: Store) -> None:
    at = Panel(store, HandClock(), TWO)
    robert, ann, ben = at.add("robert"), at.add("ann"), at.add("ben")
    proposal = at.desk.propose(request=at.desk.request(requester="rob"))
    at.yes(proposal, robert)
    at.add("rob", person="robert")  # now it is known whose name that is
    assert at.yes(proposal, ann).state is State.PENDING
    assert at.missing(proposal) == "one approver"
    assert at.yes(proposal, ben).state is State.APPROVED
    assert at.events(proposal, "grant.issued")[0]["voters"] == ["ann", "ben"]
    assert verify(store).ok


def test_harmless_twin_in_a_single_user_setting_the_own_yes_counts(store: Store) -> None:
    desk = Desk.at(store, HandClock(), single_user=True)
    proposal = desk.propose(request=desk.request(requester="ann"))
    assert desk.approve(proposal).state is State.APPROVED


# -- what is typed is no text


@pytest.mark.parametrize("typed", ["\ud800" * 12, f"{GOOD}\udcff", "\x00" * 12, "\ufdfa" * 256, "x" * 100_000])
def test_what_no_password_can_be_is_refused_in_the_same_words(typed: str, office: Office) -> None:
    """A terminal hands bytes that are no UTF-8 over as lone surrogates."""
    office.checks.passwords.change(office.ann, GOOD, office.proof())
    with pytest.raises(CredentialError, match="name or the password was not accepted"):
        office.checks.passwords.authenticate("ann", typed)
    with pytest.raises(CredentialError):
        with_secret(office.checks, office.ann, Item("x", "y"), typed)
