"""Who is on call now, for people who look: the same on the terminal, over HTTP and on the page.

Guarantees: it is what a step of escalation would be told, caches included; that somebody is on call gives no right, so
it is said of each whether they could say yes to anything at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checkvalve.approvals.ladder_steps import DISABLED, NO_ACCOUNT, NO_RIGHT, goes_by
from checkvalve.approvals.oncall import OnDuty
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import Account, Role, accounts
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.step_channels import asked_for


@dataclass(frozen=True, slots=True)
class Duty:
    """Who is on call under one name, and who of them has no account or no role that could count."""

    name: str
    duty: OnDuty
    cannot: Mapping[str, str]

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {"name": self.name, **self.duty.to_json(), "cannot_approve": {**self.cannot}}


def duties(queue: Queue, names: Iterable[str] | None = None) -> list[Duty]:
    """Ask these hooks, and look at the accounts of whom they name; without names, every one there is or should be."""
    now = queue.clock()
    names = sorted(queue.oncall.names() | asked_for(queue.rules)) if names is None else names
    found = [(name, queue.oncall.who(name, now)) for name in names]  # before the database is read: it may take a while
    with queue.store.read() as connection:
        known = accounts(connection, everyone=True)
    wanted = queue.rules.asks_for
    return [Duty(name, duty, _cannot(duty, known, wanted)) for name, duty in found]


def _cannot(duty: OnDuty, known: list[Account], wanted: frozenset[Role]) -> dict[str, str]:
    reasons = {name: _reason(name, known, wanted) for name in duty.people}
    return {name: code for name, code in reasons.items() if code}


def _reason(name: str, known: list[Account], wanted: frozenset[Role]) -> str:
    own = [one for one in known if goes_by(name, one)]
    if not own:
        return NO_ACCOUNT
    enabled = [one for one in own if not one.disabled]
    if not enabled:
        return DISABLED
    return "" if any(one.has(*wanted) for one in enabled) else NO_RIGHT


__all__ = ["Duty", "duties"]
