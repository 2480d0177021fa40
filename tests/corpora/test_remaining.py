"""The lines about questions that remain: each count is what a weaker rule would really let through."""

from __future__ import annotations

from checkvalve.approvals.decision import ArgumentReport, Decision
from checkvalve.approvals.verdicts import Allow, Deny, Review
from checkvalve.corpora.evidence import Evidence, Lacking, Place, evidence_of
from checkvalve.corpora.remaining import SHORT, in_markdown, in_words, remaining, to_json
from checkvalve.corpora.report import CaseResult, Outcome, Report

BODY = Place("read_mail", "body", "untrusted", "exact")
SENDER = Place("read_mail", "sender", "untrusted", "exact")


def lacking(value: str, *places: Place, argument: str = "to") -> Lacking:
    return Lacking(argument, "target", "email", value, places)


def stopped(by: str, *items: Lacking, tool: str = "send", rules: tuple[str, ...] = ("untrusted-target",)) -> Evidence:
    return Evidence("attacker" if by == "attacker" else "user", tool, "review", frozenset(rules), items)


def case(*found: Evidence, attack: str = "", group: str = "g", outcome: Outcome = "reviewed") -> CaseResult:
    return CaseResult(group, "t", outcome if attack else "benign", finished=True, attack=attack, evidence=found)


def report(*cases: CaseResult) -> Report:
    return Report("c", "1", "a", "both", "strict", {}, "", cases, 0.0)


ASKED = case(stopped("user", lacking("ann@corp.example", BODY)))


def test_trusting_the_field_for_this_argument_is_counted() -> None:
    (line,) = remaining(
        report(
            ASKED,
            case(stopped("attacker", lacking("eve@evil.example", BODY)), attack="1"),
            case(stopped("attacker", lacking("eve@evil.example", SENDER)), attack="2"),
            case(stopped("attacker", lacking("eve@evil.example", BODY), tool="share"), attack="3"),
        )
    )
    assert (line.here, line.anywhere, line.without, line.pairs) == (1, 2, 3, 3)
    assert (line.origin, line.trust, line.argument) == ("read_mail.body", "untrusted", "to")
    assert "1 of 3" in line.reason


def test_another_rule_that_stopped_the_attack_still_stops_it() -> None:
    attack = stopped("attacker", lacking("eve@evil.example", BODY), rules=("untrusted-target", "not-asked"))
    (line,) = remaining(report(ASKED, case(attack, attack="1")))
    assert (line.here, line.anywhere, line.without, line.reached) == (0, 0, 0, 1)
    assert "where more stops it" in line.reason


def test_what_no_attack_tries_is_said() -> None:
    (line,) = remaining(report(ASKED, case(attack="1", outcome="not_reached")))
    assert (line.reached, line.pairs) == (0, 1)
    assert "no attack in 1 pairs tries it" in line.reason


def test_every_lacking_value_of_an_attack_has_to_be_trusted() -> None:
    two = stopped("attacker", lacking("eve@evil.example", BODY), lacking("x", SENDER, argument="cc"))
    (line,) = remaining(report(ASKED, case(two, attack="1")))
    assert (line.here, line.anywhere, line.without) == (0, 0, 1)


def test_what_is_denied_is_not_let_through_by_a_weaker_rule_of_asking() -> None:
    denied = Evidence("attacker", "send", "deny", frozenset({"untrusted-target"}), (lacking("e@x.example", BODY),))
    (line,) = remaining(report(ASKED, case(denied, attack="1")))
    assert line.without == 0


def test_other_groups_and_goals_of_text_only_do_not_count() -> None:
    attack = stopped("attacker", lacking("eve@evil.example", BODY))
    (line,) = remaining(
        report(ASKED, case(attack, attack="1", group="other"), case(attack, attack="2", outcome="text_only"))
    )
    assert (line.here, line.pairs) == (0, 0)


def test_a_value_from_nowhere_and_a_question_without_an_argument_have_reasons() -> None:
    nowhere = case(stopped("user", lacking("made@up.example")))
    unasked = case(stopped("user", rules=("not-asked",)))
    attack = case(stopped("attacker", lacking("eve@evil.example", BODY)), attack="1")
    first, second = remaining(report(nowhere, unasked, attack))
    assert first.origin == "stands nowhere"
    assert "the model made it" in first.reason
    assert (second.argument, second.without) == ("", 0)
    assert "do not ask" in second.reason


def test_lines_are_short_and_stay_one_row() -> None:
    (line,) = remaining(report(case(stopped("user", lacking("a|b\n" * 40, BODY)))))
    assert len(line.value) == SHORT
    assert len(in_markdown([line]).splitlines()) == 3
    assert in_markdown([line]).splitlines()[-1].count("|") == 7
    assert in_words(line).startswith("g/t: send.to = ")
    assert to_json([line])[0]["rules"] == ["untrusted-target"]


def decision(verdict: Allow | Deny | Review, *arguments: ArgumentReport, rules: tuple[str, ...] = ()) -> Decision:
    return Decision(verdict, rules, arguments)


def test_evidence_is_taken_from_the_decision() -> None:
    origin: dict[str, object] = {"source": "tool:read_mail/call-1#3.body", "match": "exact", "trust": "untrusted"}
    said: dict[str, object] = {"source": "user", "match": "exact", "trust": "authoritative"}
    arguments = (
        ArgumentReport("to.1", "target", "email", sufficient=False, origins=(origin, origin)),
        ArgumentReport("to.0", "target", "email", sufficient=True, origins=(said,)),
        ArgumentReport("body", "content", "text", sufficient=False, origins=()),
    )
    review = decision(Review("a", "a"), *arguments, rules=("a", "b"))
    found = evidence_of("user", "send", {"to": ["x@y.example", "ann@corp.example"], "body": "b"}, review)
    assert found is not None
    assert found.rules == {"a", "b"}
    assert found.lacking == (Lacking("to", "target", "email", "ann@corp.example", (BODY,)),)
    assert evidence_of("user", "send", {}, decision(Allow("a"))) is None
    refused = evidence_of("user", "send", {}, decision(Deny("no-sandbox", "no-sandbox"), rules=("other",)))
    assert refused is not None
    assert refused.rules == {"no-sandbox"}
    assert evidence_of("user", "send", {}, object()) is None
