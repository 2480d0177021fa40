"""Explain a decision: the numbered steps of ``decide``, which rule won, and what would have made it unnecessary.

Guarantees: pure; everything shown was decided by ``decide`` or recorded then, and nothing is decided anew except by the
policy, over changed facts, to find the smallest change that lets the call run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.kit_rules import GOOD
from checkvalve.approvals.policy import Fact, Policy
from checkvalve.approvals.reasons import REMEDIES, remedy_for
from checkvalve.approvals.toolspec import ToolSpec

MAX_CHANGES: Final = 4
"""Facts that a shown change may consist of; a call that needs more is wrong in every way at once."""

_BEFORE_TOOL: Final = frozenset({"unknown-profile", "unknown-tool", "changed-schema"})
_BEFORE_FACTS: Final = frozenset({"unknown-argument", "wrong-arguments"})

WANTED: Final = {
    "asked": "the user's words, or the host, ask for an effect of this kind",
    "repeated": "this task has not had the effect already",
    "anchored": "at least one value comes from the user's words or a trusted field",
    "record_named": "the user names the record that is meant",
    "targets_ok": "every destination has an origin that suffices",
    "selectors_ok": "every record that is picked has an origin that suffices",
    "commands_ok": "every word that was chosen for the command has an origin that suffices",
    "command_ok": "the command can be read, and has a shape that is declared for this tool",
    "sandboxed": "code runs in a sandbox that is declared for this tool and configured",
    "credentials_ok": "the credential has an origin that suffices",
    "amounts_ok": "the amount has an origin that suffices",
    "controls_ok": "every setting has an origin that suffices, or is safe",
    "readers_ok": "everybody who would get the data may read it",
    "links_ok": "no link or address in it that the user did not name",
    "fetches_ok": "nothing in it loads by itself",
    "composed_link": "every link stands in a source",
    "lineage_ok": "what is remembered comes from the user alone",
    "within_limits": "the call stays inside the tool's limits",
    "egress_ok": "every host is on the tool's list",
    "required_ok": "no argument lacks an origin that the manifest demands",
    "protected": "no argument points into what no tool may touch",
}
"""What each fact says when it is good."""


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered step: what it found, and the details."""

    number: int
    name: str
    outcome: str
    details: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {"step": self.number, "name": self.name, "outcome": self.outcome, "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class Explanation:
    """All steps of one decision. ``changes`` are the smallest sets of facts under which the call would just run."""

    tool: str
    verdict: str
    rule: str
    steps: tuple[Step, ...]
    changes: tuple[tuple[str, ...], ...]
    remedies: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "tool": self.tool,
            "verdict": self.verdict,
            "rule": self.rule,
            "steps": [step.to_json() for step in self.steps],
            "unnecessary_if": [list(change) for change in self.changes],
            "remedies": list(self.remedies),
        }


def explain(
    tool: str, action: str, spec: ToolSpec | None, decision: Mapping[str, Any], policy: Policy, digest: str = ""
) -> Explanation:
    """Explain a decision in its published or stored form; ``policy`` is the one it is explained with."""
    verdict, rule = str(decision.get("verdict", "")), str(decision.get("rule", ""))
    facts: dict[str, Fact] = dict(decision.get("facts") or {})
    rules = [str(item) for item in decision.get("rules") or ()]
    changes = tuple(smallest_changes(policy, action, facts)) if facts and verdict != "allow" else ()
    matched = [name for name in dict.fromkeys([rule, *rules]) if _counts(name, rule, policy, verdict)]
    remedies = () if verdict == "allow" else tuple(dict.fromkeys(_remedy(name, policy) for name in matched))
    steps = tuple(_steps(action, spec, decision, policy, digest))
    return Explanation(tool, verdict, rule, steps, changes, remedies)


def _counts(name: str, winner: str, policy: Policy, verdict: str) -> bool:
    found = policy.rule(name)
    return name == winner or (found is not None and found.decision == verdict)


def _remedy(name: str, policy: Policy) -> str:
    found = policy.rule(name)
    return found.remedy if found is not None and found.remedy and name not in REMEDIES else remedy_for(name)


def smallest_changes(policy: Policy, action: str, facts: Mapping[str, Fact]) -> Iterator[tuple[str, ...]]:
    """Yield the smallest sets of bad facts that, turned good, let the call run by itself."""
    bad = [name for name, good in GOOD.items() if name in facts and facts[name] is not good]
    for size in range(1, min(len(bad), MAX_CHANGES) + 1):
        found = [
            names
            for names in itertools.combinations(bad, size)
            if policy.evaluate(action, {**facts, **{name: GOOD[name] for name in names}}).decision == "allow"
        ]
        if found:
            yield from found
            return


