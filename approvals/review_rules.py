"""The file of review rules: who has to say yes to what, within which time, and where it may be said.

1. The field's own default. 2. What stands under ``everywhere``. 3. Under the question's tier. 4. In the first rule
whose ``when`` fits. Each step replaces the fields that it names, and no others.

Guarantees: an unknown field, role, tier, effect or channel is an error with file, line and remedy; the rule is chosen
by what is recorded of the call; an amount that cannot be read counts as above every limit. The defaults are one
approver, and for critical calls a fresh proof of who it is and a reason in words: somebody who has to say why has
looked. The reason is not for a file to take away; the proof is, by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from checkvalve.approvals.config_file import config_bytes
from checkvalve.approvals.errors import ReviewRulesError
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.plans import CHANNELS, ONE, Need, Plan, Step
from checkvalve.approvals.question import Question
from checkvalve.approvals.risk import CRITICAL_RULES, MILD_RULES, Tier, tier_of
from checkvalve.approvals.roles import Role
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES, dotted, nearest, read_yaml

MAX_RULES: Final = 200
MAX_COUNT: Final = 10
"""People of one role in one alternative, alternatives, noes, reminders and steps."""
MAX_DECIDE: Final = 30 * 86_400
"""Seconds a question may stay open."""
MAX_EXECUTE: Final = 86_400
"""Seconds a permit may stay good."""
ASKED_ROLES: Final = (Role.RESPONDER, Role.APPROVER, Role.AUDITOR, Role.ADMINISTRATOR)
"""Roles that a quorum may be made of. Who only looks decides nothing, and breaking the glass is another way."""
REMIND: Final = (0.5, 0.8)
_SPAN: Final = re.compile(r"([1-9][0-9]{0,7})([smhd])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_EFFECTS: Final = (*(effect.value for effect in Effect), "answer")


def _seconds(value: object) -> object:
    if isinstance(value, str):
        found = _SPAN.fullmatch(value)
        if found is None:
            raise ValueError("a time is a number with s, m, h or d, such as 4h")
        return int(found[1]) * _UNITS[found[2]]
    return value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known(known: tuple[str, ...], what: str) -> AfterValidator:
    def check(value: list[str]) -> list[str]:
        if unknown := sorted(set(value) - set(known)):
            raise ValueError(f"there is no {what} {unknown[0]!r}; known are {', '.join(known)}")
        return value

    return AfterValidator(check)


def _alternative(value: dict[Role, int]) -> dict[Role, int]:
    if unknown := sorted(set(value) - set(ASKED_ROLES)):
        raise ValueError(f"the role {unknown[0].value} cannot be asked for; {', '.join(ASKED_ROLES)} can")
    return value


Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Part = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Words = Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], BeforeValidator(_listed)]
Needs = Annotated[dict[Role, Count], Field(min_length=1), AfterValidator(_alternative)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StepRule(_Strict):
    """Who is told when the part ``after`` of the time to decide is over.

    Roles, names of people, ``channel:NAME``, or ``oncall:NAME``.
    """

    after: Part
    to: Annotated[Words, Field(min_length=1, max_length=MAX_COUNT)]


class PlanRule(_Strict):
    """How a question is to be answered. What is not said is left as it was; see the module's list."""

    decide_within: Annotated[int, BeforeValidator(_seconds), Field(ge=1, le=MAX_DECIDE)] | None = None
    execute_within: Annotated[int, BeforeValidator(_seconds), Field(ge=1, le=MAX_EXECUTE)] | None = None
    approve: Annotated[list[Needs], Field(min_length=1, max_length=MAX_COUNT)] | None = None
    deny: Count | None = None
    step_up: bool | None = None
    note_required: bool | None = None
    break_glass: bool | None = None
    remind: Annotated[list[Part], Field(max_length=MAX_COUNT)] | None = None
    escalate: Annotated[list[StepRule], Field(max_length=MAX_COUNT)] | None = None
    channels: Annotated[Words, Field(min_length=1), _known(CHANNELS, "channel")] | None = None

    def over(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a plan with those that are said here replaced."""
        said = {name: getattr(self, name) for name in PlanRule.model_fields if name in self.model_fields_set}
        return plan | {name: value for name, value in said.items() if value is not None}


class When(_Strict):
    """Which questions a rule is for: every condition that is named has to hold, and of a list any entry."""

    tool: Words = []
    server: Words = []
    tenant: Words = []
    effect: Annotated[Words, _known(_EFFECTS, "effect")] = []
    rule: Words = []
    tier: Annotated[list[Tier], BeforeValidator(_listed)] = []
    min_amount: Annotated[Decimal, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> When:
        if not self.model_fields_set or all(getattr(self, name) in ([], None) for name in self.model_fields_set):
            raise ValueError("a rule needs a condition; what holds everywhere stands under `everywhere`")
        return self

    def tiers(self) -> tuple[Tier, ...]:
        """Return the tiers that a question of this rule can have; none: it can never count."""
        effects, rules = self.effect or (*_EFFECTS, ""), self.rule or ("", min(MILD_RULES), min(CRITICAL_RULES))
        possible = {tier_of(effect, rule) for effect in effects for rule in rules}
        return tuple(tier for tier in Tier if tier in possible and (not self.tier or tier in self.tier))

    def fits(self, question: Question) -> bool:
        """Say whether the rule is for this question."""
        plain = ("server", "tenant", "effect", "rule", "tier")
        return (
            all(not getattr(self, name) or getattr(question, name) in getattr(self, name) for name in plain)
            and (not self.tool or any(question.is_called(name) for name in self.tool))
            and (self.min_amount is None or question.reaches(self.min_amount))
        )


class Rule(PlanRule):
    """One rule: its name, when it is for a question, and what it says."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")
    when: When


