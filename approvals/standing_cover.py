"""Whether a standing rule answers the question about one call. Pure; the same code judges a live call and a record.

1. It is the tool, with the effect, and every rule of the policy that asked is one that the standing rule answers.
2. Nothing that a standing rule never answers: a critical tier, data on its way to people who may not read it, foreign
   links, what a client would fetch by itself, memory of untrusted lineage, protected places.
3. The arguments are exactly those of the rule, and each is what its constraint says; ``any`` holds for content only.
4. The amounts together are within the cap of one call.
5. For a rule in force, also: the requester is meant, calls and amounts are left, and server, pinned schema and the
   manifest's words about the tool are those of the day it was made. Where only these last differ, the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from checkvalve.approvals.endorsements import Use
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.standing import StandingRule, flattened
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.standing_values import plain_number
from checkvalve.filters.strictjson import JSON

GOOD_FACTS: Final = ("readers_ok", "links_ok", "fetches_ok", "lineage_ok", "egress_ok", "required_ok")
"""Facts that have to have been established; a rule over content says nothing of where the content may go."""
BAD_FACTS: Final = ("protected", "composed_link")


@dataclass(frozen=True, slots=True)
class AskedCall:
    """One call that the policy asks about, from a live decision or from a record.

    ``roles`` are the dotted paths of the reported values and keys with their roles; a null and an empty text have none.
    """

    server: str
    tool: str
    effect: str
    args: Mapping[str, JSON]
    rules: tuple[str, ...]
    facts: Mapping[str, Any]
    roles: tuple[tuple[str, str], ...]
    schema_digest: str
    tool_digest: str
    requester: str = ""
    behind: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: ActionRequest, rule: str, decision: Mapping[str, Any]) -> AskedCall:
        """Return the question about a call whose ``decision`` has its published form."""
        found = cls.recorded(request.server, request.tool, request.args, request.requester, rule, decision)
        return replace(found, behind=tuple(one.name for one in request.behind))

    @classmethod
    def recorded(  # the columns of a record
        cls, server: str, tool: str, args: Mapping[str, JSON], requester: str, rule: str, decision: Mapping[str, Any]
    ) -> AskedCall:
        """Return the question about a call as it is stored; what an older version left out is empty."""
        reports = [item for item in decision.get("arguments") or () if isinstance(item, Mapping)]
        named = [str(item) for item in decision.get("rules") or ()]
        return cls(
            server=server,
            tool=tool,
            effect=str(decision.get("action") or ""),
            args=args,
            rules=tuple(dict.fromkeys((rule, *named))),
            facts=decision.get("facts") or {},
            roles=tuple((str(item.get("path")), str(item.get("role"))) for item in reports),
            schema_digest=str(decision.get("schema_digest") or ""),
            tool_digest=str(decision.get("tool_digest") or ""),
            requester=requester,
        )

    def roles_at(self, path: Sequence[str]) -> set[str]:
        """Return the roles of everything at or below a path; a dot inside a key can only make it more."""
        name = ".".join(path)
        return {role for where, role in self.roles if where == name or where.startswith(f"{name}.")}


@dataclass(frozen=True, slots=True)
class Answered:
    """What the rules in force say of a question: the one that answers it, or why one that would have does not."""

    entry: StandingEntry
    use: Use
    why: str = ""

    def told(self, asked: Mapping[str, object]) -> dict[str, str]:
        """Return what the decision keeps: the rule that answered, and what a person would have been asked."""
        return {"id": self.entry.id, **{name: str(asked[name]) for name in ("rule", "reason", "remedy")}}

    def refused(self) -> dict[str, str]:
        """Return what the question keeps: the rule that no longer answers it, and why; a detector may ask as well."""
        return {"id": self.entry.id, "why": self.why or "detector"}


def obstacle(question: AskedCall) -> str:
    """Do step 2: return the code of what no rule ever answers, or an empty text."""
    if not question.effect or not question.facts:
        return "not_decided"
    if any(tier_of(question.effect, rule) is Tier.CRITICAL for rule in question.rules):
        return "critical"
    for name in GOOD_FACTS:
        if question.facts.get(name) is not True:
            return name
    return next((name for name in BAD_FACTS if question.facts.get(name) is not False), "")


def covers(rule: StandingRule, question: AskedCall) -> bool:
    """Do steps 1 to 4: say whether the rule's words fit, whatever became of the tool and whoever asks."""
    if (rule.tool, rule.effect) != (question.tool, question.effect) or not question.rules:
        return False
    if not set(question.rules) <= set(rule.answers) or obstacle(question):
        return False
    found = dict(flattened(question.args))
    if found.keys() != {item.path for item in rule.constraints}:
        return False
    for item in rule.constraints:
        if not item.fits(found[item.path]):
            return False
        if item.how == "any" and not question.roles_at(item.path) <= {Role.CONTENT.value}:
            return False
    amount = amount_of(rule, question)
    return amount is not None and (rule.max_amount is None or amount <= rule.max_amount)


def amount_of(rule: StandingRule, question: AskedCall) -> Decimal | None:
    """Return what a call moves, all its amounts together; None when one of them is no plain number."""
    found, total = dict(flattened(question.args)), Decimal(0)
    for item in rule.constraints:
        if item.role != Role.AMOUNT:
            continue
        number = plain_number(found.get(item.path))
        if number is None:
            return None
        total += number
    return total


def changed(rule: StandingRule, question: AskedCall) -> str:
    """Return the code of what is not as it was when the rule was made, or an empty text."""
    if rule.server != question.server:
        return "server_changed"
    if rule.schema_digest != question.schema_digest:
        return "schema_changed"
    return "tool_changed" if rule.tool_digest != question.tool_digest else ""


def answering(question: AskedCall, entries: Iterable[StandingEntry]) -> Answered | None:
    """Return the first rule in force that answers a question; else one that would, had the tool not changed."""
    late: Answered | None = None
    for entry in entries:
        if not entry.holds or not entry.is_for(question.requester, question.behind) or not covers(entry.rule, question):
            continue
        amount = amount_of(entry.rule, question)
        if amount is None or not entry.has_left(amount):
            continue
        counted = "" if entry.rule.max_total is None else format(amount, "f")
        found = Answered(entry, Use("standing", entry.id, counted), changed(entry.rule, question))
        if not found.why:
            return found
        late = late or found
    return late


__all__ = ["GOOD_FACTS", "Answered", "AskedCall", "amount_of", "answering", "changed", "covers", "obstacle"]
