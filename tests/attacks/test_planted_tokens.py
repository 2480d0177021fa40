"""A token whose account was written by hand passes no door: also none behind which nobody asks for a role.

Whoever can write the database can write an account, a token into one, or roles; the log has none of it. It is compared
at each request, since a signed log is verified only from what is signed next.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import reviewers
from checkvalve.gateway.errors import TeamsError
from tests.approvals.made import QUICK, Desk, HandClock, people
from tests.gateway.review_world import reviewing
from tests.gateway.runs_world import serving
from tests.gateway.teams_world import room
from tests.gateway.test_http_approvals import Desk as Api

pytestmark = pytest.mark.claim("C4")
TOKEN = "cvr_aaaa_secret"  # what an attacker draws
PLANTED = {"selector": "aaaa", "token_hash": QUICK.hash("secret")}
BY_HAND = ("account", "token", "roles", "enabled")
LOOKS = (
    "/approvals", "/approvals/{id}", "/approvals/{id}/result", "/approvals/events", "/attention", "/delegations",
    "/afterlooks", "/unreachable", "/standing-rules", "/rules", "/rule-changes",
)  # fmt: skip


def write(store: Store, how: str, name: str) -> None:
    """Write an account by hand: a new one, another token or other roles into one, or one enabled again."""
    row = reviewers.c
    with store.write() as connection:
        if how == "account":
            values = {"name": "eve", "added_by": name, "added_at": 1, "roles": "", "person": "", **PLANTED}
            connection.execute(sa.insert(reviewers).values(**values))
            return
        changed: dict[str, dict[str, Any]] = {
            "token": PLANTED,
            "roles": {"roles": '{"roles":["administrator"],"scope":{}}', "person": "x"},
            "enabled": {"disabled_at": None},
        }
        assert connection.execute(sa.update(reviewers).where(row.name == name).values(changed[how])).rowcount == 1


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with serving(tmp_path) as found:
        yield Api(found)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk.at(store, HandClock())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("how", BY_HAND)
def test_no_route_of_the_http_api_takes_it(api: Api, how: str) -> None:
    row = api.waiting()
    boss = api.token
    if how == "enabled":
        queue = api.api.gateway.queue
        api.bearer("zoe")
        queue.reviewers.disable("boss", by=queue.reviewers.authenticate(api.token))
    write(api.api.gateway.store, how, "boss")
    token = TOKEN if how in {"account", "token"} else boss
    for path in LOOKS:
        answer = api.get(path.format(id=row.id), bearer(token))
        assert (answer.status_code, answer.json()["cause"]) == (503, "damaged"), path
        assert row.tool not in answer.text
    decided = api.decide(row, headers=bearer(token))
    assert (decided.status_code, decided.json()["cause"]) == (503, "damaged")
    assert api.api.gateway.queue.get(row.id).state is State.PENDING


def test_a_stream_ends_once_the_account_is_no_longer_what_the_log_says(api: Api) -> None:
    queue = api.api.gateway.queue
    reviewer = queue.reviewers.authenticate(api.token)
    write(api.api.gateway.store, "roles", "boss")
    with queue.store.read() as connection, pytest.raises(StoreCorruptError):
        queue.reviewers.require(connection, reviewer)


@pytest.mark.parametrize("how", ["token", "roles"])
def test_a_session_that_began_before_shows_nothing_after_it(tmp_path: Path, how: str) -> None:
    with reviewing(tmp_path) as review:
        row = review.poisoned()
        assert review.client.get("/review").status_code == 200
        write(review.gateway.store, how, "boss")
        if how == "token":  # the session, too, is made to fit
            with review.gateway.store.write() as connection:
                connection.execute(sa.text("UPDATE sessions SET selector = 'aaaa'"))
        for path in ("/review", f"/review/items/{row.id}", "/review/attention", "/review/me"):
            answer = review.client.get(path, follow_redirects=False)
            assert answer.status_code in {303, 503}, path
            assert row.tool not in answer.text
        assert review.state(row) is State.PENDING


@pytest.mark.parametrize("how", BY_HAND[:3])
def test_the_terminal_takes_it_for_nothing(desk: Desk, tmp_path: Path, how: str) -> None:
    def opened() -> Queue:
        queue = Queue(Store.open(f"sqlite:///{tmp_path}/gate.db", create=False), desk.clock)
        people(queue)
        return queue

    asked, app = desk.propose(), approvals_app(opened)
    write(desk.queue.store, how, "ann")
    token = TOKEN if how in {"account", "token"} else desk.token
    env = {"CHECKVALVE_REVIEWER_TOKEN": token}
    commands: tuple[tuple[Any, ...], ...] = (
        ("approve", asked.id, "--digest", asked.digest),
        ("reject", asked.id),
        ("snooze", asked.id, "--for", "1h"),
        ("attention", "agree"),
    )
    for command in commands:
        result = CliRunner().invoke(app, command, env=env)
        assert result.exit_code == 2, command
        assert "not what the events say" in result.output, command
    assert desk.queue.get(asked.id).state is State.PENDING


@pytest.mark.parametrize("how", ["token", "roles"])
def test_nobody_in_a_chat_is_taken_for_such_an_account(tmp_path: Path, how: str) -> None:
    with room(tmp_path) as found:
        row = found.ask("low")
        assert found.say("hello", who="ann").startswith("Nothing was done")
        write(found.queue.store, how, "ann")
        with pytest.raises(TeamsError) as refused:
            found.say(found.code(row), who="ann")
        assert (refused.value.status, refused.value.code) == (503, "store_failed")
        assert found.queue.get(row.id).state is State.PENDING