class ReviewRules(_Strict):
    """The whole file."""

    everywhere: PlanRule = PlanRule()
    tiers: dict[Tier, PlanRule] = {}
    rules: Annotated[list[Rule], Field(max_length=MAX_RULES)] = []

    @model_validator(mode="after")
    def _names_differ(self) -> ReviewRules:
        names = [rule.name for rule in self.rules]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two rules are called {doubled[0]!r}")
        return self

    def plan_for(self, question: Question, *, decide_within: int, execute_within: int) -> Plan:
        """Return the plan of a question; the two times (seconds) count where the file says none."""
        rule = next((rule for rule in self.rules if rule.when.fits(question)), None)
        times = {"decide_within": decide_within, "execute_within": execute_within}
        plan = self._plan(question.tier, rule, times)
        return _made(plan, question.tier, rule.name if rule else "", question.tenant, question.amount)

    def every(self, *, decide_within: int = 0, execute_within: int = 0) -> Iterator[tuple[str, Plan, When | None]]:
        """Yield every plan that the file can come to: a name, the plan, and of a rule what it is for.

        A rule has a plan for each tier that its questions can have.
        """
        times = {"decide_within": decide_within, "execute_within": execute_within}
        for tier in Tier:
            yield f"tier {tier.value}", _made(self._plan(tier, None, times), tier), None
        for rule in self.rules:
            for tier in rule.when.tiers():
                plan = _made(self._plan(tier, rule, times), tier, rule.name)
                yield f"rule {rule.name}", plan, rule.when

    def _plan(self, tier: Tier, rule: Rule | None, times: dict[str, int]) -> dict[str, Any]:
        grave = tier is Tier.CRITICAL
        fields = self.everywhere.over({**_DEFAULT, **times, "step_up": grave})
        fields = self.tiers.get(tier, PlanRule()).over(fields)
        fields = rule.over(fields) if rule else fields
        return {**fields, "note_required": grave or fields["note_required"]}

    @model_validator(mode="after")
    def _a_critical_call_takes_a_reason(self) -> ReviewRules:
        """Refuse what would look as if it did something: a critical call takes a reason whatever the file says."""
        said = self.tiers.get(Tier.CRITICAL)
        if said is not None and said.note_required is False:
            raise ValueError("a critical call always takes a reason; leave `note_required` out under `critical`")
        return self

    @cached_property
    def asks_for(self) -> frozenset[Role]:
        """Every role that some plan needs."""
        return frozenset(role for _, plan, _ in self.every() for role in plan.roles)


