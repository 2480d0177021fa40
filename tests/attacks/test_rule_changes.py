"""The rules, attacked: whoever can write a file, or a row, or has one account, changes them for no gateway."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.errors import EditRefusedError, NotAdoptedError, NotAllowedError, StoreCorruptError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_tables import rule_changes, rule_texts
from checkvalve.approvals.rulesets import text_digest
from checkvalve.approvals.standing_draft import Widening
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events, proposals
from checkvalve.gateway.app import build, open_queue
from checkvalve.gateway.redeciding import deciding_by
from checkvalve.gateway.rulefiles import rule_files
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.undo_point import review_point
from tests.approvals.rules_world import adopt_files, change
from tests.approvals.standing_world import PARTNER, World, standing_world

pytestmark = [pytest.mark.claim("C2"), pytest.mark.claim("C4"), pytest.mark.claim("C9")]

PACKAGED = importlib.resources.files("checkvalve.approvals").joinpath("default.cedar").read_text("utf-8")
LAX = '\n@id("anything")\n@decision("allow")\npermit (principal, action == Action::"send", resource);\n'
STRICT = '\n@id("no-mail")\nforbid (principal, action == Action::"send", resource);\n'
TWO = "everywhere: {approve: [{approver: 2}]}\n"
ONE = "everywhere: {approve: [{approver: 1}]}\n"


def files(folder: Path) -> dict[str, Any]:
    """Write a policy and review rules of one's own, where settings name them."""
    found = {"policy": folder / "policy.cedar", "review_rules": folder / "review.yaml"}
    if not found["policy"].exists():
        found["policy"].write_text(PACKAGED, encoding="utf-8")
        found["review_rules"].write_text(TWO, encoding="utf-8")
    return found


def opened(folder: Path, **options: Any) -> Any:
    """Open a world over these files as they are now, with the people who were there before."""
    return standing_world(folder, **files(folder), **options)


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    """Adopt rules, and let the gateway end."""
    with opened(tmp_path) as world:
        adopt_files(world)
        found: dict[str, str] = world.tokens
    return found


def settings(folder: Path, **options: Any) -> Settings:
    places = {"manifest": folder / "manifest.yaml", "database_url": f"sqlite:///{folder / 'gate.db'}"}
    return Settings(**{**places, **files(folder), "log_level": "warning", **options})


def count(folder: Path) -> int:
    with Store.open(f"sqlite:///{folder / 'gate.db'}") as store, store.read() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(proposals)).scalar_one())


def test_harmless_twin_the_adopted_files_run(tmp_path: Path, tokens: dict[str, str]) -> None:
    with opened(tmp_path, tokens=tokens) as world:
        asked = world.ask(to=PARTNER, body="x")
        assert asked.state is State.PENDING


@pytest.mark.parametrize("part", ["manifest", "policy", "review rules", "settings that decide"])
def test_a_file_that_was_changed_after_it_was_adopted_starts_nothing(
    tmp_path: Path, tokens: dict[str, str], part: str
) -> None:
    own: dict[str, Any] = {}
    match part:
        case "manifest":
            place, before = tmp_path / "manifest.yaml", "    effect: configure"
            change(place, before, "    effect: read")
        case "policy":
            place = tmp_path / "policy.cedar"
            place.write_text(PACKAGED + LAX, encoding="utf-8")
        case "review rules":
            place = tmp_path / "review.yaml"
            place.write_text(ONE, encoding="utf-8")
        case _:
            place, own = tmp_path / "(file and environment)", {"single_user": True, "mode": "observe"}
    with pytest.raises(NotAdoptedError) as refused:
        build(settings(tmp_path, **own))
    said = refused.value.message
    assert part in said
    assert place.name in said
    assert said.count("sha256:") == 2
    if part != "settings that decide":
        assert text_digest(place.read_text(encoding="utf-8")) in said
    assert "checkvalve rules propose" in refused.value.remedy
    assert count(tmp_path) == 0
    assert tokens


def test_a_comment_is_a_change_like_any_other(tmp_path: Path, tokens: dict[str, str]) -> None:
    with (tmp_path / "manifest.yaml").open("a", encoding="utf-8") as file:
        file.write("# nothing\n")
    with pytest.raises(NotAdoptedError):
        build(settings(tmp_path))
    assert tokens


