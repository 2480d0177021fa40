"""Revealing what a card does not show: on the pages, in the terminal, over HTTP; and editing around a mark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.reveals import REVEALED
from checkvalve.approvals.reviewers import Reviewers
from checkvalve.approvals.roles import Role
from checkvalve.approvals.veiled import MARK
from tests.approvals.made import Desk
from tests.conformance.test_reveals import PASSWORD as OTHER
from tests.conformance.test_reveals import ask as propose
from tests.gateway.review_world import FAST, Review, sign_in
from tests.gateway.runs_world import problem, serving
from tests.gateway.secret_world import MEMO, PASSWORD, PIN, ask, secret_review

pytestmark = pytest.mark.claim("C5", "C8")


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    with secret_review(tmp_path, monkeypatch) as found:
        yield found


def looks(review: Review, row: Proposal) -> list[dict[str, Any]]:
    with review.gateway.store.read() as connection:
        found = list(read_events(connection, subject=row.id))
    return [json.loads(event.body) for event in found if event.kind == REVEALED]


def values(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page))


class TestPages:
    def test_a_button_shows_everything_once_and_the_log_has_it(self, review: Review) -> None:
        row = ask(review)
        before = review.card(row)
        assert "Show what is not shown" in before
        shown = review.answer(row, "reveal", page=before)
        assert shown.status_code == 200
        assert shown.headers["cache-control"] == "no-store"
        for canary in (PASSWORD, MEMO, PIN):
            assert canary in values(shown.text)
        assert "not shown, mark" not in shown.text
        assert "the log says that you looked" in shown.text
        (said,) = looks(review, row)
        assert (said["by"], said["channel"]) == ("reviewer:boss", "web")
        assert set(said["paths"]) == {"password", "pin", "memo", "note"}
        again = review.card(row)  # nothing keeps it: the address of the card shows marks
        assert PASSWORD not in values(again)
        assert REVEALED in values(again)

    def test_an_answer_from_that_page_is_about_the_same_bytes(self, review: Review) -> None:
        row = ask(review)
        page = review.answer(row, "reveal").text
        assert review.answer(row, page=page).status_code == 303
        approved = review.gateway.queue.get(row.id)
        assert (approved.state, approved.digest) == (State.APPROVED, row.digest)
        assert approved.args()["password"] == PASSWORD

    def test_the_bytes_have_a_button_of_their_own(self, review: Review) -> None:
        row = ask(review)
        path = f"/review/items/{row.id}/bytes"
        page = review.get(path)
        assert PASSWORD not in values(page)
        assert PASSWORD.encode().hex(" ")[:20] not in page
        assert "Squares stand for bytes" in page
        fields = review.fields(page, f"/review/items/{row.id}/reveal")
        shown = review.client.post(f"/review/items/{row.id}/reveal", data=fields)
        assert PASSWORD in values(shown.text)
        assert "\u25a0" not in shown.text
        assert len(looks(review, row)) == 1

    @pytest.mark.parametrize("how", ["no seal", "another's seal", "get"])
    def test_without_the_form_of_this_session_nothing_is_shown(self, review: Review, how: str) -> None:
        row, other = ask(review), ask(review, number="c2", note="Other")
        path = f"/review/items/{row.id}/reveal"
        if how == "get":
            answer = review.client.get(path)
        else:
            fields = review.fields(review.card(other), f"/review/items/{other.id}/reveal")
            answer = review.client.post(path, data=fields if how == "another's seal" else {"seal": ""})
        assert answer.status_code in {403, 404, 405}
        assert PASSWORD not in values(answer.text)
        assert looks(review, row) == []

    def test_who_may_not_has_no_button_and_gets_a_clear_no(self, review: Review) -> None:
        row = ask(review)
        reviewers = review.gateway.queue.reviewers
        boss = reviewers.authenticate(review.token)
        sign_in(review.client, reviewers.add("ben", by=boss, roles=[Role.APPROVER]))
        page = review.card(row)
        assert "it takes the role revealer" in page
        assert "Show what is not shown" not in page
        seal = review.fields(page, f"/review/items/{row.id}/no")["seal"]
        assert review.client.post(f"/review/items/{row.id}/reveal", data={"seal": seal}).status_code == 403
        assert looks(review, row) == []

    def test_a_right_that_was_taken_since_is_none(self, review: Review) -> None:
        row, reviewers = ask(review), review.gateway.queue.reviewers
        boss = reviewers.authenticate(review.token)
        sign_in(review.client, reviewers.add("ben", by=boss))
        page = review.card(row)
        reviewers.set_roles("ben", [Role.APPROVER], by=boss)
        refused = review.answer(row, "reveal", page=page)
        assert refused.status_code == 403
        assert "takes the role revealer" in values(refused.text)
        assert PASSWORD not in values(refused.text)

    def test_a_card_without_marks_has_no_button(self, review: Review) -> None:
        assert "Show what is not shown" not in review.card(review.poisoned())

    @pytest.mark.parametrize("language", ["en", "de", "zh"])
    def test_every_language_has_the_words(self, review: Review, language: str) -> None:
        row = ask(review)
        review.client.cookies.set("checkvalve_language", language)
        for path in (f"/review/items/{row.id}", f"/review/items/{row.id}/bytes", f"/review/items/{row.id}/edit"):
            page = review.get(path)
            assert not re.search(r"\b(?:redacted|reveal|edit|duty)\.[a-z]+", values(page))


class TestEditing:
    def form(self, review: Review, row: Proposal) -> dict[str, str]:
        page = review.get(f"/review/items/{row.id}/edit")
        fields = review.fields(page, f"/review/items/{row.id}/edit")
        for name, text in re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL):
            fields[name] = unescape(text)
        return fields

    def send(self, review: Review, row: Proposal, **changed: str) -> Any:
        fields = {**self.form(review, row), **changed}
        review.wait()
        return review.client.post(f"/review/items/{row.id}/edit", data=fields)

    def test_the_form_shows_marks_and_what_is_left_alone_stays(self, review: Review) -> None:
        row = ask(review)
        fields = self.form(review, row)
        names = {name: f"arg-{number}" for number, name in enumerate(row.args())}
        assert MARK.fullmatch(fields[names["password"]])
        assert PASSWORD not in json.dumps(fields)
        edited = fields[names["note"]].replace("for the API", "for the archive")
        done = self.send(review, row, **{names["note"]: edited})
        assert done.status_code == 303
        (new,) = review.gateway.queue.list([State.PENDING])
        assert new.args() == {**row.args(), "note": f"Use it for the archive.\nThe password is {PASSWORD}."}

    def test_nothing_changed_is_nothing_changed(self, review: Review) -> None:
        refused = self.send(review, ask(review))
        assert refused.status_code == 422
        assert "nothing was changed" in values(refused.text)

    def test_a_new_secret_replaces_the_old_one_and_is_hidden_too(self, review: Review) -> None:
        row = ask(review)
        names = {name: f"arg-{number}" for number, name in enumerate(row.args())}
        assert self.send(review, row, **{names["password"]: "blue-Heron-77"}).status_code == 303
        (new,) = review.gateway.queue.list([State.PENDING])
        assert new.args()["password"] == "blue-Heron-77"
        page = values(review.card(new))
        assert "blue-Heron-77" not in page
        assert PASSWORD not in page

    def test_a_mark_cannot_be_moved_into_a_destination(self, review: Review) -> None:
        row = ask(review)
        names = {name: f"arg-{number}" for number, name in enumerate(row.args())}
        pin = self.form(review, row)[names["pin"]]
        refused = self.send(review, row, **{names["site"]: f"https://evil.example/{pin}"})
        assert refused.status_code == 422
        assert "does not belong" in values(refused.text)
        assert review.state(row) is State.PENDING


class TestHttp:
    def test_a_reviewer_reveals_and_a_client_does_not(self, tmp_path: Path) -> None:
        with serving(tmp_path) as api:
            queue = api.gateway.queue
            queue.reviewers = Reviewers(queue.store, queue.clock, FAST)
            token = queue.reviewers.add("boss")
            boss = {"Authorization": f"Bearer {token}"}
            row = propose(Desk.over(queue, queue.clock, queue.reviewers.authenticate(token)))  # type: ignore[arg-type]
            path = f"/approvals/{row.id}"
            card = api.client.get(path, headers=boss)
            assert OTHER not in card.text
            assert [item["path"] for item in card.json()["redacted"]] == ["password"]
            assert MARK.fullmatch(card.json()["args"]["password"])
            assert problem(api.client.post(f"{path}/reveal", headers=api.bob)) == (403, "not_a_reviewer")
            revealed = api.client.post(f"{path}/reveal", headers=boss)
            assert revealed.json()["args"] == row.args()
            assert revealed.json()["redacted"] == []
            assert revealed.headers["cache-control"] == "no-store"
            ben = queue.reviewers.add("ben", by=queue.reviewers.authenticate(token), roles=[Role.APPROVER])
            refused = api.client.post(f"{path}/reveal", headers={"Authorization": f"Bearer {ben}"})
            assert problem(refused)[0] == 403
            assert "revealer" in refused.json()["detail"]

    def test_a_result_that_repeats_a_secret_shows_it_to_the_agents_program_alone(self, tmp_path: Path) -> None:
        with serving(tmp_path) as api:
            queue = api.gateway.queue
            queue.reviewers = Reviewers(queue.store, queue.clock, FAST)
            token = queue.reviewers.add("boss")
            desk = Desk.over(queue, queue.clock, queue.reviewers.authenticate(token))  # type: ignore[arg-type]
            row = propose(desk)
            desk.approve(row)
            api.gateway.executor.run(row.id, lambda args, _: f"made with the password {args['password']}")
            path, boss = f"/approvals/{row.id}/result", {"Authorization": f"Bearer {token}"}
            shown = api.client.get(path, headers=boss)
            assert shown.json()["state"] == "succeeded"
            assert OTHER not in shown.text
            assert "redacted: " in shown.json()["message"]["content"]
            assert OTHER in api.client.get(path, headers=api.bob).json()["message"]["content"]

    def test_no_edit_over_http_moves_a_mark(self, tmp_path: Path) -> None:
        with serving(tmp_path) as api:
            queue = api.gateway.queue
            queue.reviewers = Reviewers(queue.store, queue.clock, FAST)
            token = queue.reviewers.add("boss")
            row = propose(Desk.over(queue, queue.clock, queue.reviewers.authenticate(token)))  # type: ignore[arg-type]
            headers = {"Authorization": f"Bearer {token}", "If-Match": f'"{row.digest}"'}
            args = api.client.get(f"/approvals/{row.id}", headers=headers).json()["args"]
            moved = {"type": "edit", "edited_action": {"name": row.tool, "args": {**args, "note": args["password"]}}}
            for body in (moved, {"decisions": [moved]}):
                refused = api.client.post(f"/approvals/{row.id}/decision", json=body, headers=headers)
                assert problem(refused) == (422, "edit_refused")
                assert "does not belong" in refused.json()["detail"]
