"""The commands about accounts: links, and the step-up of a grave call at a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Checks
from tests.approvals.account import GOOD, SITE
from tests.approvals.authenticator import Device
from tests.approvals.conftest import Run
from tests.approvals.made import Desk, people

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def grave(desk: Desk) -> Proposal:
    """Return a question whose plan takes a step-up."""
    queue = Queue(desk.queue.store, desk.clock, rules=parse_review_rules("everywhere: {step_up: true}", "rules"))
    people(queue)
    strict = Desk.over(queue, desk.clock, desk.reviewer)
    return strict.propose()


def approve(run: Run, proposal: Proposal, env: dict[str, str]) -> Any:
    return run("approvals", "approve", proposal.id, "--digest", proposal.digest, env=env)


def test_a_grave_call_asks_once_more(
    run: Run, desk: Desk, grave: Proposal, token: dict[str, str], typed: Callable[..., list[str]]
) -> None:
    asked = typed(desk.token)
    done = approve(run, grave, token)
    assert done.exit_code == 0, done.output
    assert any("once more" in question for question in asked)
    assert desk.queue.get(grave.id).state is State.APPROVED


@pytest.mark.parametrize("secret", ["", "wrong", "cvr_00_wrong"])
def test_a_wrong_answer_decides_nothing(
    secret: str, run: Run, desk: Desk, grave: Proposal, token: dict[str, str], typed: Callable[..., list[str]]
) -> None:
    typed(secret)
    assert approve(run, grave, token).exit_code in {1, 2}
    assert desk.queue.get(grave.id).state is State.PENDING


def test_without_a_terminal_a_token_that_lies_about_is_not_enough(
    run: Run, desk: Desk, grave: Proposal, token: dict[str, str]
) -> None:
    done = approve(run, grave, token)
    assert done.exit_code == 2
    assert "takes a person at a terminal" in done.output
    assert desk.queue.get(grave.id).state is State.PENDING


def test_who_has_a_passkey_is_sent_to_the_page(
    run: Run, desk: Desk, grave: Proposal, token: dict[str, str], typed: Callable[..., list[str]]
) -> None:
    from checkvalve.approvals import challenges
    from checkvalve.approvals.proofs import Proof

    keys, nonce = Checks.of(desk.queue.reviewers).passkeys, challenges.draw_nonce(desk.clock())
    answer = Device().make(keys.adding(desk.reviewer, SITE, nonce))
    proof = Proof(desk.reviewer, "token", desk.clock())
    keys.add(desk.reviewer, SITE, answer, nonce=nonce, label="", proof=proof)
    asked = typed(desk.token)
    done = approve(run, grave, token)
    assert done.exit_code == 1
    assert "review page" in done.output
    assert not asked


def test_a_link_is_printed_for_administrators_alone(run: Run, desk: Desk, token: dict[str, str]) -> None:
    done = run("approvals", "reviewer", "invite", "cleo", "--role", "viewer", env=token)
    assert done.exit_code == 0, done.output
    code = re.search(r"/join/([\w-]+)", done.output)
    assert code
    checks = Checks.of(desk.queue.reviewers)
    cleo = Invitations(desk.queue.reviewers, checks.passwords).accept(code[1], GOOD)
    other = desk.queue.reviewers.add("dan", by=desk.reviewer, roles=[Role.VIEWER])
    refused = run("approvals", "reviewer", "invite", "eve", env={next(iter(token)): other})
    assert refused.exit_code == 1
    assert cleo.reviewer.name == "cleo"
