"""What the terminal shows of a call with a secret in it, and revealing it there."""

from __future__ import annotations

import pytest

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.reveals import REVEALED
from checkvalve.approvals.roles import Role
from tests.approvals.conftest import Run
from tests.approvals.made import Desk
from tests.conformance.test_reveals import PASSWORD, ask

pytestmark = pytest.mark.claim("C5", "C8")


def test_it_takes_a_credential_and_says_that_it_was_recorded(desk: Desk, run: Run, token: dict[str, str]) -> None:
    row = ask(desk)
    for given in (["show", row.id], ["show", row.id, "--bytes"], ["show", row.id, "--json"], ["list", "--json"]):
        plain = run("approvals", *given)
        assert plain.exit_code == 0
        assert PASSWORD not in plain.output
        assert "redacted: 13 characters, mark " in plain.output
    assert f"checkvalve approvals reveal {row.id[:8]}" in run("approvals", "show", row.id).output
    assert run("approvals", "reveal", row.id).exit_code == 2  # nobody to ask, and no token
    for given in (["reveal", row.id], ["show", row.id, "--reveal"], ["reveal", row.id, "--json"]):
        revealed = run("approvals", *given, env=token)
        assert revealed.exit_code == 0
        assert PASSWORD in revealed.output
        assert f"recorded: ann looked at what is redacted of {row.id}" in revealed.output
    with desk.queue.store.read() as connection:
        kinds = [event.kind for event in read_events(connection, subject=row.id)]
    assert kinds.count(REVEALED) == 3


def test_a_clear_no(desk: Desk, run: Run) -> None:
    row = ask(desk)
    token = desk.queue.reviewers.add("ben", by=desk.reviewer, roles=[Role.APPROVER])
    refused = run("approvals", "reveal", row.id, env={"CHECKVALVE_REVIEWER_TOKEN": token})
    assert refused.exit_code == 1
    assert "takes the role revealer for this call" in refused.output
    assert "who could: ann" in refused.output
    assert PASSWORD not in refused.output
