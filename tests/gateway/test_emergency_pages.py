"""Standing in, breaking the glass and looking afterwards: the same on the pages, over HTTP and in the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkvalve.approvals.account_tables import tries
from checkvalve.approvals.afterlooks import AfterLooks
from checkvalve.approvals.audit import read_events
from checkvalve.approvals.delegations import Delegations
from checkvalve.approvals.passwords import Passwords, set_password
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.roles import Role
from checkvalve.gateway.web_words import LANGUAGES, words_in
from tests.approvals.emergency import FINDING, REASON
from tests.gateway.review_world import FAST, Review, reviewing, sign_in
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk
from tests.waiting import until

TWO = """
everywhere:
  approve: [{approver: 2}]
  break_glass: true
"""
SECRET = "four plain words together 7"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path, break_glass=True, review_rules=rules(tmp_path)) as found:
        yield found


def rules(folder: Path) -> Path:
    """Write the file that lets every question take two approvers, and a glass be broken."""
    (folder / "rules.yaml").write_text(TWO)
    return folder / "rules.yaml"


def password(queue: Any, name: str) -> None:
    """Give somebody a password."""
    hashed = Passwords(queue.store, queue.clock, FAST).hash_for(name, SECRET)
    with queue.store.write() as connection:
        set_password(connection, name, hashed, at=queue.clock(), by="token")


def add(world: Review, name: str, *roles: Role) -> str:
    reviewers = world.gateway.queue.reviewers
    boss = reviewers.authenticate(world.token)
    return reviewers.add(name, by=boss, roles=roles or None)


def post(world: Review, path: str, page: str, **values: str) -> Any:
    return world.client.post(path, data={**world.fields(page, path), **values})


def handed(world: Review) -> list[Any]:
    queue = world.gateway.queue
    return Delegations(queue.store, queue.clock, queue.reviewers).list(everything=True)


def looks(world: Review) -> list[Any]:
    queue = world.gateway.queue
    return AfterLooks(queue.store, queue.clock, queue.reviewers).list(everything=True)


def days(page: str) -> tuple[str, str]:
    found = re.search(r'name="first" value="([0-9-]+)" min="[0-9-]+" max="([0-9-]+)"', page)
    assert found
    return found[1], found[2]


def test_a_colleague_is_chosen_on_the_page_and_either_ends_it(world: Review) -> None:
    add(world, "ben")
    page = world.get("/review/delegations")
    assert 'value="boss"' not in page.split("<select")[1]
    first, _ = days(page)
    sent = post(world, "/review/delegations", page, taker="ben", first=first, last=first, reason="at the dentist's")
    assert sent.status_code == 303, sent.text
    (given,) = handed(world)
    assert (given.giver, given.taker, given.reason) == ("boss", "ben", "at the dentist's")
    page = world.get("/review/delegations?done=handed")
    assert "in force" in page
    assert "Handed over." in page
    sent = post(world, f"/review/delegations/{given.id}/end", page)
    assert sent.status_code == 303
    assert [item.ended_by for item in handed(world)] == ["reviewer:boss"]
    assert '/end"' not in world.get("/review/delegations")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"taker": "boss"}, "stand in for oneself"),
        ({"taker": "nobody"}, "no enabled reviewer"),
        ({"last": "2020-01-01"}, "over before it begins"),
        ({"last": "2999-01-01"}, "at most 30 days"),
        ({"first": "soon"}, "no moment"),
        ({"reason": "x"}, "reason in words"),
    ],
)
def test_what_cannot_be_handed_over_is_refused_with_its_reason(world: Review, values: dict[str, str], why: str) -> None:
    add(world, "ben")
    page = world.get("/review/delegations")
    first, _ = days(page)
    given = {"taker": "ben", "first": first, "last": first, "reason": "on holiday", **values}
    sent = post(world, "/review/delegations", page, **given)
    assert sent.status_code in {403, 404, 409, 422}
    assert why in sent.text
    assert handed(world) == []


@pytest.mark.claim("C4")
def test_a_form_for_standing_in_needs_its_seal(world: Review) -> None:
    add(world, "ben")
    page = world.get("/review/delegations")
    first, _ = days(page)
    values = {"taker": "ben", "first": first, "last": first, "reason": "on holiday"}
    for seal in ("", world.fields(page, "/review/signout")["seal"]):
        assert world.client.post("/review/delegations", data={**values, "seal": seal}).status_code == 403
    assert handed(world) == []


def breaker(world: Review) -> None:
    """Sign somebody in who may break the glass, with a password."""
    token = add(world, "eve", Role.BREAKER)
    password(world.gateway.queue, "eve")
    assert sign_in(world.client, token).status_code == 303


def break_it(world: Review, row: Proposal, **values: str) -> Any:
    page = world.card(row)
    world.wait()
    given = {"digest": row.digest[7:13], "note": REASON, **values}
    return post(world, f"/review/items/{row.id}/glass", page, **given)


@pytest.mark.claim("C4")
def test_the_glass_is_broken_on_the_card_with_a_proof_and_everybody_can_see_it(world: Review) -> None:
    row = world.bill()
    assert f"/review/items/{row.id}/glass" not in world.card(row)  # the boss is no breaker
    breaker(world)
    asked = break_it(world, row)
    assert asked.status_code == 200
    assert "Prove once more" in asked.text
    assert world.state(row) is State.PENDING
    again = post(world, f"/review/items/{row.id}/glass", asked.text, secret="wrong words")
    assert again.status_code == 401
    done = post(world, f"/review/items/{row.id}/glass", again.text, secret=SECRET)
    assert done.status_code == 303, done.text
    stored = world.gateway.queue.get(row.id)
    assert (stored.state, stored.code, stored.decided_by) == (State.APPROVED, "break_glass", "breakglass:eve")
    card = world.card(row)
    assert "THE GLASS WAS BROKEN" in card
    assert REASON in card
    assert "not looked at yet: 1" in world.get("/review")


@pytest.mark.parametrize(
    ("values", "why"),
    [({"digest": "000000"}, "not the start"), ({"note": "urgent"}, "say in words why nobody else can decide this")],
)
def test_without_digest_and_reason_no_glass_is_broken(world: Review, values: dict[str, str], why: str) -> None:
    row = world.bill()
    breaker(world)
    refused = break_it(world, row, **values)
    assert refused.status_code == 422
    assert why in refused.text
    assert looks(world) == []


def test_somebody_else_writes_down_what_they_found(world: Review) -> None:
    row = world.bill()
    boss = world.token
    breaker(world)
    asked = break_it(world, row)
    post(world, f"/review/items/{row.id}/glass", asked.text, secret=SECRET)
    assert "Look when its effect can be seen" not in world.get("/review/afterlooks")  # it is the breaker's own
    assert "You broke this glass" in world.get("/review/afterlooks")
    assert sign_in(world.client, boss).status_code == 303
    assert "Look when its effect can be seen" in world.get("/review/afterlooks")
    world.gateway.executor.run(row.id, lambda args, key: "paid")
    page = world.get("/review/afterlooks")
    path = f"/review/afterlooks/{row.id}/finding"
    short = post(world, path, page, finding="fine")
    assert short.status_code == 422
    assert "finding is words" in short.text
    assert post(world, path, page, finding=FINDING).status_code == 303
    page = world.get("/review/afterlooks?done=looked")
    assert FINDING in page
    assert "finding" not in re.findall(r'action="[^"]*/afterlooks/[^"]*"', page)
    assert FINDING in world.card(row)
    assert "not looked at yet" not in world.get("/review")


def test_what_nobody_can_decide_stands_on_top_of_the_queue(world: Review) -> None:
    row = world.bill()
    page = world.get("/review")
    assert "Nobody can decide these" in page
    assert f"/review/items/{row.id}" in page.split("Nobody can decide these")[1].split("</section>")[0]
    add(world, "ben")
    from checkvalve.approvals.ladder import Ladder

    Ladder(world.gateway.queue).tick()
    assert "Nobody can decide these" not in world.get("/review")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_of_these_pages_is_in_every_catalogue(language: str) -> None:
    templates = Path(__file__).resolve().parents[2] / "gateway/web/templates"
    names = ("delegations", "afterlooks", "glass", "glass_said", "urgent")
    used = {
        key for name in names for key in re.findall(r"t\('([a-z_.]+[a-z_])'", (templates / f"{name}.html").read_text())
    }
    states = {f"handed.{state}" for state in ("in force", "to come", "over", "ended", "void")}
    others = {"done.handed", "done.handed.back", "done.looked", "done.broken", "stop.handed", "stop.looked"}
    assert not [key for key in used | states | others if not words_in(language).has(key)]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path, break_glass=True, review_rules=rules(tmp_path)) as found:
        yield Desk(found)


def people(api: Desk, name: str, *roles: Role) -> dict[str, str]:
    reviewers = api.api.gateway.queue.reviewers
    boss = reviewers.authenticate(api.boss["Authorization"].removeprefix("Bearer "))
    token = reviewers.add(name, by=boss, roles=roles or None)
    return {"Authorization": f"Bearer {token}"}


def test_one_hands_over_over_http(api: Desk) -> None:
    ben, client = people(api, "ben"), api.api.client
    body = {"taker": "ben", "note": "on holiday", "expires_at": "2999-01-01T00:00:00Z"}
    assert problem(client.post("/delegations", json=body, headers=api.boss)) == (422, "refused")
    assert client.post("/delegations", json=body, headers=api.api.ann).status_code == 403
    from datetime import UTC, datetime, timedelta

    body["expires_at"] = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    made = client.post("/delegations", json=body, headers=api.boss)
    assert made.status_code == 201, made.text
    assert problem(client.post("/delegations", json=body, headers=api.boss)) == (409, "conflict")
    assert [item["id"] for item in client.get("/delegations", headers=ben).json()] == [made.json()["id"]]
    dora = people(api, "dora", Role.APPROVER)
    assert problem(client.delete(made.headers["location"], headers=dora)) == (403, "not_allowed")
    ended = client.delete(made.headers["location"], headers=ben).json()
    assert (ended["state"], ended["ended_by"]) == ("ended", "reviewer:ben")
    assert client.get("/delegations", headers=ben).json() == []
    assert len(client.get("/delegations?all=true", headers=ben).json()) == 1


@pytest.mark.claim("C4")
def test_the_glass_is_broken_over_http_with_a_password_and_no_token(api: Desk) -> None:
    row, eve = api.waiting(), people(api, "eve", Role.BREAKER)
    gateway, client = api.api.gateway, api.api.client
    password(gateway.queue, "eve")
    assert [item["approval"] for item in api.get("/unreachable").json()] == [row.id]
    path, digest = f"/approvals/{row.id}/break-glass", {"If-Match": f'"{row.digest}"'}
    body = {"note": REASON, "password": SECRET}
    assert problem(client.post(path, json=body, headers=eve)) == (428, "digest_needed")
    own = {**body, "password": eve["Authorization"].removeprefix("Bearer ")}
    assert problem(client.post(path, json=own, headers={**eve, **digest})) == (403, "step_up_required")
    wrong = {**body, "password": "not these words"}
    assert problem(client.post(path, json=wrong, headers={**eve, **digest})) == (403, "credential")
    assert problem(client.post(path, json=body, headers={**api.boss, **digest})) == (403, "not_allowed")
    assert gateway.queue.get(row.id).state is State.PENDING
    done = client.post(path, json=body, headers={**eve, **digest})
    assert done.status_code == 200, done.text
    assert (done.json()["code"], done.json()["decided_by"]) == ("break_glass", "breakglass:eve")
    api.api.wait("t1", "answered")
    finding = f"/afterlooks/{row.id}/finding"
    assert problem(client.post(finding, json={"note": FINDING}, headers=eve)) == (403, "not_allowed")
    assert client.post(finding, json={"note": FINDING}, headers=api.api.ann).status_code == 403
    assert [item["approval"] for item in api.get("/afterlooks").json()] == [row.id]
    closed = client.post(finding, json={"note": FINDING}, headers=api.boss)
    assert (closed.json()["state"], closed.json()["looked_by"]) == ("closed", "boss")
    assert api.get("/afterlooks").json() == []
    assert [item["state"] for item in api.get("/afterlooks?all=true").json()] == ["closed"]
    assert json.dumps(SECRET) not in json.dumps(done.json())


@pytest.mark.claim("C4")
def test_who_may_not_break_a_glass_is_told_so_before_any_password_is_looked_at(api: Desk) -> None:
    """Else the answer would tell whether a password is right, and tries of it would count, where none can help."""
    row, client, queue = api.waiting(), api.api.client, api.api.gateway.queue
    password(queue, "boss")
    eve, headers = people(api, "eve", Role.BREAKER), {"If-Match": f'"{row.digest}"'}
    password(queue, "eve")
    path = f"/approvals/{row.id}/break-glass"
    for secret in (SECRET, "not these words", api.boss["Authorization"].removeprefix("Bearer ")):
        said = client.post(path, json={"note": REASON, "password": secret}, headers={**api.boss, **headers})
        assert (*problem(said), said.json()["cause"]) == (403, "not_allowed", "role_missing")
    assert tried(queue) == 0
    stale = {"If-Match": f'"{row.digest};v9"'}
    old = client.post(path, json={"note": REASON, "password": "not these words"}, headers={**eve, **stale})
    assert problem(old) == (412, "other_digest")
    blank = client.post(path, json={"note": " " * 40, "password": "not these words"}, headers={**eve, **headers})
    assert blank.status_code == 422
    assert tried(queue) == 0
    assert queue.get(row.id).state is State.PENDING


def tried(queue: Any) -> int:
    """Return how often a password was tried and not found good."""
    with queue.store.read() as connection:
        return int(connection.execute(sa.select(sa.func.sum(tries.c.count))).scalar() or 0)


def test_a_page_that_breaks_no_glass_asks_for_no_proof(world: Review) -> None:
    row = world.bill()
    breaker(world)
    page = world.card(row)
    world.wait()
    reviewers = world.gateway.queue.reviewers
    reviewers.set_roles("eve", [Role.RESPONDER], by=reviewers.authenticate(world.token))
    sent = post(world, f"/review/items/{row.id}/glass", page, digest=row.digest[7:13], note=REASON)
    assert sent.status_code == 403
    assert "Prove once more" not in sent.text
    assert "takes the role breaker" in sent.text


def test_serve_looks_after_the_ladders_by_itself(api: Desk) -> None:
    row = api.waiting()
    assert [item["approval"] for item in api.get("/unreachable").json()] == [row.id]
    people(api, "ben", Role.APPROVER)

    def is_said() -> bool:
        with api.api.gateway.store.read() as connection:
            return "proposal.reachable" in {event.kind for event in read_events(connection, subject=row.id)}

    until(is_said)
    assert api.get("/unreachable").json() == []
