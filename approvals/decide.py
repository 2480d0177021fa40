"""``decide(request, context) -> Decision``: may this call run? The one procedure, for every surface.

0. The request is already parsed strictly: an :class:`ActionRequest` cannot be built from anything else.
1. Find the ToolSpec by server, name and schema digest, in the variant that fits the arguments. Unknown tool or
   changed schema: deny.
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

from collections.abc import Callable, Sequence
from dataclasses import replace

from checkvalve.approvals.arguments import ill_typed
from checkvalve.approvals.attributed import PEOPLE, AttributedLeaf, attribute_leaves
from checkvalve.approvals.command_facts import command_facts
from checkvalve.approvals.decision import ANSWER, ArgumentReport, Decision, DecisionContext
from checkvalve.approvals.described import is_refund
from checkvalve.approvals.detectors import tighten
from checkvalve.approvals.endorsements import Endorsement, endorsable
from checkvalve.approvals.facts import PROFILES, compute
from checkvalve.approvals.mandate_offer import offer
from checkvalve.approvals.mandated import bind, uses_of
from checkvalve.approvals.manifest import manifest_digest, tool_digest
from checkvalve.approvals.policy import PolicyAnswer
from checkvalve.approvals.reasons import remedy_for
from checkvalve.approvals.repeats import is_repeated
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.standing_cover import AskedCall, answering
from checkvalve.approvals.toolspec import ToolSpec
from checkvalve.approvals.verdicts import Allow, Deny, Review, Verdict
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Field
from checkvalve.filters.values import canonical


def decide(request: ActionRequest, context: DecisionContext) -> Decision:
    """Decide one call; see the module's procedure. It never raises for anything that a request can contain."""
    if context.profile not in PROFILES:
        return _refuse("unknown-profile", context)
    # 1.
    declared = context.manifest.find(request.tool, request.server)
    if declared is None and request.tool == ANSWER.name and not request.server:
        declared = ANSWER
    if declared is None:
        return _refuse("unknown-tool", context)
    spec = declared.called_with(request.args)
    if spec.schema_digest is not None and context.observed_schema_digest != spec.schema_digest:
        return _refuse("changed-schema", context, declared)
    # 2.
    if wrong := ill_typed(request, spec):
        return _refuse(wrong, context, declared)
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
        repeated=is_repeated(request, spec, context.done),
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
        tool_digest=tool_digest(declared) if isinstance(verdict, Review) else "",
        title=spec.title,
        pins=tuple(pin.of for pin in spec.pin),
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


def _refuse(rule: str, context: DecisionContext, spec: ToolSpec | None = None) -> Decision:
    declared = {} if spec is None else spec.args
    return Decision(
        redact=tuple(sorted(name for name, argument in declared.items() if argument.is_secret)),
        verdict=Deny(rule, rule, remedy_for(rule)),
        rules=(rule,),
        policy_digest=context.policy.digest,
        manifest_digest=manifest_digest(context.manifest),
        profile=context.profile,
    )


def _report(item: AttributedLeaf) -> ArgumentReport:
    origins = tuple(origin.to_json() for origin in item.attribution.origins)
    return ArgumentReport(
        item.leaf.dotted(),
        item.spec.role.value,
        item.spec.kind,
        item.sufficient,
        origins,
        item.covered_by,
        item.spec.redact,
    )


def _endorsable(verdict: Verdict, leaves: Sequence[AttributedLeaf], spec: ToolSpec) -> tuple[Endorsement, ...]:
    if not isinstance(verdict, Review):
        return ()
    asked = [item for item in leaves if item.authority_bearing and not item.sufficient]
    return tuple(endorsable(item.attribution, item.spec.role, spec) for item in asked)
