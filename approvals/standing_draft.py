"""A standing rule drafted by code from one call, in its tightest form, and what a person may widen in it. Pure.

1. The call was asked about, a person said yes, and it succeeded; it was recorded with the digests that a rule binds to.
2. Drafted is this call and no other: every value to the byte, this requester, a few calls.
3. A person widens value by value, within what :mod:`standing_values` lets be said of its role and kind.
4. Whatever was widened, the call itself is still covered: else something else was meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from checkvalve.approvals.errors import StandingRuleError
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import warnings
from checkvalve.approvals.standing import ANYBODY, Constraint, StandingRule, canonical_text, flattened, wrong
from checkvalve.approvals.standing_cover import AskedCall, covers, obstacle
from checkvalve.approvals.standing_values import origin_of, plain_number, same_form
from checkvalve.approvals.undos import RULE as UNDO
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

CALLS: Final = 10
"""Calls that a drafted rule answers: enough to see whether it is right, few enough to be asked again soon."""
PER_DAY: Final = 3
DAYS: Final = 30
"""How long a rule lasts that says nothing else."""
MAX_DAYS: Final = 90
"""The furthest deadline: what still is right then is made again, after a look."""
OBSTACLES: Final[Mapping[str, str]] = {
    "not_decided": "this call was refused before it was decided, or an older version recorded it",
    "critical": "code, settings, commands and credentials are decided one by one",
    "readers_ok": "its data may not be read by whom it goes to; a rule says nothing of that",
    "links_ok": "it carries a link that nobody trusted named; a rule says nothing of that",
    "fetches_ok": "it carries what a client would fetch by itself",
    "lineage_ok": "memories of untrusted lineage are looked at one by one",
    "egress_ok": "it goes to a host that the manifest does not list",
    "required_ok": "it lacks an origin that the manifest demands",
    "protected": "it touches what no tool may touch",
    "composed_link": "it carries a link that the model composed",
}
"""Why no rule can answer a call, in words."""
_FIELDS: Final = (
    "anything",
    "same",
    "at",
    "also",
    "up_to",
    "anybody",
    "max_calls",
    "per_day",
    "max_amount",
    "max_total",
)


@dataclass(frozen=True, slots=True)
class Widening:
    """What a person makes wider than the call. Paths are dotted; nothing said, nothing widened.

    Attributes:
        anything: content that may be whatever it is.
        same: values that may stand in any spelling of their kind.
        at: addresses that may be anything at their host.
        also: further values for a path, as JSON.
        up_to: caps of amounts, as digits.
        anybody: for every requester of the tenant.
        max_calls, per_day, max_amount, max_total: the limits; what moves an amount has the last two by its caps.
        days: how long it lasts.
    """

    anything: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    also: tuple[tuple[str, JSON], ...] = ()
    up_to: tuple[tuple[str, str], ...] = ()
    anybody: bool = False
    max_calls: int = CALLS
    per_day: int = 0
    max_amount: str = ""
    max_total: str = ""
    days: int = DAYS


TIGHT: Final = Widening()
"""The call as it was, and nothing wider."""


def draft(proposal: Proposal, widening: Widening = TIGHT, *, persons: int = 2) -> StandingRule:
    """Return the rule for a recorded call, widened as a person said.

    Raises:
        StandingRuleError: no rule can be made of this call, or it cannot be widened so.
    """
    asked_for = proposal.verdict_name == "review" and proposal.mode != OBSERVE and proposal.rule != UNDO
    if proposal.state is not State.SUCCEEDED or not asked_for:
        why = "it was not asked about, has not succeeded, or undid an effect"
        raise _cannot(why, "a rule follows a yes to an agent's call that turned out well")
    if not 0 < widening.days <= MAX_DAYS:
        raise wrong("days", f"a rule lasts 1 to {MAX_DAYS} days", "make it again when it is over")
    asked = asked_call(proposal)
    if why := obstacle(asked):
        raise _cannot(OBSTACLES.get(why, why), "let a person decide each such call")
    if not asked.schema_digest:
        raise _cannot("its tool's arguments are not pinned", "pin them: checkvalve policy pin; then approve one more")
    if not asked.tool_digest:
        raise _cannot("an older version recorded it", "approve one more such call")
    found = {path: _exact(asked, path, value, proposal.decision) for path, value in flattened(asked.args)}
    for name, how in [*((n, "any") for n in widening.anything), *((n, "same") for n in widening.same)]:
        item = _named(found, name)
        found[item.path] = replace(item, how=how, values=() if how == "any" else item.values)
    _widen_addresses(found, widening.at)
    for name, value in widening.also:
        item = _named(found, name)
        found[item.path] = replace(item, values=tuple(dict.fromkeys((*item.values, _value(name, value, item)))))
    for name, cap in widening.up_to:
        item = _named(found, name)
        found[item.path] = replace(item, how="up_to", values=(canonical_text(cap),))
    rule = _rule(asked, tuple(found.values()), widening, persons)
    if not covers(rule, asked):
        raise _cannot("the rule would not cover the very call it is made from", "widen less, or from another call")
    return rule


def asked_call(proposal: Proposal) -> AskedCall:
    """Return a recorded call as what a rule is compared with; where a rule answered it, what a person would have been.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    row, told = proposal, proposal.decision.get("standing")
    rule = str(told["rule"]) if isinstance(told, dict) and "rule" in told else row.rule
    return AskedCall.recorded(row.server, row.tool, row.args(), row.requester, rule, row.decision)


