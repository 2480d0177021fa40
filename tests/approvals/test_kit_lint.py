"""The lint of manifests and policies finds each mistake that was planted, and nothing in what ships."""

# ruff: noqa: ISC004, E501  # a planted manifest is one text, and reads best in one piece
from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import pytest

from checkvalve.approvals.kit_cedar import ACTIONS, can_be, example, read_formulas, verdict_formula
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_lint import lint_manifest
from checkvalve.approvals.kit_rules import GOOD, lint_policy
from checkvalve.approvals.kit_schemas import ToolSchema

PACKAGE = importlib.resources.files("checkvalve.approvals")
POLICY = PACKAGE.joinpath("default.cedar").read_text("utf-8")
SCHEMA = PACKAGE.joinpath("default.cedarschema").read_text("utf-8")


def manifest(tools: str, schemas: tuple[ToolSchema, ...] = ()) -> list[Finding]:
    return lint_manifest("name: planted\ntools:\n" + tools, "m.yaml", schemas)


def codes(found: list[Finding], level: str = "error") -> list[str]:
    return [item.code for item in found if item.level == level]


def planted(old: str, new: str) -> list[Finding]:
    assert old in POLICY
    return lint_policy(POLICY.replace(old, new, 1), SCHEMA, "p.cedar", [item.rule.id for item in RULES])


RULES = read_formulas(POLICY, "p")


def schema(name: str, *arguments: str) -> ToolSchema:
    return ToolSchema(name, {"type": "object", "properties": {item: {"type": "string"} for item in arguments}})


def test_the_packaged_policy_has_nothing_to_find() -> None:
    assert lint_policy(POLICY, SCHEMA, "p.cedar", [item.rule.id for item in RULES]) == []


def test_a_well_made_manifest_has_no_errors() -> None:
    tools = "  send_mail:\n    effect: send\n    asks: [send]\n"
    tools += "    args:\n      to: {role: target, kind: email}\n      body: {role: content}\n"
    assert codes(manifest(tools)) == []


