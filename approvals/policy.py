"""Cedar decides: a strict loader and an evaluator that fails closed.

Cedar skips a ``forbid`` that errors, passes misspelt annotations, and calls rules by position. So, on loading: 1. the
text parses, is bounded and holds no template; 2. every rule has its own ``@id`` and only known annotations; 3. every
``permit`` says ``@decision("allow")`` or ``@decision("review")``, no ``forbid`` does; 4. everything validates against
the schema. On evaluation: 5. facts are bounded plain values; 6. any error denies; 7. no decision denies; 8. a matching
``forbid`` denies; 9. a matching review permit asks; 10. else a matching permit allows; 11. nothing matched denies.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import cedarpy

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.config_file import config_bytes
from checkvalve.approvals.errors import PolicyError
from checkvalve.approvals.policyfile import Rule, check_nesting, read_rules
from checkvalve.filters.strictjson import MAX_INTEGER

__all__ = ["DEFAULT_DENY", "POLICY_ERROR", "Fact", "Policy", "PolicyAnswer", "Rule", "load_policy", "parse_policy"]

MAX_POLICY_BYTES: Final = 1_048_576
"""Policy or schema text: thousands of rules; evaluation time grows with each of them."""
MAX_FACTS: Final = 200
"""Facts of one request: building the context dominates the time of an evaluation."""
MAX_FACT_TEXT: Final = 1_000
"""Characters of one text fact, and values of one set: facts are aggregates, never the text of an argument."""

POLICY_ERROR: Final = "policy-error"
"""The rule id of a denial because something about the evaluation failed."""
DEFAULT_DENY: Final = "default-deny"
"""The rule id of a denial because no rule matched."""

Fact: TypeAlias = bool | int | str | Sequence[str]
_Decision: TypeAlias = Literal["allow", "review", "deny"]


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """What the policy says. ``errors`` is for the operator: it may repeat facts, so it goes to no model."""

    decision: _Decision
    rules: tuple[str, ...]
    errors: tuple[str, ...] = ()


class Policy:
    """A loaded policy: parsed once, immutable, usable from every thread."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        handles: tuple[cedarpy.PolicySet, cedarpy.Schema, cedarpy.Entities],
        digest: str,
    ) -> None:
        """Keep what :func:`parse_policy` checked; call that one instead."""
        self._rules = dict(rules)
        self._policies, self._schema, self._entities = handles
        self.digest = digest
        self.rules: Final[tuple[Rule, ...]] = tuple(rules.values())

    def rule(self, rule_id: str) -> Rule | None:
        """Return the rule called ``rule_id``; None for an unknown one and for the two built-in denials."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def evaluate(self, action: str, facts: Mapping[str, Fact]) -> PolicyAnswer:
        """Return the answer for one call of effect ``action``. Never raises: whatever goes wrong is a denial."""
        try:
            return self._evaluate(action, facts)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  # a panic inside the engine is no Exception, and must deny as well
            return _failed(f"evaluation failed: {type(error).__name__}")

    def _evaluate(self, action: str, facts: Mapping[str, Fact]) -> PolicyAnswer:
        problems = _check_facts(facts)
        if problems:
            return _failed(*problems)
        request = {
            "principal": {"type": "Agent", "id": "agent"},
            "action": {"type": "Action", "id": action},
            "resource": {"type": "Tool", "id": "tool"},
            "context": json.dumps({name: _plain(value) for name, value in facts.items()}),
        }
        answer = cedarpy.is_authorized(request, self._policies, self._entities, self._schema)
        errors = [str(error)[:MAX_FACT_TEXT] for error in answer.diagnostics.errors]
        if errors or answer.decision is cedarpy.Decision.NoDecision:
            return _failed(*(errors or ["the engine came to no decision"]))
        matched = sorted((self._rules[name] for name in answer.diagnostics.reasons), key=lambda rule: rule.line)
        return _combine(matched, allowed=answer.decision is cedarpy.Decision.Allow)


def load_policy(path: Path | None = None, schema: Path | None = None) -> Policy:
    """Return the policy at ``path``; None means the packaged one, for the policy and for the schema alike.

    The schema describes the facts that this package computes, so almost nobody ships their own.

    Raises:
        PolicyError: a file cannot be read, or breaks a rule of the loader.
    """
    text, name = _read(path, "default.cedar")
    schema_text, schema_name = _read(schema, "default.cedarschema")
    return parse_policy(text, schema_text, name=name, schema_name=schema_name)


def parse_policy(text: str, schema_text: str, *, name: str = "policy", schema_name: str = "schema") -> Policy:
    """Return the policy in ``text``, checked against ``schema_text``; the names stand for the files in errors.

    Raises:
        PolicyError: one of the loader's rules 1 to 4 is broken.
    """
    for content, file in ((text, name), (schema_text, schema_name)):
        if len(content) > MAX_POLICY_BYTES:
            raise PolicyError(f"larger than {MAX_POLICY_BYTES} bytes", file=file)
    rules = read_rules(text, name, reserved=(POLICY_ERROR, DEFAULT_DENY))
    check_nesting(schema_text, schema_name, "([{<", ")]}>")
    try:
        schema = cedarpy.Schema.from_str(schema_text)
        entities = cedarpy.Entities.from_json_str("[]", schema)
    except ValueError as error:
        raise PolicyError(f"not a Cedar schema: {error}", file=schema_name) from None
    _validate(text, schema, rules, name)
    handles = (cedarpy.PolicySet.from_str(text), schema, entities)
    return Policy(rules, handles, digest({"policy": text, "schema": schema_text}))


def _validate(text: str, schema: cedarpy.Schema, rules: Mapping[str, Rule], name: str) -> None:
    """Rule 4, reported for the first broken rule of the file."""
    result = cedarpy.validate_policies(text, schema)
    if result.validation_passed:
        return
    found = sorted(  # "unable to find" follows from another error of the same rule, so it comes last
        (
            rules[error.policy_id].line if error.policy_id in rules else 0,
            "unable to find" in error.error,
            error.policy_id,
            error.error,
        )
        for error in result.errors
    )
    if not found:
        raise PolicyError("does not validate against the schema", file=name)
    line, _, policy_id, message = found[0]
    rule = rules.get(policy_id)
    raise PolicyError(
        message.removeprefix(f"for policy `{policy_id}`, ")
        + (f" (and {len(found) - 1} more)" if len(found) > 1 else ""),
        file=name,
        line=line or None,
        field=rule.id if rule else "",
        remedy="use the actions and facts that the schema declares; guard optional ones with `context has NAME &&`",
    )


def _combine(matched: Sequence[Rule], *, allowed: bool) -> PolicyAnswer:
    """Steps 8 to 11: the strictest of what matched, with the ids of the rules that made it so first."""
    names = tuple(rule.id for rule in matched)
    if not allowed:
        return PolicyAnswer("deny", names or (DEFAULT_DENY,))
    reviews = tuple(rule.id for rule in matched if rule.decision == "review")
    if reviews:
        return PolicyAnswer("review", reviews + tuple(name for name in names if name not in reviews))
    if not names:
        return _failed("allowed by no rule")
    return PolicyAnswer("allow", names)


def _failed(*errors: str) -> PolicyAnswer:
    return PolicyAnswer("deny", (POLICY_ERROR,), errors)


def _check_facts(facts: Mapping[str, Fact]) -> list[str]:
    """Step 5: Cedar takes more than we mean, such as ``__extn`` objects, and overflows on large numbers."""
    if len(facts) > MAX_FACTS:
        return [f"more than {MAX_FACTS} facts"]
    return [f"fact {str(name)[:80]!r} is not usable" for name, value in facts.items() if not _usable(name, value)]


def _usable(name: object, value: object) -> bool:
    if not isinstance(name, str) or name.startswith("__"):
        return False
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) <= MAX_INTEGER
    if isinstance(value, str):
        return len(value) <= MAX_FACT_TEXT
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) <= MAX_FACT_TEXT and all(
            isinstance(item, str) and len(item) <= MAX_FACT_TEXT for item in value
        )
    return False


def _plain(value: Fact) -> bool | int | str | list[str]:
    return value if isinstance(value, bool | int | str) else sorted(value)


def _read(path: Path | None, packaged: str) -> tuple[str, str]:
    """Return text and display name of a file, or of the packaged one."""
    if path is None:
        return importlib.resources.files("checkvalve.approvals").joinpath(packaged).read_text("utf-8"), packaged
    try:
        return config_bytes(path, MAX_POLICY_BYTES, PolicyError).decode("utf-8"), str(path)
    except UnicodeDecodeError:
        raise PolicyError("not UTF-8", file=str(path), remedy="save the file as UTF-8") from None
