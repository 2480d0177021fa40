"""A log of two hundred events: every bit that is turned, every event that is taken, doubled, moved or put in is found.

Three verifiers look at it: who has the whole export, who has the database, and who has nothing but an old anchor. Bits
of the stored columns are turned as well as those of the exported bytes. The short form samples; the long one leaves
nothing out.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, bundles
from checkvalve.approvals.audit import Event
from checkvalve.approvals.bundles import _spelled, event_line, parse_bundle, verify_bundle
from checkvalve.approvals.checkpoints import Checkpoint, sign
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.merkle import Frontier, leaf_hash
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import QUICK_KEY, Desk, write

pytestmark = pytest.mark.claim("C5")
KEYS = QUICK_KEY.public
EVENTS = 200


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Return a signed log of two hundred events, with a checkpoint at one hundred kept by somebody else."""
    folder = tmp_path_factory.mktemp("log")
    with Store.open(f"sqlite:///{folder}/log.db") as store:
        desk = Desk(store, folder, QUICK_KEY)
        for number in range(EVENTS):
            write(store, 1, text=f"event {number}", at=1_000 + number)
            if number == EVENTS // 2 - 1:
                (folder / "old").write_text(str(desk.sealer.seal().note))
        desk.sealer.seal()
        yield desk


@pytest.fixture(scope="module")
def data(log: Desk) -> bytes:
    return log.exported()


@pytest.fixture(scope="module")
def whole(log: Desk) -> list[Event]:
    with log.store.read() as connection:
        return list(audit.read_events(connection))


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


def is_found_in_line(line: bytes) -> bool:
    """Say whether one line is found without the others: it is no event of ours, or one that is not whole.

    Verifying makes a finding of either, whatever else stands in the log; a line with a line end in it is two.
    """
    event = bundles._line(line.decode("utf-8", "surrogateescape"))
    return b"\n" not in line and (event is None or (isinstance(event, Event) and not event.is_whole))


