"""Attack: somebody whose role holds for some calls lets others through, ahead of time."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from checkvalve.approvals.errors import QueueError, RoleNeededError
from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Role, Scope
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.made import HandClock
from tests.conformance.test_votes import Panel

pytestmark = pytest.mark.claim("C4")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Panel]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Panel(store, HandClock(), "{}")


def bill(tool: str = "pay", amount: int | None = 100, effect: str = "") -> Mandate:
    roles = ("target",) if amount is None else ("target", "amount")
    return Mandate(source="read_mail", tool=tool, roles=roles, max_amount=amount, effect=effect)


BEYOND = {
    "another tool": (Scope(tools=("send",)), bill()),
    "any tool of an effect": (Scope(tools=("pay",)), bill("", effect="pay")),
    "a tool of any server": (Scope(tools=("bank/pay",)), bill()),
    "a tool of another server": (Scope(tools=("bank/pay",)), bill("evil/pay")),
    "more than the scope": (Scope(max_amount=Decimal("99.99")), bill()),
    "an amount that nothing bounds": (Scope(max_amount=Decimal(100)), bill(amount=None)),
    "another tenant": (Scope(tenants=("shop",)), bill()),
    "graver calls": (Scope(tiers=(Tier.LOW, Tier.MEDIUM)), bill()),
}


@pytest.mark.parametrize("what", BEYOND)
def test_a_mandate_reaches_beyond_the_scope_of_who_grants_it(what: str, at: Panel) -> None:
    scope, mandate = BEYOND[what]
    clerk = at.add("clerk", Role.APPROVER, scope=scope)
    with pytest.raises(RoleNeededError, match=r"reaches beyond.*who could: boss"):
        at.queue.grant_mandate(mandate, clerk, thread="t", requester="bob")
    assert at.queue.mandates.list(thread="t") == []


@pytest.mark.parametrize("scope", [Scope(), Scope(tools=("pay",)), Scope(max_amount=Decimal(100))])
def test_harmless_twin_within_the_scope_it_is_granted(scope: Scope, at: Panel) -> None:
    clerk = at.add("clerk", Role.APPROVER, scope=scope)
    for mandate in (bill(), bill("bank/pay")):
        assert at.queue.grant_mandate(mandate, clerk, thread="t", requester="bob").granted_by == "reviewer:clerk"
    assert verify(at.store).ok


def test_an_account_without_any_role_would_see_every_call(at: Panel) -> None:
    """Empty means no: there is no such account, by whatever way."""
    clerk, people = at.add("clerk", Role.VIEWER), at.queue.reviewers
    with pytest.raises(QueueError, match="one role at least"):
        people.set_roles("clerk", [], by=at.boss)
    with pytest.raises(QueueError, match="one role at least"):
        people.add("nobody", by=at.boss, roles=[])
    with pytest.raises(QueueError, match="one role at least"):
        Invitations(people, Checks.of(people).passwords).invite("nobody", by=at.boss, roles=[])
    assert [one.name for one in people.accounts()] == ["boss", "clerk"]
    assert people.account(clerk.name).roles == {Role.VIEWER}
