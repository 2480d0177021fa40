from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from checkvalve.approvals import terminal
from checkvalve.approvals.errors import NotAllowedError, QueueError, RoleNeededError
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.review_rules import parse_review_rules
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import EARLIER, Role, Scope, either, roles_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import Desk

Run = Callable[..., Any]


def added(desk: Desk, name: str, *roles: Role, **rest: Any) -> Reviewer:
    token = desk.queue.reviewers.add(name, by=desk.reviewer, roles=roles, **rest)
    return desk.queue.reviewers.authenticate(token)


def roles(desk: Desk, name: str) -> frozenset[Role]:
    with desk.queue.store.read() as connection:
        return roles_of(connection, name)


def test_who_was_added_without_roles_has_all_but_the_glass(desk: Desk) -> None:
    assert roles(desk, "ann") == EARLIER == frozenset(Role) - {Role.BREAKER}
    desk.queue.reviewers.add("ben", by=desk.reviewer)
    assert roles(desk, "ben") == EARLIER


@pytest.mark.claim("C4")
@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMINISTRATOR])
def test_only_an_administrator_says_who_may_what(desk: Desk, role: Role) -> None:
    ben = added(desk, "ben", role)
    people = desk.queue.reviewers
    for attempt in (
        lambda: people.add("eve", by=ben),
        lambda: people.set_roles("ann", [Role.VIEWER], by=ben),
        lambda: people.set_roles("ben", list(Role), by=ben),
        lambda: people.disable("ann", by=ben),
    ):
        with pytest.raises(RoleNeededError, match="administrator"):
            attempt()
    assert {one.name for one in people.accounts()} == {"ann", "ben"}


@pytest.mark.claim("C4")
def test_nobody_gives_himself_a_role_under_any_account(desk: Desk) -> None:
    people = desk.queue.reviewers
    with pytest.raises(NotAllowedError, match="nobody gives himself a role"):
        people.set_roles("ANN", list(Role), by=desk.reviewer)
    with pytest.raises(NotAllowedError, match="nobody gives himself a role"):
        people.add("ann-phone", by=desk.reviewer, person="ann", roles=[Role.BREAKER])
    narrow = added(desk, "adm", Role.ADMINISTRATOR, Role.APPROVER, scope=Scope(tiers=(Tier.LOW,)))
    with pytest.raises(NotAllowedError, match="nobody gives himself a role"):
        people.set_roles("adm", [Role.ADMINISTRATOR, Role.APPROVER], by=narrow)
    people.add("adm-phone", by=narrow, person="adm")
    assert roles(desk, "adm-phone") == {Role.ADMINISTRATOR, Role.APPROVER}
    assert people.set_roles("adm", [Role.ADMINISTRATOR], by=narrow, scope=Scope(tiers=(Tier.LOW,))).roles == {
        Role.ADMINISTRATOR
    }, "to give up a role is free"


@pytest.mark.claim("C4")
def test_somebody_who_gives_roles_is_always_left(desk: Desk) -> None:
    people = desk.queue.reviewers
    with pytest.raises(QueueError, match="nobody would be left"):
        people.disable("ann", by=desk.reviewer)
    with pytest.raises(QueueError, match="nobody would be left"):
        people.set_roles("ann", [Role.APPROVER], by=desk.reviewer)
    ben = added(desk, "ben", Role.ADMINISTRATOR)
    people.disable("ann", by=ben)
    with pytest.raises(QueueError, match="nobody would be left"):
        people.disable("ben", by=ben)
    assert roles(desk, "ann") == frozenset()


def test_the_first_reviewer_is_an_administrator(store: Store, desk: Desk) -> None:
    assert verify(store).ok
    with pytest.raises(QueueError, match="no such reviewer"):
        desk.queue.reviewers.set_roles("zoe", [Role.VIEWER], by=desk.reviewer)
    with pytest.raises(QueueError, match="nobody is known by this name"):
        desk.queue.reviewers.add("zoe-phone", by=desk.reviewer, person="zoe")


@pytest.mark.claim("C4")
def test_each_deciding_method_takes_its_role(desk: Desk) -> None:
    """A viewer decides nothing; a responder does what lets nothing run."""
    viewer, responder = added(desk, "vi", Role.VIEWER, Role.AUDITOR), added(desk, "re", Role.RESPONDER)
    proposal, other = desk.propose(), desk.propose(request=desk.request(to="other@x.example"))
    desk.approve(other)
    endorsed = desk.queue.endorsements("t")[0].id
    mandate = Mandate(source="read_mail", tool="send", roles=("target",))
    for who in (viewer, responder):
        for attempt in (
            lambda who=who: desk.queue.approve(proposal.id, who, proposal.digest),
            lambda who=who: desk.queue.grant_mandate(mandate, who, thread="t", requester="bob"),
            lambda who=who: desk.queue.let_go_on("t", who, more=1),
        ):
            with pytest.raises(RoleNeededError, match=r"role .*approver"):
                attempt()
    for mild in (
        lambda: desk.queue.reject(proposal.id, viewer),
        lambda: desk.queue.settle(proposal.id, viewer, done=True),
        lambda: desk.queue.revoke_endorsement(endorsed, viewer),
    ):
        with pytest.raises(RoleNeededError, match=r"who could: ann"):
            mild()
    desk.queue.revoke_endorsement(endorsed, responder)
    assert desk.queue.reject(proposal.id, responder).state == "rejected"


