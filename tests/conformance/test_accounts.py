"""Passwords, passkeys, links, sessions and counts, on every database; and what a hand in the tables is worth."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import argon2
import pytest
import sqlalchemy as sa

from checkvalve.approvals import challenges
from checkvalve.approvals.account_tables import (
    devices,
    identities,
    invitations,
    passkeys,
    passwords,
    sessions,
    spent_proofs,
)
from checkvalve.approvals.errors import AccountError, ApprovalError, CredentialError, NotAllowedError, StoreCorruptError
from checkvalve.approvals.identities import Identity
from checkvalve.approvals.passwords import Passwords, WeakPasswordError
from checkvalve.approvals.reissue import reissue
from checkvalve.approvals.roles import Role, roles_of
from checkvalve.approvals.sessions import MAX_SESSIONS, Sessions
from checkvalve.approvals.store import Store
from checkvalve.approvals.tries import MAX_TRIES, SPAN, Tries, page_key
from checkvalve.approvals.verify import verify
from tests.approvals.account import BETTER, GOOD, SITE, Office
from tests.approvals.authenticator import UP, Device
from tests.approvals.made import HandClock
from tests.databases import Databases

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def office(databases: Databases) -> Iterator[Office]:
    with Store.open(databases.make(ready=True)) as store:
        yield Office.over(store, HandClock())


def asked(office: Office, **more: str) -> tuple[str, bytes]:
    """Return what a sign-in page asks, and the challenge in it."""
    value = challenges.challenge("sign-in", nonce=challenges.draw_nonce(office.clock()))
    return office.checks.passkeys.proving(SITE, value, **more), value


# -- passwords


def test_a_password_is_kept_as_a_hash_and_ends_sessions(office: Office) -> None:
    passwords_ = office.checks.passwords
    before = office.sessions.start(office.proof())
    passwords_.change(office.ann, GOOD, office.proof())
    assert office.sessions.find(before) is None
    assert passwords_.authenticate("Ann", GOOD).reviewer == office.ann
    for name, word in (("ann", BETTER), ("ann", ""), ("nobody", GOOD), ("", GOOD), ("ann", GOOD * 20)):
        with pytest.raises(CredentialError, match="name or the password was not accepted"):
            passwords_.authenticate(name, word)
    with office.store.read() as connection:
        row = connection.execute(sa.select(passwords)).one()
    assert row.password_hash.startswith("$argon2id$")
    passwords_.change(office.ann, BETTER, office.proof())
    with pytest.raises(CredentialError):
        passwords_.authenticate("ann", GOOD)
    assert verify(office.store).ok


def test_a_password_takes_a_fresh_proof_of_the_same_person(office: Office) -> None:
    ben = office.add("ben")
    old = office.proof()
    office.clock.advance(minutes=6)
    for proof in (old, office.proof(ben)):
        with pytest.raises(CredentialError, match="fresh proof"):
            office.checks.passwords.change(office.ann, GOOD, proof)
    office.board.disable("ben", by=office.ann)
    with pytest.raises(CredentialError, match="no longer"):
        office.checks.passwords.change(ben, GOOD, office.proof(ben))
    assert not office.checks.passwords.has("ann")


def test_a_weak_password_is_refused_and_not_repeated(office: Office) -> None:
    for word in ("short", "passwordpassword", "ann ann ann ann", "x" * 300):
        with pytest.raises(WeakPasswordError) as caught:
            office.checks.passwords.change(office.ann, word, office.proof())
        assert word not in str(caught.value)


def test_an_unknown_name_costs_one_hash_like_a_known_one(office: Office) -> None:
    seen: list[str] = []

    class Counting(argon2.PasswordHasher):
        def verify(self, hash: Any, password: Any) -> Any:
            seen.append(str(hash)[:30])
            return super().verify(hash, password)

    office.checks.passwords.change(office.ann, GOOD, office.proof())
    counted = Passwords(office.store, office.clock, Counting(time_cost=1, memory_cost=8, parallelism=1))
    for name, word in (("ann", BETTER), ("nobody", BETTER), ("ann", "y" * 5_000), ("nobody", "y" * 5_000)):
        seen.clear()
        with pytest.raises(CredentialError):
            counted.authenticate(name, word)
        assert len(seen) == 1
        assert seen[0].startswith("$argon2id$v=19$m=8,t=1,p=1$")  # of the same cost


# -- passkeys


def test_a_passkey_signs_in_and_its_count_goes_up(office: Office) -> None:
    device = office.device()
    for number in (1, 2):
        options, value = asked(office)
        assert office.checks.passkeys.verify(SITE, device.answer(options), value).reviewer == office.ann
        (key,) = office.checks.passkeys.of("ann")
        assert (key.sign_count, key.used_at, key.label) == (number, office.clock(), "laptop")
    assert verify(office.store).ok


def test_a_passkey_is_named_and_removed(office: Office) -> None:
    device = office.device()
    (key,) = office.checks.passkeys.of("ann")
    office.checks.passkeys.rename(office.ann, key.credential, "  phone\u202e ")
    assert "phone" in office.checks.passkeys.of("ann")[0].label
    assert "\u202e" not in office.checks.passkeys.of("ann")[0].label
    ben = office.add("ben")
    with pytest.raises(AccountError):
        office.checks.passkeys.remove(ben, key.credential, office.proof(ben))
    office.checks.passkeys.remove(office.ann, key.credential, office.proof(method="passkey"))
    options, value = asked(office)
    with pytest.raises(CredentialError):
        office.checks.passkeys.verify(SITE, device.answer(options), value)
    assert verify(office.store).ok


def test_a_passkey_is_added_once_and_with_its_person_verified(office: Office) -> None:
    passkeys_ = office.checks.passkeys
    device, nonce = Device(), challenges.draw_nonce(office.clock())
    options = passkeys_.adding(office.ann, SITE, nonce)
    response = device.make(options)
    passkeys_.add(office.ann, SITE, response, nonce=nonce, label="", proof=office.proof())
    with pytest.raises(ApprovalError, match="used before"):
        passkeys_.add(office.ann, SITE, response, nonce=nonce, label="", proof=office.proof())
    wrong = (
        Device(flags=UP),  # nobody was verified
        Device(origin="https://evil.example"),
        Device(origin="http://gate.example"),
    )
    for other in wrong:
        nonce = challenges.draw_nonce(office.clock())
        made = other.make(passkeys_.adding(office.ann, SITE, nonce))
        with pytest.raises(CredentialError):
            passkeys_.add(office.ann, SITE, made, nonce=nonce, label="", proof=office.proof())
    late = challenges.draw_nonce(office.clock())
    made = Device().make(passkeys_.adding(office.ann, SITE, late))
    office.clock.advance(minutes=6)
    with pytest.raises(CredentialError):
        passkeys_.add(office.ann, SITE, made, nonce=late, label="", proof=office.proof())
    assert len(passkeys_.of("ann")) == 1


# -- sessions


def test_sessions_are_shared_by_servers_and_end(databases: Databases) -> None:
    url, clock = databases.make(ready=True), HandClock()
    with Store.open(url) as one, Store.open(url) as two:
        office = Office.over(one, clock)
        elsewhere = Sessions(two, clock, idle=600, absolute=3_600)
        name = office.sessions.start(office.proof(), "Firefox, Linux")
        found = elsewhere.find(name)
        assert found is not None
        assert (found.reviewer, found.method, found.browser) == (office.ann, "token", "Firefox, Linux")
        assert found.is_sealed(office.sessions.find(name).seal("a", "b"), "a", "b")  # type: ignore[union-attr]
        assert not found.is_sealed(found.seal("a", "b"), "ab")
        clock.advance(seconds=400)
        assert elsewhere.find(name)
        clock.advance(seconds=400)
        assert office.sessions.find(name, touch=False)  # seen elsewhere in between
        clock.advance(seconds=300)
        assert office.sessions.find(name) is None  # a page that asks by itself is no activity
        busy = office.sessions.start(office.proof())
        for _ in range(7):
            clock.advance(seconds=500)
            assert elsewhere.find(busy)
        clock.advance(seconds=500)
        assert elsewhere.find(busy) is None  # however busy
        assert verify(one).ok


def test_a_person_ends_sessions_of_their_own_alone(office: Office) -> None:
    ben = office.add("ben")
    names = [office.sessions.start(office.proof()) for _ in range(3)]
    other = office.sessions.start(office.proof(ben))
    keys = {one.key for one in office.sessions.of(office.ann)}
    assert len(keys) == 3
    assert not office.sessions.end_one(ben, next(iter(keys)))
    kept = office.sessions.find(names[0])
    assert kept is not None
    assert office.sessions.end_all(office.ann, keep=kept.key) == 2
    assert [office.sessions.find(name) is not None for name in (*names, other)] == [True, False, False, True]
    first = office.sessions.start(office.proof())
    for _ in range(MAX_SESSIONS):
        office.clock.advance(seconds=1)
        office.sessions.start(office.proof())
    assert office.sessions.find(first) is None
    office.board.disable("ben", by=office.ann)
    assert office.sessions.find(other) is None
    assert verify(office.store).ok


def test_a_new_token_ends_the_old_one_and_every_session(office: Office) -> None:
    name = office.sessions.start(office.proof())
    token, again = reissue(office.board, office.ann, office.proof())
    assert office.sessions.find(name) is None
    assert office.board.authenticate(token) == again.reviewer
    with pytest.raises(CredentialError):
        office.board.authenticate(office.token)
    assert verify(office.store).ok


# -- links


def test_a_link_is_good_once_for_one_account(office: Office) -> None:
    code = office.invitations.invite("cleo", by=office.ann, roles=[Role.VIEWER])
    found = office.invitations.look(code)
    assert found is not None
    assert (found.name, found.made_by) == ("cleo", "ann")
    with pytest.raises(WeakPasswordError):
        office.invitations.accept(code, "cleo cleo cleo")
    proof = office.invitations.accept(code, GOOD)
    assert (proof.reviewer.name, proof.method) == ("cleo", "link")
    assert office.checks.passwords.authenticate("cleo", GOOD).reviewer == proof.reviewer
    for again in (GOOD, ""):
        with pytest.raises(AccountError, match="not good any more"):
            office.invitations.accept(code, again)
    with office.store.read() as connection:
        assert roles_of(connection, "cleo") == {Role.VIEWER}
    with pytest.raises(NotAllowedError):
        office.invitations.invite("dan", by=proof.reviewer)
    assert verify(office.store).ok


def test_a_link_ends_by_time_by_a_newer_one_and_with_its_account(office: Office) -> None:
    one = office.invitations.invite("cleo", by=office.ann)
    two = office.invitations.invite("cleo", by=office.ann)
    assert (office.invitations.look(one), office.invitations.look("guess")) == (None, None)
    office.clock.advance(days=3)
    assert office.invitations.look(two) is None
    three = office.invitations.invite("cleo", by=office.ann)
    office.board.disable("cleo", by=office.ann)
    with pytest.raises(AccountError):
        office.invitations.accept(three, GOOD)
    with pytest.raises(AccountError, match="disabled"):
        office.invitations.invite("cleo", by=office.ann)
    with pytest.raises(AccountError, match="reviewer already"):
        office.invitations.first()


def test_two_who_open_one_link_at_once_are_one(office: Office) -> None:
    code = office.invitations.invite("cleo", by=office.ann)
    barrier = threading.Barrier(4)

    def accept(_: int) -> str:
        barrier.wait()
        try:
            return office.invitations.accept(code, GOOD).method
        except ApprovalError as error:
            return type(error).__name__

    with ThreadPoolExecutor(4) as pool:
        ends = sorted(pool.map(accept, range(4)))
    assert ends == ["AccountError"] * 3 + ["link"]


# -- an organisation's identities


def test_an_identity_opens_the_account_it_was_linked_to(office: Office) -> None:
    identity = Identity("https://id.example", "u-17", "Ann A.")
    assert office.identities.find(identity) is None
    office.identities.link(office.ann, identity, office.proof())
    found = office.identities.find(identity)
    assert found is not None
    assert (found.reviewer, found.method) == (office.ann, "oidc")
    assert office.identities.find(Identity("https://other.example", "u-17")) is None
    ben = office.add("ben")
    with pytest.raises(AccountError, match="already"):
        office.identities.link(ben, identity, office.proof(ben))
    office.identities.remove(office.ann, identity.issuer, identity.subject, office.proof())
    assert office.identities.find(identity) is None
    with pytest.raises(AccountError, match="another person's"):  # calls asked for in its name are still hers
        office.identities.link(ben, identity, office.proof(ben))
    office.identities.link(office.ann, identity, office.proof())
    assert verify(office.store).ok


def test_who_is_added_by_the_provider_has_the_roles_of_its_groups(office: Office) -> None:
    viewer = Identity("https://id.example", "u-1", "vera@corp.example", frozenset({Role.VIEWER}))
    proof = office.identities.add(viewer)
    with office.store.read() as connection:
        assert roles_of(connection, proof.reviewer.name) == {Role.VIEWER}
    more = Identity(viewer.issuer, viewer.subject, viewer.name, frozenset({Role.VIEWER, Role.APPROVER}))
    office.identities.find(more)
    with office.store.read() as connection:
        assert roles_of(connection, proof.reviewer.name) == {Role.VIEWER, Role.APPROVER}
    with pytest.raises(AccountError, match="of this name"):
        office.identities.add(Identity("https://id.example", "u-2", "ANN"))
    office.board.disable("vera@corp.example", by=office.ann)
    with pytest.raises(CredentialError, match="disabled"):
        office.identities.find(more)
    assert verify(office.store).ok


# -- counts


def test_a_stranger_uses_up_the_strangers_count_alone(office: Office) -> None:
    known = office.tries.remember("ann")
    assert office.tries.is_known(known)
    assert [office.tries.may_try("ann") for _ in range(MAX_TRIES + 1)] == [True] * MAX_TRIES + [False]
    assert not office.tries.may_try("ANN ")  # another spelling is the same person
    assert office.tries.may_try("nobody")  # who is not there is counted alike
    assert office.tries.may_try("ann", known)  # Ann's own browser has a count of its own
    assert not office.tries.may_try("ann", "made-up")
    assert office.tries.remember("ann", known) == known
    assert office.tries.remember(office.add("ben").name, known) != known
    office.clock.advance(seconds=SPAN / 1_000_000)
    assert office.tries.may_try("ann")


def test_parallel_tries_do_not_slip_through_and_good_ones_are_given_back(databases: Databases) -> None:
    url, clock = databases.make(ready=True), HandClock()
    with Store.open(url) as one, Store.open(url) as two:
        servers = (Tries(one, clock), Tries(two, clock))
        with ThreadPoolExecutor(8) as pool:
            allowed = list(pool.map(lambda n: servers[n % 2].may_try("ann"), range(3 * MAX_TRIES)))
        assert sum(allowed) == MAX_TRIES
        servers[0].was_good("ann")
        assert [server.may_try("ann") for server in servers] == [True, False]
        assert page_key(one) == page_key(two)


# -- a hand in the tables

Change = Callable[[sa.Connection], Any]
PLANTED: dict[str, Change] = {
    "a password": lambda c: c.execute(sa.update(passwords).values(password_hash="$argon2id$v=19$m=8,t=1,p=1$x$y")),
    "a passkey": lambda c: c.execute(sa.update(passkeys).values(public_key=b"mine")),
    "a counter": lambda c: c.execute(sa.update(passkeys).values(sign_count=0)),
    "a passkey that was removed": lambda c: c.execute(sa.update(passkeys).values(removed_at=None)),
    "an identity": lambda c: c.execute(sa.update(identities).values(subject="mallory")),
    "whose identity": lambda c: c.execute(sa.update(identities).values(name="ben")),
    "a link": lambda c: c.execute(sa.update(invitations).values(expires_at=1 << 60)),
    "a used link": lambda c: c.execute(sa.update(invitations).values(used_at=None)),
    "whose session": lambda c: c.execute(sa.update(sessions).values(name="ben")),
    "how fresh a session is": lambda c: c.execute(sa.update(sessions).values(proved_at=1 << 60)),
    "no identity": lambda c: c.execute(sa.delete(identities)),
    "no password": lambda c: c.execute(sa.delete(passwords)),
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("what", PLANTED)
def test_a_hand_in_the_tables_is_found(what: str, office: Office) -> None:
    office.add("ben")
    office.checks.passwords.change(office.ann, GOOD, office.proof())
    device, gone = office.device(), office.device()
    options, value = asked(office)
    office.checks.passkeys.verify(SITE, device.answer(options), value)
    second = office.checks.passkeys.of("ann")[1].credential
    office.checks.passkeys.remove(office.ann, second, office.proof(method="link"))
    office.identities.link(office.ann, Identity("https://id.example", "u-1"), office.proof())
    code = office.invitations.invite("cleo", by=office.ann)
    office.invitations.accept(code)
    office.sessions.start(office.proof())
    assert verify(office.store).ok
    with office.store.write() as connection:
        PLANTED[what](connection)
    found = [finding.text for finding in verify(office.store).findings]
    assert found, what
    assert gone.count == 0


def test_a_planted_way_in_lets_nobody_in(office: Office) -> None:
    name = office.sessions.start(office.proof())
    office.checks.passwords.change(office.ann, GOOD, office.proof())
    mine = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(BETTER)
    stolen = {"key": "0" * 64, "name": "ann", "selector": office.ann.selector, "method": "token", "secret": b"s"}
    times = {"started_at": office.clock(), "seen_at": office.clock(), "proved_at": office.clock(), "browser": ""}
    with office.store.write() as connection:
        connection.execute(sa.update(passwords).values(password_hash=mine))
        connection.execute(sa.insert(sessions).values(**stolen, **times))
        connection.execute(sa.insert(spent_proofs).values(key="1" * 64, purpose="sign-in", name="x", at=0))
        connection.execute(sa.insert(devices).values(key="2" * 64, name="ann", seen_at=0))
    with pytest.raises(StoreCorruptError):
        office.checks.passwords.authenticate("ann", BETTER)
    from checkvalve.approvals import sessions as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "hashed", lambda _: "0" * 64)
        assert office.sessions.find("anything") is None
    assert office.sessions.find(name) is None
