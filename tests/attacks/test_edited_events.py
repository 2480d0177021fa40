"""Whoever can write rows writes events, too: what is about to be relied on is compared with what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.audit import Event, commitment, event_form
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.erasure import erase_call
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.recorded_account import credential_digest
from checkvalve.approvals.records import State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.approvals.tables import audit_head, endorsements, events, reviewers, tiles, uses
from tests.approvals.made import ALLOW, QUICK, Desk, HandClock
from tests.approvals.sealed import QUICK_KEY
from tests.approvals.standing_world import World, standing_world
from tests.databases import Databases

pytestmark = [pytest.mark.claim("C4"), pytest.mark.claim("C5")]

Change = Callable[[sa.Connection, Event, str], None]


@pytest.fixture
def desk(databases: Databases) -> Iterator[Desk]:
    with Store.open(databases.make(ready=True)) as store:
        yield Desk.at(store, HandClock())


def seal(desk: Desk, folder: Path) -> None:
    Sealer(desk.queue.store, QUICK_KEY, folder / "signed", clock=desk.clock).seal()


def added(connection: sa.Connection, name: str) -> Event:
    query = sa.select(events).where(events.c.subject == f"reviewer:{name}", events.c.kind == "reviewer.added")
    return Event(**connection.execute(query).mappings().one())


def put(connection: sa.Connection, seq: int, **values: Any) -> None:
    assert connection.execute(sa.update(events).where(events.c.seq == seq).values(values)).rowcount == 1


def body_alone(connection: sa.Connection, event: Event, body: str) -> None:
    """Leave hash and commitment as they were."""
    put(connection, event.seq, body=body)


def made_whole(connection: sa.Connection, event: Event, body: str) -> None:
    """Make commitment and hash fit the body; the event behind it stays bound to the old hash."""
    put(connection, event.seq, **rebuilt(event, event.prev, body))


def made_anew(connection: sa.Connection, event: Event, body: str) -> None:
    """Compute the chain anew, from the edited event to the head."""
    prev, text = event.prev, body
    query = sa.select(events).where(events.c.seq >= event.seq).order_by(events.c.seq)
    for row in connection.execute(query).mappings().all():
        one = Event(**row)
        values = rebuilt(one, prev, text if one.seq == event.seq else one.body)
        put(connection, one.seq, **values)
        prev = values["hash"]
    connection.execute(sa.update(audit_head).values(hash=prev))


def emptied(connection: sa.Connection, event: Event, body: str) -> None:
    """Take body and salt away, as erasing does, without an event that says so."""
    del body
    put(connection, event.seq, body="", salt=None)


def rebuilt(event: Event, prev: str, body: str) -> dict[str, str]:
    kept = commitment(event.salt or "", body)
    form = event_form(
        prev, seq=event.seq, at=event.at, kind=event.kind, subject=event.subject, hashed=kept, committed=True
    )
    return {"prev": prev, "body": body, "commitment": kept, "hash": "sha256:" + hashlib.sha256(form).hexdigest()}


def taken_over(desk: Desk, change: Change) -> Reviewer:
    """Write a credential of one's own into the account of somebody else, and into the event that says it."""
    hashed = QUICK.hash("secret")
    with desk.queue.store.write() as connection:
        event = added(connection, "ben")
        own = sa.update(reviewers).where(reviewers.c.name == "ben").values(selector="aaaa", token_hash=hashed)
        connection.execute(own)
        body = {**json.loads(event.body), "credential": credential_digest("aaaa", hashed)}
        change(connection, event, canonical(body).decode())
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        desk.queue.reviewers.authenticate("cvr_aaaa_secret")
    return Reviewer("ben", "aaaa")  # and as if it had been let in all the same


@pytest.mark.parametrize("change", [body_alone, made_whole, emptied])
@pytest.mark.parametrize("signed", [True, False])
def test_an_edited_event_of_an_account_gives_nobody_a_second_voice(
    desk: Desk, tmp_path: Path, change: Change, *, signed: bool
) -> None:
    desk.queue.reviewers.add("ben", by=desk.reviewer)
    asked = desk.propose()
    if signed:
        seal(desk, tmp_path)
    forged = taken_over(desk, change)
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        desk.queue.approve(asked.id, forged, asked.digest)
    assert desk.queue.get(asked.id).state is State.PENDING


def test_a_chain_that_was_computed_anew_is_not_the_one_that_was_signed(desk: Desk, tmp_path: Path) -> None:
    desk.queue.reviewers.add("ben", by=desk.reviewer)
    asked = desk.propose()
    seal(desk, tmp_path)
    forged = taken_over(desk, made_anew)
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        desk.queue.approve(asked.id, forged, asked.digest)


