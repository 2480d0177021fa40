"""Read the rules of a policy as formulas over the flat facts, and answer questions about all calls at once.

Cedar's own JSON form of a rule is turned into a formula of facts, actions, ``&&``, ``||``, ``!`` and ``if``. Whatever
else a rule holds becomes an atom of its own that may be true or false, so an answer "never" is always right, and an
answer "can be" may be wrong for such a rule: the kit stays silent on those (:attr:`RuleFormula.exact`).

Guarantees: pure; work is bounded (:data:`MAX_STEPS`), and a question that is too large is answered with None.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import cedarpy

from checkvalve.approvals.policyfile import Rule, read_rules

MAX_STEPS: Final = 20_000
"""Splits of one question; the packaged policy needs a few hundred."""
ACTIONS: Final = ("read", "write", "send", "pay", "execute", "remember", "configure", "delete", "answer")
"""The effects, and the final answer."""

Formula: TypeAlias = bool | str | tuple[Literal["and", "or", "not"], tuple["Formula", ...]]
"""A constant, a fact by name, or a combination. A comparison with a text is a fact of its own: ``profile == "x"``."""
Assignment: TypeAlias = dict[str, bool]


@dataclass(frozen=True)
class RuleFormula:
    """One rule, its formula for each action, and whether everything in it was understood."""

    rule: Rule
    by_action: Mapping[str, Formula]
    exact: bool

    def facts(self) -> list[str]:
        """Return the facts that the rule looks at."""
        return sorted({atom for formula in self.by_action.values() for atom in atoms(formula)})


def read_formulas(text: str, name: str) -> list[RuleFormula]:
    """Return the formulas of a policy that loads, in the order of the file.

    Raises:
        PolicyError: the policy does not load.
    """
    rules = read_rules(text, name)
    policies = json.loads(cedarpy.policies_to_json_str(text))["staticPolicies"]
    return [_formula_of(rule, policies[key]) for key, rule in rules.items()]


def _formula_of(rule: Rule, policy: Mapping[str, Any]) -> RuleFormula:
    reader = _Reader(rule.id)
    by_action: dict[str, Formula] = {}
    for action in ACTIONS:
        reader.action = action
        formula: Formula = _in_scope(policy["action"], action)
        for condition in policy.get("conditions", ()):
            body = reader.read(condition["body"])
            formula = both(formula, body if condition["kind"] == "when" else negated(body))
        by_action[action] = formula
    return RuleFormula(rule, by_action, reader.exact)


def _in_scope(scope: Mapping[str, Any], action: str) -> bool:
    if scope["op"] == "All":
        return True
    entities = scope.get("entities") or [scope.get("entity")]
    return any(isinstance(item, Mapping) and item.get("id") == action for item in entities)


class _Reader:
    """Reads one rule's expressions for one action at a time."""

    def __init__(self, rule_id: str) -> None:
        self._rule = rule_id
        self.action = ""
        self.exact = True

    def read(self, body: object) -> Formula:
        """Return the formula of one expression of Cedar's JSON form."""
        if not isinstance(body, Mapping) or len(body) != 1:
            return self._unknown(body)
        ((kind, inner),) = body.items()
        found = self._combined(kind, inner)
        if found is None:
            found = self._plain(kind, inner)
        return self._unknown(body) if found is None else found

    def _combined(self, kind: str, inner: Any) -> Formula | None:
        if kind in {"&&", "||"}:
            left, right = self.read(inner["left"]), self.read(inner["right"])
            return both(left, right) if kind == "&&" else either(left, right)
        if kind == "!":
            return negated(self.read(inner["arg"]))
        if kind == "if-then-else":
            test = self.read(inner["if"])
            return either(both(test, self.read(inner["then"])), both(negated(test), self.read(inner["else"])))
        if kind in {"==", "!="}:
            same = self._same(inner["left"], inner["right"])
            return negated(same) if kind == "!=" else same
        return None

    def _plain(self, kind: str, inner: Any) -> Formula | None:
        if kind == "Value" and isinstance(inner, bool):
            return inner
        if kind == "." and inner["left"] == {"Var": "context"}:
            return str(inner["attr"])
        if kind == "in" and inner["left"] == {"Var": "action"}:
            members = inner["right"].get("Set", [inner["right"]])
            return any(_action_id(item) == self.action for item in members)
        if kind == "has" and inner["left"] == {"Var": "context"}:
            return True  # every fact is always there
        return None

    def _same(self, left: Any, right: Any) -> Formula:
        for one, other in ((left, right), (right, left)):
            if one == {"Var": "action"}:
                return _action_id(other) == self.action
            value = other.get("Value") if isinstance(other, Mapping) else None
            if isinstance(value, bool):
                read = self.read(one)
                return read if value else negated(read)
            if isinstance(value, str) and isinstance(one, Mapping) and "." in one:
                return f'{one["."]["attr"]} == "{value}"'
        return self._unknown([left, right])

    def _unknown(self, body: object) -> Formula:
        self.exact = False
        return f"{self._rule}: {json.dumps(body, sort_keys=True)}"


