from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.errors import ApprovalError, ManifestError, ReviewRulesError, StoreCorruptError
from checkvalve.approvals.plans import CHANNELS, ONE, Need, Plan, Step
from checkvalve.approvals.question import UNREADABLE, Question, question_of
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.review_rules import ReviewRules, load_review_rules, parse_review_rules
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.roles import Account, Role, Scope
from checkvalve.approvals.rules_check import check
from checkvalve.approvals.rules_command import written_out
from checkvalve.approvals.verdicts import Review

FILE = """
everywhere: {decide_within: 8h}
tiers:
  critical:
    approve:
      - {approver: 2}
      - {approver: 1, auditor: 1}
    deny: 2
    step_up: true
    escalate:
      - {after: 0.6, to: [administrator, ann]}
rules:
  - name: big-payments
    when: {effect: pay, min_amount: 1000.50}
    approve: [{approver: 2}]
    channels: [web, rest]
  - name: mail-of-shop
    when: {tool: [mail/send], tenant: shop}
    decide_within: 10m
"""


def rules(text: str = FILE) -> ReviewRules:
    return parse_review_rules(text, "rules.yaml")


def plan(question: Question, text: str = FILE) -> Plan:
    return rules(text).plan_for(question, decide_within=86_400, execute_within=900)


def question(tier: Tier = Tier.HIGH, *, tool: str = "send", effect: str = "send", **rest: str) -> Question:
    values = {"server": "", "rule": "target-not-known", **rest}
    return Question(tool=tool, effect=effect, tier=tier, **values)


def test_without_a_file_one_approver_is_enough_and_critical_calls_take_a_proof_and_a_reason() -> None:
    assert load_review_rules(None) == ReviewRules()
    for tier in Tier:
        found = ReviewRules().plan_for(question(tier), decide_within=60, execute_within=30)
        assert (found.approve, found.deny, found.channels) == (ONE, 1, tuple(sorted(CHANNELS)))
        assert (found.decide_within, found.execute_within, found.rule) == (60, 30, "")
        grave = tier is Tier.CRITICAL
        assert (found.step_up, found.may_break_glass, found.note_required) == (grave, False, grave)


def test_no_file_takes_the_reason_from_a_critical_call_and_the_proof_only_by_name() -> None:
    for text in (
        "everywhere: {note_required: false}",
        "rules: [{name: r, when: {tier: critical}, note_required: false}]",
    ):
        assert plan(question(Tier.CRITICAL), text).note_required
        assert plan(question(Tier.CRITICAL), text).step_up
    with pytest.raises(ReviewRulesError, match="a critical call always takes a reason"):
        rules("tiers: {critical: {note_required: false}}")
    assert not plan(question(Tier.CRITICAL), "tiers: {critical: {step_up: false}}").step_up
    assert plan(question(Tier.CRITICAL), "tiers: {critical: {decide_within: 1h}}").step_up
    assert not plan(question(Tier.HIGH), "tiers: {critical: {decide_within: 1h}}").step_up


def test_fields_come_from_everywhere_then_the_tier_then_the_first_rule_that_fits() -> None:
    high, critical = plan(question()), plan(question(Tier.CRITICAL))
    assert (high.decide_within, high.execute_within, high.approve) == (28_800, 900, ONE)
    assert critical.approve == ((Need(2, Role.APPROVER),), (Need(1, Role.APPROVER), Need(1, Role.AUDITOR)))
    assert (critical.deny, critical.step_up, critical.note_required) == (2, True, True)
    assert critical.escalate == (Step(0.6, ("administrator", "ann")),)
    assert critical.moments() == [(0.5, ()), (0.6, ("administrator", "ann")), (0.8, ())]
    big = plan(question(Tier.CRITICAL, effect="pay", amount="1000.5"))
    assert (big.rule, big.approve, big.channels) == ("big-payments", ((Need(2, Role.APPROVER),),), ("rest", "web"))
    assert (big.step_up, big.deny, big.amount) == (True, 2, "1000.5"), "what a rule does not say stays the tier's"


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (question(effect="pay", amount="1000.49"), ""),
        (question(effect="pay", amount="1000.50"), "big-payments"),
        (question(effect="pay", amount=UNREADABLE), "big-payments"),
        (question(effect="send", amount="9999"), ""),
        (question(server="mail", tenant="shop"), "mail-of-shop"),
        (question(server="mail", tenant="other"), ""),
        (question(server="", tenant="shop"), ""),
    ],
)
def test_a_rule_is_chosen_by_what_is_recorded(asked: Question, rule: str) -> None:
    assert plan(asked).rule == rule


