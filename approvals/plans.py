"""How one question is to be answered: chosen when it arises, frozen beside it, and read from there ever after.

Guarantees: the plan is chosen by code from the recorded call; it is stored in the transaction that records the
question, with its digest in that event; a later change of the file of review rules changes nothing for a question that
is open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import canonical, digest_bytes
from checkvalve.approvals.errors import ConflictError, StoreCorruptError
from checkvalve.approvals.question import Question
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.review_tables import plans
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.roles import Role
from checkvalve.approvals.tables import proposals
from checkvalve.filters.strictjson import JSON

CHANNELS: Final = ("web", "cli", "rest", "chat")
"""Where a yes may be said. A no is taken everywhere."""
LINKED: Final = "plan.linked"
"""The kind of the event that says of which question another one is an edit, and whose."""
_SECOND: Final = 1_000_000  # microseconds
_ONE: Final = sa.select(plans).where(plans.c.proposal_id == sa.bindparam("wanted"))
_STORE: Final = sa.insert(plans)


@dataclass(frozen=True, slots=True)
class Need:
    """``count`` different people who have ``role``."""

    count: int
    role: Role


@dataclass(frozen=True, slots=True)
class Step:
    """Who is told when the part ``after`` (0 to 1) of the time to decide is over: names of roles or of people."""

    after: float
    to: tuple[str, ...]


Alternative = tuple[Need, ...]
ONE: Final[tuple[Alternative, ...]] = ((Need(1, Role.APPROVER),),)
"""One approver is enough."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one question is to be answered.

    ``decide_within`` and ``execute_within`` are seconds, 0 for those of the queue. One of the alternatives in
    ``approve`` has to be filled with different people; ``deny`` people who say no end it. ``remind`` and
    ``escalate`` are parts (0 to 1) of the time to decide. ``rule`` is the review rule that it came from, empty for its
    tier's; ``tenant`` and ``amount`` are the question's, for the scopes of roles. ``parent`` is the question of
    which this is an edit, and ``edited_by`` whose edit it is.
    """

    tier: Tier
    decide_within: int = 0
    execute_within: int = 0
    approve: tuple[Alternative, ...] = ONE
    deny: int = 1
    step_up: bool = False
    note_required: bool = False
    may_break_glass: bool = False
    remind: tuple[float, ...] = ()
    escalate: tuple[Step, ...] = ()
    channels: tuple[str, ...] = CHANNELS
    rule: str = ""
    tenant: str = ""
    amount: str = ""
    parent: str = ""
    edited_by: str = ""

    @property
    def roles(self) -> frozenset[Role]:
        """Whose yes may count."""
        return frozenset(need.role for needs in self.approve for need in needs)

    @property
    def needs_four_eyes(self) -> bool:
        """Say whether the yes of who edited the call does not count alone."""
        return bool(self.edited_by) and self.tier in {Tier.HIGH, Tier.CRITICAL}

    def moments(self) -> list[tuple[float, tuple[str, ...]]]:
        """Return reminders and steps in the order of time, each as a part of the time to decide and who is told.

        A reminder names nobody: it goes to those who were asked.
        """
        reminders: list[tuple[float, tuple[str, ...]]] = [(part, ()) for part in self.remind]
        return sorted([*reminders, *((step.after, step.to) for step in self.escalate)])

    def question(self, proposal: Proposal) -> Question:
        """Return what the question is about, for the scopes of roles."""
        effect = str(proposal.decision.get("action") or "")
        tenant, amount = self.tenant, self.amount
        return Question(proposal.tool, proposal.server, effect, proposal.rule, self.tier, tenant, amount)

    def to_json(self) -> dict[str, JSON]:
        """Return the published and stored form."""
        return {
            "tier": self.tier.value,
            "rule": self.rule,
            "decide_within": self.decide_within,
            "execute_within": self.execute_within,
            "approve": [{need.role.value: need.count for need in needs} for needs in self.approve],
            "deny": self.deny,
            "step_up": self.step_up,
            "note_required": self.note_required,
            "break_glass": self.may_break_glass,
            "remind": list(self.remind),
            "escalate": [{"after": step.after, "to": list(step.to)} for step in self.escalate],
            "channels": list(self.channels),
            "tenant": self.tenant,
            "amount": self.amount,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Plan:
        """Return the plan in a stored form.

        Raises:
            StoreCorruptError: this program never wrote it.
        """
        try:
            return cls(
                tier=Tier(body["tier"]),
                rule=str(body["rule"]),
                decide_within=int(body["decide_within"]),
                execute_within=int(body["execute_within"]),
                approve=tuple(_needs(alternative) for alternative in body["approve"]),
                deny=int(body["deny"]),
                step_up=body["step_up"] is not False,
                note_required=body["note_required"] is not False,
                may_break_glass=body["break_glass"] is True,
                remind=tuple(float(part) for part in body["remind"]),
                escalate=tuple(Step(float(step["after"]), tuple(step["to"])) for step in body["escalate"]),
                channels=tuple(str(name) for name in body["channels"]),
                tenant=str(body["tenant"]),
                amount=str(body["amount"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorruptError("a stored review plan cannot be read", remedy="verify the audit log") from error


def _needs(alternative: Mapping[str, Any]) -> Alternative:
    found = tuple(Need(int(count), Role(role)) for role, count in sorted(alternative.items()))
    if not found or any(need.count < 1 for need in found):
        raise ValueError("an alternative that needs nobody")
    return found


def store(connection: sa.Connection, proposal_id: str, plan: Plan, *, created_at: int, decide_by: int) -> str:
    """Store the plan of a new question, and return the digest for the event that records it."""
    body = canonical(plan.to_json()).decode()
    moments = plan.moments()
    first = created_at + int((decide_by - created_at) * moments[0][0]) if moments else None
    values = {"proposal_id": proposal_id, "tier": plan.tier.value, "body": body, "next_at": first}
    connection.execute(_STORE, {"parent": "", "edited_by": "", "step": 0, **values})
    return digest_bytes(body.encode())


def read(connection: sa.Connection, proposal_id: str) -> Plan:
    """Return the plan of a question: what was stored with it.

    Where nothing was, that is one approver and one no, and for a critical call a fresh proof and a reason. Who relies
    on it has compared it with the log before (``tablecheck.require_recorded``).

    Raises:
        StoreCorruptError: this program never wrote it.
    """
    row = connection.execute(_ONE, {"wanted": proposal_id}).mappings().one_or_none()
    return of_row(row) if row is not None else _earlier(connection, [proposal_id])[proposal_id]


def read_all(connection: sa.Connection, proposal_ids: Sequence[str]) -> dict[str, Plan]:
    """Return the plans of several questions; see :func:`read`."""
    rows = connection.execute(sa.select(plans).where(plans.c.proposal_id.in_(proposal_ids))).mappings().all()
    found = {row["proposal_id"]: of_row(row) for row in rows}
    rest = [name for name in proposal_ids if name not in found]
    return found | (_earlier(connection, rest) if rest else {})


def read_sound(connection: sa.Connection, proposal_ids: Sequence[str]) -> dict[str, Plan]:
    """Return the plans of several questions, without those that are damaged."""
    try:
        return read_all(connection, proposal_ids)
    except StoreCorruptError:
        if len(proposal_ids) == 1:
            return {}
    half = len(proposal_ids) // 2
    return read_sound(connection, proposal_ids[:half]) | read_sound(connection, proposal_ids[half:])


def _earlier(connection: sa.Connection, proposal_ids: Sequence[str]) -> dict[str, Plan]:
    """Return the plans of questions that were recorded before there were plans, or that nobody was asked."""
    row = proposals.c
    query = sa.select(row.id, row.rule, row.decision).where(row.id.in_(proposal_ids))
    tiers = {name: tier_of(_effect(decision), rule) for name, rule, decision in connection.execute(query).all()}
    found = {name: tiers.get(name, Tier.CRITICAL) for name in proposal_ids}
    return {name: _plain(tier) for name, tier in found.items()}


def _plain(tier: Tier) -> Plan:
    return Plan(tier, step_up=tier is Tier.CRITICAL, note_required=tier is Tier.CRITICAL)


def _effect(decision: str) -> str:
    body = json.loads(decision)
    return str(body.get("action") or "") if isinstance(body, dict) else ""


def of_row(row: Mapping[str, Any] | sa.RowMapping) -> Plan:
    """Return the plan in a database row.

    Raises:
        StoreCorruptError: this program never wrote it.
    """
    try:
        body = json.loads(row["body"])
    except ValueError as error:
        raise StoreCorruptError("a stored review plan cannot be read", remedy="verify the audit log") from error
    return replace(Plan.from_json(body), parent=row["parent"], edited_by=row["edited_by"])


def forget(connection: sa.Connection, proposal_id: str) -> None:
    """Take out of a plan what it holds of the call's content, its amount: a part of erasing a call."""
    row = connection.execute(sa.select(plans.c.body).where(plans.c.proposal_id == proposal_id)).scalar()
    if row is not None:
        body = canonical({**json.loads(row), "amount": ""}).decode()
        connection.execute(sa.update(plans).where(plans.c.proposal_id == proposal_id).values(body=body))


def link(connection: sa.Connection, proposal_id: str, *, parent: str, edited_by: str, at: int) -> None:
    """Note that a question is an edit of another one, with the event; ``edited_by`` is the editor's account.

    Raises:
        ConflictError: it is no open question with a plan, or it was linked before.
    """
    mine = sa.update(plans).where(plans.c.proposal_id == proposal_id, plans.c.parent == "", plans.c.edited_by == "")
    if connection.execute(mine.values(parent=parent, edited_by=edited_by)).rowcount != 1:
        raise ConflictError("this question is no new edit of another one", remedy="nothing was changed")
    body: dict[str, JSON] = {"parent": parent, "edited_by": edited_by}
    audit.append(connection, at=at, kind=LINKED, subject=proposal_id, body=body)


def linked() -> sa.Select[tuple[str]]:
    """Return the query for the ids of all questions that are edits of others."""
    return sa.select(plans.c.proposal_id).where(plans.c.parent != "")


__all__ = [
    "CHANNELS", "LINKED", "ONE", "Alternative", "Need", "Plan", "Step", "forget", "link", "linked", "of_row",
    "read", "read_all", "store",
]  # fmt: skip
