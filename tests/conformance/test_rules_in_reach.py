"""Review rules that the people who are there cannot keep are not adopted, and no first start takes them for right."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rules_command import rules_app
from checkvalve.approvals.store import Store
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.rules_said import require_ever_kept, say_rules
from tests.approvals.made import Desk, HandClock
from tests.approvals.rules_world import Hall, adopted, draft

pytestmark = pytest.mark.claim("C4")
TWO = "tiers: {critical: {approve: [{approver: 2}]}}\n"
THREE = "tiers: {critical: {approve: [{approver: 3}]}}\n"


@pytest.fixture
def hall(desk: Desk) -> Hall:
    return Hall(desk)


def queue(hall: Hall, text: str) -> Queue:
    made = Queue(hall.store, hall.clock, rules=parse_review_rules(text, "rules.yaml"))
    made.reviewers = hall.people
    return made


def test_no_quorum_of_more_people_than_there_are_is_adopted(hall: Hall) -> None:
    with pytest.raises(
        ConflictError, match=r"cannot be kept: tier critical: nobody can approve such a call: it takes 3 app"
    ):
        hall.known.propose(draft(hall.known, review=THREE), hall.ann)
    assert hall.known.current() is None
    assert adopted(hall.known, hall.ann, hall.ben, review=TWO).state == "in force"
    with pytest.raises(ConflictError, match="cannot be kept"):
        hall.known.propose(draft(hall.known, review=THREE), hall.ann)
    hall.add("cem")
    assert adopted(hall.known, hall.ann, hall.ben, review=THREE).state == "in force"


def test_who_confirms_is_told_that_people_have_left_meanwhile(hall: Hall) -> None:
    adopted(hall.known, hall.ann, hall.ben)
    hall.add("cem")
    made = hall.known.propose(draft(hall.known, review=THREE), hall.ann)
    hall.people.disable("cem", by=hall.ann)
    with pytest.raises(ConflictError, match="cannot be kept"):
        hall.known.confirm(made.id, hall.ben, made.digest)
    assert sorted(item.state for item in hall.known.list()) == ["in force", "waiting"]


def test_who_has_left_keeps_nobody_from_changing_something_else(hall: Hall) -> None:
    hall.add("cem")
    adopted(hall.known, hall.ann, hall.ben, review=THREE)
    hall.people.disable("cem", by=hall.ann)
    assert adopted(hall.known, hall.ann, hall.ben, policy="forbid\n").state == "in force"
    assert adopted(hall.known, hall.ann, hall.ben, review=TWO).state == "in force", "and from mending it"


def test_a_gateway_does_not_start_with_a_quorum_that_was_never_in_reach(hall: Hall) -> None:
    first = queue(hall, THREE)
    with pytest.raises(SettingsError, match=r"critical: it takes 3 approvers, and there are accounts of 2 people"):
        require_ever_kept(first)
    hall.add("cem")
    require_ever_kept(first)


@pytest.mark.parametrize("how", ["disabled", "role"])
def test_it_starts_at_night_after_somebody_was_disabled_and_says_so(
    hall: Hall, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hall.add("cem")
    if how == "disabled":
        hall.people.disable("cem", by=hall.ann)
    else:
        hall.people.set_roles("cem", [Role.VIEWER], by=hall.ann)
    later = queue(hall, THREE)
    require_ever_kept(later)
    say_rules(later)
    assert (
        "REVIEW RULES: tier critical: nobody can approve such a call: it takes 3 approvers" in capsys.readouterr().err
    )


def test_two_accounts_of_one_person_are_no_two_people(hall: Hall) -> None:
    hall.add("ann.laptop", person="ann")
    with pytest.raises(SettingsError, match="accounts of 2 people"):
        require_ever_kept(queue(hall, THREE))


def test_a_program_is_no_person(hall: Hall) -> None:
    hall.people.add("watcher", by=hall.ann, owner="ann")
    with pytest.raises(SettingsError, match="accounts of 2 people"):
        require_ever_kept(queue(hall, THREE))


def test_nobody_has_an_account_yet_so_the_first_one_comes_first(store: Store, clock: HandClock) -> None:
    require_ever_kept(Queue(store, clock, rules=parse_review_rules(THREE, "rules.yaml")))


def test_the_command_refuses_such_a_file(hall: Hall, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    app = typer.Typer()
    app.add_typer(rules_app(lambda: queue(hall, "{}")), name="rules")
    for text, code in ((THREE, 1), (TWO, 0)):
        file.write_text(text)
        said = CliRunner().invoke(app, ["rules", "check", str(file)])
        assert said.exit_code == code, said.output
