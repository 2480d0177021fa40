"""``decide(request, context) -> Decision``: may this call run? The one procedure, for every surface.

0. The request is already parsed strictly: an :class:`ActionRequest` cannot be built from anything else.
1. Find the ToolSpec by server, name and schema digest. Unknown tool or changed schema: deny.
2. Check the arguments against what is declared. Unknown or ill-typed arguments: deny.
3. Attribute every leaf.
4. Compute the facts.
5. Evaluate the policy with those facts. Errors, or nothing matched: deny.
6. Ask the detectors, only to make the verdict stricter. Too many open questions: deny instead of asking.
7. Return verdict, facts, rules and digests, for the caller to record before acting on it. A question that a standing
   rule answers is allowed, unless a detector asked as well; what was asked, and why, stays in the decision.

Pure: no clock, no store. What the caller must still do: record the decision, and run the call only through the
executor, with a grant for exactly this digest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checkvalve.approvals.arguments import ill_typed
from checkvalve.approvals.attributed import PEOPLE, AttributedLeaf, attribute_leaves
from checkvalve.approvals.command_facts import command_facts
from checkvalve.approvals.described import is_refund
from checkvalve.approvals.detectors import BUILT_IN, Detector, tighten
from checkvalve.approvals.endorsements import Endorsement, Mandate, Use, endorsable
from checkvalve.approvals.facts import PROFILES, compute
from checkvalve.approvals.fieldspec import ArgumentSpec, Effect, Role
from checkvalve.approvals.mandate_offer import offer
from checkvalve.approvals.mandated import Granted, bind, uses_of
from checkvalve.approvals.manifest import manifest_digest, tool_digest
from checkvalve.approvals.policy import Policy, PolicyAnswer
from checkvalve.approvals.reads import Reads
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.repeats import effect_key
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.standing_cover import AskedCall, answering
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.index import AttributionIndex
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Field
from checkvalve.filters.values import canonical

MAX_QUESTIONS: Final = 20
"""Questions one task may put to people; beyond it a flood is denied, so that the queue stays readable."""

ANSWER: Final = ToolSpec(name="answer", effect=Effect.SEND, args={"text": ArgumentSpec(role=Role.CONTENT)})
"""The built-in tool of final answers: its only destination is the user."""


@dataclass(frozen=True)
class DecisionContext:
    """Everything a decision depends on, besides the request.

    ``done`` holds the :func:`effect_key` of every effect this task has had or may still have; ``protected`` adds the
    gateway's own paths and hosts; ``references`` are the stored fields that were put in for references, by dotted
    path; ``reads`` are the calls that a mandate's source is compared with; ``isolated`` says that the model that
    proposes sees references and no content; ``written`` names the sources that are answers of a model, such as a
    sub-agent's; ``sandbox`` says that one is configured for code; ``standing`` reads the standing rules in force, and
    is asked only when the policy would ask a person.
    """

    manifest: Manifest
    policy: Policy
    index: AttributionIndex
    profile: str = "strict"
    endorsements: Sequence[Endorsement] = ()
    mandates: Sequence[Mandate | Granted] = ()
    reads: Reads | None = None
    requester: str = ""
    calls_so_far: Mapping[str, int] = field(default_factory=dict)
    questions_so_far: int = 0
    max_questions: int = MAX_QUESTIONS
    done: Collection[str] = ()
    isolated: bool = False
    written: Collection[str] = ()
    sandbox: bool = False
    observed_schema_digest: str | None = None
    protected: Sequence[str] = ()
    detectors: Sequence[Detector] = BUILT_IN
    references: Mapping[str, Sequence[Field]] = field(default_factory=dict)
    standing: Callable[[], Sequence[StandingEntry]] = tuple


@dataclass(frozen=True, slots=True)
class ArgumentReport:
    """What is known of one argument: for the record, for the reviewer, and for ``checkvalve decide``."""

    path: str
    role: str
    kind: str
    sufficient: bool
    origins: tuple[dict[str, object], ...]
    covered_by: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the published form."""
        return {
            "path": self.path,
            "role": self.role,
            "kind": self.kind,
            "sufficient": self.sufficient,
            "origins": list(self.origins),
        }