def _action_id(value: Any) -> str:
    entity = value.get("Value", {}).get("__entity", {}) if isinstance(value, Mapping) else {}
    return str(entity.get("id", ""))


def both(*parts: Formula) -> Formula:
    """Return the conjunction."""
    kept = tuple(part for part in parts if part is not True)
    if any(part is False for part in kept):
        return False
    return True if not kept else kept[0] if len(kept) == 1 else ("and", kept)


def either(*parts: Formula) -> Formula:
    """Return the disjunction."""
    kept = tuple(part for part in parts if part is not False)
    if any(part is True for part in kept):
        return True
    return False if not kept else kept[0] if len(kept) == 1 else ("or", kept)


def negated(part: Formula) -> Formula:
    """Return the negation."""
    if isinstance(part, bool):
        return not part
    if isinstance(part, tuple) and part[0] == "not":
        return part[1][0]
    return ("not", (part,))


def atoms(formula: Formula) -> Iterator[str]:
    """Yield the facts of a formula, those it asks for most often being found early."""
    if isinstance(formula, str):
        yield formula
    elif isinstance(formula, tuple):
        for part in formula[1]:
            yield from atoms(part)


def assume(formula: Formula, known: Mapping[str, bool]) -> Formula:
    """Return the formula with the known facts put in."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, str):
        return known.get(formula, formula)
    kind, parts = formula
    put_in = [assume(part, known) for part in parts]
    if kind == "not":
        return negated(put_in[0])
    return both(*put_in) if kind == "and" else either(*put_in)


def example(formula: Formula) -> Assignment | Literal[False] | None:
    """Return facts under which the formula holds, False when there are none, None when that is too much work."""
    steps = 0

    def search(rest: Formula, chosen: Assignment) -> Assignment | Literal[False] | None:
        nonlocal steps
        steps += 1
        if rest is True:
            return chosen
        if rest is False:
            return False
        if steps > MAX_STEPS:
            return None
        units = _units(rest)
        if units:
            return search(assume(rest, units), chosen | units)
        atom = next(atoms(rest))
        first = search(assume(rest, {atom: True}), {**chosen, atom: True})
        return search(assume(rest, {atom: False}), {**chosen, atom: False}) if first is False else first

    return search(formula, {})


def _units(formula: Formula) -> Assignment:
    """Return what must hold in any case: the plain facts of a conjunction."""
    if isinstance(formula, str):
        return {formula: True}
    if isinstance(formula, bool):
        return {}
    kind, parts = formula
    if kind == "not":
        return {parts[0]: False} if isinstance(parts[0], str) else {}
    if kind == "or":
        return {}
    found: Assignment = {}
    for part in parts:
        for atom, value in (_units(part) if not (isinstance(part, tuple) and part[0] == "and") else {}).items():
            found.setdefault(atom, value)
    return found


def can_be(formula: Formula) -> bool | None:
    """Say whether any call makes the formula true; None is not known."""
    found = example(formula)
    return None if found is None else found is not False


def verdict_formula(rules: Sequence[RuleFormula], verdict: str, action: str) -> Formula:
    """Return when a call of ``action`` gets this verdict: ``deny`` beats ``review``, and ``review`` beats ``allow``."""
    matching = {
        kind: either(*(item.by_action[action] for item in rules if item.rule.decision == kind))
        for kind in ("allow", "review", "deny")
    }
    if verdict == "allow":
        return both(matching["allow"], negated(matching["review"]), negated(matching["deny"]))
    if verdict == "review":
        return both(matching["review"], negated(matching["deny"]))
    return either(matching["deny"], both(negated(matching["allow"]), negated(matching["review"])))


def as_text(found: Mapping[str, bool]) -> str:
    """Return facts as people write them: ``asked, not targets_ok``."""
    return ", ".join(name if value else f"not {name}" for name, value in sorted(found.items()))


__all__ = [
    "ACTIONS",
    "Formula",
    "RuleFormula",
    "as_text",
    "assume",
    "atoms",
    "both",
    "can_be",
    "either",
    "example",
    "negated",
    "read_formulas",
    "verdict_formula",
]
