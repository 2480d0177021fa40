"""Sets of rules for tests: as texts that are only stored, and as files that a gateway loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checkvalve.approvals import audit
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role
from checkvalve.approvals.rule_changes import RuleChanges
from checkvalve.approvals.rule_draft import RuleDraft
from checkvalve.approvals.ruleset_store import RuleChange
from checkvalve.approvals.rulesets import RuleText
from checkvalve.approvals.verify import verify
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import Wanted, draft_of
from tests.approvals.made import QUICK, Desk
from tests.approvals.standing_world import World

TEXTS = {"manifest": "tools: one\n", "policy": "permit\n", "schema": "entity\n", "review": "", "settings": ""}


def draft(known: RuleChanges, *, note: str = "", overlap: int = 0, impact: Any = None, **texts: str) -> RuleDraft:
    """Return a draft against what is in force, with these parts changed."""
    current = known.current()
    return RuleDraft(
        {**TEXTS, **known.texts(current), **texts}, current.id if current else "", impact or {}, note, overlap
    )


def adopted(known: RuleChanges, by: Reviewer, other: Reviewer, **changes: Any) -> RuleChange:
    """Adopt rules: at once where nothing was in force, else with a second person."""
    made = known.propose(draft(known, **changes), by)
    return known.confirm(made.id, other, made.digest) if made.state == "waiting" else made


def place_of(world: World) -> Place:
    """Return where this world's files are."""
    return Place(world.gateway.queue, world.gateway.settings, world.gateway.settings_file)


def adopt_files(world: World, by: Reviewer | None = None, other: Reviewer | None = None, **wanted: Any) -> RuleChange:
    """Adopt the files of a world as its settings name them now."""
    known = world.gateway.queue.rule_changes
    made = known.propose(draft_of(place_of(world), Wanted({}, **wanted)), by or world.ann)
    return known.confirm(made.id, other or world.ben, made.digest) if made.state == "waiting" else made


def change(path: Path, before: str, after: str) -> None:
    """Change a file as somebody would who may write it."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


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
