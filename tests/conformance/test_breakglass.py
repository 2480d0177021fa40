"""Breaking the glass, and the look that has to follow, on every database that the store supports."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.breakglass import break_glass, may_break
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    DigestError,
    NotAllowedError,
    NotFoundError,
    QueueError,
    StepUpError,
    StoreCorruptError,
)
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import State
from checkvalve.approvals.review_tables import afterlooks
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, REASON, RULES, add, broken, busy, looks, proven
from tests.approvals.made import Desk, HandClock

ONE_IS_ENOUGH = RULES.replace("approver: 2", "approver: 1")


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return busy(store, clock)


@pytest.fixture
def eve(desk: Desk) -> Reviewer:
    return add(desk, "eve", Role.BREAKER)


def events(desk: Desk, name: str) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in audit.read_events(connection, subject=name)]


def ran(desk: Desk, name: str) -> str:
    return Executor(desk.queue, wait=timedelta()).run(name, lambda args, key: "sent").proposal.state.value


@pytest.mark.claim("C4")
def test_one_person_lets_it_run_once_and_every_record_says_so(desk: Desk, eve: Reviewer) -> None:
    row = desk.propose()
    done = broken(desk, eve, row)
    assert (done.state, done.code, done.decided_by, done.note) == (
        State.APPROVED,
        "break_glass",
        "breakglass:eve",
        REASON,
    )
    assert done.execute_by == desk.clock() + 900_000_000
    grant = desk.queue.grant(row.id)
    assert grant is not None
    assert (grant.issued_by, grant.digest) == ("breakglass:eve", row.digest)
    assert desk.queue.endorsements("t") == []
    assert events(desk, row.id)[-4:] == ["stepup.used", "proposal.approved", "grant.issued", "afterlook.opened"]
    assert ran(desk, row.id) == ran(desk, row.id) == "succeeded"
    (look,) = looks(desk).list()
    assert (look.by, look.reason, look.is_open) == ("eve", REASON, True)
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("rules", "glass", "why"),
    [
        (RULES, Glass(), "no glass to break"),
        (RULES.replace("break_glass: true", "break_glass: false"), None, "lets nobody break"),
        (RULES.replace("  break_glass: true\n", ""), None, "lets nobody break"),
    ],
)
def test_it_is_off_unless_setting_and_plan_allow_it(
    store: Store, clock: HandClock, rules: str, glass: Glass | None, why: str
) -> None:
    desk = busy(store, clock, rules=rules, glass=glass)
    eve, row = add(desk, "eve", Role.BREAKER), desk.propose()
    assert not may_break(desk.queue, row, eve)
    with pytest.raises(NotAllowedError, match=why):
        broken(desk, eve, row)
    assert desk.queue.get(row.id).state is State.PENDING
    assert looks(desk).list(everything=True) == []


def test_it_takes_the_role_the_reason_the_digest_and_a_fresh_proof_for_this_very_glass(
    desk: Desk, eve: Reviewer
) -> None:
    row, other = desk.propose(), desk.propose()
    boss = add(desk, "boss")  # every role but that of a breaker
    with pytest.raises(NotAllowedError, match="takes the role breaker"):
        broken(desk, boss, row)
    for reason in ("", "urgent", "x" * 2_001, "1234567890 1234567890 !!"):
        with pytest.raises(QueueError, match="reason is words"):
            broken(desk, eve, row, reason=reason)
    proof = proven(desk, eve, row)
    with pytest.raises(DigestError):
        break_glass(desk.queue, row.id, eve, "sha256:" + "0" * 64, reason=REASON, step_up=proof)
    wrong = [
        None,
        proven(desk, eve, other),
        proven(desk, eve, row, decision="approve"),
        replace(proof, reviewer=boss),
        replace(proof, at=proof.at - 3_600_000_000),
    ]
    for step_up in wrong:
        with pytest.raises(StepUpError):
            break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=step_up)
    assert desk.queue.get(row.id).state is State.PENDING
    break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proof)
    with pytest.raises(ConflictError):
        break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proof)
    assert verify(desk.queue.store).ok


def test_where_an_ordinary_yes_is_enough_the_glass_stays_whole(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock, rules=ONE_IS_ENOUGH)
    both = add(desk, "eve", Role.BREAKER, Role.APPROVER)
    with pytest.raises(ConflictError, match="ordinary yes is enough"):
        broken(desk, both, desk.propose())
    alone = add(desk, "fay", Role.BREAKER)
    assert broken(desk, alone, desk.propose()).code == "break_glass"


def test_it_is_not_broken_against_somebody_who_said_no(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock, rules=RULES + "  deny: 2\n")
    eve, row = add(desk, "eve", Role.BREAKER), desk.propose()
    desk.queue.reject(row.id, desk.reviewer, reason="not this one")
    with pytest.raises(ConflictError, match="ann has said no"):
        broken(desk, eve, row)
    assert desk.queue.get(row.id).state is State.PENDING


@pytest.mark.claim("C4")
def test_it_is_broken_only_where_a_yes_is_taken(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock, rules=RULES + "  channels: [web]\n")
    eve, row = add(desk, "eve", Role.BREAKER), desk.propose()
    for channel in ("", "cli", "rest", "chat", "elsewhere"):
        with pytest.raises(NotAllowedError, match="say it by: web"):
            break_glass(
                desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proven(desk, eve, row), channel=channel
            )
    proof = proven(desk, eve, row)
    done = break_glass(desk.queue, row.id, eve, row.digest, reason=REASON, step_up=proof, channel="web")
    assert done.state is State.APPROVED


def test_after_the_deadline_it_is_too_late(desk: Desk, eve: Reviewer) -> None:
    row = desk.propose()
    desk.clock.advance(hours=10)
    with pytest.raises(ConflictError, match="expired"):
        broken(desk, eve, row)
    late = desk.propose()
    broken(desk, eve, late)
    desk.clock.advance(minutes=15)
    assert ran(desk, late.id) == "lapsed"  # the second clock runs for it as for any other


def test_every_channel_is_told_at_once_whatever_it_wants(desk: Desk, eve: Reviewer, store: Store) -> None:
    from pathlib import Path

    from checkvalve.approvals.risk import Tier
    from checkvalve.gateway.channel_file import Webhook

    deaf = Webhook(name="oncall", url="https://h.example/", secret_file=Path("s"), events=["settled"], tiers=[Tier.LOW])
    box = Outbox(store, desk.clock)
    box.collect(deaf.name, deaf.wants)
    row = desk.propose()
    broken(desk, eve, row)
    box.collect(deaf.name, deaf.wants)
    delivery = box.claim(deaf.name, hold=1)
    assert delivery is not None
    notice = box.notice(delivery.seq)
    assert notice is not None
    assert (notice.kind, notice.body["by"]) == ("glass_broken", "breakglass:eve")
    box.arrived(delivery)
    assert box.claim(deaf.name, hold=1) is None  # nothing else


@pytest.mark.claim("C4")
def test_another_person_looks_afterwards_and_nobody_else(desk: Desk, eve: Reviewer) -> None:
    row = desk.propose(request=desk.request(requester="bob"))
    broken(desk, eve, row)
    bob, ann = add(desk, "bob"), desk.reviewer
    twin = add(desk, "eve-2", Role.AUDITOR, person="eve")
    with pytest.raises(ConflictError, match="has not ended"):
        looks(desk).close(row.id, ann, FINDING)
    ran(desk, row.id)
    refused = [
        (eve, NotAllowedError, "takes the role"),
        (twin, NotAllowedError, "broke this glass yourself"),
        (bob, NotAllowedError, "asked for this call yourself"),
        (add(desk, "vic", Role.VIEWER), NotAllowedError, "takes the role"),
        (Reviewer("ann", "0" * 16), CredentialError, "no longer accepted"),
    ]
    for who, error, why in refused:
        with pytest.raises(error, match=why):
            looks(desk).close(row.id, who, FINDING)
    with pytest.raises(QueueError, match="finding is words"):
        looks(desk).close(row.id, ann, "fine")
    with pytest.raises(NotFoundError):
        looks(desk).close(desk.propose().id, ann, FINDING)
    closed = looks(desk).close(row.id, ann, FINDING)
    assert (closed.looked_by, closed.finding, closed.is_open) == ("ann", FINDING, False)
    with pytest.raises(ConflictError, match="ann has looked"):
        looks(desk).close(row.id, add(desk, "dora"), FINDING)
    assert looks(desk).list() == []
    assert looks(desk).list(everything=True) == [closed]
    assert verify(desk.queue.store).ok


def test_while_too_many_are_not_looked_at_no_further_glass_is_broken(desk: Desk, eve: Reviewer) -> None:
    first = [broken(desk, eve, desk.propose()) for _ in range(3)]
    row = desk.propose()
    with pytest.raises(ConflictError, match="3 broken glasses have not been looked at"):
        broken(desk, eve, row)
    ran(desk, first[0].id)
    looks(desk).close(first[0].id, desk.reviewer, FINDING)
    assert broken(desk, eve, row).code == "break_glass"


@pytest.mark.claim("C4")
def test_of_many_breakers_at_once_one_breaks_each_glass_and_the_bound_holds(desk: Desk) -> None:
    who = [add(desk, f"breaker-{number}", Role.BREAKER) for number in range(4)]
    rows = [desk.propose() for _ in range(5)]
    gate, results = threading.Barrier(20), list[str]()

    def race(breaker: Reviewer, number: int) -> None:
        proof = proven(desk, breaker, rows[number])
        gate.wait()
        try:
            break_glass(desk.queue, rows[number].id, breaker, rows[number].digest, reason=REASON, step_up=proof)
            results.append(rows[number].id)
        except ConflictError:
            results.append("")

    threads = [threading.Thread(target=race, args=(one, number)) for one in who for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [name for name in results if name]
    assert len(won) == len(set(won)) == len(looks(desk).list()) == 3
    assert verify(desk.queue.store).ok


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        {"by": "ann"},
        {"reason": "nothing happened"},
        {"at": 1},
        {"looked_by": "ann", "looked_at": 5, "finding": FINDING},
    ],
)
def test_an_after_look_that_was_edited_is_found_and_cannot_be_closed(
    desk: Desk, eve: Reviewer, change: dict[str, object]
) -> None:
    row = desk.propose()
    broken(desk, eve, row)
    assert ran(desk, row.id) == "succeeded"
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(afterlooks).values(**change))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_differs"]
    with pytest.raises(StoreCorruptError):
        looks(desk).close(row.id, desk.reviewer, FINDING)
    with desk.queue.store.write() as connection:
        connection.execute(sa.delete(afterlooks))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_missing"]
