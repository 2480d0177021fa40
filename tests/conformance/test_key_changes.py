"""Keys that are changed while others sign, and changes that were interrupted: the log verifies, and goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import KEYS, ROTATED
from checkvalve.approvals.keyfile import load_key, save_key
from checkvalve.approvals.lastsigned import write_signed
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import Note
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.log_keeper import LogKeeper
from tests.approvals.key_files import FileLog
from tests.approvals.sealed import ORIGIN, write
from tests.waiting import until


@pytest.fixture
def log(store: Store, tmp_path: Path) -> FileLog:
    return FileLog(store, tmp_path)


@pytest.mark.claim("C5")
def test_a_signer_that_runs_takes_the_new_key_when_it_was_changed(log: FileLog) -> None:
    watcher = log.place.sealer(log.store)
    watcher.start()
    for _ in range(2):
        log.rotate()
        assert watcher.beat() is None, "the command has signed it"
        write(log.store, 2)
        sealed = watcher.beat()
        assert sealed is not None
        assert log.signed_by(log.place.load().public)
        log.require_good(size=sealed.checkpoint.size)
    assert not log.signed_by(log.old.public)
    write(log.store, 1)
    assert log.place.sealer(log.store).seal().added == 1
    log.require_good()


@pytest.mark.claim("C5")
def test_a_signer_that_comes_late_goes_on_with_the_new_key(log: FileLog) -> None:
    """Others have signed with the new key alone before it looks."""
    watcher = log.place.sealer(log.store)
    log.rotate()
    write(log.store, 2)
    log.place.sealer(log.store).seal()
    write(log.store, 1)
    assert watcher.seal().added == 1
    log.require_good(size=7)


@pytest.mark.claim("C5", "C9")
def test_the_gateways_own_signer_goes_on_beside_a_change_of_keys(log: FileLog) -> None:
    keeper = LogKeeper(log.store, log.place.sealer(log.store), every=0.02)
    keeper.start()
    try:
        for _ in range(3):
            write(log.store, 1)
            log.rotate()
            write(log.store, 1)

        def is_signed() -> bool:
            report = verify(log.store, keys=log.old.public, outside=log.place.outside())
            assert report.ok, report.findings
            return report.is_judged and not report.notes

        until(is_signed)
    finally:
        keeper.stop()
    write(log.store, 1)  # nothing was refused
    log.place.sealer(log.store).seal()
    log.require_good()
    assert log.signed_by(log.place.load().public)


WATCHER = """
import sys, time
from pathlib import Path
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.store import Store
with Store.open(sys.argv[1], create=False) as store:
    sealer = LogPlace(Path(sys.argv[2])).sealer(store)
    print("ready", flush=True)
    while True:
        sealer.beat()
        time.sleep(0.01)
