from __future__ import annotations

import pytest
import sqlalchemy as sa

from checkvalve.approvals.errors import CredentialError, QueueError
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from tests import paid_once
from tests.approvals.made import QUICK, HandClock


@pytest.fixture
def board(store: Store, clock: HandClock) -> Reviewers:
    return Reviewers(store, clock, QUICK)


@pytest.mark.claim("C4")
def test_a_token_proves_its_person_and_is_kept_as_a_hash_only(board: Reviewers, store: Store) -> None:
    token = board.add("Ann@Example.org")
    reviewer = board.authenticate(f" {token}\n")
    assert reviewer.name == "ann@example.org"
    secret = token.rpartition("_")[2] if "_" not in token.split("_", 2)[2] else token.split("_", 2)[2]
    with store.read() as connection:
        stored = repr(connection.execute(sa.select(reviewers)).all())
    assert "$argon2id$" in stored
    assert secret not in stored
    assert secret not in repr(reviewer)


@pytest.mark.claim("C4")
def test_whoever_takes_the_database_does_not_try_secrets_quickly(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    paid_once.hash_slowly(monkeypatch)
    board = Reviewers(store)
    assert board.authenticate(board.add("ann")).name == "ann"
    with store.read() as connection:
        assert "$m=65536,t=3,p=4$" in connection.execute(sa.select(reviewers.c.token_hash)).scalar_one()


@pytest.mark.claim("C4")
def test_nothing_else_proves_anything(board: Reviewers) -> None:
    token = board.add("ann")
    prefix, selector, secret = token.split("_", 2)
    wrong = [
        "",
        "x",
        secret,
        f"{prefix}_{selector}_",
        f"{prefix}_{'0' * 16}_{secret}",
        token[:-1],
        token + "x",
        "cvr_" * 100,
        "cvr_\u00e9_x",
    ]
    for attempt in wrong:
        with pytest.raises(CredentialError) as caught:
            board.authenticate(attempt)
        assert secret not in str(caught.value)


@pytest.mark.claim("C4")
def test_only_a_reviewer_adds_another_one(board: Reviewers) -> None:
    ann = board.authenticate(board.add("ann"))
    with pytest.raises(CredentialError, match="only a reviewer"):
        board.add("agent")
    board.authenticate(board.add("ben", by=ann))
    assert [(entry.name, entry.added_by) for entry in board.list()] == [("ann", "setup"), ("ben", "ann")]
    with pytest.raises(QueueError, match="already"):
        board.add("\uff21nn ", by=ann)
    with pytest.raises(QueueError, match="already"):
        board.add("\xe1nn", by=ann)
    for name in ("", "  ", "\u3164", "x" * 101, "a\u202eb", "a\nb", "a\u115fb", "a\ufe0f", "\u0430nna"):
        with pytest.raises(QueueError, match="printable"):
            board.add(name, by=ann)


def test_a_disabled_reviewer_is_nobody_but_stays_on_the_list(board: Reviewers) -> None:
    token = board.add("ann")
    ann = board.authenticate(token)
    ben = board.authenticate(board.add("ben", by=ann))
    board.disable("ANN", by=ben)
    with pytest.raises(CredentialError):
        board.authenticate(token)
    with pytest.raises(CredentialError):
        board.add("eve", by=ann)
    with pytest.raises(QueueError, match="no such reviewer"):
        board.disable("ann", by=ben)
    assert [entry.disabled_at is not None for entry in board.list()] == [True, False]


def test_a_planted_hash_that_is_none_is_refused(board: Reviewers, store: Store) -> None:
    token = board.add("ann")
    with store.write() as connection:
        connection.execute(sa.update(reviewers).values(token_hash="plain"))
    with pytest.raises(CredentialError, match="cannot be read"):
        board.authenticate(token)
