"""An event that is removed together with the row it speaks of leaves a hole, which is found without verifying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit, sound_events, tablecheck
from checkvalve.approvals.audit import ERASED, Event
from checkvalve.approvals.errors import LogTamperedError, StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.gaps import untold_gap
from checkvalve.approvals.judge import PRUNED
from checkvalve.approvals.lastsigned import parse_size, read_signed
from checkvalve.approvals.logwatch import LogWatch
from checkvalve.approvals.merkle import leaf_hash
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.sound_events import RECENT
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events, proposals, tiles
from checkvalve.approvals.tiles import WIDTH
from tests.approvals.made import Desk, HandClock
from tests.approvals.sealed import QUICK_KEY, write
from tests.attacks.test_edited_events import made_anew
from tests.databases import Databases

pytestmark = [pytest.mark.claim("C4"), pytest.mark.claim("C5")]


@pytest.fixture
def desk(databases: Databases) -> Iterator[Desk]:
    with Store.open(databases.make(ready=True)) as store:
        yield Desk.at(store, HandClock())


def seal(desk: Desk, folder: Path) -> None:
    Sealer(desk.queue.store, QUICK_KEY, folder / "signed", clock=desk.clock).seal()


def of_kind(connection: sa.Connection, kind: str) -> Event:
    query = sa.select(events).where(events.c.kind == kind).order_by(events.c.seq)
    return Event(**connection.execute(query).mappings().all()[-1])


def steps(watch: LogWatch, count: int) -> None:
    for _ in range(count):
        watch.step()


def remove(connection: sa.Connection, *numbers: int) -> None:
    assert connection.execute(sa.delete(events).where(events.c.seq.in_(numbers))).rowcount == len(numbers)


def revive(desk: Desk, name: str) -> None:
    """Take away that a call was rejected: the event, the vote's event, the vote, and the state in its row."""
    with desk.queue.store.write() as connection:
        remove(connection, of_kind(connection, "vote.cast").seq, of_kind(connection, "proposal.rejected").seq)
        connection.execute(sa.delete(votes).where(votes.c.proposal_id == name))
        first = of_kind(connection, "proposal.recorded")
        values = {"state": "pending", "version": 1, "decided_by": "", "code": "", "note": "", "updated_at": first.at}
        assert connection.execute(sa.update(proposals).where(proposals.c.id == name).values(values)).rowcount == 1


@pytest.mark.parametrize("signed", [True, False])
def test_a_call_whose_rejection_was_removed_is_not_asked_about_again(
    desk: Desk, tmp_path: Path, *, signed: bool
) -> None:
    asked = desk.propose()
    desk.queue.reject(asked.id, desk.reviewer, "no")
    write(desk.queue.store, 3)  # so that it is not the end of the log that is gone
    if signed:
        seal(desk, tmp_path)
    revive(desk, asked.id)
    with pytest.raises(StoreCorruptError, match="were removed from the log"):
        desk.queue.approve(asked.id, desk.reviewer, asked.digest)
    assert desk.queue.get(asked.id).state is State.PENDING


def test_nothing_runs_while_there_is_a_hole_among_the_newest_events(desk: Desk, tmp_path: Path) -> None:
    first, second = desk.propose(), desk.propose(request=desk.request(thread="other"))
    permitted = desk.approve(second)
    desk.queue.reject(first.id, desk.reviewer, "no")
    write(desk.queue.store, 2)
    seal(desk, tmp_path)
    revive(desk, first.id)
    ran = list[str]()
    with pytest.raises(StoreCorruptError, match="were removed from the log"):
        Executor(desk.queue).run(permitted.id, lambda *_: ran.append("x"))
    assert ran == []


