from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals import audit
from checkvalve.approvals.audit import Head, chain_hash
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import format_head, parse_head, verify
from tests.approvals.made import Desk, fill, tamper

PLANT = (
    "INSERT INTO endorsements SELECT 99, thread, value_digest, value, source, role, 'pay', kind, proposal_id, 'x', 1"
    " FROM endorsements"
)
COLUMNS = ("at", "kind", "subject", "body", "prev", "hash")


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
    forget = (
        "DELETE FROM proposals WHERE id NOT IN (SELECT subject FROM events)"  # the last event is a proposal's first
    )
    assert "head_differs" in after(original, copy, cut)
    assert after(original, copy, cut, forget, mend) == set(), "with nothing kept elsewhere, a clever cut is not found"
    assert after(original, copy, cut, forget, mend, saved=saved) == {"truncated"}


@pytest.mark.claim("C5")
def test_a_rewritten_chain_is_found_by_a_saved_head(original: Path, tmp_path: Path) -> None:
    copy, saved = tmp_path / "copy.db", last_head(original)
    shutil.copy(original, copy)
    connection = sqlite3.connect(copy)
    rows = connection.execute("SELECT seq, at, kind, subject, body FROM events ORDER BY seq").fetchall()
    prev = ""
    for seq, at, kind, subject, body in rows:
        new = chain_hash(prev, seq=seq, at=at + 1, kind=kind, subject=subject, body=body)
        connection.execute("UPDATE events SET at = ?, prev = ?, hash = ? WHERE seq = ?", (at + 1, prev, new, seq))
        prev = new
    connection.execute("UPDATE audit_head SET hash = ?", (prev,))
    connection.commit()
    connection.close()
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
        "INSERT INTO reviewers SELECT 'mallory', '0123456789abcdef', token_hash, '', 1, NULL FROM reviewers LIMIT 1",
        "UPDATE reviewers SET token_hash = 'x' WHERE name = 'ann'",
        "UPDATE reviewers SET disabled_at = NULL WHERE name = 'ben'",
        "DELETE FROM reviewers WHERE name = 'ben'",
        "DELETE FROM proposals WHERE state = 'denied'",
        "INSERT INTO grants SELECT id, digest, 'rule:x', 1, 9, NULL FROM proposals WHERE state = 'pending'",
    ],
)
def test_tables_that_say_something_else_than_the_events_are_found(original: Path, tmp_path: Path, change: str) -> None:
    assert after(original, tmp_path / "copy.db", change) & {"row_differs", "row_missing"}


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
    monkeypatch.setattr("checkvalve.approvals.verify.MAX_FINDINGS", 3)
    copy = tmp_path / "copy.db"
    shutil.copy(original, copy)
    tamper(copy, "UPDATE events SET at = at + 1")
    with Store.open(f"sqlite:///{copy}") as store:
        report = verify(store)
    assert (len(report.findings), report.more, report.to_json()["ok"]) == (3, length(original) - 3, False)
