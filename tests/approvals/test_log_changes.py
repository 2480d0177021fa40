"""Every change of an exported log is found with the public key alone: bits, lines, order and ends."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.audit import Event
from checkvalve.approvals.bundles import parse_bundle, verify_bundle
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.store import Store
from tests.approvals.sealed import QUICK_KEY, Desk, write

KEYS = QUICK_KEY.public


def log(folder: Path, count: int) -> bytes:
    with Store.open(f"sqlite:///{folder}/log.db") as store:
        desk = Desk(store, folder, QUICK_KEY)
        write(store, count)
        desk.sealer.seal()
        return desk.exported()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return log(tmp_path_factory.mktemp("small"), 2)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return log(tmp_path_factory.mktemp("larger"), 260)


def is_found(data: bytes) -> bool:
    """Say whether verifying says no, or that this is no log at all."""
    try:
        return not verify_bundle(parse_bundle(data), KEYS).ok
    except ValueError:
        return True


def flipped(data: bytes, bit: int) -> bytes:
    touched = bytearray(data)
    touched[bit // 8] ^= 1 << bit % 8
    return bytes(touched)


@pytest.mark.claim("C5")
def test_every_single_bit_of_a_small_log_counts(small: bytes) -> None:
    assert not is_found(small)
    missed = [bit for bit in range(len(small) * 8) if not is_found(flipped(small, bit))]
    assert not missed


@pytest.mark.claim("C5")
@settings(max_examples=150)
@given(data=st.data())
def test_any_bit_of_a_larger_log_counts(larger: bytes, data: st.DataObject) -> None:
    assert is_found(flipped(larger, data.draw(st.integers(0, len(larger) * 8 - 1))))


@pytest.mark.claim("C5")
def test_every_line_that_is_dropped_doubled_swapped_or_put_in_is_found(tmp_path: Path) -> None:
    whole = log(tmp_path, 24)
    head, *lines, end = whole.split(b"\n")
    stranger = log_of_somebody_else(tmp_path / "other")
    assert (len(lines), end) == (24, b"")
    for at in range(24):
        changes = [lines[:at] + lines[at + 1 :], [*lines[:at], lines[at], *lines[at:]]]
        changes += [[*lines[:at], stranger[at], *lines[at:]], [*lines[:at], stranger[at], *lines[at + 1 :]]]
        for other in range(at + 1, 24):
            swapped = list(lines)
            swapped[at], swapped[other] = swapped[other], swapped[at]
            changes.append(swapped)
        for changed in changes:
            assert is_found(b"\n".join([head, *changed, b""]))


def log_of_somebody_else(folder: Path) -> list[bytes]:
    folder.mkdir()
    return log(folder, 24).split(b"\n")[1:-1]


@pytest.mark.claim("C5")
def test_every_cut_of_a_small_log_is_found(small: bytes) -> None:
    for length in range(len(small)):
        assert is_found(small[:length])


@pytest.mark.claim("C5")
def test_an_older_log_that_is_whole_is_found_by_a_newer_checkpoint_only(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/log.db") as store:
        desk = Desk(store, tmp_path, QUICK_KEY)
        write(store, 5)
        desk.sealer.seal()
        older = desk.bundle()
        write(store, 5)
        newer = str(desk.sealer.seal().note)
    assert verify_bundle(older, KEYS).ok, "it is a true log, as it was then"
    found = verify_bundle(older, KEYS, [Outside("a friend", newer)])
    assert [finding.code for finding in found.findings] == ["truncated"]
    assert "a friend: 10 events were signed, and the log has 5" in found.findings[0].text


@pytest.mark.claim("C5")
def test_who_has_the_database_but_not_the_key_cannot_make_another_history(tmp_path: Path) -> None:
    """A whole new log, consistent in itself, with the name of the old one: only its signature is missing."""
    (tmp_path / "thief").mkdir()
    with Store.open(f"sqlite:///{tmp_path}/thief/log.db") as store:
        thief = Desk(store, tmp_path / "thief")
        write(store, 5, text="what never happened")
        thief.sealer.seal()
        forged = thief.bundle()
    assert verify_bundle(forged, thief.key.public).ok
    assert {finding.code for finding in verify_bundle(forged, KEYS).findings} == {"bad_checkpoint"}


def test_without_looking_at_the_signature_the_forgery_would_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: a verifier that skips one check must let the attack of the test above through."""
    with Store.open(f"sqlite:///{tmp_path}/log.db") as store:
        thief = Desk(store, tmp_path)
        write(store, 5)
        thief.sealer.seal()
        forged = thief.bundle()
    monkeypatch.setattr("checkvalve.approvals.checkpoints._checked", lambda *_: 0)
    assert verify_bundle(forged, KEYS).ok


def test_without_comparing_roots_a_rewritten_event_would_pass(small: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the chain alone can be computed anew by anybody."""
    head, *lines, _ = small.split(b"\n")
    events = [Event(**json.loads(line)) for line in lines]
    prev, anew = "", []
    for event in events:
        form = Event(event.seq, 5, event.kind, event.subject, event.body, prev, "", event.salt, event.commitment)
        prev_of, prev = prev, "sha256:" + hashlib.sha256(form.form).hexdigest()
        anew.append({**json.loads(lines[event.seq - 1]), "at": 5, "prev": prev_of, "hash": prev})
    rewritten = b"\n".join([head, *(json.dumps(one).encode() for one in anew), b""])
    found = verify_bundle(parse_bundle(rewritten), KEYS)
    assert {finding.code for finding in found.findings} == {"replaced"}
    monkeypatch.setattr("checkvalve.approvals.judge.Judge._compare", lambda self: self._wanted.clear())
    assert verify_bundle(parse_bundle(rewritten), KEYS).ok


@settings(max_examples=100)
@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_fall(data: bytes) -> None:
    assert is_found(data)
