"""Seeded items go by the rules of retention, with their events, and the archive proves them; open ones stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkvalve.approvals import seeds
from checkvalve.approvals.bundles import verify_bundle
from checkvalve.approvals.clock import micros
from checkvalve.approvals.retention import Pruned, prune
from checkvalve.approvals.seed_tables import seed_consents
from checkvalve.approvals.seed_tables import seeds as rows
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from tests.approvals.made import Desk
from tests.approvals.sealed import Desk as Log
from tests.approvals.sealed import write
from tests.conformance.test_edits_store import another
from tests.conformance.test_seeds import planted

pytestmark = pytest.mark.claim("C5")


def counts(store: Store) -> tuple[int, int, int]:
    """Return how many items, consents and events of either there are."""
    mine = sa.or_(events.c.kind.startswith("seeded."), events.c.kind.startswith("seeding."))
    queries = (
        sa.select(sa.func.count()).select_from(rows),
        sa.select(sa.func.count()).select_from(seed_consents),
        sa.select(sa.func.count()).select_from(events).where(mine),
    )
    with store.read() as connection:
        first, second, third = (connection.execute(query).scalar_one() for query in queries)
    return first, second, third


def pruned(desk: Desk, log: Log, archive: Path) -> Pruned:
    """Remove what is older than thirty days."""
    write(desk.queue.store, 1)  # the last event that was signed is kept
    log.clock.now = desk.clock()
    log.sealer.seal()
    before = desk.clock() - micros(timedelta(days=30))
    return prune(desk.queue.store, log.key.public, archive, before=before, at=desk.clock(), by="ann")


def test_items_that_were_closed_and_consents_that_ended_are_removed_when_they_are_old(
    desk: Desk, tmp_path: Path
) -> None:
    store, log = desk.queue.store, Log(desk.queue.store, tmp_path)
    answered = planted(desk)
    seeds.answer(desk.queue, answered.id, desk.reviewer, seeds.NO)
    waiting = planted(desk, another(desk, "zoe"))
    before = counts(store)
    assert (before[0] >= 2, before[1]) == (True, 2)
    pruned(desk, log, tmp_path / "one.jsonl")
    assert counts(store) == before, "nothing of it is old"
    desk.clock.advance(days=40)
    pruned(desk, log, tmp_path / "two.jsonl")
    with store.read() as connection:
        left = list(connection.execute(sa.select(rows.c.id)).scalars())
    assert waiting.id in left, "it was never closed"
    assert answered.id not in left
    assert counts(store)[1] == 2, "both still agree"
    seeds.withdraw(desk.queue, desk.reviewer)
    seeds.close_over(desk.queue)
    desk.clock.advance(days=40)
    pruned(desk, log, tmp_path / "three.jsonl")
    assert counts(store) == (0, 1, 1), "one consent, and the event that it began with"
    log.sealer.seal()
    assert log.verify().ok, log.verify().findings
    assert verify_bundle(log.bundle(), log.key.public).ok
