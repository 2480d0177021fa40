"""The pictures of the documentation of pages and states that no other test in a browser visits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, cast

import pytest

from checkvalve.approvals import moves
from checkvalve.approvals.asked_by import FOR, TOKEN, Behind
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.roles import Role
from checkvalve.approvals.tables import proposals
from checkvalve.gateway.app import build
from checkvalve.gateway.result_text import result_text
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.undo_point import UndoPoint
from checkvalve.gateway.web_pages import open_desk
from checkvalve.graphs.undoing import Undoing
from tests.approvals.standing_world import standing_world
from tests.gateway import review_world, test_pin_surfaces, test_preview_surfaces, test_quorum_pages
from tests.gateway.pictures import SMALL, folder, shoot, tabs_over
from tests.gateway.review_world import FAST, Review, reviewing
from tests.gateway.secret_world import ask, secret_review
from tests.gateway.test_report_surfaces import ONCALL
from tests.gateway.test_web_browser import Tabs, paths
from tests.gateway.test_web_browser import chromium as chromium  # noqa: PLC0414  # the fixture
from tests.gateway.test_web_seeds import Bench
from tests.undo_world import MANIFEST as NOTEBOOK
from tests.undo_world import Office

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket, pytest.mark.claim("C4")]

LOOKS: Final[dict[str, dict[str, Any]]] = {
    "-dark": {"color_scheme": "dark"},
    "-de": {"locale": "de"},
    "-zh": {"locale": "zh"},
    "-small": SMALL,
    "-de-small": {"locale": "de", **SMALL},
    "-dark-small": {"color_scheme": "dark", **SMALL},
}

AT: Final = {"diff": "#diff", "long": "#said", "mandate": "form.mandate"}
"""What is to be seen of a card that is not at its top."""


def boss(review: Review) -> Any:
    return review.gateway.queue.reviewers.authenticate(review.token)


def on(tabs: Tabs, page: Any, row: Proposal, where: str = "") -> Any:
    page.goto(tabs.url(f"/review/items/{row.id}{where}"))
    return page


def test_the_pages_of_the_queue(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    with reviewing(tmp_path) as review:
        where = paths(review)
        with tabs_over(review, chromium) as tabs:
            page = tabs.page()
            for name, path in where.items():
                if name != "standing":  # there is no rule here
                    page.goto(tabs.url(path))
                    shoot(page, place, name, AT.get(name, ""))
            for name, options in LOOKS.items():
                other = tabs.page(**options)
                other.goto(tabs.url(where["card"]))
                shoot(other, place, f"card{name}")
            small = tabs.page(**LOOKS["-dark-small"])
            small.goto(tabs.url("/review"))
            shoot(small, place, "queue-dark-small")


def test_the_first_start_and_a_new_token(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    (tmp_path / "manifest.yaml").write_text(review_world.MANIFEST)
    with build(settings(tmp_path)) as gateway:
        gateway.queue.reviewers = Reviewers(gateway.store, gateway.queue.clock, FAST)
        desk = open_desk(gateway.queue, gateway.settings, unpack=result_text)
        review = Review(gateway, desk, cast(Any, None), "")
        with tabs_over(review, chromium) as tabs:
            page = chromium.new_context(viewport={"width": 1_000, "height": 700}, locale="en").new_page()
            page.goto(tabs.url(f"/review/setup/{desk.door.invitations.first()}"))
            shoot(page, place, "setup")
            page.fill("input[name=name]", "ann@corp.example")
            page.click("main button")
            page.locator(".secret").wait_for()
            shoot(page, place, "setup-token")
            page.goto(tabs.url("/review/me"))
            page.click("form[action$='/me/token'] button")
            page.locator(".secret").wait_for()
            shoot(page, place, "token")


def test_a_secret_asked_for_and_shown(tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder(tmp_path)
    with secret_review(tmp_path, monkeypatch) as review, tabs_over(review, chromium) as tabs:
        page = on(tabs, tabs.page(), ask(review))
        shoot(page, place, "redacted", "#arguments")
        page.click(".reveal button")
        page.wait_for_url("**/reveal")
        shoot(page, place, "revealed", "#arguments")


def test_what_a_call_would_do_and_what_it_points_at(
    tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, first, second = folder(tmp_path), tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    monkeypatch.setattr(review_world, "MANIFEST", test_preview_surfaces.MANIFEST)
    with reviewing(first) as review, tabs_over(review, chromium) as tabs:
        shoot(on(tabs, tabs.page(), test_preview_surfaces.tried(review)), place, "preview", "#preview")
    monkeypatch.setattr(review_world, "MANIFEST", test_pin_surfaces.MANIFEST)
    with reviewing(second) as review, tabs_over(review, chromium) as tabs:
        moved = test_pin_surfaces.moved(review)
        waits = test_pin_surfaces.pinned(review, thread="another")
        page = tabs.page()
        shoot(on(tabs, page, waits), place, "pins", "#pinned")
        shoot(on(tabs, page, moved), place, "pins-moved", "#pinned")


def test_one_more_proof_a_receipt_and_taking_back(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    with reviewing(tmp_path) as review:
        approved, unknown = review.bill(), review.bill("late")
        for row in (approved, unknown):
            assert review.answer(row, note="asked Power Co on the phone").status_code == 303
        cut_off(review, unknown)
        grave, damaged = review.settings(), review.made_up()
        with tabs_over(review, chromium) as tabs:
            page = on(tabs, tabs.page(), approved)
            shoot(page, place, "revoke")
            page.click("#record")
            shoot(page, place, "receipt", "#clock")
            shoot(on(tabs, page, unknown), place, "settle")
            on(tabs, page, grave)
            page.fill("#typed", grave.digest[7:13])
            page.fill("form[data-yes] input[name=note]", "asked ann in person")
            page.click("button[data-first]")
            page.wait_for_url("**/yes")
            shoot(page, place, "stepup")
            broken(review, damaged)
            page.goto(tabs.url("/review"))
            shoot(page, place, "damaged")


def test_attention_with_an_item_that_was_missed(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    with reviewing(tmp_path, seeded_items=5, review_session=604_800, review_idle=86_400) as review:
        bench = Bench(review)
        where = bench.send("yes").headers["location"]
        with tabs_over(review, chromium) as tabs:
            page = tabs.page()
            for name, path in (("seed-revealed", where), ("attention", "/review/attention")):
                page.goto(tabs.url(path))
                shoot(page, place, name)


def test_the_week_and_the_people(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    (tmp_path / "oncall.toml").write_text(ONCALL.replace("<b>cem</b>", "cem@corp.example").replace("999w", "1w"))
    with reviewing(tmp_path, oncall=tmp_path / "oncall.toml", agent_owner="zoe@corp.example") as review:
        for number in range(12):
            review.answer(review.poisoned(f"task{number}"), "no" if number % 3 else "yes", scope="call")
        review.gateway.queue.reviewers.add("ci-bot", by=boss(review), owner="ann@corp.example")
        behind = (Behind(FOR, "dan@corp.example"), Behind(TOKEN, "cem@corp.example"))
        review.gateway.queue.owners.of_task = lambda _: behind
        row = review.bill()
        with tabs_over(review, chromium) as tabs:
            page = tabs.page()
            for name, path in (("report", "/report"), ("oncall", "/oncall"), ("programs", "/people")):
                page.goto(tabs.url(f"/review{path}"))
                shoot(page, place, name)
            shoot(on(tabs, page, row), place, "asked-by", "#clock")


def test_a_quorum_that_has_its_first_yes(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    (tmp_path / "rules.yaml").write_text(test_quorum_pages.RULES)
    with reviewing(tmp_path, review_rules=tmp_path / "rules.yaml") as review:
        review.gateway.queue.reviewers.add("ann@corp.example", by=boss(review), roles=[Role.APPROVER])
        row = review.bill()
        assert review.answer(row, note="asked Power Co on the phone").status_code == 303
        assert review.state(row) is State.PENDING
        with tabs_over(review, chromium) as tabs:
            shoot(on(tabs, tabs.page(), row), place, "quorum", "#clock")


def test_a_standing_rule_from_a_card_to_its_page(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    with standing_world(tmp_path) as world:
        asked = [world.succeeded() for _ in range(4)][-1]
        desk = open_desk(world.gateway.queue, world.gateway.settings, unpack=result_text)
        review = Review(world.gateway, desk, cast(Any, None), world.tokens["ann"])
        with tabs_over(review, chromium) as tabs:
            page = on(tabs, tabs.page(), asked, "/standing")
            shoot(page, place, "standing-draft")
            page.select_option("select[name=how-0]", "any")
            page.click("form.box button")
            page.locator("#run").wait_for()
            shoot(page, place, "standing-trial", "#rule")
            page.fill("#typed", asked.digest[7:13])
            page.click("form[data-yes] button")
            page.wait_for_url("**done=standing.*")
            name = re.findall(r"/standing/([^?]+)", page.url)[0]
            world.gateway.queue.standing_rules.confirm(name, world.ben)
            assert world.ask(to="desk@partner.example", body="Again").state is State.APPROVED
            page.goto(tabs.url(f"/review/standing/{name}"))
            shoot(page, place, "standing-rule")
            page.goto(tabs.url("/review/standing"))
            shoot(page, place, "standing")


def test_what_undoes_a_call_and_the_undoing(tmp_path: Path, chromium: Any) -> None:
    place = folder(tmp_path)
    (tmp_path / "manifest.yaml").write_text(NOTEBOOK)
    with build(settings(tmp_path)) as gateway:
        gateway.queue.reviewers = Reviewers(gateway.store, gateway.queue.clock, FAST)
        office = Office(gateway.store, tmp_path, clock=cast(Any, system_clock))
        done = office.act("update_note", id="n1", text="eggs").proposal
        office.notebook.write({"n1": {"title": "List", "text": "eggs and bread"}}, "by hand")
        desk = open_desk(gateway.queue, gateway.settings, unpack=result_text)
        desk.undo = UndoPoint(Undoing(gateway.services), office.tools())
        token = gateway.queue.reviewers.add("zoe@corp.example", by=office.person())
        with tabs_over(Review(gateway, desk, cast(Any, None), token), chromium) as tabs:
            page = on(tabs, tabs.page(), done)
            shoot(page, place, "undo", "#undo")
            page.click("section.undo button")
            page.wait_for_url(lambda url: done.id not in url)
            shoot(page, place, "undo-asked")


def settings(folder: Path) -> Settings:
    return Settings(
        manifest=folder / "manifest.yaml", database_url=f"sqlite:///{folder / 'gate.db'}", log_level="error"
    )


def cut_off(review: Review, row: Proposal) -> None:
    """Let nobody know whether an approved call ran."""
    with review.gateway.store.write() as connection:
        now = review.gateway.queue.clock()
        running = moves.move(connection, moves.load(connection, row.id), State.EXECUTING, at=now, by="executor:1")
        moves.move(connection, running, State.UNKNOWN, at=now, by="executor:1", code="cut_off")


def broken(review: Review, row: Proposal) -> None:
    """Change a record beside the log."""
    with review.gateway.store.write() as connection:
        connection.execute(proposals.update().where(proposals.c.id == row.id).values(canonical=b"{}"))
