from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals import audit
from checkvalve.approvals.audit import Head, event_form
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import attempts, endorsements, grants, mandates, proposals, reviewers, uses
from checkvalve.approvals.verify import format_head, parse_head, verify
from tests.approvals.made import Desk, fill, tamper

PLANT = (
    "INSERT INTO endorsements SELECT 99, thread, value_digest, value, source, role, 'pay', kind, proposal_id, 'x', 1,"
    " NULL, NULL, '' FROM endorsements"
)
COLUMNS = ("at", "kind", "subject", "body", "prev", "hash", "salt", "commitment")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.db"
    with Store.open(f"sqlite:///{path}") as store:
        fill(store)
        assert verify(store).ok
    return path


def after(original: Path, copy: Path, *statements: str, saved: Head | None = None) -> set[str]:
    """Change a copy and return the codes that verifying it finds."""
    shutil.copy(original, copy)
    tamper(copy, *statements)
    with Store.open(f"sqlite:///{copy}", create=False) as store:
        return {finding.code for finding in verify(store, saved=saved).findings}


def length(path: Path) -> int:
    connection = sqlite3.connect(path)
    count: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    connection.close()
    return count


def last_head(path: Path) -> Head:
    with Store.open(f"sqlite:///{path}") as store:
        return audit.head(store)


def chain_hash(prev: str, *, seq: int, at: int, kind: str, subject: str, body: str) -> str:
    """Return the hash of one event as older versions wrote it: with the body itself in it."""
    form = event_form(prev, seq=seq, at=at, kind=kind, subject=subject, hashed=body, committed=False)
    return "sha256:" + hashlib.sha256(form).hexdigest()


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the bodies of all events, and compute a whole new chain over them."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT seq, at, kind, subject, body FROM events ORDER BY seq").fetchall()
    prev = ""
    for seq, at, kind, subject, old in rows:
        body = canonical(change(json.loads(old))).decode()
        new = chain_hash(prev, seq=seq, at=at, kind=kind, subject=subject, body=body)
        set_ = "UPDATE events SET body = ?, prev = ?, hash = ?, salt = NULL, commitment = NULL WHERE seq = ?"
        connection.execute(set_, (body, prev, new, seq))
        prev = new
    connection.execute("UPDATE audit_head SET hash = ?", (prev,))
    connection.commit()
    connection.close()


@pytest.mark.claim("C5")
def test_every_kind_of_change_is_found_at_every_event(original: Path, tmp_path: Path) -> None:
    copy, count = tmp_path / "copy.db", length(original)
    assert count > 15
    for seq in range(1, count + 1):
        for change in (
            f"UPDATE events SET body = replace(body, '}}', ',\"x\":1}}') WHERE seq = {seq}",
            f"UPDATE events SET at = at + 1 WHERE seq = {seq}",
            f"DELETE FROM events WHERE seq = {seq}",
            f"UPDATE events SET seq = seq + 1000 WHERE seq = {seq}",
        ):
            assert after(original, copy, change), f"not found: {change}"


@pytest.mark.claim("C5")
def test_two_swapped_events_are_found(original: Path, tmp_path: Path) -> None:
    for seq in range(1, length(original)):
        swap = (f"UPDATE events SET seq = -1 WHERE seq = {seq}", f"UPDATE events SET seq = {seq} WHERE seq = {seq + 1}")
        found = after(original, tmp_path / "copy.db", *swap, f"UPDATE events SET seq = {seq + 1} WHERE seq = -1")
        assert "changed" in found or "broken_link" in found


@pytest.mark.claim("C5")
@pytest.mark.parametrize("time", ["''", "'soon'", "x'00'", "1.5"])
def test_a_time_that_is_no_time_is_found_and_breaks_nothing(original: Path, tmp_path: Path, time: str) -> None:
    assert after(original, tmp_path / "copy.db", f"UPDATE events SET at = {time} WHERE seq = 1")