@dataclass(frozen=True)
class Decision:
    """A verdict with everything it rests on. ``action`` is what the policy was asked about, or nothing.

    ``endorsable`` is what a person would accept by saying yes; ``uses`` are the endorsements and mandates that an
    ``allow`` relies on; ``mandate`` is one that would have made the question unnecessary, where the user's words named
    the source; ``tool_digest`` is of what the manifest said of a tool that was asked about; ``standing`` names the
    standing rule that answered, and what was asked, or the one that no longer does, and why.
    """

    verdict: Verdict
    rules: tuple[str, ...] = ()
    arguments: tuple[ArgumentReport, ...] = ()
    facts: Mapping[str, bool | str] = field(default_factory=dict)
    policy_digest: str = ""
    manifest_digest: str = ""
    schema_digest: str | None = None
    profile: str = "strict"
    action: str = ""
    endorsable: tuple[Endorsement, ...] = ()
    uses: tuple[Use, ...] = ()
    mandate: Mandate | None = None
    tool_digest: str = ""
    standing: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the published form: verdict, rule, reason, remedy, arguments, and the evidence behind them."""
        verdict = self.verdict
        return {
            "verdict": verdict.name,
            "rule": verdict.rule,
            "reason": "" if isinstance(verdict, Allow) else verdict.reason,
            "remedy": "" if isinstance(verdict, Allow) else verdict.remedy,
            "arguments": [item.to_json() for item in self.arguments],
            "rules": list(self.rules),
            "facts": dict(self.facts),
            "policy_digest": self.policy_digest,
            "manifest_digest": self.manifest_digest,
            "schema_digest": self.schema_digest,
            "profile": self.profile,
            **({"action": self.action} if self.action else {}),
            **({"mandate": self.mandate.to_json()} if self.mandate else {}),
            **({"tool_digest": self.tool_digest} if self.tool_digest else {}),
            **({"standing": dict(self.standing)} if self.standing else {}),
        }


def decide(request: ActionRequest, context: DecisionContext) -> Decision:
    """Decide one call; see the module's procedure. It never raises for anything that a request can contain."""
    if context.profile not in PROFILES:
        return _refuse("unknown-profile", context)
    # 1.
    spec = context.manifest.find(request.tool, request.server)
    if spec is None and request.tool == ANSWER.name and not request.server:
        spec = ANSWER
    if spec is None:
        return _refuse("unknown-tool", context)
    if spec.schema_digest is not None and context.observed_schema_digest != spec.schema_digest:
        return _refuse("changed-schema", context)
    # 2.
    if wrong := ill_typed(request, spec):
        return _refuse(wrong, context)
    # 3.
    leaves = _attributed(request, spec, context)
    # 4.
    facts = compute(
        spec,
        leaves,
        context.index,
        context.manifest,
        calls_so_far=context.calls_so_far,
        protected=(*context.protected, *context.manifest.protected),
        profile=context.profile,
        repeated=effect_key(request, spec) in context.done,
        put_in=_put_in(request, context) if context.isolated else None,
        written=context.written,
    )
    facts = command_facts(request, spec, leaves, context.index.user_text(), facts, sandbox=context.sandbox)
    # 5.
    action = ANSWER.name if spec is ANSWER else spec.effect.value
    answer = context.policy.evaluate(action, facts)
    # 6.
    verdict = tighten(_verdict(answer), context.detectors, request, leaves)
    if isinstance(verdict, Review) and not context.index.user_text():
        verdict = Review(verdict.rule, "no-user-words", remedy_for("no-user-words"))
    if isinstance(verdict, Review) and context.questions_so_far >= context.max_questions:
        verdict = Deny("queue-flooded", "queue-flooded", remedy_for("queue-flooded"))
    # 7.
    decision = Decision(
        verdict=verdict,
        rules=answer.rules,
        arguments=tuple(_report(item) for item in leaves),
        facts=facts,
        policy_digest=context.policy.digest,
        manifest_digest=manifest_digest(context.manifest),
        schema_digest=spec.schema_digest,
        profile=context.profile,
        action=action,
        endorsable=_endorsable(verdict, leaves, spec),
        uses=uses_of([use for item in leaves for use in item.uses]) if isinstance(verdict, Allow) else (),
        mandate=offer(leaves, spec, context.reads, context.index) if isinstance(verdict, Review) else None,
        tool_digest=tool_digest(spec) if isinstance(verdict, Review) else "",
    )
    return _standing(decision, request, leaves, context) if isinstance(verdict, Review) else decision


