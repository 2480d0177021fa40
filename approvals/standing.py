"""What a standing rule says: the value, checked once and frozen. A lasting answer to one question about one tool.

Guarantees: a rule names one tool as it was declared, the rules of the policy whose question it answers, and something
for every value that carries authority; whatever it does not say, it does not cover. Values are compared as parsed
structure, whole: there are no patterns, no prefixes and no wildcards. It never stands for anything critical.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.errors import StandingRuleError
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.risk import Tier, tier_of
from checkvalve.approvals.standing_values import HOWS, Constraint
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON

MAX_CALLS: Final = 1_000
"""Calls that one rule may answer in its life."""
MAX_PER_DAY: Final = 100
"""Calls that one rule may answer within 24 hours."""
MAX_CONSTRAINTS: Final = 100
PREFIX: Final = "standing:"
"""What the rule of a verdict begins with that a standing rule gave; its id follows."""
ANYBODY: Final = ""
"""The requester of a rule that is for everybody of its tenant."""
_VERSION: Final = 1
_TEXTS: Final = ("server", "tool", "effect", "schema_digest", "tool_digest", "requester")


@dataclass(frozen=True, slots=True)
class StandingRule:
    """One rule, without its life in the store.

    Attributes:
        server, tool, effect: what is called, as the manifest declared it.
        schema_digest, tool_digest: of the pinned arguments, and of everything that the manifest says of the tool.
        answers: the policy's rules that asked; a call that one more rule asks about is not covered.
        requester: for whom the calls are made; :data:`ANYBODY` for everybody of the tenant.
        constraints: one for each value of the call; a call with other arguments, or fewer, is not covered.
        max_calls, per_day: how many calls it answers in all, and within any 24 hours.
        max_amount, max_total: what one call may move, and all of them together, in the tool's own unit; none where
            no value is an amount.
        persons: how many people had to agree when it was made.

    Raises:
        StandingRuleError: it cannot be what it says.
    """

    server: str
    tool: str
    effect: str
    schema_digest: str
    tool_digest: str
    answers: tuple[str, ...]
    requester: str
    constraints: tuple[Constraint, ...]
    max_calls: int
    per_day: int
    max_amount: Decimal | None = None
    max_total: Decimal | None = None
    persons: int = 2

    def __post_init__(self) -> None:
        """Check every field."""
        if not self.tool or not self.schema_digest or not self.tool_digest:
            raise wrong("tool", "a rule is for one tool whose arguments are pinned", "pin them: checkvalve policy pin")
        if not self.answers or any(tier_of(self.effect, rule) is Tier.CRITICAL for rule in self.answers):
            raise wrong("answers", "nothing critical is ever answered by a rule", "let a person decide each such call")
        if type(self.max_calls) is not int or not 0 < self.max_calls <= MAX_CALLS:
            raise wrong("max_calls", f"a rule answers 1 to {MAX_CALLS} calls", "give a whole number")
        if type(self.per_day) is not int or not 0 < self.per_day <= min(MAX_PER_DAY, self.max_calls):
            raise wrong("per_day", f"1 to {MAX_PER_DAY} calls a day, and no more than in all", "give a whole number")
        if self.persons not in {1, 2}:
            raise wrong("persons", "one person or two agree to a rule", "give 1 or 2")
        _check_paths([item.path for item in self.constraints])
        self._check_amounts()

    def _check_amounts(self) -> None:
        moves = any(item.role == Role.AMOUNT for item in self.constraints)
        once, all_ = self.max_amount, self.max_total
        if not moves:
            if once is not None or all_ is not None:
                raise wrong("max_amount", "this tool moves no amount", "leave it out")
        elif once is None or all_ is None or not 0 < once <= all_:
            raise wrong("max_total", "a rule over amounts caps each call, and all of them", "give both, above zero")

    def to_json(self) -> dict[str, JSON]:
        """Return the form that :meth:`from_json` reads; it holds values of the call it was made from."""
        return {
            "version": _VERSION,
            **{name: getattr(self, name) for name in _TEXTS},
            "answers": list(self.answers),
            "arguments": [item.to_json() for item in self.constraints],
            "max_calls": self.max_calls,
            "per_day": self.per_day,
            "max_amount": None if self.max_amount is None else format(self.max_amount, "f"),
            "max_total": None if self.max_total is None else format(self.max_total, "f"),
            "persons": self.persons,
        }

    @classmethod
    def from_json(cls, data: object) -> StandingRule:
        """Return the rule in its stored form.

        Raises:
            StandingRuleError: it is none.
        """
        if not isinstance(data, Mapping) or data.get("version") != _VERSION:
            raise wrong("rule", "this is no rule of this version", "make it anew")
        try:
            return cls(
                **{name: _text(data[name]) for name in _TEXTS},
                answers=tuple(_text(item) for item in data["answers"]),
                constraints=tuple(Constraint.from_json(item) for item in data["arguments"]),
                max_calls=data["max_calls"],
                per_day=data["per_day"],
                max_amount=_decimal(data["max_amount"]),
                max_total=_decimal(data["max_total"]),
                persons=data["persons"],
            )
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise wrong("rule", "a field is missing or of another type", "make it anew") from error

    @property
    def name(self) -> str:
        """The tool, with its server where it has one."""
        return f"{self.server}/{self.tool}" if self.server else self.tool

    def in_words(self, said: Callable[[Constraint], str] = Constraint.in_words) -> str:
        """Return one sentence for people; the values in it are content. ``said`` is how each constraint is told."""
        who = self.requester or "anybody"
        what = "; ".join(map(said, self.constraints)) or "no arguments"
        often = f"at most {self.per_day} a day and {self.max_calls} in all"
        if self.max_amount is not None and self.max_total is not None:
            often += f", up to {self.max_amount:f} each and {self.max_total:f} together"
        return f"`{self.name}` for {who}, with {what}; {often}; answers {', '.join(self.answers)}"


def flattened(args: Mapping[str, JSON]) -> Iterator[tuple[tuple[str, ...], JSON]]:
    """Yield what a constraint may be about: every value below the keys of objects. Lists and empty objects are one.

    The same arguments give the same paths whatever the order of their keys; two paths are never parts of each other.
    """
    stack: list[tuple[tuple[str, ...], JSON]] = [((), dict(args))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict) and (value or not path):
            stack.extend(((*path, key), item) for key, item in value.items())
        else:
            yield path, value


def canonical_text(value: JSON) -> str:
    """Return the one spelling of a JSON value."""
    return canonical(value).decode()


def _check_paths(paths: list[tuple[str, ...]]) -> None:
    if len(paths) > MAX_CONSTRAINTS:
        raise wrong("arguments", f"a rule is over at most {MAX_CONSTRAINTS} values", "let a person decide such calls")
    for one in paths:
        if sum(other[: len(one)] == one for other in paths) != 1:
            raise wrong("arguments", "two constraints are about one value", "name each value once")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _decimal(value: object) -> Decimal | None:
    return None if value is None else Decimal(_text(value))


def wrong(field: str, what: str, remedy: str) -> StandingRuleError:
    """Return the error for a field of a rule."""
    return StandingRuleError(f"{field}: {what}", remedy=remedy)


def parsed(body: str) -> StandingRule:
    """Return the rule in its stored text.

    Raises:
        StandingRuleError: it is none.
    """
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise wrong("rule", "this is no JSON", "verify the audit log") from error
    try:
        rule = StandingRule.from_json(found)
        same = canonical_text(rule.to_json()) == body
    except HostileInputError as error:
        raise wrong("rule", "it has no canonical form", "verify the audit log") from error
    if not same:
        raise wrong("rule", "it is not in its canonical form", "verify the audit log")
    return rule


__all__ = [
    "ANYBODY", "HOWS", "MAX_CALLS", "MAX_PER_DAY", "PREFIX", "Constraint", "StandingRule", "canonical_text",
    "flattened", "parsed", "wrong",
]  # fmt: skip