def missed(data: bytes, bits: Iterable[int]) -> list[int]:
    """Return the bits that may be turned without being found. Most are found in their line, and that costs little."""
    lines, starts, at = data.split(b"\n"), [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    found = []
    for bit in bits:
        number = bisect.bisect_right(starts, bit // 8) - 1
        line, inside = lines[number], bit - starts[number] * 8
        if number and inside < len(line) * 8 and is_found_in_line(flipped(line, inside)):
            continue
        if not is_found(flipped(data, bit)):
            found.append(bit)
    return found


def test_a_sound_log_agrees(data: bytes, log: Desk) -> None:
    assert not is_found(data)
    assert log.verify().ok


def test_some_bits_of_two_hundred_events_count(data: bytes) -> None:
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"\nseed {seed}, {len(data) * 8} bits\n")
    assert not missed(data, random.Random(seed).sample(range(len(data) * 8), 150))


@pytest.mark.nightly
def test_every_bit_of_two_hundred_events_counts(data: bytes) -> None:
    assert not missed(data, range(len(data) * 8))


def test_the_shorter_look_says_what_the_whole_one_says(data: bytes) -> None:
    """What :func:`is_found_in_line` calls found, verifying the whole log finds."""
    lines, chance = data.split(b"\n"), random.Random(5)
    for _ in range(100):
        at = chance.randrange(1, len(lines) - 1)
        changed = flipped(lines[at], chance.randrange(len(lines[at]) * 8))
        if is_found_in_line(changed):
            assert is_found(b"\n".join([*lines[:at], changed, *lines[at + 1 :]]))


def rechained(changed: Sequence[Event]) -> list[Event]:
    """Number and chain events anew, as anybody can who has no key."""
    prev, found = "", []
    for seq, event in enumerate(changed, 1):
        moved = replace(event, seq=seq, prev=prev)
        prev = "sha256:" + hashlib.sha256(moved.form).hexdigest()
        found.append(replace(moved, hash=prev))
    return found


def changes(whole: list[Event], at: int, chance: random.Random) -> Iterator[list[Event]]:
    """Yield logs in which something was done at one place: dropped, doubled, swapped, put in, replaced, cut off."""
    other = chance.choice([number for number in range(len(whole)) if number != at])
    stranger = replace(whole[at], kind="stranger")
    swapped = list(whole)
    swapped[at], swapped[other] = swapped[other], swapped[at]
    yield whole[:at] + whole[at + 1 :]
    yield [*whole[:at], whole[at], *whole[at:]]
    yield swapped
    yield [*whole[:at], stranger, *whole[at:]]
    yield [*whole[:at], stranger, *whole[at + 1 :]]
    yield whole[:at]


def exported(head: bytes, changed: Sequence[Event]) -> bytes:
    lines = (_spelled(event_line(event)).encode() for event in changed)
    return b"\n".join([head, *lines, b""])


def everywhere(places: Sequence[int], data: bytes, whole: list[Event]) -> None:
    """Change the log at each place, as it is and with the chain computed anew; only the tree sees the latter."""
    head, chance = data.split(b"\n", 1)[0], random.Random(11)
    assert not is_found(exported(head, whole)), "the control: writing it out again changes nothing"
    for at in places:
        for number, changed in enumerate(changes(whole, at, chance)):
            assert is_found(exported(head, changed)), f"change {number} at {at} was not found"
            assert is_found(exported(head, rechained(changed))), f"change {number} at {at}, chained anew, was not found"


def test_some_places_of_two_hundred_events_count(data: bytes, whole: list[Event]) -> None:
    everywhere([0, 1, 99, 100, 198, 199], data, whole)


@pytest.mark.nightly
def test_every_place_of_two_hundred_events_counts(data: bytes, whole: list[Event]) -> None:
    everywhere(range(EVENTS), data, whole)


def columns(log: Desk, rows: Sequence[int], seed: int) -> None:
    """Turn one bit of each column of each row in the database, and put it back."""
    chance = random.Random(seed)
    for seq in rows:
        with log.store.read() as connection:
            before = dict(connection.execute(sa.select(events).where(events.c.seq == seq)).mappings().one())
        for name, value in before.items():
            if value != "":  # it has no bits
                turned = value ^ 1 << chance.randrange(8, 30) if isinstance(value, int) else _turned(value, chance)
                assert _set(log, seq, {name: turned}), f"{name} of event {seq} could be changed"
                _set(log, int(turned) if name == "seq" else seq, {name: value}, judged=False)
    assert log.verify().ok


def _turned(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ 1 << chance.randrange(4)) + text[at + 1 :]


def _set(log: Desk, seq: int, values: dict[str, object], *, judged: bool = True) -> bool:
    with log.store.write() as connection:
        connection.execute(sa.update(events).where(events.c.seq == seq).values(values))
    return judged and not log.verify().ok


def test_some_columns_of_the_stored_log_count(log: Desk) -> None:
    columns(log, [1, 100, 200], 3)


@pytest.mark.nightly
def test_every_column_of_the_stored_log_counts(log: Desk) -> None:
    columns(log, range(1, EVENTS + 1), 4)


def test_an_old_anchor_holds_what_came_before_it_even_against_who_has_the_key(log: Desk, whole: list[Event]) -> None:
    """And nothing after it: that is the distance between an anchor and a thief."""
    old = Outside("a friend", (log.folder / "old").read_text())

    def signed_anew(changed: Sequence[Event]) -> bytes:
        anew, frontier = rechained(changed), Frontier()
        for event in anew:
            frontier.add(leaf_hash(event.form))
        head = json.loads(log.exported().split(b"\n", 1)[0])
        note = sign(Checkpoint(QUICK_KEY.origin, len(anew), frontier.root()), QUICK_KEY.keys, now=1)
        return exported(_spelled({**head, "checkpoint": str(note)}).encode(), anew)

    seen: set[bool] = set()
    for at in (0, 57, EVENTS // 2 - 1, EVENTS // 2, 150):
        for changed in changes(whole, at, random.Random(at)):
            forged = parse_bundle(signed_anew(changed))
            assert verify_bundle(forged, KEYS).ok, "the control: who has the key can write a log that agrees in itself"
            same = [event.form for event in rechained(changed)][: EVENTS // 2]
            kept = same == [event.form for event in whole][: EVENTS // 2]
            assert verify_bundle(forged, KEYS, [old]).ok is kept
            seen.add(kept)
    assert seen == {True, False}


def test_a_clock_that_goes_back_changes_no_order(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/log.db") as store:
        desk = Desk(store, tmp_path, QUICK_KEY)
        desk.sealer.start()
        for hours in (0, -5, 3, -1_000, 2):
            desk.clock.advance(hours=hours)
            write(store, 3, at=desk.clock())
            desk.sealer.beat()
            desk.sealer.seal()
        with store.read() as connection:
            found = list(audit.read_events(connection))
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        assert [event.at for event in found] != sorted(event.at for event in found)
        report = desk.verify(now=desk.clock())
        assert (report.ok, report.is_judged) == (True, True)
        assert verify(store, keys=KEYS, outside=desk.outside()[:1]).ok
