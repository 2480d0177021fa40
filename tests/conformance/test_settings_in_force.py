"""A yes counts under settings that people adopted, attacked with settings of one's own; on every database."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.breakglass import break_glass
from checkvalve.approvals.deciding import refusal
from checkvalve.approvals.errors import NotAdoptedError, NotAllowedError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Checks, Item, with_secret
from checkvalve.approvals.verify import verify
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import Wanted, draft_of
from checkvalve.gateway.settings import DAY, Settings
from checkvalve.gateway.undo_point import review_point
from tests.approvals.emergency import REASON
from tests.approvals.made import people
from tests.approvals.rules_world import adopt_files
from tests.approvals.standing_world import World, standing_world

pytestmark = pytest.mark.claim("C4")

RULES = "everywhere:\n  approve: [{approver: 2}]\n  break_glass: true\n"
ONE = "everywhere: {approve: [{approver: 1}]}\n"


class Files:
    """Files of a gateway in one database, with the settings that the test gives."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.tokens = folder, url, dict[str, str]()
        self.files = {"policy": folder / "policy.cedar", "review_rules": folder / "review.yaml"}
        packaged = importlib.resources.files("checkvalve.approvals").joinpath("default.cedar").read_text("utf-8")
        self.files["policy"].write_text(packaged, encoding="utf-8")
        self.files["review_rules"].write_text(ONE, encoding="utf-8")

    @contextmanager
    def gateway(self, **options: Any) -> Iterator[World]:
        values: dict[str, Any] = {"database_url": self.url, "tokens": self.tokens or None, **self.files, **options}
        with standing_world(self.folder, **values) as world:
            self.tokens |= world.tokens
            yield world

    def settings(self, **options: Any) -> Settings:
        values: dict[str, Any] = {"manifest": self.folder / "manifest.yaml", "database_url": self.url, **self.files}
        return Settings(**{**values, "log_level": "error", **options})

    @contextmanager
    def beside(self, *, review_only: bool, **options: Any) -> Iterator[Queue]:
        """Open the queue as a terminal does, or as pages that are served alone."""
        settings = self.settings(**options)
        queue = open_queue(settings)
        with queue.store:
            people(queue)
            if review_only:
                review_point(settings, queue)
            yield queue

    def who(self, queue: Queue, name: str) -> Reviewer:
        return queue.reviewers.authenticate(self.tokens[name])

    def breaks(self, queue: Queue, row: Proposal, name: str) -> Proposal:
        who = self.who(queue, name)
        proof = with_secret(Checks.of(queue.reviewers), who, Item(row.id, row.digest, "break_glass"), self.tokens[name])
        return break_glass(queue, row.id, who, row.digest, reason=REASON, step_up=proof)


@pytest.fixture
def place(tmp_path: Path, url: str) -> Files:
    return Files(tmp_path, url)


def asked(place: Files, requester: str = "ann", **options: Any) -> Proposal:
    """Adopt the files under these settings, and let somebody's agent ask."""
    with place.gateway(**options) as world:
        adopt_files(world)
        place.tokens["eve"] = world.gateway.queue.reviewers.add("eve", by=world.ann, roles=[Role.BREAKER])
        row = world.ask(requester=requester)
        assert row.state is State.PENDING
    return row


def effects(world: World, row: Proposal) -> tuple[State, list[str]]:
    """Run a call; return how it ended, and what had an effect."""
    done = list[str]()
    outcome = world.gateway.executor.run(row.id, lambda args, key: done.append(key))
    return outcome.state, done


@pytest.mark.parametrize("review_only", [False, True], ids=["terminal", "review_only"])
def test_nobody_says_yes_to_an_own_call_by_settings_of_their_own(place: Files, review_only: bool) -> None:
    row = asked(place)
    with place.beside(review_only=review_only, single_user=True) as queue:
        ann = place.who(queue, "ann")
        with pytest.raises(NotAdoptedError, match="settings that decide"):
            queue.approve(row.id, ann, row.digest)
        with queue.store.read() as connection:
            assert "settings" in refusal(connection, queue.bench, row, ann, yes=True, at=queue.clock())
            assert refusal(connection, queue.bench, row, ann, yes=False, at=queue.clock()) == ""
        assert (queue.get(row.id).state, queue.standing(row.id).votes) == (State.PENDING, [])
        assert queue.reject(row.id, ann).state is State.REJECTED  # a no stays free
        assert verify(queue.store).ok
    with place.gateway() as world:
        assert effects(world, row) == (State.REJECTED, [])


@pytest.mark.parametrize("review_only", [False, True], ids=["terminal", "review_only"])
def test_nobody_breaks_the_glass_by_settings_of_their_own(place: Files, review_only: bool) -> None:
    place.files["review_rules"].write_text(RULES, encoding="utf-8")
    row = asked(place, "me")
    with place.beside(review_only=review_only, break_glass=True) as queue:
        with pytest.raises(NotAdoptedError, match="settings that decide"):
            place.breaks(queue, row, "eve")
        assert queue.get(row.id).state is State.PENDING
    with place.gateway() as world:
        with pytest.raises(NotAllowedError, match="no glass"):
            place.breaks(world.gateway.queue, row, "eve")
        assert effects(world, row) == (State.PENDING, [])


