"""An account that was written into the database by hand, or whose token was, answers no question."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.approvals import audit
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import subject_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import QUICK, Desk, HandClock

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk.at(store, HandClock())


def run(desk: Desk, statement: str, *values: object) -> None:
    path = desk.queue.store.path
    assert path is not None
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement, values).rowcount == 1


def planted(desk: Desk, name: str) -> str:
    """Write an account with a token of one's own into the table; return the token."""
    hashed = QUICK.hash("secret")
    columns = "name, selector, token_hash, added_by, added_at, roles, person"
    run(desk, f"INSERT INTO reviewers ({columns}) VALUES (?, 'aaaa', ?, 'ann', 1, '', '')", name, hashed)
    return "cvr_aaaa_secret"


def refuses(desk: Desk, token: str, name: str) -> None:
    """The token lets nobody in, and whoever was let in before the row was written decides nothing."""
    with pytest.raises(StoreCorruptError, match=r"account of|roles of"):
        desk.queue.reviewers.authenticate(token)
    who = Reviewer(name, token.split("_")[1])
    asked = desk.propose()
    for answer in (
        lambda: desk.queue.approve(asked.id, who, asked.digest),
        lambda: desk.queue.reject(asked.id, who),
        lambda: desk.queue.reviewers.add("mallory", by=who),
        lambda: desk.queue.reviewers.set_roles("ann", (), by=who),
    ):
        with pytest.raises(StoreCorruptError, match=r"account of|roles of"):
            answer()
    assert desk.queue.get(asked.id).state is State.PENDING


def test_a_planted_account_decides_nothing(desk: Desk) -> None:
    refuses(desk, planted(desk, "eve"), "eve")
    assert not verify(desk.queue.store).ok


def test_a_planted_token_decides_nothing_in_the_name_of_somebody_real(desk: Desk) -> None:
    run(desk, "UPDATE reviewers SET selector = 'bbbb', token_hash = ? WHERE name = 'ann'", QUICK.hash("secret"))
    refuses(desk, "cvr_bbbb_secret", "ann")


def test_an_account_that_was_enabled_again_by_hand_decides_nothing(desk: Desk) -> None:
    token = desk.queue.reviewers.add("ben", by=desk.reviewer)
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    run(desk, "UPDATE reviewers SET disabled_at = NULL WHERE name = 'ben'")
    refuses(desk, token, "ben")


def test_an_account_that_an_older_version_wrote_still_decides(desk: Desk) -> None:
    """It kept the events of all accounts in one place."""
    with desk.queue.store.read() as connection:
        (added,) = audit.read_events(connection, subject=subject_of("ann"))
    kept = added.commitment or ""
    form = audit.event_form(
        added.prev, seq=added.seq, at=added.at, kind=added.kind, subject="", hashed=kept, committed=True
    )
    written = "sha256:" + hashlib.sha256(form).hexdigest()
    run(desk, "UPDATE events SET subject = '', hash = ? WHERE subject = ?", written, subject_of("ann"))
    run(desk, "UPDATE audit_head SET hash = ?", written)
    asked = desk.propose()
    assert desk.queue.approve(asked.id, desk.reviewer, asked.digest).state is State.APPROVED
    token = planted(desk, "eve")
    refuses(desk, token, "eve")
    people: Reviewers = desk.queue.reviewers
    assert people.authenticate(desk.token) == desk.reviewer
