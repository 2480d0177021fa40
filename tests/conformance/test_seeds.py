"""Seeded items in the store, on every database: consent, one person, one answer, and nothing that could ever run."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import attention, report, seed_figures, seeds
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import ConflictError, CredentialError, NotAllowedError, NotFoundError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.seed_cards import as_question
from checkvalve.approvals.seed_tables import seed_consents
from checkvalve.approvals.seed_tables import seeds as seed_rows
from checkvalve.approvals.tables import attempts, grants, proposals
from checkvalve.approvals.verify import verify
from checkvalve.gateway.seed_keeper import MAX_WAITING, SeedKeeper
from tests.approvals.emergency import add
from tests.approvals.made import Desk
from tests.conformance.test_edits_store import another

MANIFEST = """
version: 1
name: seeds
principal: {domain: [corp.example]}
tools:
  read_mail: {effect: read, idempotency: read}
  send_mail:
    effect: send
    asks: [send]
    args: {to: {role: target, kind: email}, body: {role: content}}
"""
pytestmark = pytest.mark.claim("C4")


def keeper(desk: Desk, *, per_week: int = 2, seed: int = 1) -> SeedKeeper:
    manifest, policy = parse_manifest(MANIFEST, "seeds.yaml"), load_policy(None)
    return SeedKeeper(desk.queue, manifest, policy, per_week=per_week, draw=random.Random(seed))


def planted(desk: Desk, reviewer: Reviewer | None = None, *, seed: int = 1) -> seeds.Seed:
    """Let an item be made for somebody who agrees, if they have not yet."""
    who = reviewer or desk.reviewer
    if who.name not in {item.reviewer for item in seeds.consents(desk.queue) if item.holds}:
        seeds.agree(desk.queue, who)
    if not desk.queue.list():
        desk.propose()  # somebody asks here
    maker = keeper(desk, seed=seed)
    for _ in range(40):
        desk.clock.advance(days=1)
        maker.tick()
        if found := seeds.open_for(desk.queue, who):
            return found[0]
    raise AssertionError("none was made within 40 days")


def test_nothing_is_made_without_the_setting_and_nothing_without_consent(desk: Desk) -> None:
    desk.propose()
    another(desk, "ben")
    seeds.agree(desk.queue, desk.reviewer)
    for _ in range(30):
        desk.clock.advance(days=1)
        assert keeper(desk, per_week=0).tick() == 0
    item = planted(desk)
    assert item.reviewer == "ann"
    with desk.queue.store.read() as connection:
        assert set(connection.execute(sa.select(seed_rows.c.reviewer)).scalars()) == {"ann"}


def test_a_person_gets_at_most_so_many_within_any_week(desk: Desk) -> None:
    planted(desk)
    maker, made = keeper(desk, per_week=2), list[int]()
    for _ in range(24 * 60):
        desk.clock.advance(hours=1)
        if maker.tick():
            made.append(desk.clock())
            (item,) = seeds.open_for(desk.queue, desk.reviewer)
            seeds.answer(desk.queue, item.id, desk.reviewer, seeds.NO)
    assert len(made) > 10
    week = int(timedelta(days=7).total_seconds() * 1_000_000)
    assert all(later - first >= week for first, later in zip(made, made[2:], strict=False))


def test_no_item_is_made_while_many_real_questions_wait(desk: Desk) -> None:
    seeds.agree(desk.queue, desk.reviewer)
    maker = keeper(desk, per_week=5)
    for number in range(40):
        for _ in range(MAX_WAITING + 1 - len(desk.queue.list([State.PENDING]))):
            desk.propose(request=desk.request(thread=f"t{number}", to=f"a{next(desk.calls)}@b.example"))
        desk.clock.advance(hours=20)
        while len(desk.queue.list([State.PENDING])) <= MAX_WAITING:
            desk.propose(request=desk.request(thread=f"u{next(desk.calls)}", to=f"a{next(desk.calls)}@b.example"))
        assert maker.tick() == 0


def test_an_item_is_answered_once_revealed_at_once_and_marked_in_the_log(desk: Desk) -> None:
    item = planted(desk)
    assert item.body["bad"] != item.body["good"]
    closed = seeds.answer(desk.queue, item.id, desk.reviewer, seeds.YES)
    told = closed.revealed()
    assert (told["seeded"], told["caught"], told["answer"], told["flaw"]) == (True, False, "yes", "other_target")
    with pytest.raises(ConflictError):
        seeds.answer(desk.queue, item.id, desk.reviewer, seeds.NO)
    with desk.queue.store.read() as connection:
        events = list(read_events(connection, subject=item.id))
    assert [event.kind for event in events] == ["seeded.made", "seeded.answered"]
    assert all('"seeded":true' in event.body for event in events)
    assert not any("ann" in event.body for event in events)
    assert verify(desk.queue.store).ok


def test_nothing_of_it_can_run_and_no_figure_of_real_questions_has_it(desk: Desk) -> None:
    item = planted(desk)
    row, ran = as_question(item), list[Any]()
    real = desk.queue.list()
    for act in (
        lambda: desk.queue.approve(item.id, desk.reviewer, row.digest),
        lambda: desk.queue.reject(item.id, desk.reviewer),
        lambda: desk.queue.get(item.id),
        lambda: Executor(desk.queue, wait=timedelta()).run(item.id, lambda args, key: ran.append(args)),
    ):
        with pytest.raises(NotFoundError):
            act()
    for table, values in (
        (grants, {"digest": row.digest, "issued_by": "x", "issued_at": 1, "execute_by": 2}),
        (attempts, {"fence": 1, "idempotency_key": "k", "owner": "o", "lease_until": 1, "started_at": 1}),
    ):
        with pytest.raises(Exception, match=r"(?i)foreign key|IntegrityError"), desk.queue.store.write() as connection:
            connection.execute(sa.insert(table).values(proposal_id=item.id, **values))
    seeds.answer(desk.queue, item.id, desk.reviewer, seeds.YES)
    assert ran == []
    assert desk.queue.list() == real
    assert desk.queue.grant(item.id) is None
    found = report.report(desk.queue.store, since=0, until=desk.clock(), fast=2.0)
    assert sum(group.asked for group in found.groups) == len(real)
    assert found.people == []
    with desk.queue.store.read() as connection:
        assert attention.given(connection, "ann", desk.clock()) == []
    assert not desk.queue.flood(row.thread).paused


def test_what_nobody_answers_is_closed_in_silence(desk: Desk) -> None:
    item = planted(desk)
    desk.clock.now = item.expires_at
    assert seeds.open_for(desk.queue, desk.reviewer) == []
    assert seeds.close_over(desk.queue) == 1
    assert seeds.find(desk.queue, item.id, desk.reviewer) is None
    assert seed_figures.own(desk.queue.store, desk.reviewer).answered == 0
    with pytest.raises(NotFoundError):
        seeds.answer(desk.queue, item.id, desk.reviewer, seeds.NO)


def test_taking_the_consent_back_closes_what_is_open_and_ends_it(desk: Desk) -> None:
    item = planted(desk)
    seeds.withdraw(desk.queue, desk.reviewer)
    assert seeds.open_for(desk.queue, desk.reviewer) == []
    assert seeds.find(desk.queue, item.id, desk.reviewer) is None
    with pytest.raises(ConflictError):
        seeds.withdraw(desk.queue, desk.reviewer)
    maker = keeper(desk, per_week=5)
    for _ in range(30):
        desk.clock.advance(days=1)
        assert maker.tick() == 0
    assert verify(desk.queue.store).ok


def test_it_is_one_persons_and_nobody_else_sees_or_answers_it(desk: Desk) -> None:
    ben = another(desk, "ben")
    item = planted(desk)
    seeds.agree(desk.queue, ben)
    assert seeds.open_for(desk.queue, ben) == []
    assert seeds.find(desk.queue, item.id, ben) is None
    with pytest.raises(NotFoundError):
        seeds.answer(desk.queue, item.id, ben, seeds.NO)
    desk.queue.reviewers.disable("ben", by=desk.reviewer)
    with pytest.raises(CredentialError):
        seeds.withdraw(desk.queue, ben)


def test_auditors_see_which_ids_are_seeded_never_whose_and_not_their_own_before_they_answer(desk: Desk) -> None:
    ben, cem = add(desk, "ben", Role.APPROVER), add(desk, "cem", Role.AUDITOR)
    item = planted(desk)
    assert seeds.listed(desk.queue, cem) == [{"id": item.id, "seeded": True, "state": "open"}]
    assert seeds.listed(desk.queue, desk.reviewer) == []  # ann is an administrator, and this one is hers
    with pytest.raises(NotAllowedError):
        seeds.listed(desk.queue, ben)
    seeds.answer(desk.queue, item.id, desk.reviewer, seeds.DOUBT)
    assert seeds.listed(desk.queue, desk.reviewer) == [{"id": item.id, "seeded": True, "state": "doubt"}]


def test_a_teams_figures_are_of_several_people_and_ones_own_are_ones_own(desk: Desk) -> None:
    people = [desk.reviewer, *(another(desk, name) for name in ("ben", "cem"))]
    for number, (who, said) in enumerate(zip(people, (seeds.NO, seeds.YES, seeds.DOUBT), strict=True)):
        assert seed_figures.team(desk.queue.store) is None
        item = planted(desk, who, seed=number)
        seeds.answer(desk.queue, item.id, who, said)
    found = seed_figures.team(desk.queue.store)
    assert found is not None
    assert (found.caught, found.missed, found.rate) == (2, 1, 2 / 3)
    assert seed_figures.own(desk.queue.store, people[1]).to_json() == {"caught": 0, "missed": 1, "rate": 0.0}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("what", ["body", "reviewer", "answer", "expires_at"])
def test_an_item_that_was_edited_by_hand_is_shown_to_nobody_and_found(desk: Desk, what: str) -> None:
    another(desk, "ben")
    item = planted(desk)
    new: Any = {"body": "{}", "reviewer": "ben", "answer": "no", "expires_at": item.expires_at + 1}[what]
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(seed_rows).values({what: new}))
    assert seeds.open_for(desk.queue, desk.reviewer) == []
    assert seeds.find(desk.queue, item.id, desk.reviewer) is None
    assert [found.code for found in verify(desk.queue.store).findings] == ["row_differs"]


@pytest.mark.claim("C5")
def test_a_planted_consent_shows_nobody_anything(desk: Desk) -> None:
    ben = another(desk, "ben")
    desk.propose()
    with desk.queue.store.write() as connection:
        values = {"reviewer": "ben", "agreed_at": 5, "ended_at": None, "next_at": 1}
        connection.execute(sa.insert(seed_consents).values(values))
    desk.clock.advance(days=1)
    assert keeper(desk).tick() == 0
    with pytest.raises(ConflictError, match="has not agreed"), desk.queue.store.write() as connection:
        seeds.plant(connection, "ben", {}, at=desk.clock(), expires_at=desk.clock() + 1)
    assert seeds.open_for(desk.queue, ben) == []
    assert [found.code for found in verify(desk.queue.store).findings] == ["row_differs"]


def test_a_real_call_is_never_taken_for_a_seeded_one(desk: Desk) -> None:
    """Whoever writes into the database gives a row of items the id of a real call: the call comes first."""
    item = planted(desk)
    real = desk.propose(request=desk.request(thread="seeded", to="seeded@evil.example"))
    with desk.queue.store.write() as connection:
        row = connection.execute(sa.select(seed_rows)).mappings().one()
        connection.execute(sa.insert(seed_rows).values(**{**row, "id": real.id}))
    assert [one.id for one in seeds.open_for(desk.queue, desk.reviewer)] == [item.id]
    assert seeds.find(desk.queue, real.id, desk.reviewer) is None
    with pytest.raises(NotFoundError):
        seeds.answer(desk.queue, real.id, desk.reviewer, seeds.NO)
    assert desk.queue.get(real.id).state is State.PENDING
    with desk.queue.store.read() as connection:
        assert connection.execute(sa.select(proposals.c.id).where(proposals.c.id == item.id)).first() is None