@pytest.mark.parametrize(
    "own",
    [{"review_budget": 0}, {"endorsed_for": 30 * DAY}, {"execute_within": DAY}, {"review_session": 604_800}],
    ids=lambda own: next(iter(own)),
)
def test_no_yes_counts_for_longer_or_more_often_than_was_adopted(place: Files, own: dict[str, Any]) -> None:
    row = asked(place, "me", review_budget=5)
    with place.beside(review_only=False, **{"review_budget": 5, **own}) as queue:
        with pytest.raises(NotAdoptedError, match="settings that decide"):
            queue.approve(row.id, place.who(queue, "ben"), row.digest)
        assert queue.get(row.id).state is State.PENDING
    with place.beside(review_only=False, review_budget=5) as queue:  # the harmless twin
        assert queue.approve(row.id, place.who(queue, "ben"), row.digest).state is State.APPROVED


def take_away(place: Files, world: World, *, overlap: int = 0, **left: Any) -> None:
    """Let two people adopt other settings, while a gateway runs under the old ones."""
    known = world.gateway.queue.rule_changes
    there = Place(world.gateway.queue, place.settings(**left), None)
    made = known.propose(draft_of(there, Wanted({}, overlap=overlap)), world.ann)
    people = [(name, who) for name, who in (("ann", world.ann), ("ben", world.ben)) if name != made.proposed_by]
    assert known.confirm(made.id, people[0][1], made.digest).state == "in force"


@pytest.mark.parametrize("setting", ["single_user", "break_glass"])
def test_a_process_of_before_takes_nothing_any_more_that_was_taken_away(place: Files, setting: str) -> None:
    if setting == "break_glass":
        place.files["review_rules"].write_text(RULES, encoding="utf-8")
    row = asked(place, "ann" if setting == "single_user" else "me", **{setting: True})
    with place.gateway(**{setting: True}) as old:
        take_away(place, old)
        queue, ann = old.gateway.queue, old.ann
        says = partial(old.approve, row, ann) if setting == "single_user" else partial(place.breaks, queue, row, "eve")
        with pytest.raises(NotAdoptedError):
            says()
        assert old.gateway.queue.get(row.id).state is State.PENDING
    with place.gateway() as world:
        assert effects(world, row) == (State.PENDING, [])


def allowed_by_a_program(place: Files, row: Proposal, setting: str) -> Proposal:
    """Take a yes in a program that loads no settings, so that nothing there is compared with what was adopted."""
    with open_queue(place.settings()).store as store:
        queue = Queue(store, single_user=setting == "single_user", glass=Glass(enabled=setting == "break_glass"))
        people(queue)
        if setting == "break_glass":
            return place.breaks(queue, row, "eve")
        return queue.approve(row.id, place.who(queue, "ann"), row.digest)


@pytest.mark.parametrize("setting", ["single_user", "break_glass"])
def test_a_permit_that_rests_on_a_setting_nobody_adopted_runs_nothing(place: Files, setting: str) -> None:
    if setting == "break_glass":
        place.files["review_rules"].write_text(RULES, encoding="utf-8")
    row = asked(place, "ann" if setting == "single_user" else "me")
    assert allowed_by_a_program(place, row, setting).state is State.APPROVED
    with place.gateway() as world:
        assert effects(world, row) == (State.INVALIDATED, [])
        assert world.gateway.queue.get(row.id).code == "not_adopted"
        assert verify(world.gateway.store).ok


@pytest.mark.parametrize("setting", ["single_user", "break_glass"])
def test_harmless_twin_what_was_adopted_counts(place: Files, setting: str) -> None:
    if setting == "break_glass":
        place.files["review_rules"].write_text(RULES, encoding="utf-8")
    row = asked(place, "ann" if setting == "single_user" else "me", **{setting: True})
    with place.beside(review_only=True, **{setting: True}) as queue:
        if setting == "break_glass":
            place.breaks(queue, row, "eve")
        else:
            assert queue.approve(row.id, place.who(queue, "ann"), row.digest).self_approved
    with place.gateway(**{setting: True}) as world:
        state, done = effects(world, row)
        assert (state, len(done)) == (State.SUCCEEDED, 1)


@pytest.mark.parametrize("overlap", [0, 3600])
def test_a_permit_given_before_a_setting_was_taken_away_runs_only_while_that_counts(place: Files, overlap: int) -> None:
    row = asked(place, single_user=True)
    with place.gateway(single_user=True) as old:
        assert old.approve(row, old.ann).self_approved
        take_away(place, old, overlap=overlap)
    with place.gateway() as world:
        state, done = effects(world, row)
    assert (state, len(done)) == ((State.SUCCEEDED, 1) if overlap else (State.INVALIDATED, 0))


def test_where_nothing_was_adopted_settings_count_as_they_are(place: Files) -> None:
    with place.gateway(single_user=True) as world:
        row = world.ask(requester="ann")
        assert world.approve(row, world.ann).self_approved
        assert effects(world, row)[0] is State.SUCCEEDED
