"""A key of the log that is held elsewhere: it signs as one in a file does, and is replaced as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checkvalve.approvals.bundles import export_bundle, read_bundle, verify_bundle
from checkvalve.approvals.errors import LogError, SignerError
from checkvalve.approvals.keyfile import load_key
from checkvalve.approvals.logkeys import Follows, LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import PrivateKey
from checkvalve.approvals.receipts import make_receipt, verify_receipt
from checkvalve.approvals.signers import HeldKey
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.key_files import DiedError, FileLog
from tests.approvals.sealed import ORIGIN, write
from tests.held_keys import Service

pytestmark = pytest.mark.claim("C5")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def place(service: Service, tmp_path: Path) -> LogPlace:
    return LogPlace(tmp_path / "key.json", signer="vault", holders=service.holders())


def rotate(place: LogPlace, store: Store, label: str = "") -> None:
    """Change the keys as the command does."""
    sealer = place.sealer(store)
    sealer.rotate(place.prepare, lambda: place.settle(store), place.held(place.load().origin, label))


def first(place: LogPlace) -> HeldKey:
    key = place.load().keys[0]
    assert isinstance(key, HeldKey)
    return key


def good(place: LogPlace, store: Store, *keys: LogKey) -> bool:
    for known in (place.public_keys(), *(key.public for key in keys)):
        report = verify(store, keys=known, outside=place.outside())
        assert (report.ok, report.is_judged, report.findings) == (True, True, [])
    return True


def test_it_signs_the_log_and_the_file_has_no_secret_of_it(
    place: LogPlace, service: Service, store: Store, tmp_path: Path
) -> None:
    key = place.create(ORIGIN)
    write(store, 3)
    assert place.sealer(store).seal().added == 3
    assert good(place, store, key)
    told = json.loads((tmp_path / "key.json").read_text())["keys"]
    public = service.keys["key-1"].public_key().public_bytes_raw()
    assert {name: told[0][name] for name in ("kind", "signer", "label")} == {
        "kind": 1,
        "signer": "vault",
        "label": "key-1",
    }
    assert "seed" not in told[0]
    assert first(place).raw == public
    assert str(first(place).public) in (tmp_path / "key.json.pub").read_text(), "verifiers get it as a vkey"
    with store.read() as connection:
        export_bundle(connection, tmp_path / "log.jsonl")
    offline = verify_bundle(read_bundle(tmp_path / "log.jsonl"), place.public_keys(), [*place.outside()])
    assert (offline.ok, offline.is_judged) == (True, True)


def test_a_receipt_of_such_a_log_verifies(place: LogPlace, store: Store) -> None:
    from checkvalve.approvals import audit

    place.create(ORIGIN)
    write(store, 2)
    place.sealer(store).seal()
    with store.read() as connection:
        made = make_receipt(connection, list(audit.read_events(connection, limit=1)))
    assert verify_receipt(made, place.public_keys()).checkpoint.size == 2


@pytest.mark.parametrize("way", [("file", "vault"), ("vault", "file"), ("vault", "vault")])
def test_it_is_replaced_as_other_keys_are(way: tuple[str, str], place: LogPlace, store: Store) -> None:
    """From a file, to a file, and from one key to another: a signer that runs meanwhile goes on with the new one."""
    before, after = (replace(place, signer=name) for name in way)
    old = before.create(ORIGIN)
    write(store, 2)
    watcher = before.sealer(store)
    watcher.seal()
    rotate(after, store)
    new = after.load()
    assert not set(new.public) & set(old.public)
    assert isinstance(new.keys[0], HeldKey) is (way[1] == "vault")
    write(store, 2)
    assert (watcher.seal().added, good(after, store, old)) == (2, True)


@pytest.mark.parametrize("committed", [False, True])
def test_an_interrupted_change_to_it_is_undone_or_finished(committed: bool, place: LogPlace, store: Store) -> None:
    filed = replace(place, signer="file")
    old = filed.create(ORIGIN)
    write(store, 2)

    def dies(*_given: object) -> None:
        raise DiedError

    def save(key: LogKey) -> None:
        place.prepare(key)
        if not committed:
            raise DiedError

    with pytest.raises(DiedError):
        filed.sealer(store).rotate(save, dies, place.held(ORIGIN))
    write(store, 1)
    place.sealer(store).seal()
    assert isinstance(place.load().keys[0], HeldKey) is committed
    assert good(place, store, old)


def test_a_change_for_the_same_key_is_refused(place: LogPlace, service: Service, store: Store) -> None:
    place.create(ORIGIN)
    write(store, 1)
    with pytest.raises(LogError, match="signs the log already"):
        rotate(place, store, "key-1")
    assert first(place).label == "key-1"
    assert place.sealer(store).seal().checkpoint.size == 1
    service.keys["theirs"] = Ed25519PrivateKey.generate()
    rotate(place, store, "theirs")
    assert (first(place).label, good(place, store)) == ("theirs", True)


def other_key(service: Service) -> None:
    service.keys["key-1"] = Ed25519PrivateKey.generate()


def no_answer(service: Service) -> None:
    service.fails = OSError("PIN 1234 of the vault")


@pytest.mark.parametrize(("breaks", "said"), [(other_key, "not of the key"), (no_answer, "does not answer .OSError")])
def test_nothing_is_signed_with_what_is_no_signature_and_it_goes_on_afterwards(
    breaks: Callable[[Service], None], said: str, place: LogPlace, service: Service, store: Store
) -> None:
    key = place.create(ORIGIN)
    write(store, 2)
    sealer = place.sealer(store)
    sealer.seal()
    kept, opened = service.keys["key-1"], len(service.opened)
    breaks(service)
    write(store, 2)
    for _ in range(2):
        with pytest.raises(SignerError, match=said) as error:
            sealer.seal()
        assert "1234" not in f"{error.value}{error.value.remedy}"
    assert [one.text.split("\n")[1] for one in place.outside()] == ["2"], "the last good one stays"
    service.keys["key-1"], service.fails = kept, None
    assert sealer.seal().added == 2
    assert good(place, store, key)
    assert (len(service.opened) > opened) is (breaks is no_answer), "what failed is opened anew"


def test_a_fault_while_signing_with_a_key_of_the_file_is_found_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FileLog(store, tmp_path)
    write(store, 1)
    sign = PrivateKey.sign

    def faulty(self: PrivateKey, message: bytes, context: bytes | None = None) -> bytes:
        found = bytearray(sign(self, message, context))
        found[7] ^= 1
        return bytes(found)

    with monkeypatch.context() as patched:
        patched.setattr(PrivateKey, "sign", faulty)
        with pytest.raises(SignerError, match="the key file gave a signature that is not of the key"):
            log.place.sealer(store).seal()
    assert log.place.sealer(store).seal().added == 1
    log.require_good()


def test_a_key_of_a_closed_log_is_not_the_next_ones(place: LogPlace, service: Service) -> None:
    key = place.create(ORIGIN)
    follows = Follows(ORIGIN, key.public)
    with pytest.raises(LogError, match="signed the log that is being closed"):
        place.made("log.example/next", "key-1", follows)
    assert place.made("log.example/next", "", follows).keys[0].public.raw == first_of(service, "key-2")


def first_of(service: Service, label: str) -> bytes:
    return service.keys[label].public_key().public_bytes_raw()


def test_no_key_is_made_that_nobody_would_use(place: LogPlace, service: Service) -> None:
    place.create(ORIGIN)
    with pytest.raises(LogError, match="there is a key in"):
        place.create(ORIGIN)
    with pytest.raises(LogError, match="nobody said where"):
        replace(place, key=None).create(ORIGIN)
    with pytest.raises(LogError, match="cannot be called"):
        replace(place, key=place.key_file().with_name("other")).create("with space")
    assert list(service.keys) == ["key-1"]


@pytest.mark.parametrize(
    "change",
    [{"public": "AAAA"}, {"public": "not base64"}, {"kind": 6}, {"kind": 9}, {"label": None, "public": None}],
)
def test_a_damaged_file_is_refused(change: dict[str, object], place: LogPlace, tmp_path: Path) -> None:
    place.create(ORIGIN)
    file = tmp_path / "key.json"
    value = json.loads(file.read_text())
    value["keys"][0] |= change
    file.write_text(json.dumps(value))
    with pytest.raises(LogError, match="no key file"):
        load_key(file)


def test_who_was_told_of_no_signer_says_so(place: LogPlace, store: Store, tmp_path: Path) -> None:
    place.create(ORIGIN)
    write(store, 1)
    with pytest.raises(SignerError, match="was not told what the signer vault is"):
        LogPlace(tmp_path / "key.json").sealer(store).seal()
    with pytest.raises(LogError, match="has no keys to choose from"):
        LogPlace(tmp_path / "other.json").create(ORIGIN, "key-1")