@pytest.mark.claim("C5")
@settings(max_examples=60)
@given(data=st.data())
def test_any_single_edit_of_the_log_is_found(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    copy = tmp_path_factory.mktemp("edit") / "copy.db"
    shutil.copy(original, copy)
    seq = data.draw(st.integers(1, length(original)))
    column = data.draw(st.sampled_from(COLUMNS))
    new = data.draw(st.one_of(st.text(max_size=20), st.integers(0, 2**40), st.binary(max_size=10)))
    connection = sqlite3.connect(copy)
    old = connection.execute(f"SELECT {column} FROM events WHERE seq = ?", (seq,)).fetchone()[0]
    connection.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", (new, seq))
    stored = connection.execute(f"SELECT {column} FROM events WHERE seq = ?", (seq,)).fetchone()[0]
    connection.commit()
    connection.close()
    with Store.open(f"sqlite:///{copy}", create=False) as store:
        assert verify(store).ok == (old == stored)


@pytest.mark.claim("C5")
def test_a_cut_end_is_found_by_the_head_row_and_by_a_saved_head(original: Path, tmp_path: Path) -> None:
    count, copy, saved = length(original), tmp_path / "copy.db", last_head(original)
    cut = f"DELETE FROM events WHERE seq = {count}"
    mend = f"UPDATE audit_head SET seq = {count - 1}, hash = (SELECT hash FROM events WHERE seq = {count - 1})"
    unsaid = "NOT IN (SELECT subject FROM events)"  # the last event is a proposal's first
    forget = [f"DELETE FROM plans WHERE proposal_id {unsaid}", f"DELETE FROM proposals WHERE id {unsaid}"]
    assert "head_differs" in after(original, copy, cut)
    assert after(original, copy, cut, *forget, mend) == set(), "with nothing kept elsewhere, a clever cut is not found"
    assert after(original, copy, cut, *forget, mend, saved=saved) == {"truncated"}


@pytest.mark.claim("C5")
def test_a_rewritten_chain_is_found_by_a_saved_head(original: Path, tmp_path: Path) -> None:
    copy, saved = tmp_path / "copy.db", last_head(original)
    shutil.copy(original, copy)
    rewrite(copy, lambda body: {**body, "policy_digest": "another"})
    with Store.open(f"sqlite:///{copy}", create=False) as store:
        assert verify(store).ok
        assert {finding.code for finding in verify(store, saved=saved).findings} == {"replaced"}


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE proposals SET state = 'approved' WHERE state = 'pending'",
        "UPDATE proposals SET canonical = x'7b7d' WHERE state = 'denied'",
        "UPDATE proposals SET decision = '{}' WHERE state = 'pending'",
        "UPDATE proposals SET version = version + 1",
        "UPDATE grants SET issued_by = 'rule:all-values-known' WHERE issued_by = 'observe'",
        "DELETE FROM attempts",
        "DELETE FROM grants WHERE issued_by = 'observe'",
        "DELETE FROM endorsements",
        "UPDATE attempts SET fence = 2",
        "UPDATE endorsements SET value = 'other@x.example'",
        "UPDATE endorsements SET source = 'user'",
        PLANT,
        "INSERT INTO reviewers SELECT 'mallory', '01234567', token_hash, '', 1, NULL, '', '' FROM reviewers LIMIT 1",
        'UPDATE reviewers SET roles = \'{"roles":["breaker"],"scope":{}}\' WHERE name = \'ann\'',
        "UPDATE reviewers SET person = 'ben' WHERE name = 'ann'",
        "UPDATE plans SET body = replace(body, '\"approver\":1', '\"approver\":2')",
        "UPDATE plans SET tier = 'low'",
        "UPDATE plans SET edited_by = 'ben'",
        "DELETE FROM plans",
        "UPDATE votes SET vote = 'no' WHERE vote = 'yes'",
        "UPDATE votes SET roles = '[]'",
        "UPDATE votes SET endorse = 0",
        "DELETE FROM votes WHERE vote = 'no'",
        "INSERT INTO votes SELECT id, 'ben', 'ben', 'yes', '[]', '', '', digest, 1, '', '', 1 FROM proposals LIMIT 1",
        "UPDATE reviewers SET token_hash = 'x' WHERE name = 'ann'",
        "UPDATE reviewers SET disabled_at = NULL WHERE name = 'ben'",
        "DELETE FROM reviewers WHERE name = 'ben'",
        "DELETE FROM proposals WHERE state = 'denied'",
        "INSERT INTO grants SELECT id, digest, 'rule:x', 1, 9, NULL FROM proposals WHERE state = 'pending'",
        "DELETE FROM uses WHERE kind = 'mandate'",
        "DELETE FROM uses WHERE kind = 'endorsement'",
        "INSERT INTO uses SELECT id, 'mandate', 'nobody', '1', 1 FROM proposals WHERE state = 'pending'",
        "UPDATE mandates SET ended_at = NULL, ended_by = ''",
        "UPDATE endorsements SET ended_at = NULL, ended_by = ''",
        "DELETE FROM mandates WHERE ended_at IS NOT NULL",
        "UPDATE mandates SET body = replace(body, '100', '999')",
    ],
)
def test_tables_that_say_something_else_than_the_events_are_found(original: Path, tmp_path: Path, change: str) -> None:
    assert after(original, tmp_path / "copy.db", change) & {"row_differs", "row_missing"}


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table.name, column.name)
        for table in (proposals, grants, attempts, endorsements, mandates, uses, reviewers)
        for column in table.columns
        if (table.name, column.name) != ("endorsements", "id")  # a number that nothing refers to
    ],
)
def test_an_edit_of_any_column_of_any_row_is_found(original: Path, tmp_path: Path, table: str, column: str) -> None:
    connection = sqlite3.connect(original)
    rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
    connection.close()
    for row in rows:
        change = f"UPDATE {table} SET {column} = 'other' WHERE rowid = {row}"
        assert after(original, tmp_path / "copy.db", change), f"{table}.{column} of row {row}"


