"""The signed log on every database: sealing beside others, rollback, rotation, erasure, retention, receipts."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.bundles import read_bundle, verify_bundle
from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.errors import ConflictError, LogError, LogTamperedError, NotFoundError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.keyfile import save_key
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.receipts import make_receipt, parse_receipt, verify_receipt
from checkvalve.approvals.records import State
from checkvalve.approvals.retention import prune
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import checkpoints, content, events, proposals, tiles
from checkvalve.approvals.verify import verify
from tests.approvals.made import DENY, fill
from tests.approvals.made import Desk as Queues
from tests.approvals.sealed import ORIGIN, Desk, write
from tests.waiting import until


@pytest.fixture
def log(store: Store, tmp_path: Path) -> Desk:
    return Desk(store, tmp_path)


def run(store: Store, statement: str, **values: object) -> None:
    with store.write() as connection:
        connection.execute(sa.text(statement), values)


@pytest.mark.claim("C5")
def test_what_was_signed_agrees_and_what_was_not_is_named(log: Desk) -> None:
    write(log.store, 3)
    assert log.sealer.seal().checkpoint.size == 3
    write(log.store, 300)  # over the edge of a tile
    assert log.sealer.seal().added == 300
    assert log.sealer.seal().added == 0
    write(log.store, 2)
    report = log.verify()
    assert (report.ok, report.is_judged, report.events) == (True, True, 305)
    assert report.notes == ["the newest 2 events are not signed yet"]
    kept = {"the last signed checkpoint (1 checkpoint)", f"anchor {log.anchor.path} (2 checkpoints)"}
    assert set(report.compared) == kept
    assert not verify(log.store).is_judged


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE events SET at = at + 1 WHERE seq = 2", "replaced"),
        ("UPDATE events SET commitment = NULL WHERE seq = 2", "replaced"),
        ("DELETE FROM events WHERE seq = 5", "truncated"),
        ("UPDATE checkpoints SET note = replace(note, 'A', 'B')", "bad_checkpoint"),
        ("UPDATE events SET body = '', salt = NULL WHERE seq = 3", "emptied"),
    ],
)
def test_a_change_behind_the_programs_back_is_found_and_nothing_more_is_signed(
    log: Desk, statement: str, code: str
) -> None:
    write(log.store, 5)
    log.sealer.seal()
    run(log.store, statement)
    assert code in log.codes()
    if code in {"truncated", "bad_checkpoint"}:
        write(log.store, 1)
        with pytest.raises(LogTamperedError):
            log.sealer.seal()


@pytest.mark.claim("C5")
def test_an_event_that_was_changed_before_it_was_signed_is_not_signed(log: Desk) -> None:
    write(log.store, 5)
    run(log.store, "UPDATE events SET at = at + 1 WHERE seq = 3")
    with pytest.raises(LogTamperedError, match="event 3 is not what was written"):
        log.sealer.seal()
    assert not log.signed.exists()


@pytest.mark.claim("C5")
def test_tiles_that_were_changed_are_not_signed_over(log: Desk) -> None:
    write(log.store, 5)
    log.sealer.seal()
    with log.store.write() as connection:
        connection.execute(sa.update(tiles).values(hashes=b"\x00" * 160))
    write(log.store, 1)
    with pytest.raises(LogTamperedError, match="not the one that was signed"):
        log.sealer.seal()


@pytest.mark.claim("C5")
def test_an_older_database_that_was_put_back_is_seen_by_the_file_and_by_the_anchor(log: Desk) -> None:
    write(log.store, 4)
    log.sealer.seal()
    with log.store.read() as connection:
        before = {table: connection.execute(sa.select(table)).mappings().all() for table in (checkpoints, tiles)}
    write(log.store, 4)
    log.sealer.seal()
    with log.store.write() as connection:  # what a backup of then would have
        connection.execute(sa.delete(events).where(events.c.seq > 4))
        connection.execute(sa.text("UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM events WHERE seq = 4)"))
        for table, rows in before.items():
            connection.execute(sa.delete(table))
            connection.execute(sa.insert(table), [dict(row) for row in rows])
    assert verify(log.store, keys=log.key.public).ok, "inside the database nothing is wrong"
    assert log.codes() == {"truncated"}
    write(log.store, 1)
    with pytest.raises(LogTamperedError, match="8 events were signed, and the database has 5: an older one"):
        log.sealer.seal()
    write(log.store, 9)
    with pytest.raises(LogTamperedError, match="the first 8 events are not those that were signed"):
        log.sealer.seal()


@pytest.mark.claim("C5")
def test_several_sealers_beside_writers_sign_one_tree(log: Desk) -> None:
    sealers = [log.other(f"signed-{number}") for number in range(3)]
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(8):
                write(log.store, 2)
                sealers[number].seal()
        except BaseException as error:  # noqa: BLE001  # told to the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    log.sealer.seal()
    report = log.verify()
    assert (report.ok, report.events, report.signed and report.signed["size"]) == (True, 48, 48)


PROGRAM = """
import sys
from pathlib import Path
from checkvalve.approvals import audit
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.store import Store
with Store.open(sys.argv[1], create=False) as store:
    sealer = LogPlace(Path(sys.argv[2]), Path(sys.argv[3])).sealer(store)
    print("ready", flush=True)
    n = 0
    while True:
        n += 1
        with store.write() as connection:
            audit.append(connection, at=n, kind="test", body={"n": n})
        sealer.seal()