def decided(args: dict[str, object], roles: dict[str, str], action: str = "pay") -> Question:
    reports = tuple(ArgumentReport(path, role, "number", sufficient=False, origins=()) for path, role in roles.items())
    decision = Decision(Review("amount", "amount", ""), arguments=reports, action=action)
    return question_of(ActionRequest.build("pay", args), decision, tenant="shop")


@pytest.mark.parametrize(
    ("args", "roles", "amount"),
    [
        ({"sum": 12.5, "note": "9999"}, {"sum": "amount", "note": "content"}, "12.5"),
        ({"sum": "1000"}, {"sum": "amount"}, "1000"),
        ({"a": 3, "b": -4}, {"a": "amount", "b": "amount"}, "7"),
        ({"lines": [{"sum": 1}, {"sum": 2}]}, {"lines.0.sum": "amount", "lines.1.sum": "amount"}, "3"),
        ({"sum": "a lot"}, {"sum": "amount"}, UNREADABLE),
        ({"sum": None}, {"sum": "amount"}, UNREADABLE),
        ({"sum": True}, {"sum": "amount"}, UNREADABLE),
        ({"sum": []}, {"sum": "amount"}, UNREADABLE),
        ({"to": "x"}, {"to": "target"}, UNREADABLE),
    ],
)
def test_an_amount_is_what_the_arguments_say_or_unreadable(
    args: dict[str, object], roles: dict[str, str], amount: str
) -> None:
    assert decided(args, roles).amount == amount


