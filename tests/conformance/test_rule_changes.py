"""Changes of the rules in the store: proposed, confirmed, replaced, refused, compared with their events; everywhere."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.errors import (
    ConflictError,
    CredentialError,
    DigestError,
    NotAdoptedError,
    NotAllowedError,
    NotFoundError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rule_changes import OPEN_FOR, RuleChanges
from checkvalve.approvals.rule_draft import MAX_NOTE, MAX_OVERLAP
from checkvalve.approvals.rulesets import RuleText
from tests.approvals.made import Desk
from tests.approvals.rules_world import TEXTS, Hall, adopted, draft

CLAIMED = pytest.mark.claim("C4")


@pytest.fixture
def hall(desk: Desk) -> Hall:
    return Hall(desk)


@CLAIMED
def test_the_first_one_takes_one_person_and_every_other_one_two(hall: Hall) -> None:
    first = hall.known.propose(draft(hall.known), hall.ann)
    assert (first.state, first.alone, first.decided_by) == ("in force", "first", "ann")
    made = hall.known.propose(draft(hall.known, policy="forbid\n", note="stricter"), hall.ann)
    assert (made.state, made.base, made.alone) == ("waiting", first.id, "")
    hall.require(hall.guard())
    with pytest.raises(NotAllowedError, match="yourself"):
        hall.known.confirm(made.id, hall.ann, made.digest)
    done = hall.known.confirm(made.id, hall.ben, made.digest)
    assert (done.state, done.alone, done.decided_by) == ("in force", "", "ben")
    assert sorted(item.state for item in hall.known.list()) == ["in force", "replaced"]
    assert hall.known.texts(done) == {**TEXTS, "policy": "forbid\n"}
    assert hall.kinds() == ["rules.proposed", "rules.adopted", "rules.proposed", "rules.adopted"]
    assert hall.findings() == []


@CLAIMED
def test_two_accounts_of_one_person_are_one_person(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    second = hall.add("ann.laptop", person="ann")
    made = hall.known.propose(draft(hall.known, policy="forbid\n"), second)
    for account in (hall.ann, second):
        with pytest.raises(NotAllowedError, match="yourself"):
            hall.known.confirm(made.id, account, made.digest)
    made = hall.known.propose(draft(hall.known, policy="forbid all\n"), hall.ann)
    with pytest.raises(NotAllowedError, match="yourself"):
        hall.known.confirm(made.id, second, made.digest)
    assert hall.known.confirm(made.id, hall.ben, made.digest).state == "in force"


@CLAIMED
def test_a_name_written_into_the_accounts_by_hand_makes_nobody_another_person(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    second = hall.add("ann.laptop", person="ann")
    made = hall.known.propose(draft(hall.known, policy="forbid\n"), hall.ann)
    with hall.store.write() as connection:
        connection.execute(sa.text("UPDATE reviewers SET person = 'stranger' WHERE name = 'ann.laptop'"))
    with pytest.raises(StoreCorruptError):
        hall.known.confirm(made.id, second, made.digest)


@CLAIMED
def test_who_may_propose_and_who_may_confirm(hall: Hall) -> None:
    asks, looks = hall.add("asks", Role.APPROVER), hall.add("looks", Role.VIEWER)
    made = hall.known.propose(draft(hall.known), asks)
    assert (made.state, made.alone) == ("waiting", "")  # nobody but an administrator adopts, the first time as well
    with pytest.raises(NotAllowedError):
        hall.known.propose(draft(hall.known, policy="x\n"), looks)
    with pytest.raises(NotAllowedError, match="administrator"):
        hall.known.confirm(made.id, asks, made.digest)
    assert hall.known.confirm(made.id, hall.ben, made.digest).alone == ""
    other = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    for person in (asks, looks):
        with pytest.raises(NotAllowedError, match="administrator"):
            hall.known.confirm(other.id, person, other.digest)
        with pytest.raises(NotAllowedError, match="administrator"):
            hall.known.refuse(other.id, person)
    hall.people.disable("ben", by=hall.ann)
    with pytest.raises(CredentialError):
        hall.known.confirm(other.id, hall.ben, other.digest)


@CLAIMED
def test_a_confirmation_is_for_one_change_once(hall: Hall) -> None:
    first = adopted(hall.known, hall.ann, hall.ben)
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    twin = hall.known.propose(draft(hall.known, policy="y\n"), hall.ann)
    with pytest.raises(DigestError):
        hall.known.confirm(made.id, hall.ben, twin.digest)
    hall.known.confirm(made.id, hall.ben, made.digest)
    with pytest.raises(ConflictError, match="is in force"):
        hall.known.confirm(made.id, hall.ben, made.digest)
    with pytest.raises(ConflictError, match="other rules are in force"):
        hall.known.confirm(twin.id, hall.ben, twin.digest)
    with pytest.raises(ConflictError, match="is replaced"):
        hall.known.confirm(first.id, hall.ben, first.digest)
    assert hall.kinds().count("rules.adopted") == 2
    assert hall.findings() == []


@CLAIMED
@pytest.mark.parametrize("same", [True, False], ids=["one_change", "two_changes"])
def test_of_people_who_confirm_at_the_same_moment_one_does(hall: Hall, same: bool) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    people = [hall.ben, hall.add("cleo"), hall.add("dan"), hall.add("eve")]
    one = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    other = one if same else hall.known.propose(draft(hall.known, policy="y\n"), hall.ann)
    wanted = [one, other, one, other]
    start, ended = threading.Barrier(4), list[str]()

    def confirm(number: int) -> None:
        start.wait(60)
        try:
            hall.known.confirm(wanted[number].id, people[number], wanted[number].digest)
            ended.append("confirmed")
        except ConflictError:
            ended.append("refused")

    threads = [threading.Thread(target=confirm, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["confirmed", "refused", "refused", "refused"]
    assert [item.is_current for item in hall.known.list()].count(True) == 1
    assert hall.findings() == []


def test_what_changes_nothing_or_waits_already_is_not_stored(hall: Hall) -> None:
    first = adopted(hall.known, hall.ann, hall.ben)
    with pytest.raises(ConflictError, match="in force already"):
        hall.known.propose(draft(hall.known), hall.ann)
    stale = draft(hall.known, policy="y\n")
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    with pytest.raises(ConflictError, match=made.id[:8]):
        hall.known.propose(draft(hall.known, policy="x\n"), hall.ben)
    hall.known.confirm(made.id, hall.ben, made.digest)
    with pytest.raises(ConflictError, match="meanwhile"):
        hall.known.propose(stale, hall.ann)
    back = adopted(hall.known, hall.ann, hall.ben, policy=TEXTS["policy"])
    assert (back.digest, back.id != first.id) == (first.digest, True)
    assert hall.findings() == []


@pytest.mark.parametrize(
    "wrong",
    [{"note": "x" * (MAX_NOTE + 1)}, {"overlap": MAX_OVERLAP + 1}, {"overlap": -1}, {"policy": "\ud800"},
     {"note": "\ud800"}, {"extra": "x"}],
    ids=["note", "long", "negative", "no_text", "no_words", "no_part"],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(hall: Hall, wrong: dict[str, Any]) -> None:
    with pytest.raises(QueueError):
        hall.known.propose(draft(hall.known, **wrong), hall.ann)
    assert (hall.known.list(), hall.kinds()) == ([], [])


def test_a_no_ends_it_and_the_author_takes_it_back(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    one, two = (hall.known.propose(draft(hall.known, policy=text), hall.ann) for text in ("x\n", "y\n"))
    assert hall.known.waiting() == 2
    assert (hall.known.refuse(one.id, hall.ben, "too wide").state, hall.known.refuse(two.id, hall.ann).state) == (
        "refused",
        "withdrawn",
    )
    for name in (one.id, two.id):
        with pytest.raises(ConflictError):
            hall.known.confirm(name, hall.ben, one.digest)
        with pytest.raises(ConflictError):
            hall.known.refuse(name, hall.ben)
    assert (hall.known.find(one.id[:8]).answer, hall.known.waiting()) == ("too wide", 0)
    assert hall.kinds()[-2:] == ["rules.refused", "rules.withdrawn"]
    assert hall.findings() == []


def test_an_old_one_is_not_confirmed_any_more(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    hall.clock.now += OPEN_FOR
    with pytest.raises(ConflictError, match="expired"):
        hall.known.confirm(made.id, hall.ben, made.digest)
    assert (hall.known.find(made.id).state, hall.known.waiting()) == ("expired", 0)
    assert hall.findings() == []


def test_one_person_confirms_alone_only_where_the_rules_in_force_say_so(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    alone = hall.known.propose(draft(hall.known, settings="single_user = true\n"), hall.ann)
    with pytest.raises(NotAllowedError, match="yourself"):  # what it would make true is not true yet
        hall.known.confirm(alone.id, hall.ann, alone.digest)
    hall.known.confirm(alone.id, hall.ben, alone.digest)
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    done = hall.known.confirm(made.id, hall.ann, made.digest)
    assert (done.state, done.alone) == ("in force", "single_user")
    with hall.store.read() as connection:
        last = list(audit.read_events(connection, subject="rules:"))[-1]
    assert '"alone":"single_user"' in last.body
    two = adopted(hall.known, hall.ann, hall.ann, settings="")
    made = hall.known.propose(draft(hall.known, policy="y\n"), hall.ann)
    with pytest.raises(NotAllowedError, match="yourself"):
        hall.known.confirm(made.id, hall.ann, made.digest)
    assert (two.alone, hall.findings()) == ("single_user", [])


def test_what_is_replaced_stays_in_force_as_long_as_people_agreed(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    adopted(hall.known, hall.ann, hall.ben, policy="x\n", review="tiers: {}\n", overlap=600)
    old, new, mixed = hall.guard(), hall.guard(policy="x\n", review="tiers: {}\n"), hall.guard(policy="x\n")
    for guard in (old, new):
        hall.require(guard)
    with pytest.raises(NotAdoptedError, match="review"):  # nobody looked at this mixture
        hall.require(mixed)
    hall.clock.now += 600_000_000
    hall.require(new)
    with pytest.raises(NotAdoptedError, match=r"policy policy\.file"):
        hall.require(old)
    assert hall.findings() == []


def test_the_guard_knows_what_was_never_adopted_and_what_is_required(hall: Hall) -> None:
    guard = hall.guard(policy="anything\n")
    hall.require(guard)
    guard.required = True
    with pytest.raises(NotAdoptedError, match="nothing was adopted yet"):
        hall.require(guard)
    adopted(hall.known, hall.ann, hall.ben)
    with pytest.raises(NotAdoptedError) as refused:  # the same process, while it runs
        hall.require(guard)
    assert RuleText("policy", "anything\n").digest in refused.value.message
    assert RuleText("policy", TEXTS["policy"]).digest in refused.value.message
    hall.require(Adopted())  # a process that decides nothing


def test_rules_of_another_tenant_are_none_of_ours(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    other = RuleChanges(hall.store, hall.clock, tenant="two")
    assert (other.list(), other.current(), other.waiting()) == ([], None, 0)
    made = other.propose(draft(other, policy="x\n"), hall.ann)
    assert (made.alone, made.tenant) == ("first", "two")
    with pytest.raises(NotFoundError):
        hall.known.find(made.id)
    with pytest.raises(NotFoundError):
        hall.known.refuse(made.id, hall.ann)
    assert hall.findings() == []