"""


def has_grown(log: Desk, size: int) -> bool:
    return audit.head(log.store).seq >= size


@pytest.mark.claim("C5")
def test_processes_that_are_killed_while_they_write_and_sign_leave_a_log_that_agrees(
    log: Desk, url: str, tmp_path: Path
) -> None:
    key = tmp_path / "key.json"
    save_key(log.key, key)
    for round_ in range(4):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, url, str(key), str(tmp_path / f"signed{n}")], stdout=subprocess.PIPE
            )
            for n in range(2)
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        enough = audit.head(log.store).seq + 3 + 4 * round_
        until(partial(has_grown, log, enough))
        for process in running:
            process.kill()
            process.communicate()
    for number in range(2):
        log.other(f"signed{number}").seal()  # what each of them had signed still fits
    assert log.sealer.seal().checkpoint.size == audit.head(log.store).seq > 8
    assert log.verify().ok


@pytest.mark.claim("C5")
def test_heartbeats_come_after_a_silence_and_a_missing_one_is_seen(log: Desk) -> None:
    log.sealer.start()
    assert log.sealer.beat() is None
    log.clock.advance(seconds=61)
    assert log.sealer.beat() is not None
    other = log.other("elsewhere").beat()
    assert other is not None
    assert other.added == 0, "one replica is enough"
    log.clock.advance(seconds=60)
    log.sealer.beat()
    assert log.verify(now=log.clock()).notes == []
    log.clock.advance(minutes=10)
    assert log.verify(now=log.clock()).notes == ["no heartbeat since the last event: is the gateway running?"]
    log.sealer.start()
    (note,) = log.verify(now=log.clock()).notes
    assert note.startswith("no heartbeat from ")
    log.sealer.stop()
    log.clock.advance(hours=10)
    log.sealer.start()
    assert log.verify(now=log.clock()).notes == [note], "a stop that was said is no silence"
    with log.store.read() as connection:
        kinds = [event.kind for event in audit.read_events(connection)]
    assert kinds.count("log.heartbeat") == 2


@pytest.mark.claim("C5")
def test_after_a_rotation_old_and_new_keys_both_verify_and_a_stranger_signs_nothing(log: Desk) -> None:
    write(log.store, 3)
    log.sealer.seal()
    kept: list[LogKey] = []
    log.sealer.rotate(kept.append)
    write(log.store, 2)
    log.sealer.seal()
    (new,) = kept
    for keys in (log.key.public, new.public):
        assert log.verify(keys).ok
        assert verify_bundle(log.bundle(), keys).ok
    assert log.verify(LogKey.new(ORIGIN).public).findings
    with pytest.raises(LogError, match="were replaced"):  # the old key may not sign what comes after
        log.other("other").seal()
    again = Desk(log.store, log.folder, new, log.clock)
    write(log.store, 1)
    assert again.sealer.seal().added == 1


def test_a_database_is_signed_with_the_key_of_one_log_only(log: Desk, tmp_path: Path) -> None:
    write(log.store, 1)
    log.sealer.seal()
    (tmp_path / "b").mkdir()
    other = Desk(log.store, tmp_path / "b", LogKey.new("other.example/b"))
    with pytest.raises(LogError):
        other.sealer.seal()


@pytest.mark.claim("C5")
def test_a_receipt_proves_one_call_with_the_public_key_alone(log: Desk) -> None:
    desk = fill(log.store)
    done = next(item for item in desk.queue.list() if item.state is State.SUCCEEDED)
    with log.store.read() as connection:
        wanted = list(audit.read_events(connection, subject=done.id))
        with pytest.raises(LogError, match="no receipt yet"):
            make_receipt(connection, wanted)
    log.sealer.seal()
    with log.store.read() as connection:
        text = json.dumps(make_receipt(connection, wanted).to_json())
    receipt = parse_receipt(text)
    assert verify_receipt(receipt, log.key.public).checkpoint.size == audit.head(log.store).seq
    (event, proof), *rest = receipt.items
    for broken in (
        replace(receipt, items=((replace(event, at=event.at + 1), proof), *rest)),
        replace(receipt, items=((replace(event, body=event.body.replace("send", "gift")), proof), *rest)),
        replace(receipt, items=((event, proof[:-1]), *rest)),
        replace(receipt, items=((event, (*proof, proof[0])), *rest)),
        replace(receipt, items=((rest[0][0], proof), *rest)),
        replace(receipt, checkpoint=receipt.checkpoint.replace(ORIGIN, "log.example/b")),
    ):
        with pytest.raises(LogError):
            verify_receipt(broken, log.key.public)
    with pytest.raises(LogTamperedError):
        verify_receipt(receipt, LogKey.new(ORIGIN).public)
    for nothing in ("", "{}", "[]", text.replace("checkvalve-receipt-1", "x"), text.replace('"seq"', '"sequence"')):
        with pytest.raises(ValueError, match=r"receipt|no event|Expecting"):
            parse_receipt(nothing)


@pytest.mark.claim("C5")
def test_an_erased_call_says_nothing_any_more_and_every_proof_still_fits(log: Desk) -> None:
    desk = fill(log.store)
    log.sealer.seal()
    done = next(item for item in desk.queue.list() if item.state is State.SUCCEEDED)
    with log.store.read() as connection:
        old = make_receipt(connection, list(audit.read_events(connection, subject=done.id)))
    with log.store.write() as connection:
        assert erase_call(connection, done.id, at=9, by="ann", reason="asked to") == 10
    log.sealer.seal()
    assert log.verify().ok
    assert verify_bundle(log.bundle(), log.key.public).ok
    verify_receipt(old, log.key.public)
    with log.store.read() as connection:
        verify_receipt(make_receipt(connection, list(audit.read_events(connection, subject=done.id))), log.key.public)
        row = connection.execute(sa.select(proposals).where(proposals.c.id == done.id)).one()
        mine = connection.execute(sa.select(events).where(events.c.subject == done.id)).mappings().all()
    assert all(row["body"] == "" and row["salt"] is None for row in mine[:-1])
    assert done.digest not in repr(mine)
    assert done.digest not in repr(row)
    erased = desk.queue.get(done.id)
    assert (erased.args(), erased.note, erased.state) == ({}, "(erased)", State.SUCCEEDED)
    assert erased.to_json()["args"] == {}
    assert Executor(desk.queue).look(done.id).result is None
    with log.store.write() as connection, pytest.raises(ConflictError, match="erased before"):
        erase_call(connection, done.id, at=9, by="ann", reason="again")


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE proposals SET state = 'rejected' WHERE note = '(erased)'",
        "UPDATE proposals SET tool = 'pay' WHERE note = '(erased)'",
        "UPDATE attempts SET result = '1' WHERE result IS NULL AND error IS NULL",
        "UPDATE endorsements SET tool = 'pay' WHERE value = '(erased)'",
        "UPDATE events SET body = '{}' WHERE body = ''",
        "DELETE FROM events WHERE kind = 'content.erased'",
    ],
)
def test_an_edit_of_what_is_left_of_an_erased_call_is_found(log: Desk, statement: str) -> None:
    desk = fill(log.store)
    done = next(item for item in desk.queue.list() if item.state is State.SUCCEEDED)
    with log.store.write() as connection:
        erase_call(connection, done.id, at=9, by="ann", reason="asked to")
    log.sealer.seal()
    assert log.verify().ok
    run(log.store, statement)
    assert log.codes()


def test_what_is_not_over_cannot_be_erased_and_a_task_goes_as_a_whole(log: Desk) -> None:
    desk = fill(log.store)
    waiting = next(item for item in desk.queue.list() if item.state is State.PENDING)
    with log.store.write() as connection, pytest.raises(ConflictError, match="not over yet"):
        erase_call(connection, waiting.id, at=9, by="ann", reason="r")
    with log.store.write() as connection, pytest.raises(NotFoundError):
        erase_call(connection, "nobody", at=9, by="ann", reason="r")
    with pytest.raises(ConflictError), log.store.write() as connection:
        erase_thread(connection, "t", at=9, by="ann", reason="r")
    desk.queue.reject(waiting.id, desk.reviewer)
    approved = next((item for item in desk.queue.list() if item.state is State.APPROVED), None)
    while approved is not None:
        desk.queue.invalidate(approved.id, "undone")
        approved = next((item for item in desk.queue.list() if item.state is State.APPROVED), None)
    row = {"id": "c1", "thread": "t", "kind": "text", "value": '"secret"', "size": 6, "label": "{}", "stored_at": 1}
    with log.store.write() as connection:
        connection.execute(sa.insert(content).values(row))
    with log.store.write() as connection:
        calls, texts = erase_thread(connection, "t", at=9, by="ann", reason="r")
    assert (calls, texts) == (len(desk.queue.list()), 1)
    log.sealer.seal()
    assert log.verify().ok
    with log.store.write() as connection, pytest.raises(NotFoundError):
        erase_thread(connection, "nothing", at=9, by="ann", reason="r")


@pytest.mark.claim("C5")
def test_old_tasks_are_exported_and_removed_and_every_proof_still_fits(log: Desk, tmp_path: Path) -> None:
    desk = Queues.at(log.store, log.clock)
    executor = Executor(desk.queue)
    old = [desk.propose(DENY, request=desk.request(thread="old")) for _ in range(3)]
    half = desk.propose(DENY, request=desk.request(thread="half"))
    desk.propose(request=desk.request(thread="half"))
    executor.run(desk.approve(desk.propose()).id, lambda args, key: "sent")  # accepted data with it: it stays
    log.sealer.seal()
    with log.store.read() as connection:
        receipt = make_receipt(connection, list(audit.read_events(connection, subject=old[0].id)))
    log.clock.advance(days=100)
    desk.propose(DENY, request=desk.request(thread="new"))
    log.sealer.seal()
    archive = tmp_path / "archive.jsonl"
    before = log.clock() - 1
    done = prune(log.store, log.key.public, archive, before=before, at=log.clock(), by="ann")
    assert (done.calls, done.events) == (3, 3)
    assert not {item.id for item in desk.queue.list()} & {item.id for item in old}
    assert half.id in {item.id for item in desk.queue.list()}
    assert log.verify().ok
    log.sealer.seal()
    assert log.verify().ok
    verify_receipt(receipt, log.key.public)
    kept = verify_bundle(read_bundle(archive), log.key.public, log.outside()[-1:])
    assert kept.findings[0].code == "truncated", "the archive ends before the newest checkpoint, and says so"
    assert verify_bundle(read_bundle(archive), log.key.public).ok
    assert verify_bundle(log.bundle(), log.key.public).ok
    write(log.store, 300)
    log.sealer.seal()
    assert log.verify().ok
    with pytest.raises(LogError, match="cannot be written"):
        prune(log.store, log.key.public, archive, before=before, at=log.clock(), by="ann")
    again = prune(log.store, log.key.public, tmp_path / "second", before=before, at=log.clock(), by="ann")
    assert (again.calls, again.events) == (0, 0)


@pytest.mark.claim("C5")
def test_an_event_that_was_removed_without_a_rule_is_found(log: Desk, tmp_path: Path) -> None:
    desk = Queues.at(log.store, log.clock)
    old = desk.propose(DENY, request=desk.request(thread="old"))
    other = desk.propose(DENY, request=desk.request(thread="other"))
    log.clock.advance(days=100)
    desk.propose(request=desk.request(thread="other"))
    log.sealer.seal()
    prune(log.store, log.key.public, tmp_path / "a", before=log.clock() - 1, at=log.clock(), by="ann")
    log.sealer.seal()
    assert log.verify().ok
    assert old.id not in {item.id for item in desk.queue.list()}
    run(log.store, "DELETE FROM events WHERE subject = :id", id=other.id)
    assert "missing" in log.codes()