"""


@pytest.mark.claim("C5")
def test_another_process_that_signs_takes_the_new_key(log: FileLog, url: str) -> None:
    command = [sys.executable, "-c", WATCHER, url, str(log.place.key_file())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            write(log.store, 2)
            log.rotate()
            write(log.store, 2)
            until(lambda: audit.head(log.store).seq == log.size())
        finally:
            process.kill()
    log.require_good()
    assert log.signed_by(log.place.load().public)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("watched", [True, False])
def test_a_change_that_was_interrupted_before_its_event_is_undone(log: FileLog, *, watched: bool) -> None:
    watcher = log.place.sealer(log.store)
    log.rotate_until(committed=False)
    write(log.store, 1)
    if watched:
        assert watcher.seal().added == 1, "the old key goes on"
    log.place.sealer(log.store).seal()
    assert log.place.load().public == log.old.public == log.place.public_keys()
    assert not (log.folder / "key.json.next").exists()
    log.require_good(size=4)
    log.rotate()
    log.require_good(size=5)
    assert log.place.load().public != log.old.public


@pytest.mark.claim("C5")
@pytest.mark.parametrize("watched", [True, False])
def test_a_change_that_was_interrupted_after_its_event_is_finished(log: FileLog, *, watched: bool) -> None:
    watcher = log.place.sealer(log.store)
    log.rotate_until(committed=True)
    assert log.place.load().public == log.old.public
    write(log.store, 1)
    if watched:
        assert watcher.seal().added == 2
        new = load_key(log.folder / "key.json.next").public
        assert log.signed_by((*log.old.public, *new)), "both sides, although nobody has finished yet"
        log.require_good(size=5)
    log.place.sealer(log.store).seal()
    new = log.place.load().public
    assert new == log.place.public_keys() != log.old.public
    assert log.signed_by((*log.old.public, *new)), "who starts afresh signs with the old key, too"
    log.require_good(size=5)
    assert log.rest() == ["key.json"]


@pytest.mark.claim("C5")
def test_of_several_sealers_whoever_is_first_signs_a_change_with_both_keys(log: FileLog) -> None:
    """Another one signs between the event and the command that changes the keys."""
    other = LogPlace(log.place.key, log.folder / "signed-elsewhere").sealer(log.store)

    def settle() -> None:
        write(log.store, 1)
        assert other.seal().added == 2
        log.place.settle(log.store)

    done = log.place.sealer(log.store).rotate(log.place.prepare, settle)
    assert (done.added, done.checkpoint.size) == (0, 5)
    assert log.signed_by((*log.old.public, *log.place.load().public))
    write(log.store, 1)
    other.seal()
    log.require_good(size=6)


@pytest.mark.claim("C5")
def test_a_signer_that_cannot_get_the_new_key_signs_nothing_and_says_so(log: FileLog, tmp_path: Path) -> None:
    """It runs on another machine, which has the old file only."""
    save_key(log.old, tmp_path / "there" / "key.json")
    place = LogPlace(tmp_path / "there" / "key.json")
    away = place.sealer(log.store)
    log.rotate_until(committed=True)
    for signer in (away, place.sealer(log.store)):
        with pytest.raises(LogError, match="were replaced") as told:
            signer.seal()
        assert not isinstance(told.value, LogTamperedError), "it is no reason to refuse the log"
    assert log.size() == 3
    log.place.sealer(log.store).seal()
    log.require_good(size=4)
    (tmp_path / "there" / "key.json").unlink()
    save_key(log.place.load(), tmp_path / "there" / "key.json")
    write(log.store, 1)
    assert away.seal().added == 1
    log.require_good(size=5)


@pytest.mark.claim("C5")
def test_without_the_old_key_nobody_signs_the_first_checkpoint_of_a_change(log: FileLog) -> None:
    log.rotate_until(committed=True)
    log.place.settle(log.store)
    (old,) = log.folder.glob("key.json.old-*")
    kept = old.rename(log.folder / "away")
    with pytest.raises(LogError, match="signed by the old key too"):
        log.place.sealer(log.store).seal()
    kept.rename(old)
    log.place.sealer(log.store).seal()
    log.require_good(size=4)


@pytest.mark.claim("C5")
def test_a_key_signs_nothing_where_no_event_says_that_it_replaced_another(log: FileLog) -> None:
    log.place.save(log.old.rotated(4), replacing=True)
    write(log.store, 1)
    with pytest.raises(LogError, match="no event says"):
        log.place.sealer(log.store).seal()
    (old,) = log.folder.glob("key.json.old-*")
    old.replace(log.place.key_file())
    log.place.save(log.old, replacing=True)  # and its public half
    log.place.sealer(log.store).seal()
    log.require_good(size=4)


@pytest.mark.claim("C5")
def test_a_planted_change_of_keys_stops_nobody(log: FileLog) -> None:
    thief = LogKey.new(ORIGIN).rotated(4).rotations[-1].to_json()
    forged = thief | {"old": [str(key) for key in log.old.public]}
    with log.store.write() as connection:
        for rotation in (thief, forged):
            audit.append(connection, at=1, kind=ROTATED, subject=KEYS, body={"rotation": rotation})
    assert log.place.sealer(log.store).seal().added == 2
    log.require_good(size=5)


@pytest.mark.claim("C5")
def test_of_two_who_change_the_keys_at_once_one_is_told(log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    late = log.place.sealer(log.store)
    seal = late.seal

    def overtaken() -> object:
        done = seal()
        log.rotate()
        return done

    monkeypatch.setattr(late, "seal", overtaken)
    with pytest.raises(LogError, match="a moment ago"):
        late.rotate(log.place.prepare, lambda: log.place.settle(log.store))
    assert not (log.folder / "key.json.next").exists()
    log.require_good()
    with log.store.read() as connection:
        kinds = connection.execute(sa.text("select count(*) from events where kind = 'log.key_rotated'")).scalar()
    assert kinds == 1


@pytest.mark.claim("C5")
def test_the_key_is_looked_at_again_under_the_lock(log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys are changed after a round has read, and before it writes: the round is done again with the new key."""
    watcher = log.place.sealer(log.store)
    write(log.store, 1)
    sizes: list[str] = []

    def late(file: Path, note: Note) -> None:
        write_signed(file, note)
        sizes.append(note.text.split("\n")[1])
        if len(sizes) == 1:
            with log.store.write() as connection:
                new = log.old.rotated(5)
                body: dict[str, JSON] = {"rotation": new.rotations[-1].to_json()}
                audit.append(connection, at=1, kind=ROTATED, subject=KEYS, body=body)
                log.place.prepare(new)

    monkeypatch.setattr("checkvalve.approvals.sealer.write_signed", late)
    assert watcher.seal().added == 2, "what the first round had signed is not in the database"
    assert sizes[:2] == ["4", "5"]
    log.place.settle(log.store)
    assert log.signed_by((*log.old.public, *log.place.load().public))
    log.require_good(size=5)