@pytest.mark.parametrize(
    ("tools", "code", "line"),
    [
        # The mistakes that were found in the policies of other systems.
        ("  add_event_participants:\n    effect: send\n    args:\n      event_id: {role: selector, kind: 'id:event'}\n"
         "      participants: {role: content}\n", "content-is-target", 7),
        ("  reschedule_event:\n    effect: write\n    asks: [move]\n    args:\n      event_id: {role: content}\n"
         "      start: {role: content}\n", "content-is-target", 7),
        ("  share_file:\n    effect: send\n    args:\n      file_id: {role: content}\n      email: {role: target, kind: email}\n",
         "content-is-target", 6),
        ("  get_hotel_reviews:\n    effect: read\n    result:\n      - {path: reviews, writable_by: owner, "
         "evidence: the reviews come from the travel site's own database}\n", "stranger-field", 6),
        ("  get_hotel_reviews:\n    effect: read\n    result:\n      - {path: $, writable_by: owner, "
         "evidence: the reviews come from the travel site's own database}\n", "stranger-field", 6),
        ("  send_email:\n    effect: send\n    args:\n      recipients: {role: content}\n      body: {role: content}\n",
         "unguarded-sink", 5),
        # Effects weaker than the name.
        ("  delete_email:\n    effect: read\n", "weak-effect", 4),
        ("  delete_email:\n    effect: write\n", "weak-effect", 4),
        ("  send_message:\n    effect: read\n", "weak-effect", 4),
        ("  fetch_page:\n    effect: read\n", "weak-effect", 4),
        ("  load:\n    effect: read\n    args:\n      url: {role: target, kind: url}\n", "weak-effect", 4),
        ("  send_money:\n    effect: pay\n    idempotency: read\n", "retried-effect", 5),
        # Roles that cannot be.
        ("  send_message:\n    args:\n      to: {role: target, kind: number}\n", "impossible-role", 5),
        ("  pay_bill:\n    effect: pay\n    args:\n      to: {role: target, kind: account}\n      amount: {role: content}\n",
         "content-is-target", 7),
        ("  login_user:\n    effect: configure\n    args:\n      password: {role: content}\n", "credential-as-content", 6),
        ("  post_note:\n    args:\n      to: {role: target}\n      place: {role: content, kind: url}\n",
         "content-is-target", 6),
        ("  send_message:\n    args:\n      to: {role: target, kind: email, optional: true}\n", "unguarded-sink", 4),
        ("  run_code:\n    effect: execute\n    args:\n      text: {role: content}\n", "unguarded-sink", 5),
        # Trust without evidence.
        ("  list_users:\n    effect: read\n    result:\n      - {path: id, writable_by: owner, evidence: trusted}\n",
         "empty-evidence", 6),
        ("  list_users:\n    effect: read\n    result:\n      - {path: id, writable_by: owner, evidence: TODO}\n",
         "empty-evidence", 6),
        ("  read_mail:\n    effect: read\n    result:\n      - {path: '*.body', writable_by: owner, "
         "evidence: the mail server of the company keeps it}\n", "stranger-field", 6),
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found_on_its_line(tools: str, code: str, line: int) -> None:
    found = [item for item in manifest(tools) if item.code == code]
    assert [item.level for item in found] == ["error"], manifest(tools)
    assert found[0].line == line
    assert found[0].remedy
    assert found[0].file == "m.yaml"


@pytest.mark.parametrize(
    ("tools", "code"),
    [
        ("  send_money:\n    effect: pay\n    args:\n      to: {role: target, kind: account}\n", "no-limit"),
        ("  create_file:\n    effect: write\n", "no-asks"),
        ("  create_file:\n    effect: write\n    reversible: true\n", "no-undo"),
        ("  send_mail:\n    args:\n      to: {role: target, accepts: []}\n", "contradiction"),
        ("  send_mail:\n    args:\n      to: {role: target, safe_values: [x]}\n", "no-effect"),
        ("  list_users:\n    effect: read\n    result:\n      - {path: '**', writable_by: owner, "
         "evidence: only the administrator adds users}\n", "wide-trust"),
        ("  list_users:\n    effect: read\n    result:\n      - {path: id, writable_by: owner, "
         "evidence: this is usually set by the server}\n", "empty-evidence"),
        ("  list_notes:\n    effect: read\n    result:\n      - {path: author, writable_by: owner, "
         "evidence: only the owner writes notes here}\n", "stranger-field"),
        ("  send_mail:\n    args:\n      to: {role: target}\n", "not-pinned"),
        ("  list_mail:\n    effect: read\n    result:\n      - {path: subject, names_record: true}\n", "named-by-strangers"),
    ],
)  # fmt: skip
def test_what_only_looks_wrong_is_a_warning(tools: str, code: str) -> None:
    assert code in codes(manifest(tools), "warning")


def test_checks_on_another_tools_fields_are_found_and_the_tool_is_named() -> None:
    tools = "  reserve_car:\n    effect: pay\n    args:\n      restaurant: {role: target}\n      start_time: {role: content}\n"
    given = (schema("reserve_car", "company", "start_time"), schema("reserve_restaurant", "restaurant"))
    tools += "  reserve_restaurant:\n    effect: pay\n    args:\n      restaurant: {role: target}\n"
    (found,) = [item for item in manifest(tools, given) if item.level == "error"]
    assert (found.code, found.line) == ("other-tools-argument", 6)
    assert "reserve_restaurant" in found.message
    assert "company" in found.remedy
    assert "undeclared-argument" in codes(manifest(tools, given), "warning")


def test_the_same_is_found_where_the_manifest_ships_the_schemas_and_so_does_not_load() -> None:
    tools = """\
  reserve_car:
    args: {restaurant: {role: target}}
    input_schema: {type: object, properties: {company: {type: string}}}
  reserve_restaurant:
    args: {company: {role: target}}
    input_schema: {type: object, properties: {restaurant: {type: string}}}
"""
    found = manifest(tools)
    assert codes(found).count("other-tools-argument") == 2
    assert "does-not-load" in codes(found)


def test_a_misspelt_argument_and_a_tool_that_is_not_there() -> None:
    tools = "  send_mail:\n    args:\n      too: {role: target}\n  sendmail:\n    effect: send\n"
    found = manifest(tools, (schema("send_mail", "to"),))
    assert codes(found) == ["unknown-argument", "unknown-tool"]
    assert "`to`" in next(item.remedy for item in found if item.code == "unknown-argument")


def test_the_type_in_the_schema_counts() -> None:
    given = ToolSchema("create_x", {"properties": {"shared": {"type": "boolean"}}})
    found = manifest("  create_x:\n    effect: write\n    args:\n      shared: {role: target}\n", (given,))
    assert "impossible-role" in codes(found)


def test_a_pattern_under_protected_is_found() -> None:
    found = lint_manifest("name: x\nprotected: ['/etc/*']\ntools: {}\n", "m.yaml")
    assert codes(found) == ["does-not-load"]
    assert found[0].line == 2


def test_who_acted_may_be_anybody_when_it_is_a_stamp_and_what_they_wrote_is_none() -> None:
    field = "  list_notes:\n    effect: read\n    result:\n      - {path: %s, writable_by: %s, evidence: the account that is signed in}\n"
    assert "stranger-field" in codes(manifest(field % ("author", "owner")), "warning")
    assert manifest(field % ("author", "stamped")) == []
    assert codes(manifest(field % ("body", "stamped"))) == ["stranger-field"]


def test_a_name_that_strangers_choose_needs_a_word_on_why() -> None:
    tools = "  list_mail:\n    effect: read\n    result:\n      - {path: subject, names_record: true, evidence: two of one name are none}\n"
    assert manifest(tools) == []


def test_several_findings_of_one_line_are_accepted_by_name() -> None:
    tools = "  run_code:\n    effect: execute  # lint-ok: no-sandbox, no-commands it is denied, and that is meant\n"
    assert not {"no-sandbox", "no-commands"} & set(codes(manifest(tools), "warning"))
    assert "no-commands" in codes(manifest(tools.replace(", no-commands", "")), "warning")


def test_every_finding_is_on_the_page() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = "".join(path.read_text("utf-8") for path in (root / "approvals").glob("kit_*.py"))
    named = r'(?:report\(|_finding\(\s*item,\s*name,|code =)\s*"([a-z]+(?:-[a-z]+)*)"'
    found = set(re.findall(named, sources))
    page = (root / "docs" / "policy-kit.md").read_text("utf-8")
    assert len(found) > 20
    assert not {code for code in found if f"`{code}`" not in page}


def test_a_finding_can_be_accepted_with_a_reason() -> None:
    tools = "  delete_email:\n    effect: write{}\n"
    assert "weak-effect" in codes(manifest(tools.format("  # lint-ok: weak-effect")))
    assert "weak-effect" in codes(manifest(tools.format("  # lint-ok: no-asks moved to the bin")))
    assert "weak-effect" not in codes(manifest(tools.format("  # lint-ok: weak-effect it only moves to the bin")))


@pytest.mark.parametrize(
    ("old", "new", "code", "rule"),
    [
        ("context.asked && !context.repeated", "!context.asked && !context.repeated", "inverted", "attributed-effect"),
        ("!context.targets_ok };", "context.targets_ok };", "inverted", "untrusted-target"),
        ("when { context.protected };", "when { !context.protected };", "inverted", "protected"),
        ("when { context.protected };", "when { !context.protected };", "unguarded", "attributed-effect"),
        ("when { context.repeated };", "when { context.repeated && !context.repeated };", "unreachable", "repeated-effect"),
        ("when { !context.readers_ok };", 'when { !context.readers_ok && action == Action::"read" };', "", ""),
        ('action == Action::"execute", resource)\nwhen { context.leaves_domain };',
         'action == Action::"execute", resource)\nwhen { context.protected };', "contradiction", "execute"),
        ("when { !context.egress_ok };", "when { true };", "contradiction", "attributed-effect"),
    ],
)  # fmt: skip
def test_a_planted_policy_mistake_is_found(old: str, new: str, code: str, rule: str) -> None:
    found = [(item.code, item.field) for item in planted(old, new) if item.level == "error"]
    assert (code, rule) in found if code else found == []


@pytest.mark.parametrize(
    "fact", ["targets_ok", "selectors_ok", "credentials_ok", "amounts_ok", "readers_ok", "links_ok"]
)
def test_an_effect_that_checks_one_thing_less_is_found(fact: str) -> None:
    """Both the condition of the permit and the review that would ask are gone, as when nobody thought of it."""
    kept = [part for part in POLICY.split("@id(") if f"!context.{fact} " not in part]
    text = "@id(".join(kept).replace(f"context.{fact} &&", "").replace(f"&& context.{fact}\n", "\n")
    found = [item for item in lint_policy(text, SCHEMA, "p.cedar") if item.code == "unguarded"]
    assert any(item.level == "error" and f"not {fact}" in item.message for item in found), text
    assert all(item.line > 0 and item.remedy for item in found)


def test_a_rule_that_another_one_always_covers_has_no_effect() -> None:
    more = '\n@id("again")\n@decision("review")\npermit (principal, action, resource) when { !context.amounts_ok && !context.asked };'
    found = lint_policy(POLICY + more, SCHEMA, "p.cedar")
    assert [(item.code, item.level) for item in found if item.field == "again"] == [("no-effect", "warning")]


def test_a_rule_beyond_facts_is_not_judged_and_says_so() -> None:
    more = '\n@id("odd")\n@decision("review")\npermit (principal, action, resource) when { ["a"].contains(context.profile) };'
    found = lint_policy(POLICY + more, SCHEMA, "p.cedar", [item.rule.id for item in RULES] + ["odd"])
    assert [(item.code, item.field) for item in found] == [("not-checked", "odd")]


def test_permits_without_a_negative_test_are_named() -> None:
    allows = {item.rule.id for item in RULES if item.rule.decision == "allow"}
    assert {"read-inside", "attributed-effect", "answer"} <= allows
    assert {item.field for item in lint_policy(POLICY, SCHEMA, "p.cedar")} == allows
    found = lint_policy(POLICY, SCHEMA, "p.cedar", ["read-inside"])
    assert ("attributed-effect", "error") in {(item.field, item.level) for item in found}


def test_a_policy_that_does_not_load_is_a_finding() -> None:
    (found,) = lint_policy("permit (principal, action, resource);", SCHEMA, "p.cedar")
    assert (found.code, found.line) == ("does-not-load", 1)


def test_formulas_agree_with_cedar_on_examples() -> None:
    from checkvalve.approvals.policy import Fact, load_policy

    policy = load_policy()
    for action in ACTIONS:
        for verdict in ("allow", "review", "deny"):
            formula = verdict_formula(RULES, verdict, action)
            found = example(formula)
            if not isinstance(found, dict):
                assert can_be(formula) is False
                continue
            facts: dict[str, Fact] = {**GOOD, "profile": "strict", "leaves_domain": False, "reversible": False, **found}
            if verdict != "deny" or found:
                assert policy.evaluate(action, facts).decision == verdict, (action, verdict, found)
