"""What the commands say to somebody who has no database, no reviewer, no terminal or the wrong digest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from checkvalve.approvals.cli import approvals_app
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.store import Store
from tests.approvals.conftest import Run
from tests.approvals.made import REVIEW, Desk, HandClock, decided


def test_what_to_give_where_nobody_can_be_asked(run: Run, desk: Desk, token: dict[str, str]) -> None:
    proposal = desk.propose()
    said = run("approvals", "approve", proposal.id, env=token).output
    assert "give --digest (shown above) and --token-file FILE" in said
    for command in ("reject {id}", "settle {id} --done", "reviewer add x", "reviewer disable ann"):
        result = run("approvals", *command.format(id=proposal.id).split())
        assert result.exit_code == 2
        assert "give --token-file FILE" in result.output


def test_a_wrong_digest_is_told_before_the_token_is_asked_for(
    run: Run, desk: Desk, typed: Callable[..., list[str]]
) -> None:
    proposal = desk.propose()
    asked = typed("000000", desk.token)
    assert run("approvals", "approve", proposal.id).exit_code == 1
    assert len(asked) == 1


def test_without_reviewers_it_is_said_how_to_add_one(store: Store, clock: HandClock) -> None:
    queue = Queue(store, clock)
    request = ActionRequest.build("send", {"to": "x"}, thread="t", call_id="c")
    proposal = queue.propose(request, decided(REVIEW))
    app = approvals_app(lambda: queue)
    for command in (["approve", proposal.id], ["reject", proposal.id], ["reviewer", "disable", "x"]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 2
        assert "nobody is a reviewer yet: checkvalve approvals reviewer add NAME" in result.output
    assert "nobody is a reviewer yet" in CliRunner().invoke(app, ["reviewer", "list"]).output


def test_only_adding_a_reviewer_creates_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    app = approvals_app(lambda: Queue(Store.open(url, create=False)), lambda: Queue(Store.open(url)))
    assert CliRunner().invoke(app, ["list"]).exit_code == 2
    assert CliRunner().invoke(app, ["reviewer", "add", "ann"]).exit_code == 0
    assert CliRunner().invoke(app, ["list"]).exit_code == 0