_DEFAULT: Final[dict[str, Any]] = {
    "approve": [{need.role: need.count for need in needs} for needs in ONE],
    "deny": 1,
    "note_required": False,
    "break_glass": False,
    "remind": list(REMIND),
    "escalate": [],
    "channels": list(CHANNELS),
}


def _made(fields: dict[str, Any], tier: Tier, rule: str = "", tenant: str = "", amount: str = "") -> Plan:
    return Plan(
        tier=tier,
        decide_within=fields["decide_within"],
        execute_within=fields["execute_within"],
        approve=tuple(tuple(Need(count, role) for role, count in sorted(needs.items())) for needs in fields["approve"]),
        deny=fields["deny"],
        step_up=fields["step_up"],
        note_required=fields["note_required"],
        may_break_glass=fields["break_glass"],
        remind=tuple(sorted(fields["remind"])),
        escalate=tuple(Step(step.after, tuple(step.to)) for step in fields["escalate"]),
        channels=tuple(sorted(set(fields["channels"]))),
        rule=rule,
        tenant=tenant,
        amount=amount,
    )


def load_review_rules(path: Path | str | None) -> ReviewRules:
    """Return the rules in the file at ``path``; without one, the defaults.

    Raises:
        ReviewRulesError: the file cannot be read, or something in it is wrong.
        ManifestError: it is not YAML of one meaning.
    """
    if path is None:
        return ReviewRules()
    remedy = "give the path of a file of review rules that exists"
    text = config_bytes(Path(path), MAX_YAML_BYTES, ReviewRulesError, remedy=remedy)
    return parse_review_rules(text, str(path))


def parse_review_rules(text: str | bytes, name: str) -> ReviewRules:
    """Return the rules in ``text``; ``name`` stands for the file in errors. Raises as :func:`load_review_rules`."""
    document = read_yaml(text, name)
    try:
        found = {} if document.value is None else document.value
        return ReviewRules.model_validate_json(json.dumps(found))  # strict, and enumerations are written as words
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = min(problems, key=lambda item: (item["type"] == "missing", document.line(item["loc"]) or 0))
        place = tuple(step for step in first["loc"] if step != "[key]")
        raise ReviewRulesError(
            _said(first["msg"]),
            file=name,
            line=document.line(place),
            field=dotted(place),
            remedy=_remedy(first["type"], place),
        ) from None


def _said(message: str) -> str:
    plain = message.removeprefix("Value error, ").replace("Extra inputs are not permitted", "unknown field")
    return (
        plain.replace("an object", "a mapping")
        .replace("valid array", "list")
        .replace("Input should be", "this has to be")
        .replace("Dictionary", "the mapping")
    )


def _remedy(kind: str, place: tuple[int | str, ...]) -> str:
    if kind == "extra_forbidden":
        models: dict[str, type[BaseModel]] = {"when": When, "escalate": StepRule, "rules": Rule, "tiers": PlanRule}
        inner = next((models[step] for step in reversed(place[:-1]) if step in models), None)
        model = inner or (PlanRule if "everywhere" in place[:-1] else ReviewRules)
        return nearest(str(place[-1]), list(model.model_fields))
    return "see docs/reviewing.md for what a review rule may say"


__all__ = [
    "ASKED_ROLES", "PlanRule", "ReviewRules", "Rule", "When", "load_review_rules", "parse_review_rules",
]  # fmt: skip
