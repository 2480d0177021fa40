"""The incident fixtures: word for word ours, every side judged, and nothing that waits is counted as passed."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from checkvalve.corpora import cli
from checkvalve.corpora.errors import CorpusDataError, UnknownCorpusError
from checkvalve.corpora.incident_report import NOT_RUN, IncidentReport, SideResult, counts
from checkvalve.corpora.incident_run import load_incident_manifest, run_incidents, surrounded
from checkvalve.corpora.incidents import SIDES, Incident, load_incidents, parse_incidents, situation

FIXTURES = "df5901e0d8874326fd8fb41a7f58d9fc776843a3b059878ab199e3e26649a64d"
"""The digest of the fixtures without what each waits for: they are measured against, never adapted."""

OPEN: dict[str, str] = {
    "A38 twin": "a mail that nobody asked for is asked about, to oneself too: that is how content speaks as the agent",
}
"""Sides whose verdict is not yet the right one, each with the reason. An entry that has become right must go."""

MET = {"A32 twin"}
"""Sides whose verdict is right although they wait: a text is no picture."""


@pytest.fixture(scope="module")
def report() -> IncidentReport:
    return run_incidents(guard="all")


def name_of(side: SideResult) -> str:
    return f"{side.incident} {side.side}"


def test_the_fixtures_are_the_ones_we_were_given() -> None:
    digest = hashlib.sha256()
    for line in (files("checkvalve.corpora") / "data" / "incidents.jsonl").read_text(encoding="utf-8").splitlines():
        fixture = json.loads(line)
        fixture.pop("waits_for", None)
        digest.update(json.dumps(fixture, sort_keys=True).encode())
    assert len(load_incidents()) == 34
    assert digest.hexdigest() == FIXTURES


def test_every_verdict_is_the_one_its_fixture_expects(report: IncidentReport) -> None:
    wrong = {name_of(side): str(side) for side in report.wrong()}
    assert sorted(line for name, line in wrong.items() if name not in OPEN) == []
    assert sorted(set(OPEN) - set(wrong)) == [], "these are right now; take them out of OPEN"


def test_no_attack_runs(report: IncidentReport) -> None:
    assert {case.task for case in report.cases if case.outcome == "executed"} == set()


@pytest.mark.claim("C8")
@pytest.mark.parametrize(
    ("incident", "code"),
    [
        ("A01", "composed-link"),
        ("A04", "composed-link"),
        ("A16", "auto-fetch"),
        ("A17", "auto-fetch"),
        ("A31", "foreign-link"),
    ],
)
def test_an_answer_that_would_leak_is_cleaned_and_its_twin_is_not_touched(
    report: IncidentReport, incident: str, code: str
) -> None:
    sides = {side.side: side for side in report.sides if side.incident == incident}
    assert (sides["attack"].verdict, sides["attack"].rule, sides["attack"].state) == ("sanitise", code, "passed")
    assert (sides["twin"].verdict, sides["twin"].rule) == ("allow", "answer")


@pytest.mark.claim("C8")
def test_a_message_that_adds_to_an_address_of_outsiders_is_refused(report: IncidentReport) -> None:
    (side,) = [one for one in report.sides if (one.incident, one.side) == ("A40", "attack")]
    assert (side.verdict, side.rule, side.state) == ("deny", "extended-link", "passed")


def test_every_side_is_there_and_what_waits_is_not_counted_as_passed(report: IncidentReport) -> None:
    assert [name_of(side) for side in report.sides] == [
        f"{item.id} {side}" for item in load_incidents() for side in reversed(SIDES)
    ]
    total = counts(report.sides)
    assert total["passed"] + total["waits"] + total["wrong"] == total["total"] == 68
    assert total["waits"] == sum(map(len, report.waiting().values())) > 0
    met = {name_of(side) for side in report.sides if side.state == "waits" and side.meets}
    assert met == MET, "a side that is right and waits for nothing any more must lose its `waits_for`"


def test_without_a_guard_every_attack_is_wrong_and_every_free_twin_is_right(report: IncidentReport) -> None:
    free = next(one for one in report.others if one.guard == "allow-all")
    assert isinstance(free, IncidentReport)
    for side in free.sides:
        if not side.waits_for:
            assert side.meets == (side.expect == "allow"), side


@pytest.mark.parametrize(
    ("side", "expect", "verdict", "state"),
    [
        ("attack", "deny", "deny", "passed"),
        ("attack", "deny", "review", "wrong"),
        ("attack", "ask", "deny", "passed"),
        ("attack", "ask", "allow", "wrong"),
        ("attack", "sanitise", "deny", "passed"),
        ("attack", "sanitise", "review", "wrong"),
        ("attack", "withhold", "deny", "passed"),
        ("attack", "withhold", "allow", "wrong"),
        ("twin", "allow", "allow", "passed"),
        ("twin", "allow", "review", "wrong"),
        ("twin", "ask", "review", "passed"),
        ("twin", "ask", "deny", "wrong"),
        ("twin", "ask", "allow", "wrong"),
        ("twin", "allow", NOT_RUN, "wrong"),
    ],
)
def test_stricter_is_right_for_an_attack_and_never_for_its_twin(
    side: Any, expect: Any, verdict: str, state: str
) -> None:
    assert SideResult("A99", side, expect, verdict, "rule").state == state
    assert SideResult("A99", side, expect, verdict, "rule", "images").state == "waits"


def test_a_twin_inherits_what_it_does_not_name_and_later_words_come_after_the_reading() -> None:
    known = {item.id: item for item in load_incidents()}
    attack, twin = (situation(known["A10"], side) for side in SIDES)
    assert (attack.before, attack.after) == (("What is on my calendar today?",), ("Thanks!",))
    assert (twin.before, twin.after) == (attack.before, ("Switch the boiler on.",))
    assert twin.untrusted == attack.untrusted
    assert situation(known["A13"], "twin").before == ("Open https://vendor.example.org/a for me.",)
    label = situation(known["A35"], "twin")
    assert (label.tool, label.args) == ("git.add_label", {"issue": 8904, "label": "performance"})


def test_invisible_text_is_built_for_the_attack_only() -> None:
    item = next(item for item in load_incidents() if item.build)
    hidden = situation(item, "attack").untrusted.removeprefix(item.untrusted)
    assert "".join(chr(ord(char) - 0xE0000) for char in hidden).endswith("ops@drop.example.net")
    assert situation(item, "twin").untrusted == item.twin.untrusted


def test_the_manifest_knows_nothing_of_the_attacks() -> None:
    text = (files("checkvalve.corpora") / "manifests" / "incidents.yaml").read_text(encoding="utf-8")
    owner = load_incident_manifest().principal.owner
    told = [
        str(value) for item in load_incidents() for value in item.call.args.values() if len(str(value)) > len("POST")
    ]
    assert [value for value in told if value in text and value not in owner] == []
    assert "drop" not in text.replace("asks: [delete, remove, drop]", "")


def test_surroundings_become_what_a_deployer_would_write() -> None:
    manifest, known = load_incident_manifest(), {item.id: item for item in load_incidents()}
    listed = surrounded(manifest, situation(known["A08"], "attack")).find("fetch", "web")
    assert listed is not None
    assert listed.egress == ("docs.vendor.example.org",)
    assert surrounded(manifest, situation(known["A26"], "attack")).protected[-1] == "/.env"
    pattern = known["A26"].model_copy(update={"policy": known["A26"].policy.model_copy(update={"deny_paths": ("a*",)})})
    with pytest.raises(CorpusDataError, match="is a pattern"):
        surrounded(manifest, situation(pattern, "attack"))


def fixture_line(**changes: object) -> str:
    plain = next(item for item in load_incidents() if item.id == "A13")
    return json.dumps(plain.model_dump(exclude_defaults=True) | changes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.jsonl: no fixture in it"),
        ("{", "f.jsonl, line 1: not one JSON object"),
        (fixture_line(colour="red"), "f.jsonl, line 1: colour"),
        (fixture_line(waits_for={"twin": "better weather"}), "f.jsonl, line 1: waits_for.twin"),
        (f"{fixture_line()}\n{fixture_line()}", "f.jsonl, line 2: the id 'A13' is used twice"),
    ],
)
def test_a_fixture_that_cannot_be_used_is_named_by_line_and_field(text: str, said: str) -> None:
    with pytest.raises(CorpusDataError) as raised:
        parse_incidents(text, "f.jsonl")
    assert said in str(raised.value)


def test_what_nobody_knows_how_to_build_is_an_error() -> None:
    (item,) = parse_incidents(fixture_line(build="fold it twice"), "f.jsonl")
    with pytest.raises(CorpusDataError, match="nobody knows how to build"):
        situation(item, "attack")


def test_an_unknown_group_or_guard_lists_the_known_ones() -> None:
    with pytest.raises(UnknownCorpusError, match="there is no group 'mail'; choose from: sanitise, deny"):
        run_incidents(groups=("mail",))
    with pytest.raises(UnknownCorpusError, match="there is no guard 'none'"):
        run_incidents(guard="none")


def test_the_command_names_what_waits_and_what_is_wrong_and_fails_for_the_latter(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = CliRunner().invoke(cli.app, ["run", "incidents", "--json", str(target)])
    assert result.exit_code == (1 if OPEN else 0)
    assert "waits for: images: A32 attack: expects deny, is " in result.stdout
    for name in OPEN:
        assert f"not the expected verdict: {name}: expects" in result.stdout
    fixtures = json.loads(target.read_text(encoding="utf-8"))["fixtures"]
    assert fixtures["total"]["total"] == len(fixtures["sides"]) == 68
    assert fixtures["waits_for"]["images"] == ["A32 twin", "A32 attack"]


def test_a_group_without_a_wrong_verdict_is_exit_code_0() -> None:
    result = CliRunner().invoke(cli.app, ["run", "incidents", "--suite", "withhold"])
    assert result.exit_code == 0
    assert "waits for: pinning at load: A28 attack: expects withhold, is not run" in result.stdout


def test_a_result_that_is_not_plain_data_after_the_round_trip_would_be_seen() -> None:
    """The fixture's own data comes back equal; a number that no JSON has is refused, which is the wrong verdict."""
    item = next(item for item in load_incidents() if item.id == "A44")
    broken = Incident.model_validate({**item.model_dump(), "untrusted": {"note": float("nan")}})
    sides = {name_of(side): side.state for side in run_incidents(incidents=(broken,)).sides}
    assert sides == {"A44 twin": "passed", "A44 attack": "wrong"}