@pytest.mark.claim("C5")
@pytest.mark.parametrize("fence", [0, 1])
def test_a_planted_attempt_is_found(original: Path, tmp_path: Path, fence: int) -> None:
    plant = f"INSERT INTO attempts SELECT id, {fence}, 'k', 'o', 1, 1, 1, '1', NULL FROM proposals"
    assert after(original, tmp_path / "copy.db", f"{plant} WHERE state = 'pending'") == {"row_differs"}


NEWER = {"record_digest", "result_digest", "error_digest", "kept"}


@pytest.mark.parametrize(
    ("change", "finds"),
    [
        ("UPDATE proposals SET note = note", False),
        ("UPDATE proposals SET requester = 'eve'", True),
        ("UPDATE proposals SET decide_by = decide_by + 1", True),
        ("UPDATE proposals SET endorsable = '[]'", False),  # what the events of that version do not hold
        ("UPDATE attempts SET result = '1'", False),
        ("UPDATE attempts SET owner = '1'", True),
    ],
)
def test_a_log_of_an_older_version_is_compared_as_far_as_it_goes(
    original: Path, tmp_path: Path, change: str, finds: bool
) -> None:
    older = tmp_path / "older.db"
    shutil.copy(original, older)
    rewrite(older, lambda body: {name: value for name, value in body.items() if name not in NEWER})
    assert bool(after(older, tmp_path / "copy.db", change)) is finds