def _standing(
    asked: Decision, request: ActionRequest, leaves: Sequence[AttributedLeaf], context: DecisionContext
) -> Decision:
    """Let a standing rule answer what the policy alone asks; a detector's question stays one."""
    rules = context.standing()
    found = answering(AskedCall.of(request, asked.verdict.rule, asked.to_json()), rules) if rules else None
    if found is None:
        return asked
    if found.why or not isinstance(tighten(Allow(""), context.detectors, request, leaves), Allow):
        return replace(asked, standing=found.refused())
    uses = uses_of([found.use, *(use for item in leaves for use in item.uses)])
    given = replace(asked, verdict=Allow(found.entry.verdict_rule), endorsable=(), mandate=None, uses=uses)
    return replace(given, standing=found.told(asked.to_json()))


def _attributed(request: ActionRequest, spec: ToolSpec, context: DecisionContext) -> list[AttributedLeaf]:
    """Attribute every leaf; in the profile ``contacts`` the people the user knows may be targets, too."""
    index = context.index
    given = context.endorsements, bind(context.mandates, request, spec, index, context.reads), context.references
    known = _known_people(context) if context.profile == "contacts" else None
    leaves = list(attribute_leaves(request, spec, index, *given, knows=known))
    return [
        replace(item, sufficient=True, covered_by="refund")
        if not item.sufficient and is_refund(item, leaves, index, spec)
        else item
        for item in leaves
    ]


def _known_people(context: DecisionContext) -> Callable[[str, str], bool]:
    """Return the question whether a value of a kind is a person whom the user knows."""
    people = context.manifest.principal.contacts
    listed = {(kind, canonical(kind, name) or normalise(name).text) for name in people for kind in PEOPLE}
    is_contact = context.index.is_contact

    def knows(value: str, kind: str) -> bool:
        return (kind, canonical(kind, value) or normalise(value).text) in listed or is_contact(value, kind)

    return knows


def _put_in(request: ActionRequest, context: DecisionContext) -> dict[str, list[Field]]:
    """Return every field that was put in for a reference, by argument; none is left out."""
    found: dict[str, list[Field]] = {name: [] for name in request.args}
    for path, fields in context.references.items():
        # a name may hold a dot itself: a field that fits two arguments counts for both
        for name in (name for name in found if path == name or path.startswith(f"{name}.")):
            found[name] += fields
    return found


def _verdict(answer: PolicyAnswer) -> Verdict:
    """Turn the policy's answer into a verdict. The first rule that matched gives the reason."""
    if answer.errors:
        return Deny("policy-error", "policy-error", remedy_for("policy-error"))
    rule = answer.rules[0] if answer.rules else "default-deny"
    if answer.decision == "allow" and answer.rules:
        return Allow(rule)
    if answer.decision == "review":
        return Review(rule, rule, remedy_for(rule))
    return Deny(rule, rule, remedy_for(rule))


def _refuse(rule: str, context: DecisionContext) -> Decision:
    return Decision(
        verdict=Deny(rule, rule, remedy_for(rule)),
        rules=(rule,),
        policy_digest=context.policy.digest,
        manifest_digest=manifest_digest(context.manifest),
        profile=context.profile,
    )


def _report(item: AttributedLeaf) -> ArgumentReport:
    origins = tuple(origin.to_json() for origin in item.attribution.origins)
    return ArgumentReport(
        item.leaf.dotted(), item.spec.role.value, item.spec.kind, item.sufficient, origins, item.covered_by
    )


def _endorsable(verdict: Verdict, leaves: Sequence[AttributedLeaf], spec: ToolSpec) -> tuple[Endorsement, ...]:
    if not isinstance(verdict, Review):
        return ()
    asked = [item for item in leaves if item.authority_bearing and not item.sufficient]
    return tuple(endorsable(item.attribution, item.spec.role, spec) for item in asked)
