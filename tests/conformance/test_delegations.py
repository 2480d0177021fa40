"""Handing over to a colleague, on every database that the store supports."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.clock import micros
from checkvalve.approvals.delegations import Delegation, Delegations, standing_in
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    NotAllowedError,
    NotFoundError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.review_tables import delegations
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.verify import verify
from tests.approvals.made import Desk

DAY = micros(timedelta(days=1))


def add(desk: Desk, name: str, *roles: Role) -> Reviewer:
    people = desk.queue.reviewers
    token = people.add(name, by=desk.reviewer, roles=roles or None)
    return people.authenticate(token)


def handing(desk: Desk) -> Delegations:
    return Delegations(desk.queue.store, desk.clock, desk.queue.reviewers)


def give(
    desk: Desk, taker: str = "ben", *, giver: Reviewer | None = None, start: int = 0, days: float = 7
) -> Delegation:
    starts_at = desk.clock() + start * DAY
    until = int(starts_at + days * DAY)
    return handing(desk).give(giver or desk.reviewer, taker, reason="on holiday", starts_at=starts_at, expires_at=until)


def givers(desk: Desk, person: str) -> list[str]:
    with desk.queue.store.read() as connection:
        return [item.giver for item in standing_in(connection, person, desk.clock())]


def everybodys(desk: Desk) -> list[str]:
    return [giver for name in ("ann", "ben", "cem") for giver in givers(desk, name)]


def kinds(desk: Desk, subject: str) -> list[str]:
    with desk.queue.store.read() as connection:
        return [event.kind for event in audit.read_events(connection, subject=subject)]


@pytest.fixture
def ben(desk: Desk) -> Reviewer:
    return add(desk, "ben")


def test_one_stands_in_from_the_start_to_the_end_and_not_a_moment_longer(desk: Desk, ben: Reviewer) -> None:
    given = give(desk, start=1, days=2)
    assert (given.giver, given.taker, given.state(desk.clock())) == ("ann", "ben", "to come")
    assert givers(desk, "ben") == []
    desk.clock.advance(days=1)
    assert givers(desk, "ben") == ["ann"]
    assert givers(desk, "ann") == []
    desk.clock.now = given.expires_at - 1
    assert givers(desk, "ben") == ["ann"]
    desk.clock.now = given.expires_at
    assert givers(desk, "ben") == []
    assert handing(desk).list() == []
    assert [item.state(desk.clock()) for item in handing(desk).list(everything=True)] == ["over"]
    assert kinds(desk, given.id) == ["delegation.given"]
    assert verify(desk.queue.store).ok


@pytest.mark.parametrize("who", ["giver", "taker", "administrator"])
def test_giver_taker_and_administrator_end_it_at_once(desk: Desk, ben: Reviewer, who: str) -> None:
    given = give(desk)
    by = {"giver": desk.reviewer, "taker": ben, "administrator": add(desk, "cem", Role.ADMINISTRATOR)}[who]
    ended = handing(desk).end(given.id, by)
    assert (ended.ended_by, ended.state(desk.clock())) == (f"reviewer:{by.name}", "ended")
    assert givers(desk, "ben") == []
    with pytest.raises(ConflictError, match="ended"):
        handing(desk).end(given.id, by)
    assert kinds(desk, given.id) == ["delegation.given", "delegation.ended"]
    assert verify(desk.queue.store).ok
    give(desk)  # and one may hand over anew


def test_nobody_else_ends_it(desk: Desk, ben: Reviewer) -> None:
    given = give(desk)
    with pytest.raises(NotAllowedError, match="only giver, taker or an administrator"):
        handing(desk).end(given.id, add(desk, "dora", Role.APPROVER))
    with pytest.raises(NotFoundError):
        handing(desk).end("00000000-0000-4000-8000-000000000000", ben)
    assert givers(desk, "ben") == ["ann"]


def test_only_an_approver_hands_over_and_never_to_themselves(desk: Desk, ben: Reviewer) -> None:
    with pytest.raises(NotAllowedError, match="only an approver"):
        give(desk, "ann", giver=add(desk, "vic", Role.VIEWER))
    with pytest.raises(NotAllowedError, match="stand in for oneself"):
        give(desk, "ann")
    with pytest.raises(NotFoundError, match="no enabled reviewer"):
        give(desk, "nobody")
    assert handing(desk).list(everything=True) == []


@pytest.mark.parametrize(
    ("start", "days", "why"),
    [(0, 30.001, "at most 30 days"), (91, 1, "more than 90 days"), (0, 0, "over before"), (-3, 2, "over before")],
)
def test_a_span_that_is_over_too_long_or_too_far_is_refused(
    desk: Desk, ben: Reviewer, start: int, days: float, why: str
) -> None:
    with pytest.raises(QueueError, match=why):
        give(desk, start=start, days=days)
    assert handing(desk).list(everything=True) == []


@pytest.mark.parametrize("reason", ["", "   ", "a b", "-----  ----", "x" * 501])
def test_it_takes_a_reason_in_words(desk: Desk, ben: Reviewer, reason: str) -> None:
    with pytest.raises(QueueError, match="reason in words"):
        handing(desk).give(desk.reviewer, "ben", reason=reason, expires_at=desk.clock() + DAY)


def test_one_giver_has_one_taker_at_a_time(desk: Desk, ben: Reviewer) -> None:
    add(desk, "cem")
    give(desk, "ben", days=5)
    with pytest.raises(ConflictError, match="in this time already"):
        give(desk, "cem", start=4, days=5)
    give(desk, "cem", start=5, days=5)
    assert [(item.taker, item.state(desk.clock())) for item in handing(desk).list()] == [
        ("ben", "in force"),
        ("cem", "to come"),
    ]


def test_of_many_who_give_at_once_one_does(desk: Desk, ben: Reviewer) -> None:
    add(desk, "cem")
    gate, results = threading.Barrier(6), list[str]()

    def race(taker: str) -> None:
        gate.wait()
        try:
            results.append(give(desk, taker).taker)
        except ConflictError:
            results.append("refused")

    threads = [threading.Thread(target=race, args=(("ben", "cem")[number % 2],)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count("refused") == 5
    assert len(handing(desk).list(everything=True)) == 1


@pytest.mark.claim("C4")
@pytest.mark.parametrize("who", ["ann", "ben"])
def test_it_counts_only_while_both_are_reviewers(desk: Desk, ben: Reviewer, who: str) -> None:
    add(desk, "cem")
    given = give(desk)
    boss = add(desk, "boss")
    desk.queue.reviewers.disable(who, by=boss)
    assert givers(desk, "ben") == []
    assert [item.state(desk.clock()) for item in handing(desk).list(everything=True)] == ["void"]
    if who == "ben":
        give(desk, "cem")  # the giver is free to name another one
    else:
        with pytest.raises(CredentialError):
            give(desk, "cem")
    handing(desk).end(given.id, boss)  # so that it stays so whatever becomes of the account
    assert verify(desk.queue.store).ok


def test_what_was_received_is_not_passed_on(desk: Desk) -> None:
    """Ann hands over to Ben, who is no approver; Ben and Cem can make nothing of it for Cem."""
    ben = add(desk, "ben", Role.RESPONDER)
    add(desk, "cem", Role.RESPONDER)
    give(desk)
    with pytest.raises(NotAllowedError, match="only an approver"):
        give(desk, "cem", giver=ben)
    dora = add(desk, "dora", Role.APPROVER)
    give(desk, "dora", giver=add(desk, "emil", Role.APPROVER))
    give(desk, "cem", giver=dora)
    assert givers(desk, "cem") == ["dora"]  # Dora's own voice, and not Emil's


@pytest.mark.claim("C5")
@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": 9_000_000_000_000_000},
        {"taker": "cem"},
        {"giver": "ben", "taker": "ann"},
        {"reason": "for ever"},
        {"starts_at": 1},
        {"given_at": 1},
    ],
)
def test_an_edited_one_is_found_and_stops_the_vote(desk: Desk, ben: Reviewer, change: dict[str, object]) -> None:
    add(desk, "cem")
    give(desk)
    assert verify(desk.queue.store).ok
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(delegations).values(**change))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_differs"]
    with pytest.raises(StoreCorruptError):
        everybodys(desk)


@pytest.mark.claim("C5")
def test_an_ended_one_does_not_come_back_and_a_planted_or_removed_one_is_found(desk: Desk, ben: Reviewer) -> None:
    given = give(desk)
    handing(desk).end(given.id, ben)
    with desk.queue.store.write() as connection:
        connection.execute(sa.update(delegations).values(ended_at=None, ended_by=""))
    with pytest.raises(StoreCorruptError):
        givers(desk, "ben")
    with desk.queue.store.write() as connection:
        connection.execute(sa.delete(delegations))
    assert [finding.code for finding in verify(desk.queue.store).findings] == ["row_missing"]
    times = {"starts_at": 1, "expires_at": desk.clock() + DAY, "given_at": 1}
    with desk.queue.store.write() as connection:
        row = {"id": "planted", "giver": "ann", "taker": "ben", "reason": "x", "ended_by": "", **times}
        connection.execute(sa.insert(delegations).values(row))
    with pytest.raises(StoreCorruptError):
        givers(desk, "ben")


def test_a_clock_that_goes_back_brings_nothing_back(desk: Desk, ben: Reviewer) -> None:
    given = give(desk)
    desk.clock.advance(hours=1)
    handing(desk).end(given.id, ben)
    desk.clock.advance(hours=-2)
    assert givers(desk, "ben") == []
    assert handing(desk).find(given.id[:8]).state(desk.clock()) == "ended"
    assert verify(desk.queue.store).ok


def test_it_is_found_by_the_start_of_its_id(desk: Desk, ben: Reviewer) -> None:
    given = give(desk)
    assert handing(desk).find(given.id[:6].upper()) == given
    with pytest.raises(ConflictError, match="too short"):
        handing(desk).find(given.id[:3])
    with pytest.raises(NotFoundError):
        handing(desk).find("ffffffffffff")
    told = given.to_json(desk.clock())
    assert (told["giver"], told["taker"], told["state"], told["ended_at"]) == ("ann", "ben", "in force", None)
