"""The figures of attention, each counted by hand beside its definition, on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import attention
from checkvalve.approvals.afterlooks import AfterLooks
from checkvalve.approvals.clock import micros
from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.report import Report, report
from checkvalve.approvals.report_figures import LEAST, Prompts, Share, prompts_of
from checkvalve.approvals.report_shown import shown_to
from checkvalve.approvals.report_words import NAMES, rows_of, value_in_words
from checkvalve.approvals.review_tables import afterlooks
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.revoking import revoke
from checkvalve.approvals.roles import Role
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.emergency import FINDING, add, broken, busy
from tests.approvals.made import ALLOW, Desk, HandClock

RULES = "everywhere: {decide_within: 10h, break_glass: true}"


@pytest.fixture
def desk(store: Store, clock: HandClock) -> Desk:
    return busy(store, clock, rules=RULES)


def found(desk: Desk) -> Report:
    now = desk.clock()
    return report(desk.queue.store, since=now - micros(timedelta(days=7)), until=now, fast=2.0)


def asked(desk: Desk, thread: str = "t") -> Proposal:
    return desk.propose(request=desk.request(thread=thread))


def yes(desk: Desk, row: Proposal, *, who: Reviewer | None = None, channel: str = "web") -> Proposal:
    return desk.queue.approve(row.id, who or desk.reviewer, row.digest, endorse=False, channel=channel)


def values(report: Report) -> dict[str, str]:
    return {row.key: value_in_words(row) for row in rows_of(report.attention)}


def test_an_empty_week_says_none_and_no_percentage(desk: Desk) -> None:
    empty = found(desk)
    said = values(empty)
    assert said.keys() == NAMES.keys()
    assert (said["asked"], said["approved"], said["wait"], said["reversed"], said["prompts"]) == ("0", *["none"] * 4)
    told: Any = empty.attention.to_json()
    assert told["approved"] == {"count": 0, "of": 0, "share": None}
    assert told["prompts"] == {
        "tasks": 0, "median": None, "p90": None, "worst": {"questions": 0, "tool": "", "thread": ""}
    }  # fmt: skip


@pytest.mark.parametrize("count", [LEAST - 1, LEAST])
def test_of_fewer_than_five_the_counts_are_said_and_no_share(desk: Desk, count: int) -> None:
    for number in range(count):
        yes(desk, asked(desk, f"t{number}"))
    said, told = values(found(desk)), found(desk).attention
    assert told.approved == Share(count, count)
    if count < LEAST:
        assert told.approved.share is None
        assert (said["approved"], said["wait"]) == ("4 of 4, too few for a percentage", "too few: 4, it takes 5")
    else:
        assert (said["approved"], said["wait"]) == ("100% (5 of 5)", "0.0 s")


def test_rules_and_people_have_their_own_rate_and_what_ran_out_is_counted(desk: Desk) -> None:
    for number in range(4):
        yes(desk, asked(desk, f"a{number}"))
    desk.queue.reject(asked(desk, "b").id, desk.reviewer)
    for number in range(5):
        asked(desk, f"c{number}")
    desk.clock.advance(hours=11)
    desk.queue.sweep()
    asked(desk, "open")
    told = found(desk)
    assert told.attention.rules == (("target-not-known", Share(4, 5)),)
    assert (told.attention.expired, told.attention.asked) == (Share(5, 10), 11)
    (ann,) = told.people
    assert (ann.rate, ann.rate.share) == (Share(4, 5), 0.8)
    assert ann.quick == Share(0, 0)


def test_a_quick_no_is_no_quick_yes_and_the_fullest_hour_is_one_hour_long(desk: Desk) -> None:
    for number, (minutes, is_yes) in enumerate(((0, True), (30, False), (30, True), (1, True))):
        desk.clock.advance(minutes=minutes)
        row = asked(desk, f"t{number}")
        attention.note_shown(desk.queue.store, row.id, "ann", at=desk.clock(), now=desk.clock(), whole=True)
        desk.clock.advance(seconds=0 if is_yes else 1)
        if is_yes:
            yes(desk, row)
        else:
            desk.queue.reject(row.id, desk.reviewer)
    told = found(desk)
    (ann,) = told.people
    assert (ann.approved, ann.rejected, ann.shown, ann.fullest_hour) == (3, 1, 4, 3)
    assert ann.quick == told.attention.quick == Share(3, 3)


def test_what_was_opened_is_counted_as_known_only_where_a_surface_knows_it(desk: Desk) -> None:
    """A whole card is opened, no card on the pages is not opened; of a folded one, and elsewhere, nobody knows."""
    whole, folded, later, none, rest, chat = (asked(desk, f"t{number}") for number in range(6))
    for row, is_whole in ((whole, True), (folded, False), (later, False), (later, True)):
        news = attention.note_shown(desk.queue.store, row.id, "ann", at=desk.clock(), now=desk.clock(), whole=is_whole)
        assert news
    assert not attention.note_shown(desk.queue.store, later.id, "ann", at=desk.clock(), now=desk.clock(), whole=False)
    for row in (whole, folded, later, none):
        yes(desk, row)
    yes(desk, rest, channel="rest")
    yes(desk, chat, channel="chat")
    opened = found(desk).attention.opened
    assert (opened.opened, opened.not_opened, opened.not_known) == (2, 1, 3)
    assert opened.unseen == Share(1, 3)


def test_a_card_that_somebody_else_saw_opens_nothing_for_me(desk: Desk) -> None:
    ben = add(desk, "ben", Role.APPROVER)
    row = asked(desk)
    attention.note_shown(desk.queue.store, row.id, "ann", at=desk.clock(), now=desk.clock(), whole=True)
    yes(desk, row, who=ben)
    opened = found(desk).attention.opened
    assert (opened.opened, opened.not_opened, opened.not_known) == (0, 1, 0)


def test_every_yes_that_did_not_last_is_counted_once_whichever_way_it_went(desk: Desk, store: Store) -> None:
    """Six were approved: one revoked, one ran and was disagreed with afterwards, four stayed."""
    kept = [yes(desk, asked(desk, f"t{number}")) for number in range(4)]
    revoke(desk.queue, yes(desk, asked(desk, "back")).id, desk.reviewer)
    glass = asked(desk, "glass")
    broken(desk, add(desk, "eve", Role.BREAKER), glass)
    executor = Executor(desk.queue, wait=timedelta())
    executor.run(glass.id, lambda args, key: "sent")
    executor.run(kept[0].id, lambda args, key: "sent")
    looks = AfterLooks(desk.queue.store, desk.clock, desk.queue.reviewers)
    assert looks.close(glass.id, desk.reviewer, FINDING, disagreed=True).disagreed
    back = found(desk).attention.reversals
    assert (back.taken_back, back.undone, back.disagreed) == (1, 0, 1)
    assert back.share == Share(2, 6)
    assert values(found(desk))["reversed"] == "33% (2 of 6)"
    assert verify(store).ok


def test_a_yes_that_becomes_a_no_was_taken_back(store: Store, clock: HandClock) -> None:
    desk = busy(store, clock, rules="everywhere: {approve: [{approver: 2}], deny: 1}")
    ben = add(desk, "ben", Role.APPROVER)
    row = asked(desk)
    yes(desk, row, who=ben)
    desk.queue.reject(row.id, ben)
    back = found(desk).attention.reversals
    assert (back.taken_back, back.share) == (1, Share(1, 1))
    assert desk.queue.get(row.id).state is State.REJECTED


@pytest.mark.claim("C5")
def test_a_look_afterwards_that_was_edited_in_the_database_is_found(desk: Desk, store: Store) -> None:
    glass = asked(desk, "glass")
    broken(desk, add(desk, "eve", Role.BREAKER), glass)
    Executor(desk.queue, wait=timedelta()).run(glass.id, lambda args, key: "sent")
    looks = AfterLooks(desk.queue.store, desk.clock, desk.queue.reviewers)
    with pytest.raises(QueueError):
        looks.close(glass.id, desk.reviewer, "no", disagreed=True)
    looks.close(glass.id, desk.reviewer, FINDING, disagreed=True)
    with store.write() as connection:
        connection.execute(sa.update(afterlooks).values(disagreed=False))
    assert [finding.code for finding in verify(store).findings] == ["row_differs"]


def test_prompts_of_tasks_count_those_that_asked_nothing(desk: Desk) -> None:
    for number in range(5):
        desk.propose(ALLOW, request=desk.request(thread=f"quiet{number}"))
    for _ in range(3):
        asked(desk, "loud")
    asked(desk, "once")
    prompts = found(desk).attention.prompts
    assert (prompts.tasks, prompts.median, prompts.tall) == (7, 0.0, 3)
    assert (prompts.worst, prompts.worst_tool, prompts.worst_thread) == (3, "send", "loud")


def test_the_worst_task_names_the_tool_that_asked_most() -> None:
    calls = [("a", "mail", True), ("a", "pay", True), ("a", "pay", True), ("b", "mail", False)]
    assert prompts_of(calls) == Prompts(2, None, None, 3, "pay", "a")
    assert prompts_of([]) == Prompts()
    many = [(f"t{number}", "mail", True) for number in range(10)] + [("t9", "pay", True)] * 9
    assert prompts_of(many) == Prompts(10, 1.0, 1, 10, "pay", "t9")


def test_elsewhere_than_in_the_terminal_one_sees_the_team_and_oneself(desk: Desk) -> None:
    people = [desk.reviewer, add(desk, "ben", Role.APPROVER), add(desk, "cem", Role.APPROVER)]
    for number, who in enumerate(people[:2] * 3):
        row = asked(desk, f"t{number}")
        attention.note_shown(desk.queue.store, row.id, who.name, at=desk.clock(), now=desk.clock(), whole=True)
        yes(desk, row, who=who)
    few: Any = shown_to(found(desk), "ben").to_json()
    assert (few["people"], few["mine"]["name"], few["few_people"]) == (None, "ben", True)
    assert few["attention"]["quick"] is few["attention"]["arguments"] is few["attention"]["median_look"] is None
    assert few["attention"]["approved"]["share"] == 1.0
    yes(desk, asked(desk, "third"), who=people[2])
    team: Any = shown_to(found(desk), "zoe").to_json()
    assert (team["mine"], team["few_people"], team["people"]) == (None, False, None)
    assert team["attention"]["quick"]["of"] == 6
    assert "ben" not in str(team) and "cem" not in str(team)  # noqa: PT018  # one figure, two names