def test_a_scope_is_stored_and_said() -> None:
    scope = Scope(("pay", "mail/send"), ("shop",), (Tier.LOW, Tier.HIGH), Decimal("99.50"))
    assert Scope.from_json(scope.to_json()) == Scope(
        ("mail/send", "pay"), ("shop",), (Tier.HIGH, Tier.LOW), Decimal("99.50")
    )
    assert scope.in_words() == "tools pay, mail/send; tenants shop; tiers low, high; at most 99.50"
    for wrong in ({"tiers": ["grave"]}, {"max_amount": "much"}, {"max_amount": "-1"}, {"max_amount": "NaN"}):
        with pytest.raises(QueueError):
            Scope.from_json(wrong)
    assert either({Role.AUDITOR, Role.APPROVER, Role.VIEWER}) == "viewer, approver or auditor"


def test_roles_are_given_and_shown_in_the_terminal(run: Run, token: dict[str, str], desk: Desk) -> None:
    done = run(
        "approvals", "reviewer", "add", "ben", "--role", "approver", "--tier", "low", "--max-amount", "50", env=token
    )
    assert done.exit_code == 0, done.output
    shown = run("approvals", "reviewer", "roles", "ben")
    assert "ben: approver (tiers low; at most 50)" in shown.output
    run("approvals", "reviewer", "add", "ben-phone", "--person", "ben", "--role", "auditor", env=token)
    listed = json.loads(run("approvals", "reviewer", "list", "--json").output)
    assert {row["name"]: (row["person"], row["roles"]) for row in listed}["ben-phone"] == ("ben", ["auditor"])
    changed = run("approvals", "reviewer", "roles", "ben", "--role", "viewer", "--role", "breaker", env=token)
    assert "ben: viewer, breaker" in changed.output
    assert roles(desk, "ben") == {Role.VIEWER, Role.BREAKER}
    refused = run("approvals", "reviewer", "roles", "ann", "--role", "breaker", env=token)
    assert (refused.exit_code, "nobody gives himself a role" in refused.output) == (terminal.REFUSED, True)
    loose = run("approvals", "reviewer", "add", "eve", "--tier", "low", env=token)
    assert (loose.exit_code, "a scope is that of roles" in loose.output) == (terminal.REFUSED, True)


def test_the_terminal_says_how_far_a_quorum_is(run: Run, desk: Desk, token: dict[str, str]) -> None:
    rules = parse_review_rules("everywhere: {approve: [{approver: 1, auditor: 1}]}", "rules.yaml")
    queue = Queue(desk.queue.store, desk.clock, rules=rules)
    added(desk, "aud", Role.AUDITOR)
    ben = desk.queue.reviewers.add("ben", by=desk.reviewer, roles=[Role.APPROVER])
    from tests.approvals.made import REVIEW, decided

    proposal = queue.propose(desk.request(), decided(REVIEW))
    digest = proposal.digest.removeprefix("sha256:")[:8]
    done = run(
        "approvals", "approve", proposal.id, "--digest", digest, "--note", "known", env={terminal.TOKEN_VARIABLE: ben}
    )
    assert (done.exit_code, done.output.strip()) == (0, "ben said yes; the call still waits for: one auditor")
    shown = " ".join(run("approvals", "show", proposal.id).output.split())
    for line in ("one approver and one auditor", "ben (approver, with a token): known", "missing one auditor"):
        assert line in shown
    body = json.loads(run("approvals", "show", proposal.id, "--json").output)
    assert body["missing"] == [{"auditor": 1}]
    assert [(vote["reviewer"], vote["vote"]) for vote in body["votes"]] == [("ben", "yes")]
    assert body["plan"]["approve"] == [{"approver": 1, "auditor": 1}]
    refused = run("approvals", "approve", proposal.id, "--digest", digest, env={terminal.TOKEN_VARIABLE: ben})
    assert refused.exit_code == terminal.REFUSED
    assert "one person has one voice" in refused.output
    last = run("approvals", "reject", proposal.id, "--note", "no", env=token)
    assert last.output.strip() == "rejected by ann"


def test_rules_are_checked_and_shown_in_the_terminal(run: Run, tmp_path: Any) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("tiers: {critical: {approve: [{approver: 2}]}}\n")
    bad = run("approvals", "rules", "check", str(file))
    assert bad.exit_code == terminal.REFUSED
    assert "error: tier critical: nobody can approve such a call: it takes 2 approvers" in bad.output
    assert "the rules cannot be kept" in bad.output
    good = run("approvals", "rules", "check", "--json")
    assert (good.exit_code, json.loads(good.output)["ok"]) == (0, True)
    shown = run("approvals", "rules", "show", str(file)).output
    assert "approver: 2" in shown
    file.write_text("tiers: {critical: {aprove: []}}\n")
    wrong = run("approvals", "rules", "check", str(file))
    assert wrong.exit_code == terminal.NO_DECISION
    assert "did you mean `approve`?" in wrong.output