def test_a_signed_event_whose_leaf_was_removed_is_not_believed(desk: Desk, tmp_path: Path) -> None:
    desk.queue.reviewers.add("ben", by=desk.reviewer)
    asked = desk.propose()
    seal(desk, tmp_path)
    with desk.queue.store.write() as connection:
        connection.execute(sa.delete(tiles))
    forged = taken_over(desk, made_anew)
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        desk.queue.approve(asked.id, forged, asked.digest)


def test_the_last_event_is_bound_by_the_head(desk: Desk) -> None:
    asked = desk.propose()
    desk.queue.reviewers.add("ben", by=desk.reviewer)
    forged = taken_over(desk, made_whole)
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        desk.queue.approve(asked.id, forged, asked.digest)


def test_an_edited_event_of_a_call_lets_nothing_run(desk: Desk) -> None:
    asked = desk.approve(desk.propose())
    with desk.queue.store.write() as connection:
        first = next(iter(list(audit.read_events(connection, subject=asked.id))))
        put(connection, first.seq, body=canonical({**json.loads(first.body), "profile": "open"}).decode())
    with pytest.raises(StoreCorruptError, match="is not what was written"):
        Executor(desk.queue).run(asked.id, lambda args, key: pytest.fail("it ran"))
    assert desk.queue.get(asked.id).state is State.INVALIDATED


def test_harmless_twin_signed_and_erased_events_are_relied_on(desk: Desk, tmp_path: Path) -> None:
    done = desk.propose(ALLOW)
    seal(desk, tmp_path)
    Executor(desk.queue).run(done.id, lambda args, key: "sent")
    with desk.queue.store.write() as connection:
        erase_call(connection, done.id, at=desk.clock(), by="ann", reason="asked for")
    for _ in range(2):
        with desk.queue.store.read() as connection:
            require_recorded(connection, done.id)
        seal(desk, tmp_path)
    assert desk.approve(desk.propose()).state is State.APPROVED


def accepted(desk: Desk) -> Use:
    desk.approve(desk.propose())
    return Use("endorsement", desk.queue.endorsements("t")[0].id)


def mandated(desk: Desk) -> Use:
    return Use("mandate", desk.grant(max_calls=3).id, "40.5")


def end(desk: Desk, use: Use) -> None:
    if use.kind == "mandate":
        desk.queue.revoke_mandate(use.id, desk.reviewer)
    else:
        desk.queue.revoke_endorsement(use.id, desk.reviewer)


def run(desk: Desk, name: str) -> None:
    Executor(desk.queue).run(name, lambda args, key: pytest.fail("it ran"))


@pytest.mark.parametrize("given", [accepted, mandated])
def test_a_removed_use_revives_nothing_that_was_taken_back(desk: Desk, given: Callable[[Desk], Use]) -> None:
    use = given(desk)
    call = desk.use(use)
    assert call.state is State.APPROVED
    end(desk, use)
    with desk.queue.store.write() as connection:
        assert connection.execute(sa.delete(uses)).rowcount == 1
    with pytest.raises(StoreCorruptError, match="relies on"):
        run(desk, call.id)
    assert desk.queue.get(call.id).state is State.INVALIDATED


@pytest.mark.parametrize("given", [accepted, mandated])
def test_one_of_two_uses_that_was_exchanged_is_missed(desk: Desk, given: Callable[[Desk], Use]) -> None:
    use, other = given(desk), replace(mandated(desk), amount="1")
    call = desk.use(use)
    end(desk, use)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(uses).values(kind=other.kind, item=other.id))
    with pytest.raises(StoreCorruptError, match="relies on"):
        run(desk, call.id)


@pytest.mark.parametrize("given", [accepted, mandated])
def test_harmless_twin_what_is_still_given_runs_and_what_has_ended_does_not(
    desk: Desk, given: Callable[[Desk], Use]
) -> None:
    use = given(desk)
    first, second = desk.use(use), desk.use(use)
    assert Executor(desk.queue).run(first.id, lambda args, key: "sent").state is State.SUCCEEDED
    end(desk, use)
    assert Executor(desk.queue).run(second.id, lambda args, key: "sent").state is State.INVALIDATED


def test_an_acceptance_whose_end_was_taken_out_of_its_row_counts_no_more(desk: Desk) -> None:
    use = accepted(desk)
    call = desk.use(use)
    end(desk, use)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(endorsements).values(ended_at=None, ended_by=""))
    with pytest.raises(StoreCorruptError, match="endorsement"):
        run(desk, call.id)


def test_a_removed_use_revives_no_standing_rule(tmp_path: Path) -> None:
    with standing_world(tmp_path) as world:
        assert isinstance(world, World)
        rule = world.rule()
        call = world.ask()
        assert call.rule == f"standing:{rule.id}"
        world.gateway.queue.standing_rules.revoke(rule.id, world.ann)
        with world.gateway.store.write() as connection:
            assert connection.execute(sa.delete(uses)).rowcount == 1
        with pytest.raises(StoreCorruptError, match="relies on"):
            world.run(call)
        assert world.gateway.queue.get(call.id).state is State.INVALIDATED