def _steps(
    action: str, spec: ToolSpec | None, decision: Mapping[str, Any], policy: Policy, digest: str
) -> Iterator[Step]:
    rule = str(decision.get("rule", ""))
    if rule == "hostile-input":
        yield Step(0, "parse", f"refused: {decision.get('reason', '')}")
        return
    yield Step(0, "parse", f"parsed once, strictly{f'; {digest}' if digest else ''}")
    yield _tool(spec, action, rule)
    if rule in _BEFORE_TOOL:
        return
    yield Step(2, "arguments", f"refused: {rule}" if rule in _BEFORE_FACTS else "as declared")
    if rule in _BEFORE_FACTS:
        return
    arguments: Sequence[Mapping[str, Any]] = decision.get("arguments") or ()
    lines = tuple(line for item in arguments for line in _argument(item))
    short = sum(not item.get("sufficient") and item.get("role") != "content" for item in arguments)
    outcome = f"{len(arguments)} values, {short} without an origin that suffices"
    yield Step(3, "attribution", outcome, lines, {"arguments": list(arguments)})
    facts: Mapping[str, Any] = decision.get("facts") or {}
    yield _facts(facts, arguments)
    yield _policy(decision, policy)
    yield _detectors(decision)
    verdict, pins = decision.get("verdict"), [str(name) for name in decision.get("pins") or ()]
    told = {"verdict": verdict, "rule": rule, **({"pins": pins} if pins else {})}
    yield Step(7, "verdict", f"{verdict} by {rule}", tuple(_pinned(pins, verdict)), told)


def _pinned(pins: Sequence[str], verdict: object) -> Iterator[str]:
    """Say what has to be the same when the call runs, where a person is asked; a rule's permit pins nothing."""
    if pins and verdict == "review":
        yield f"pinned: {', '.join(pins)} (read when a person is asked, and compared right before the call)"
    elif pins and verdict == "allow":
        yield f"not pinned, since nobody is asked: {', '.join(pins)}"


def _tool(spec: ToolSpec | None, action: str, rule: str) -> Step:
    if rule in _BEFORE_TOOL:
        return Step(1, "tool", f"refused: {rule}")
    if spec is None:
        return Step(1, "tool", "the built-in final answer" if action == "answer" else "not in this manifest (any more)")
    pinned = f"pinned to {spec.schema_digest}" if spec.schema_digest else "no schema is pinned"
    notes = [f"effect {spec.effect}", pinned]
    notes += ["its arguments leave the trust domain"] if spec.leaves_domain and spec.effect is Effect.READ else []
    notes += [f"words that ask for it: {', '.join(spec.asks)}"] if spec.asks else []
    notes += [f"and one of these has to be mentioned: {', '.join(spec.about)}"] if spec.about else []
    data = {"effect": spec.effect.value, "server": spec.server, "schema_digest": spec.schema_digest}
    return Step(1, "tool", f"{spec.name}, a {spec.effect}", tuple(notes), data)


def _argument(item: Mapping[str, Any]) -> Iterator[str]:
    enough = "suffices" if item.get("sufficient") else "does not suffice"
    needed = "" if item.get("role") == "content" else f": {enough}"
    covered = f" (by {item['covered_by']})" if item.get("covered_by") else ""
    yield f"{item.get('path')}  {item.get('role')} of kind {item.get('kind')}{needed}{covered}"
    origins = item.get("origins") or ()
    for origin in origins:
        start, end = (*(origin.get("span") or ()), 0, 0)[:2]
        where = f"{origin.get('source')} bytes {start}-{end}"
        yield f"    {origin.get('match')} in {where}, {origin.get('trust')}"
    if not origins:
        yield "    stands nowhere: the model made it up, or hid where it comes from"


def _facts(facts: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> Step:
    bad = [name for name, good in GOOD.items() if name in facts and facts[name] is not good]
    lines = [
        f"{name} = {str(facts[name]).lower()}: not so that {WANTED.get(name, name)}{_although(name, arguments)}"
        for name in bad
    ]
    others = [f"{name} = {str(value).lower()}" for name, value in facts.items() if name not in bad]
    lines += [", ".join(others)] if others else []
    return Step(
        4, "facts", f"{len(facts)} facts, {len(bad)} that speak against it", tuple(lines), {"facts": dict(facts)}
    )


def _although(name: str, arguments: Sequence[Mapping[str, Any]]) -> str:
    """Say why a fact about a role is bad although no argument of that role lacks an origin."""
    own = [item for item in arguments if f"{item.get('role')}s_ok" == name]
    if name == "targets_ok" and not own:
        return " (the call names none; where that sends nowhere, declare the argument `optional`)"
    if name in {"targets_ok", "amounts_ok"} and all(item.get("sufficient") for item in own):
        return " (each stands where it may be trusted, but the user's words do not choose this one)"
    return ""


def _policy(decision: Mapping[str, Any], policy: Policy) -> Step:
    lines = []
    rules = [str(name) for name in decision.get("rules") or ()]
    for name in rules:
        found = policy.rule(name)
        lines.append(f"{name}: {found.decision}, line {found.line}" if found else f"{name}: no rule of this policy")
    if decision.get("policy_digest") not in {None, "", policy.digest}:
        lines.append("decided under another policy than the one it is explained with")
    outcome = f"won by {rules[0]}, of {len(rules)} that matched" if rules else "nothing matched"
    return Step(5, "policy", outcome, tuple(lines), {"rules": rules, "policy_digest": decision.get("policy_digest")})


def _detectors(decision: Mapping[str, Any]) -> Step:
    rule, rules = str(decision.get("rule", "")), decision.get("rules") or ()
    if rule == "queue-flooded":
        return Step(6, "detectors", "too many questions are open for this task")
    stricter = bool(rules) and rule not in rules
    return Step(6, "detectors", f"made stricter by {rule}" if stricter else "nothing found")
