"""``checkvalve decide``: one JSON case in, one JSON verdict out. No store, no effect, nothing remembered.

Guarantees: the case is parsed by the strict rules and every unknown field is an error; the exit code is 0 whatever the
verdict, and 2 with a reason on standard error when there was nothing to decide.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from checkvalve.approvals.decide import decide
from checkvalve.approvals.decision import Decision, DecisionContext
from checkvalve.approvals.endorsements import Endorsement, Mandate
from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.facts import PROFILES, field_rules
from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import Policy, load_policy
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.repeats import effect_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.toolspec import Manifest
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.fields import result_fields, source_of
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.labels import Authority, Source
from checkvalve.filters.origins import FieldRule
from checkvalve.filters.strictjson import JSON, MAX_BYTES, parse_strict
from checkvalve.gateway.errors import CaseError
from checkvalve.graphs.readings import readable
from checkvalve.graphs.session import refusal

_FORM: Final = "a case has `task` and `call`, and may have `history`, `endorsements`, `mandates` and `requester`"
_PUBLISHED: Final = ("verdict", "rule", "reason", "remedy", "arguments", "pins")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Words(_Strict):
    """One part of the task: what the user said, or content that stands in a user's turn."""

    text: str
    authority: Literal["user", "none"] = "user"


class SourceCase(_Strict):
    """Who authored a result and how it came."""

    kind: str = "tool"
    uri: str = ""
    author: str = ""
    channel: str = ""
    observed_at: str = ""


class Step(_Strict):
    """One earlier call with what it returned."""

    tool: str
    server: str = ""
    args: dict[str, Any] = Field(default_factory=dict)
    result: Any = None
    source: SourceCase | None = None


class CallCase(_Strict):
    """The call to decide. The final answer is a call of the built-in tool ``answer``."""

    tool: str
    server: str = ""
    args: dict[str, Any] = Field(default_factory=dict)


class EndorsementCase(_Strict):
    """Data that a person has accepted."""

    value: str
    source: str
    role: str
    tool: str
    kind: str = "text"


class MandateCase(_Strict):
    """A source that the user lets fill roles of a tool, within limits; nothing of it is used up yet."""

    source: str
    tool: str = ""
    roles: list[str]
    max_amount: float | str | None = None
    max_calls: int = 1
    effect: str = ""
    values: dict[str, list[str]] = Field(default_factory=dict)
    hosts: list[str] = Field(default_factory=list)
    delegates: str = ""


class Case(_Strict):
    """Everything one decision depends on. ``sandbox``: the gateway is one that has a sandbox configured."""

    task: list[Words]
    call: CallCase
    history: list[Step] = Field(default_factory=list)
    endorsements: list[EndorsementCase] = Field(default_factory=list)
    mandates: list[MandateCase] = Field(default_factory=list)
    requester: str = ""
    sandbox: bool = True

    @field_validator("task", mode="before")
    @classmethod
    def _as_words(cls, task: object) -> object:
        """Take a task that is one text as the user's own words."""
        return [{"text": task}] if isinstance(task, str) else task


class _CaseIndex(AttributionIndex):
    """An index in which a case may say itself where a result came from."""

    def add_step(self, step: Step, number: int, rules: tuple[FieldRule, ...], value: JSON) -> None:
        for found in result_fields(value, tool=step.tool, call=f"h{number}", args=step.args, rules=rules):
            if step.source is None:
                self._add(found)
                continue
            source = str(Source(**step.source.model_dump()))
            self._add(replace(found, source=source, record=source + found.record.removeprefix(found.source)))


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command("decide")
    def decide_(
        *,
        manifest: Annotated[Path, typer.Option(help="The YAML file that declares the tools.")],
        policy: Annotated[Path | None, typer.Option(help="A Cedar policy; default: the packaged one.")] = None,
        profile: Annotated[str, typer.Option(help=f"The trust profile: {', '.join(PROFILES)}.")] = "strict",
    ) -> None:
        """Decide one JSON case from standard input and print the verdict as JSON."""
        found = decide_case(sys.stdin.buffer.read(MAX_BYTES + 1), manifest, policy, profile)
        answer = found.to_json()
        typer.echo(json.dumps({name: answer[name] for name in _PUBLISHED if name in answer}, indent=2))