def test_a_file_is_read_once_so_that_no_other_one_is_used_than_was_compared(
    tmp_path: Path, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker replaces the manifest right after each look at it."""
    place, real, reads = tmp_path / "manifest.yaml", Path.open, list[str]()
    lax = place.read_text().replace("    effect: send", "    effect: read")

    def watched(self: Path, *words: Any, **options: Any) -> Any:
        found = real(self, *words, **options)
        if self == place:
            reads.append(self.name)
            place.unlink()
            with real(place, "wb") as other:
                other.write(lax.encode())
        return found

    def read_one() -> tuple[str, str]:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", watched)
            found = rule_files(settings(tmp_path))
        text = next(one for one in found.texts if one.part == "manifest")
        return found.manifest.tools["send_mail"].effect.value, text.text

    effect, text = read_one()
    assert (effect, "effect: send" in text, reads) == ("send", True, ["manifest.yaml"])
    assert tokens


def test_a_gateway_that_runs_ends_when_other_rules_come_into_force(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        adopt_files(world)
        granted, call = ask(world)
        (tmp_path / "policy.cedar").write_text(PACKAGED + STRICT, encoding="utf-8")
        adopt_files(world)
        with pytest.raises(NotAdoptedError, match=r"policy\.cedar"):
            world.ask(to=PARTNER, body="y")
        with pytest.raises(NotAdoptedError):
            world.gateway.executor.run(granted.id, lambda args, key: pytest.fail("it ran"))
        assert world.gateway.queue.get(granted.id).state is State.APPROVED
        tokens = world.tokens
    with opened(tmp_path, tokens=tokens) as world:  # started again: what was approved is decided again by the new rules
        check = world.session("granted").revalidation(call)
        outcome = world.gateway.executor.run(granted.id, lambda args, key: pytest.fail("it ran"), revalidate=check)
        assert outcome.state is State.INVALIDATED


def ask(world: World) -> tuple[Proposal, Any]:
    """Let a call be approved by two people, as the review rules say."""
    call = world.call(to=PARTNER, body="x")
    asked = world.session("granted").propose(call)
    world.approve(asked, world.ann)
    assert world.approve(asked, world.ben).state is State.APPROVED
    return asked, call


def test_the_settings_can_want_an_adoption_first(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        people = world.tokens
    with pytest.raises(NotAdoptedError, match="nothing was adopted yet"):
        build(settings(tmp_path, require_adoption=True))
    with opened(tmp_path, tokens=people) as world:
        queue = world.gateway.queue
        queue.adopted.required = True
        with pytest.raises(NotAdoptedError):
            world.ask(to=PARTNER, body="x")
        adopt_files(world)
        assert world.ask(to=PARTNER, body="y").state is State.PENDING


@pytest.mark.claim("C5")
@pytest.mark.parametrize("how", ["row", "text", "removed", "moved"])
def test_a_row_that_is_written_by_hand_puts_no_rules_into_force(
    tmp_path: Path, tokens: dict[str, str], how: str
) -> None:
    lax = PACKAGED + LAX
    (tmp_path / "policy.cedar").write_text(lax, encoding="utf-8")
    with Store.open(f"sqlite:///{tmp_path / 'gate.db'}") as store, store.write() as connection:
        row = dict(connection.execute(sa.select(rule_changes)).mappings().one())
        parts = str(row["parts"]).replace(text_digest(PACKAGED), text_digest(lax))
        if how == "row":
            connection.execute(sa.insert(rule_texts).values(digest=text_digest(lax), text=lax))
            connection.execute(sa.insert(rule_changes).values({**row, "id": "1" * 36, "parts": parts}))
        elif how == "text":
            connection.execute(sa.update(rule_changes).values(parts=parts))
        elif how == "removed":  # as if nothing had ever been adopted
            connection.execute(sa.delete(rule_changes))
            connection.execute(sa.delete(rule_texts))
        else:
            connection.execute(sa.update(rule_changes).values(tenant="elsewhere"))
    with pytest.raises(StoreCorruptError):
        build(settings(tmp_path))
    assert tokens


@pytest.mark.claim("C5")
def test_events_that_are_gone_as_well_are_missed_by_the_log(tmp_path: Path, tokens: dict[str, str]) -> None:
    """With rows and events gone nothing says that anything was adopted, but the chain is broken."""
    from checkvalve.approvals.verify import verify

    with Store.open(f"sqlite:///{tmp_path / 'gate.db'}") as store:
        with store.write() as connection:
            connection.execute(sa.delete(rule_changes))
            connection.execute(sa.delete(rule_texts))
            connection.execute(sa.delete(events).where(events.c.subject == "rules:"))
        assert not verify(store).ok
    assert tokens


def test_whoever_uses_another_settings_file_decides_no_edit_and_makes_no_standing_rule(
    tmp_path: Path, tokens: dict[str, str]
) -> None:
    with opened(tmp_path, tokens=tokens) as world:
        asked = world.ask(to=PARTNER, body="x")
    (tmp_path / "policy.cedar").write_text(PACKAGED + LAX, encoding="utf-8")
    queue = open_queue(settings(tmp_path))
    with queue.store:
        ann = queue.reviewers.authenticate(tokens["ann"])
        with pytest.raises(EditRefusedError, match="nobody adopted"):
            deciding_by(settings(tmp_path))(queue)(asked, {"to": PARTNER, "body": "y"})
        assert ann.name == "ann"
    (tmp_path / "policy.cedar").write_text(PACKAGED, encoding="utf-8")
    with opened(tmp_path, tokens=tokens) as world:
        granted, _ = ask(world)
        world.run(granted)
    (tmp_path / "review.yaml").write_text(ONE, encoding="utf-8")
    queue = open_queue(settings(tmp_path))
    with queue.store, pytest.raises(NotAdoptedError, match="review"):
        queue.standing_rules.make(granted.id, Widening(anything=("body",)), queue.reviewers.authenticate(tokens["ann"]))


def test_pages_that_are_served_alone_open_and_ask_for_nothing_under_other_rules(
    tmp_path: Path, tokens: dict[str, str]
) -> None:
    (tmp_path / "policy.cedar").write_text(PACKAGED + LAX, encoding="utf-8")
    queue = open_queue(settings(tmp_path))
    with queue.store:
        assert review_point(settings(tmp_path), queue) is not None
        with pytest.raises(NotAdoptedError), queue.store.read() as connection:
            queue.adopted.require(connection, queue.clock())
    assert tokens


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as found:
        yield found


def test_one_person_with_two_accounts_and_an_own_settings_file_confirms_nothing(world: World, tmp_path: Path) -> None:
    adopt_files(world)
    known = world.gateway.queue.reviewers
    token = known.add("ann.phone", by=world.ann, person="ann")
    (tmp_path / "policy.cedar").write_text(PACKAGED + LAX, encoding="utf-8")
    with pytest.raises(NotAllowedError, match="yourself"):
        adopt_files(world, world.ann, known.authenticate(token))
    mine = open_queue(settings(tmp_path, single_user=True))  # what one's own settings say of it counts for nothing
    with mine.store:
        (waiting,) = [item for item in mine.rule_changes.list() if item.state == "waiting"]
        with pytest.raises(NotAllowedError, match="yourself"):
            mine.rule_changes.confirm(waiting.id, mine.reviewers.authenticate(token), waiting.digest)


def test_what_would_become_laxer_stands_first_and_is_counted(world: World, tmp_path: Path) -> None:
    from checkvalve.gateway.rule_proposals import Wanted, draft_of
    from tests.approvals.rules_world import place_of

    adopt_files(world)
    asked = world.ask(to=PARTNER, body="x")
    denied = world.ask("no_such_tool", a="b")
    (tmp_path / "policy.cedar").write_text(PACKAGED + LAX.replace("allow", "review"), encoding="utf-8")
    place = place_of(world)
    assert draft_of(place, Wanted({})).impact["laxer"] == 0
    open_mail = PACKAGED.replace('@decision("review")', '@decision("allow")')
    assert open_mail != PACKAGED
    (tmp_path / "policy.cedar").write_text(open_mail, encoding="utf-8")
    (tmp_path / "review.yaml").write_text(ONE, encoding="utf-8")
    impact = draft_of(place, Wanted({})).impact
    assert (impact["calls"], impact["laxer"], impact["changed"]) == (2, 1, {"review to allow": 1})
    listed: Any = impact["decisions"]
    assert [(line["id"], line["laxer"]) for line in listed] == [(asked.id, True)]
    asked_otherwise: Any = impact["questions"]
    assert [(one["before"], one["after"]) for one in asked_otherwise] == [("2 approvers", "one approver")]
    assert denied.state is State.DENIED
