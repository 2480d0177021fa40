"""Changes of the rules in the store: proposed, confirmed, replaced, refused, compared with their events; everywhere."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.doubts import doubt
from checkvalve.approvals.errors import (
    ApprovalError,
    ConflictError,
    CredentialError,
    DigestError,
    NotAdoptedError,
    NotAllowedError,
    NotFoundError,
    QueueError,
    StoreCorruptError,
)
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rule_changes import OPEN_FOR, RuleChanges
from checkvalve.approvals.rule_draft import MAX_NOTE, MAX_OVERLAP
from checkvalve.approvals.rulesets import RuleText
from checkvalve.approvals.verify import verify
from tests.approvals.made import QUICK, Desk
from tests.approvals.rules_world import TEXTS, adopted, draft

CLAIMED = pytest.mark.claim("C4")


class Hall:
    """The rules of one store, and people."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.clock, self.store = desk, desk.clock, desk.queue.store
        self.known: RuleChanges = desk.queue.rule_changes
        self.people = Reviewers(self.store, self.clock, QUICK)
        self.ann = desk.reviewer
        self.ben = self.add("ben")

    def add(self, name: str, *roles: Role, person: str = "") -> Reviewer:
        token = self.people.add(name, by=self.ann, roles=roles or None, person=person)
        return self.people.authenticate(token)

    def kinds(self) -> list[str]:
        with self.store.read() as connection:
            return [event.kind for event in audit.read_events(connection, subject="rules:")]

    def findings(self) -> list[str]:
        return [item.code for item in verify(self.store).findings]

    def guard(self, **texts: str) -> Adopted:
        """Return a process that loaded these texts, and those of the tests for the other parts."""
        found = Adopted()
        found.load(RuleText(part, text, f"{part}.file") for part, text in {**TEXTS, **texts}.items())
        return found

    def require(self, guard: Adopted) -> None:
        with self.store.read() as connection:
            guard.require(connection, self.clock())


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


EDITS: dict[str, dict[str, Any]] = {
    "adopted_by_hand": {"state": "adopted", "decided_by": "ben", "decided_at": 5},
    "other_parts": {"parts": "{}"},
    "other_digest": {"digest": "sha256:" + "0" * 64},
    "other_base": {"base": ""},
    "other_author": {"proposed_by": "ben"},
    "other_impact": {"impact": '{"calls":1}'},
    "other_reason": {"note": "harmless"},
    "later": {"expires_at": 4_000_000_000_000_000},
    "longer": {"overlap": 86_400},
    "alone": {"alone": "first"},
    "other_tenant": {"tenant": "two"},
    "version": {"version": 7},
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_row_is_found_and_confirms_nothing(hall: Hall, edit: str) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    made = hall.known.propose(draft(hall.known, policy="x\n"), hall.ann)
    with hall.store.write() as connection:
        mine = sa.update(rule_changes).where(rule_changes.c.id == made.id)
        connection.execute(mine.values(**EDITS[edit]))
    assert {"row_differs", "row_missing"} & set(hall.findings())
    with pytest.raises(StoreCorruptError):
        hall.known.confirm(made.id, hall.ben, made.digest)
    with pytest.raises(StoreCorruptError):
        hall.require(hall.guard())


@pytest.mark.claim("C5")
@pytest.mark.parametrize("what", ["planted", "removed", "all_removed", "text_edited", "text_removed", "not_replaced"])
def test_what_was_planted_or_removed_beside_the_log_puts_nothing_into_force(hall: Hall, what: str) -> None:
    first = adopted(hall.known, hall.ann, hall.ben)
    second = adopted(hall.known, hall.ann, hall.ben, policy="x\n")
    running = hall.guard(policy="x\n")
    hall.require(running)
    with hall.store.write() as connection:
        row = dict(connection.execute(sa.select(rule_changes).where(rule_changes.c.id == second.id)).mappings().one())
        texts = rule_texts.c
        match what:
            case "planted":
                planted = {**row, "id": "00000000-0000-4000-8000-000000000000", "digest": first.digest}
                connection.execute(sa.insert(rule_changes).values(planted))
            case "removed":
                connection.execute(sa.delete(rule_changes).where(rule_changes.c.id == second.id))
            case "all_removed":
                connection.execute(sa.delete(rule_changes))
            case "text_edited":
                edited = sa.update(rule_texts).where(texts.digest == second.parts["policy"])
                connection.execute(edited.values(text="permit everything\n"))
            case "text_removed":
                connection.execute(sa.delete(rule_texts).where(texts.digest == second.parts["policy"]))
            case _:
                back = sa.update(rule_changes).where(rule_changes.c.id == first.id)
                connection.execute(back.values(until=None))
    assert {"row_differs", "row_missing"} & set(hall.findings())
    with pytest.raises(StoreCorruptError):  # a process that starts
        hall.require(hall.guard(policy="x\n"))
    if not what.startswith("text"):
        with pytest.raises(StoreCorruptError):  # and one that runs
            hall.require(running)
    with pytest.raises(ApprovalError):
        hall.known.texts(hall.known.current())


@CLAIMED
def test_after_a_log_was_closed_in_doubt_nothing_counts_and_one_of_several_administrators_adopts_nothing(
    hall: Hall,
) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    guard = hall.guard()
    hall.require(guard)
    with hall.store.write() as connection:  # what closing a log does with rules that are in doubt
        connection.execute(sa.delete(rule_changes))
        connection.execute(sa.delete(rule_texts))
        doubt(connection, "rules:", at=hall.clock(), body={"code": "log_restarted"}, rows=False)
    assert hall.findings() == []
    for process in (guard, hall.guard()):
        with pytest.raises(NotAdoptedError, match="in doubt"):
            hall.require(process)
    made = hall.known.propose(draft(hall.known), hall.ann)
    assert made.state == "waiting"
    with pytest.raises(NotAllowedError, match="yourself"):
        hall.known.confirm(made.id, hall.ann, made.digest)
    hall.people.disable("ben", by=hall.ann)
    assert hall.known.confirm(made.id, hall.ann, made.digest).alone == "first"
    hall.require(guard)
    assert hall.findings() == []


def test_a_planted_text_is_found(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    with hall.store.write() as connection:
        connection.execute(sa.insert(rule_texts).values(digest="sha256:" + "1" * 64, text="x"))
    assert hall.findings() == ["row_differs"]


def test_texts_come_back_byte_for_byte(hall: Hall) -> None:
    odd = "\ufeffa\r\nb\x00c\ud7ff\ufdd0\ufdd1\u2028 \u202e\tno end"
    made = adopted(hall.known, hall.ann, hall.ben, policy=odd)
    assert hall.known.texts(made)["policy"] == odd
    assert hall.findings() == []