def edit(store: Store, statement: str) -> None:
    with store.write() as connection:
        connection.execute(sa.text(statement))


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        'endorsable = \'[{"value"\\:"x","source"\\:"s","role"\\:"r","tool"\\:"t","kind"\\:"k"}]\'',
        "requester = 'somebody'",
        "decide_by = decide_by + 1000000",
        "mode = 'observe'",
    ],
)
def test_a_call_that_was_edited_beside_the_log_cannot_be_approved(store: Store, desk: Desk, change: str) -> None:
    proposal = desk.propose()
    edit(store, f"UPDATE proposals SET {change}")
    with pytest.raises(StoreCorruptError):
        desk.approve(proposal)
    assert desk.queue.grant(proposal.id) is None
    assert desk.queue.endorsements("t") == []


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE proposals SET execute_by = execute_by + 1000000",
        "UPDATE grants SET execute_by = execute_by + 1000000",
        "UPDATE proposals SET idempotency = 'read'",
        "UPDATE proposals SET mode = 'observe'",
    ],
)
def test_a_permit_that_was_edited_beside_the_log_runs_nothing(store: Store, desk: Desk, change: str) -> None:
    proposal, ran = desk.approve(desk.propose()), list[object]()
    edit(store, change)
    with pytest.raises(StoreCorruptError):
        Executor(desk.queue).run(proposal.id, lambda args, key: ran.append(args))
    assert not ran
    assert desk.queue.get(proposal.id).state is State.INVALIDATED


@pytest.mark.claim("C5")
def test_a_result_that_was_edited_is_not_handed_out(store: Store, desk: Desk) -> None:
    executor = Executor(desk.queue)
    done = executor.run(desk.approve(desk.propose()).id, lambda args, key: "sent").proposal
    assert executor.look(done.id).result == "sent"
    edit(store, "UPDATE attempts SET result = '\"forged\"'")
    with pytest.raises(StoreCorruptError):
        executor.look(done.id)


@pytest.mark.claim("C5")
def test_a_planted_endorsement_vouches_for_nothing(store: Store, desk: Desk) -> None:
    desk.approve(desk.propose())
    assert len(desk.queue.endorsements("t")) == 1
    edit(store, "UPDATE endorsements SET tool = 'pay'")
    with pytest.raises(StoreCorruptError):
        desk.queue.endorsements("t")


@pytest.mark.claim("C5")
def test_an_edit_that_a_later_move_took_over_is_found_all_the_same(store: Store, desk: Desk) -> None:
    edited, lengthened = desk.propose(), desk.propose()
    with store.write() as connection:
        connection.execute(sa.text("UPDATE proposals SET note = 'yes'"))
    desk.queue.reject(lengthened.id, desk.reviewer)
    with store.write() as connection:
        connection.execute(sa.update(proposals).where(proposals.c.id == edited.id).values(state="approved", note=""))
    desk.queue.invalidate(edited.id, "undone")
    assert {finding.text.split()[2] for finding in verify(store).findings} == {edited.id, lengthened.id}


def test_an_event_and_its_change_commit_together(store: Store, desk: Desk) -> None:
    proposal = desk.propose()
    tamper(Path(store.path or ""), "DELETE FROM audit_head")
    with pytest.raises(Exception, match="lost its head"):
        desk.approve(proposal)
    assert desk.queue.get(proposal.id) == proposal
    assert desk.queue.grant(proposal.id) is None
    assert not verify(store).ok


def test_saved_heads() -> None:
    for head in (Head(0, ""), Head(12, "sha256:ab")):
        assert parse_head(format_head(head) + "\n") == head
    for text in ("", "12 sha256:ab", "checkvalve-head-1 x y", "checkvalve-head-2 1 y"):
        with pytest.raises(ValueError, match="saved head"):
            parse_head(text)


def test_many_findings_are_counted(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkvalve.approvals.walk.MAX_FINDINGS", 3)
    copy = tmp_path / "copy.db"
    shutil.copy(original, copy)
    tamper(copy, "UPDATE events SET at = at + 1")
    with Store.open(f"sqlite:///{copy}") as store:
        report = verify(store)
    assert (len(report.findings), report.to_json()["ok"]) == (3, False)
    assert report.more >= length(original) - 3