def test_a_call_that_moves_no_money_has_no_amount() -> None:
    found = decided({"to": "x"}, {"to": "target"}, action="send")
    assert (found.amount, found.tenant) == ("", "shop")
    assert not found.reaches(Decimal("0.01"))
    assert not found.exceeds(Decimal(0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tiers: {grave: {}}", "tiers.grave"),
        ("tiers:\n  high:\n    aprove: []", "rules.yaml:3: tiers.high.aprove: unknown field .did you mean `approve`"),
        ("everywhere: {approve: [{viewer: 1}]}", "viewer cannot be asked for"),
        ("everywhere: {approve: [{breaker: 1}]}", "breaker cannot be asked for"),
        ("everywhere: {approve: []}", "everywhere.approve"),
        ("everywhere: {approve: [{}]}", "everywhere.approve.0"),
        ("everywhere: {approve: [{approver: 0}]}", "everywhere.approve.0.approver"),
        ("everywhere: {approve: [{approver: '2'}]}", "everywhere.approve.0.approver"),
        ("everywhere: {decide_within: 4 hours}", "such as 4h"),
        ("everywhere: {decide_within: 31d}", "everywhere.decide_within"),
        ("everywhere: {deny: 0}", "everywhere.deny"),
        ("everywhere: {step_up: 'true'}", "everywhere.step_up"),
        ("everywhere: {channels: [mail]}", "no channel 'mail'"),
        ("everywhere: {channels: []}", "everywhere.channels"),
        ("everywhere: {remind: [1.5]}", "everywhere.remind.0"),
        ("rules: [{name: x, when: {}}]", "a rule needs a condition"),
        ("rules: [{name: x, when: {effect: run}}]", "no effect 'run'"),
        ("rules: [{name: x, when: {tool: a}}, {name: x, when: {tool: b}}]", "two rules are called 'x'"),
        ("rules:\n  - name: x\n    when: {toll: a}", "rules.0.when.toll: unknown field .did you mean `tool`"),
        ("- a", "this has to be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ReviewRulesError, match=said):
        rules(text)


def test_yaml_of_two_meanings_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError):
        rules("everywhere: {step_up: yes}")
    with pytest.raises(ReviewRulesError, match="cannot be read") as stopped:
        load_review_rules(tmp_path / "none.yaml")
    assert "setting" not in str(stopped.value), "the path may have been given on the command line"
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ManifestError, match="empty"):
        load_review_rules(tmp_path / "empty.yaml")


def test_what_is_shown_says_the_same_when_it_is_read_again() -> None:
    shown = written_out(rules(), decide_within=60, execute_within=30)
    again = parse_review_rules(yaml.safe_dump(shown), "shown.yaml")
    for tier in Tier:
        for asked in (
            question(tier),
            question(tier, effect="pay", amount="5000"),
            question(tier, server="mail", tenant="shop"),
        ):
            first = rules().plan_for(asked, decide_within=60, execute_within=30)
            assert again.plan_for(asked, decide_within=1, execute_within=1) == first


def test_a_plan_comes_back_as_it_was_and_what_nobody_wrote_is_refused() -> None:
    found = plan(question(Tier.CRITICAL, effect="pay", amount="2000", tenant="shop"))
    assert Plan.from_json(found.to_json()) == found
    wrongs: tuple[dict[str, object], ...] = ({}, {**found.to_json(), "approve": [{}]}, {**found.to_json(), "tier": "x"})
    for wrong in wrongs:
        with pytest.raises(StoreCorruptError):
            Plan.from_json(wrong)
    loose = Plan.from_json({**found.to_json(), "step_up": "no", "note_required": None, "break_glass": "yes"})
    assert (loose.step_up, loose.note_required, loose.may_break_glass) == (True, True, False), "unclear is strict"


def test_the_example_says_what_the_page_says() -> None:
    found = load_review_rules(Path(__file__).parents[2] / "examples" / "review.yaml")
    paid = found.plan_for(question(effect="pay", amount="1000"), decide_within=1, execute_within=1)
    assert (paid.rule, paid.decide_within, paid.channels) == ("large-payments", 28_800, ("cli", "web"))
    people = [Account(name, name, frozenset(Role)) for name in ("ann", "ben", "cem")]
    assert check(found, people) == []


def findings(text: str, *known: Account) -> list[tuple[str, str]]:
    return [(item.level, f"{item.where}: {item.text}") for item in check(rules(text), known)]


def somebody(name: str, *roles: Role, scope: Scope = Scope(), disabled: bool = False) -> Account:  # noqa: B008  # frozen
    return Account(name, name, frozenset(roles), scope, disabled)


ANN, BEN = somebody("ann", Role.APPROVER), somebody("ben", Role.APPROVER)


def test_a_quorum_that_nobody_can_fill_is_an_error() -> None:
    assert findings("{}") == [("error", "everywhere: nobody can approve anything: there is no enabled reviewer")]
    assert findings("{}", somebody("ann", Role.APPROVER, disabled=True))[0][0] == "error"
    two = "tiers: {high: {approve: [{approver: 2}]}}"
    assert ("error", "tier high: nobody can approve such a call: it takes 2 approvers") in findings(two, ANN)
    assert {level for level, _ in findings(two, ANN, BEN)} == {"warning"}
    assert findings(two, ANN, BEN, somebody("cem", Role.APPROVER)) == []
    same = Account("ann-phone", "ann", frozenset({Role.APPROVER}))
    assert findings(two, ANN, same)[0][0] == "error", "two accounts are one voice"
    mixed = "everywhere: {approve: [{approver: 1, auditor: 1}]}"
    assert findings(mixed, somebody("ann", Role.APPROVER, Role.AUDITOR))[0][0] == "error", "one person fills one place"


def test_a_quorum_that_depends_on_who_asks_or_how_much_is_a_warning() -> None:
    every = "tier critical, tier high, tier medium, tier low"
    assert findings("{}", ANN) == [("warning", f"{every}: nobody can approve such a call when ann asked for it")]
    small = somebody("cem", Role.APPROVER, scope=Scope(max_amount=Decimal(100)))
    assert all(
        "amount is large" in text
        for _, text in findings("{}", small, somebody("dan", Role.APPROVER, scope=small.scope))
    )
    big = "rules: [{name: big, when: {min_amount: 200}, approve: [{approver: 1}]}]"
    found = findings(big, small, somebody("dan", Role.APPROVER, scope=small.scope))
    assert ("error", "rule big: nobody can approve such a call: it takes one approver") in found
    tool = somebody("eve", Role.APPROVER, scope=Scope(tools=("pay",)))
    assert "error" not in {
        lev for lev, text in findings("rules: [{name: p, when: {tool: pay}}]", tool, ANN) if "rule p" in text
    }


def test_a_rule_that_never_counts_and_somebody_unknown_are_named() -> None:
    text = """
rules:
  - {name: wide, when: {effect: [pay, send]}}
  - {name: narrow, when: {effect: pay, min_amount: 5}}
  - {name: odd, when: {effect: read, tier: high}}
  - {name: told, when: {tool: x}, escalate: [{after: 0.5, to: [auditor, zoe]}]}
"""
    found = [text for _, text in findings(text, ANN, BEN)]
    assert "rule narrow: it never counts: wide, which stands before it, takes all its calls" in found
    assert "rule odd: it never counts: no call of this kind has such a tier" in found
    assert any("'zoe' is to be told" in text for text in found)
    assert not any("'auditor'" in text for text in found)


def test_errors_are_of_the_one_tree() -> None:
    assert issubclass(ReviewRulesError, ApprovalError)