def decide_case(text: bytes, manifest: Path, policy: Path | None = None, profile: str = "strict") -> Decision:
    """Return the decision on the case in ``text``.

    A call whose arguments break the strict rules is denied like any other; the case around it has to be sound.

    Raises:
        CaseError: the text is not a case, or there is no such profile.
        ConfigError: the manifest or the policy cannot be used.
    """
    if profile not in PROFILES:
        raise CaseError(f"there is no profile {profile!r}", f"use one of: {', '.join(PROFILES)}")
    declared, rules = load_manifest(manifest), load_policy(policy)
    return decide_loaded(read_case(text), declared, rules, profile)


def decide_loaded(case: Case, declared: Manifest, rules: Policy, profile: str) -> Decision:
    """Return the decision on a case that was read, by a manifest and a policy that were loaded."""
    context = DecisionContext(
        manifest=declared,
        policy=rules,
        index=_index_of(case, declared),
        profile=profile,
        endorsements=[Endorsement(**item.model_dump()) for item in case.endorsements],
        mandates=[_mandate(item) for item in case.mandates],
        reads=_reads(case),
        requester=case.requester,
        calls_so_far=_counted(case),
        done=_done(case, declared),
        observed_schema_digest=_pinned(case, declared),
        sandbox=case.sandbox,
    )
    try:
        request = ActionRequest.build(
            case.call.tool,
            case.call.args,
            server=case.call.server,
            thread="case",
            call_id="call",
            requester=case.requester,
        )
    except HostileInputError as error:
        return Decision(verdict=refusal(error), policy_digest=rules.digest, profile=profile)
    return decide(request, context)


def _mandate(item: MandateCase) -> Mandate:
    try:
        return Mandate.from_json(item.model_dump())
    except MandateError as error:
        raise CaseError(f"mandates: {error.message}", error.remedy) from error


def _reads(case: Case) -> Reads:
    """Return the earlier calls of a case, under the sources that their results have there."""
    found = Reads()
    for number, step in enumerate(case.history, 1):
        found.add(step.tool, f"h{number}", step.args, server=step.server)
        if step.source is not None:
            read = found.by_source[source_of(step.tool, f"h{number}")]
            found.by_source.setdefault(str(Source(**step.source.model_dump())), read)
    return found


def read_case(text: bytes) -> Case:
    """Return the case in ``text``.

    Raises:
        CaseError: the text is not a case.
    """
    try:
        value = parse_strict(text)
    except HostileInputError as error:
        raise CaseError(f"the case is not acceptable JSON [{error.code}]: {error}", "give one JSON object") from error
    return check_case(value)


def check_case(value: JSON) -> Case:
    """Return ``value`` as a case.

    Raises:
        CaseError: it is none.
    """
    try:
        return Case.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "case"
        raise CaseError(f"{place}: {first['msg']}", _FORM) from error


def _index_of(case: Case, manifest: Manifest) -> AttributionIndex:
    index = _CaseIndex()
    for words in case.task:
        index.add_words(words.text, authority=Authority[words.authority.upper()])
    for number, step in enumerate(case.history, 1):
        spec = manifest.find(step.tool, step.server)
        rules = field_rules(spec, manifest) if spec else ()
        for value in readable(step.result, spec):
            index.add_step(step, number, rules, value)
    return index


def _counted(case: Case) -> dict[str, int]:
    counted: dict[str, int] = {}
    for step in case.history:
        counted[step.tool] = counted.get(step.tool, 0) + 1
    return counted


def _done(case: Case, manifest: Manifest) -> set[str]:
    """Return what the earlier calls have had as effects: a case's history is what this task has done so far."""
    found: set[str] = set()
    for step in case.history:
        spec = manifest.find(step.tool, step.server)
        if spec is None or spec.effect is Effect.READ:
            continue
        try:
            found.add(effect_key(ActionRequest.build(step.tool, step.args, server=step.server), spec))
        except HostileInputError:
            continue  # such a call never ran
    return found


def _pinned(case: Case, manifest: Manifest) -> str | None:
    """Return the pinned schema digest: a case has no live server whose schema could differ."""
    spec = manifest.find(case.call.tool, case.call.server)
    return spec.schema_digest if spec else None


__all__ = ["Case", "check_case", "decide_case", "decide_loaded", "read_case", "register"]