def test_without_the_count_it_would_be_believed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: everything else fits."""
    asked = desk.propose()
    desk.queue.reject(asked.id, desk.reviewer, "no")
    write(desk.queue.store, 3)
    revive(desk, asked.id)
    monkeypatch.setattr(tablecheck, "complete_events", sound_events.sound_events)
    assert desk.queue.approve(asked.id, desk.reviewer, asked.digest, endorse=False).state is State.APPROVED


def test_of_what_lies_further_back_the_watch_finds_the_hole(desk: Desk, tmp_path: Path) -> None:
    asked = desk.propose()
    desk.queue.reject(asked.id, desk.reviewer, "no")
    store = desk.queue.store
    write(store, RECENT + 5)
    seal(desk, tmp_path)
    watch = LogWatch(store)
    steps(watch, 8)
    revive(desk, asked.id)
    assert desk.queue.approve(asked.id, desk.reviewer, asked.digest, endorse=False).state is State.APPROVED
    with pytest.raises(LogTamperedError, match="were removed from the log"):
        LogWatch(store).step()


def test_what_retention_removed_is_no_hole(desk: Desk, tmp_path: Path) -> None:
    store = desk.queue.store
    write(store, 6)
    asked = desk.propose()
    seal(desk, tmp_path)
    with store.write() as connection:
        numbers = [event.seq for event in audit.read_events(connection) if event.kind == "test"]
        remove(connection, *numbers)
        audit.append(connection, at=9, kind=PRUNED, body={"removed": [[numbers[0], numbers[-1]]]})
    seal(desk, tmp_path)
    LogWatch(store).step()
    assert desk.approve(asked).state is State.APPROVED
    with store.write() as connection:  # one more than was said
        remove(connection, numbers[-1] + 1)
        assert untold_gap(connection, 1, numbers[-1] + 1) == (numbers[0], numbers[-1] + 1)
    with pytest.raises(LogTamperedError, match=f"the events {numbers[0]} to {numbers[-1] + 1} were removed"):
        LogWatch(store).step()


def moved(connection: sa.Connection, seq: int) -> None:
    connection.execute(sa.update(events).where(events.c.seq == seq).values(subject="elsewhere"))


def emptied(connection: sa.Connection, seq: int) -> None:
    connection.execute(sa.update(events).where(events.c.seq == seq).values(body="", salt=None))


def leaves_too(connection: sa.Connection, seq: int) -> None:
    """Write another event, and every leaf from there on into the tiles: the hash above them stays."""
    query = sa.select(events).where(events.c.seq == seq)
    made_anew(connection, Event(**connection.execute(query).mappings().one()), '{"n":0,"text":"forged"}')
    leaves = [leaf_hash(event.form) for event in audit.read_events(connection)]
    for tile, first in enumerate(range(0, len(leaves), WIDTH)):
        mine = (tiles.c.level == 0, tiles.c.position == tile)
        changed = sa.update(tiles).where(*mine).values(hashes=b"".join(leaves[first : first + WIDTH]))
        assert connection.execute(changed).rowcount == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (moved, "event 17 is not what was written"),
        (emptied, "event 17 is not what was written"),
        (leaves_too, "the tree in the database is not the one that was signed"),
    ],
)
def test_the_watch_reads_every_signed_event_again(
    desk: Desk, tmp_path: Path, change: Callable[[sa.Connection, int], None], said: str
) -> None:
    store = desk.queue.store
    write(store, 2 * WIDTH + 40)
    seal(desk, tmp_path)
    watch = LogWatch(store)
    steps(watch, 7)
    with store.write() as connection:
        change(connection, 17)
    with pytest.raises(LogTamperedError, match=said):
        steps(watch, 3)  # the log has three tiles


def test_nobody_says_beforehand_that_an_event_will_be_erased(desk: Desk, tmp_path: Path) -> None:
    store = desk.queue.store
    number = audit.head(store).seq + 2
    with store.write() as connection:
        told = audit.append(connection, at=1, kind=ERASED, subject="x", body={"events": [number]})
        later = audit.append(connection, at=2, kind="test", subject="x", body={"n": 1})
    assert (told.seq, later.seq) == (number - 1, number)
    seal(desk, tmp_path)
    LogWatch(store).step()
    with store.write() as connection:
        emptied(connection, later.seq)
        with pytest.raises(StoreCorruptError, match=f"event {later.seq} is not what was written"):
            sound_events.sound_events(connection, "x")
    with pytest.raises(LogTamperedError, match=f"event {later.seq} is not what was written"):
        LogWatch(store).step()


def test_the_watch_goes_round_and_an_empty_log_is_nothing_to_it(desk: Desk, tmp_path: Path) -> None:
    store = desk.queue.store
    LogWatch(store).step()
    seal(desk, tmp_path)
    watch = LogWatch(store)
    for _ in range(4):
        watch.step()
        write(store, 100)
    seal(desk, tmp_path)
    steps(watch, 4)


def test_who_finds_that_another_machine_has_signed_remembers_it(desk: Desk, tmp_path: Path) -> None:
    """So an older database that is put back is seen on either of them, without an anchor."""
    store = desk.queue.store
    mine, others = (Sealer(store, QUICK_KEY, tmp_path / name, clock=desk.clock) for name in ("mine", "others"))
    first = mine.seal().checkpoint.size
    write(store, 5)
    assert others.seal().added == 5
    assert mine.seal().added == 0
    kept = read_signed(tmp_path / "mine")
    assert kept is not None
    assert parse_size(kept) == first + 5
    (tmp_path / "mine").unlink()
    mine.seal()
    assert read_signed(tmp_path / "mine") == kept