def _rule(asked: AskedCall, constraints: tuple[Constraint, ...], widening: Widening, persons: int) -> StandingRule:
    caps = [_cap(item) for item in constraints if item.role == Role.AMOUNT]
    once = _decimal("max_amount", widening.max_amount) if widening.max_amount else sum(caps, Decimal(0))
    total = _decimal("max_total", widening.max_total) if widening.max_total else once * widening.max_calls
    return StandingRule(
        server=asked.server,
        tool=asked.tool,
        effect=asked.effect,
        schema_digest=asked.schema_digest,
        tool_digest=asked.tool_digest,
        answers=asked.rules,
        requester=ANYBODY if widening.anybody else _requester(asked),
        constraints=tuple(sorted(constraints, key=lambda item: item.path)),
        max_calls=widening.max_calls,
        per_day=widening.per_day or min(PER_DAY, widening.max_calls),
        max_amount=once if caps or widening.max_amount else None,
        max_total=total if caps or widening.max_total else None,
        persons=persons,
    )


def _requester(asked: AskedCall) -> str:
    if not asked.requester:
        raise _cannot("nobody knows for whom it was made", "say that the rule is for anybody, or name requesters")
    return asked.requester


def _exact(asked: AskedCall, path: tuple[str, ...], value: JSON, decision: Mapping[str, Any]) -> Constraint:
    """Return the constraint of one value: what it is, to the byte. What has no recorded role may carry anything."""
    role = min(asked.roles_at(path), key=_gravity, default=Role.TARGET.value)
    return Constraint(path, role, _kind(path, decision), "is", (canonical_text(value),))


def _gravity(role: str) -> int:
    return _ROLES.index(role) if role in _ROLES else 0


_ROLES: Final = tuple(role.value for role in (*(item for item in Role if item is not Role.CONTENT), Role.CONTENT))
"""Roles with content last: what carries authority anywhere inside a value gives the whole its role."""


def _kind(path: tuple[str, ...], decision: Mapping[str, Any]) -> str:
    """Return the one kind of everything at or below a path; of several kinds, plain text."""
    name, reports = ".".join(path), decision.get("arguments")
    listed = [item for item in reports if isinstance(item, dict)] if isinstance(reports, list) else []
    at = [item for item in listed if item.get("path") == name or str(item.get("path")).startswith(f"{name}.")]
    kinds = {str(item.get("kind") or "text") for item in at}
    return kinds.pop() if len(kinds) == 1 else "text"


def _named(found: Mapping[tuple[str, ...], Constraint], name: str) -> Constraint:
    """Return the constraint that a dotted name means."""
    meant = [item for item in found.values() if item.dotted() == name]
    if len(meant) != 1:
        known = ", ".join(item.dotted() for item in found.values()) or "none"
        raise wrong(name[:40], "this call has no such value, or two that are written so", f"its values: {known}")
    return meant[0]


def _widen_addresses(found: dict[tuple[str, ...], Constraint], names: Sequence[str]) -> None:
    for name in names:
        item = _named(found, name)
        value = json.loads(item.values[0])
        where = origin_of(value) if isinstance(value, str) else None
        if where is None:
            raise wrong(name[:40], "this value is no address with a host", "name the value itself")
        found[item.path] = replace(item, how="at", values=(canonical_text(where),))


def _value(name: str, value: JSON, item: Constraint) -> str:
    """Return a further value in the form in which it is compared; one that only looks like another is refused."""
    if isinstance(value, str) and warnings(value):
        raise wrong(name[:40], f"this value misleads: {warnings(value)[0]}", "type it anew")
    if item.how not in {"is", "same", "at"}:
        raise wrong(name[:40], f"there is nothing to add where a value is bounded by {item.how}", "leave it out")
    try:
        if item.how == "at":
            value = origin_of(value) if isinstance(value, str) else None
        text = canonical_text(value)
    except HostileInputError as error:
        raise wrong(name[:40], "this value cannot be compared", "give plain JSON") from error
    if item.how == "same" and same_form(item.kind, value) is None:
        raise wrong(name[:40], f"this is no value of kind {item.kind}", "give it as it stands in a call")
    return text


def _cap(item: Constraint) -> Decimal:
    """Return the most that one amount may be."""
    said = item.to_json()[item.how]
    numbers = [plain_number(value) for value in (said if isinstance(said, list) else [said])]
    if any(number is None for number in numbers):
        raise wrong(item.dotted(), "this amount is no plain number above zero", "let a person decide such calls")
    return max(number for number in numbers if number is not None)


def _decimal(name: str, text: str) -> Decimal:
    found = plain_number(text)
    if found is None:
        raise wrong(name, "this is no amount above zero", "write it as digits, such as 99.50")
    return found


def _cannot(why: str, remedy: str) -> StandingRuleError:
    return StandingRuleError(f"no standing rule can be made of this call: {why}", remedy=remedy)


def widening_from_json(data: Mapping[str, Any]) -> Widening:
    """Return the widening in a JSON object whose types were checked.

    Raises:
        StandingRuleError: a deadline is over 90 days away, or there is no such field.
    """
    if unknown := set(data) - {*_FIELDS, "days"}:
        raise wrong(min(unknown)[:40], "there is no such field", f"use: {', '.join((*_FIELDS, 'days'))}")
    also = data.get("also") or {}
    return Widening(
        anything=tuple(data.get("anything") or ()),
        same=tuple(data.get("same") or ()),
        at=tuple(data.get("at") or ()),
        also=tuple((name, value) for name, values in also.items() for value in values),
        up_to=tuple((data.get("up_to") or {}).items()),
        anybody=data.get("anybody") is True,
        max_calls=data.get("max_calls") or CALLS,
        per_day=data.get("per_day") or 0,
        max_amount=data.get("max_amount") or "",
        max_total=data.get("max_total") or "",
        days=data.get("days") or DAYS,
    )


__all__ = [
    "CALLS",
    "DAYS",
    "MAX_DAYS",
    "OBSTACLES",
    "PER_DAY",
    "TIGHT",
    "Widening",
    "asked_call",
    "draft",
    "widening_from_json",
]
