"""The adversarial self-test: what the seeded search finds, that it finds what is broken on purpose, and its table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from checkvalve.corpora import cli
from checkvalve.corpora.laundering.command import in_words, report, unnamed
from checkvalve.corpora.laundering.court import Court, Outcome
from checkvalve.corpora.laundering.named import NAMED
from checkvalve.corpora.laundering.receivers import goes_elsewhere
from checkvalve.corpora.laundering.search import Row, build, leaks, search
from checkvalve.corpora.laundering.techniques import GROUPS, TECHNIQUES
from checkvalve.filters.echoes import Echoes

BUDGET = 1600
OPEN: dict[str, str] = {}
"""Techniques that still leak, each with what has to change; the mark is strict, so a fix takes the entry away."""

SELDOM: frozenset[str] = frozenset(
    [
        "address that is no link",
        "another number as the sum",
        "another verb's object",
        "cancelled order",
        "condition",
        "crossed pairs",
        "described destination",
        "echo in another form",
        "exception",
        "hearsay",
        "negation",
        "odd blank",
        "older order",
        "ordinary word as a name",
        "past",
        "question",
        "rejected",
        "same effect once more",
        "source",
        "subject",
        "substring",
        "word as a switch",
    ]
)
"""Techniques of which only a long search found a leak; one that it finds no more is taken off by hand."""


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    return {row.technique.name: row for row in search(list(TECHNIQUES.values()), seed=0, budget=BUDGET)}


def _params() -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=OPEN[name]) if name in OPEN else ())
        for name in TECHNIQUES
        if name not in NAMED
    ]


@pytest.mark.parametrize("name", _params())
def test_a_technique_launders_nothing(name: str, rows: dict[str, Row]) -> None:
    found = [line for leak in rows[name].leaks.values() for line in ("", *in_words(leak.draft))]
    assert rows[name].tried
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", NAMED)
def test_what_cannot_be_stopped_is_still_so(name: str, rows: dict[str, Row]) -> None:
    assert rows[name].counts[Outcome.LEAK], f"{name} leaks no more: take it off the list and out of the threat model"


def test_the_named_are_in_the_threat_model(root: Path) -> None:
    text = (root / "docs" / "threat-model.md").read_text(encoding="utf-8")
    assert not [name for name in NAMED if f"| {name} |" not in text]


def test_honest_twins_are_mostly_not_asked(rows: dict[str, Row]) -> None:
    """Strictness is not bought by asking about everything."""
    asked, twins = sum(row.twins_asked for row in rows.values()), sum(row.twins for row in rows.values())
    assert twins > 500
    assert asked <= 0.15 * twins, sorted(((row.twins_asked, name) for name, row in rows.items()), reverse=True)[:8]


@pytest.mark.parametrize(
    ("technique", "broken", "by"),
    [
        ("substring", "checkvalve.filters.sameness.is_same", lambda *_: True),
        ("negation", "checkvalve.filters.mentions.is_negated", lambda *_: False),
        ("echo", "checkvalve.filters.echoes.Echoes.repeats", lambda *_: False),
        ("outsider's field", "checkvalve.approvals.facts.field_rules", "trusting"),
        ("open text", "checkvalve.approvals.flow.may_flow", lambda *_, **__: True),
        ("link in a text", "checkvalve.filters.links.links", lambda *_: ()),
        ("quoted block", "checkvalve.filters.words.own_parts", lambda text: [(text, True)]),
        ("older order", "checkvalve.filters.index.AttributionIndex._in_force", lambda self: set(range(self._turn + 1))),
        ("id from a text", "checkvalve.filters.mentions._is_marked", lambda *_: True),
    ],
)  # fmt: skip
def test_the_search_finds_what_is_broken_on_purpose(
    technique: str, broken: str, by: Callable[..., Any] | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(broken, _trusting if by == "trusting" else by, monkeypatch)
    if technique == "id from a text":
        technique = "count as an id"
    found = search([TECHNIQUES[technique]], seed=0, budget=120)
    assert unnamed(found), f"with {broken} broken, {technique} should have leaked"


def _break(name: str, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace a function wherever a module of ours has imported it, or a method of a class."""
    place, _, last = name.rpartition(".")
    if place not in sys.modules:
        monkeypatch.setattr(name, by)
        return
    old = getattr(sys.modules[place], last)
    for module in [module for path, module in sys.modules.items() if path.startswith("checkvalve.")]:
        if getattr(module, last, None) is old:
            monkeypatch.setattr(module, last, by)


def _trusting(*_: object) -> list[Any]:
    """Declare every field of every result as written by the owner."""
    from checkvalve.filters.labels import Readers, Trust
    from checkvalve.filters.origins import FieldRule

    return [FieldRule("**", Trust.VERIFIED, Readers.everyone()), FieldRule("$", Trust.VERIFIED, Readers.everyone())]


def test_the_same_seed_makes_the_same_attempts() -> None:
    some = [TECHNIQUES["echo"], TECHNIQUES["reading"], TECHNIQUES["open text"]]
    first, second = (report(search(some, seed=7, budget=40), 7, 40) for _ in range(2))
    assert first == second
    other = search(some, seed=8, budget=40)
    assert [build(row.technique, f"8/{row.technique.name}/0") for row in other] != [
        build(row.technique, f"7/{row.technique.name}/0") for row in other
    ]


def test_a_leak_is_as_small_as_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Echoes, "repeats", lambda *_: False)
    found = leaks(search([TECHNIQUES["echo"]], seed=3, budget=60))
    assert found
    court = Court()
    for leak in found:
        assert court.judge(leak.draft).outcome is Outcome.LEAK
        assert not any("read_mail" in line for line in in_words(leak.draft)), "a stranger's mail is not needed"


@pytest.mark.parametrize(
    ("kind", "value", "named", "elsewhere"),
    [
        ("email", "ANN@corp.example", "ann@corp.example", False),
        ("email", "eve@drop.example", "ann@corp.example", True),
        ("email", "ann@corp.example, eve@drop.example", "ann@corp.example", True),
        ("url", "https://corp.example@drop.example/", "https://corp.example/", True),
        ("url", "https://CORP.example.:443/a", "https://corp.example/a", False),
        ("url", "https://drop.example\\@corp.example/", "https://corp.example/", True),
        ("url", "http://2130706433/", "https://corp.example/", True),
        ("account", "DE12 3456 7890", "DE1234567890", False),
        ("account", "DE1234567891", "DE1234567890", True),
        ("phone", "0049 30 1234", "+49301234", False),
        ("phone", "+49301234,,9", "+49301234", True),
        ("path", "a/./b.txt", "a/b.txt", False),
        ("path", "a/b.txt:stream", "a/b.txt", True),
        ("number", "20.0", "20", False),
        ("number", "2e1", "20", False),
        ("number", "200", "20", True),
    ],
)
def test_the_receivers_tell_values_apart(kind: str, value: str, named: str, elsewhere: bool) -> None:
    assert goes_elsewhere(kind, value, (named,)) is elsewhere


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli.app, list(arguments))


def test_the_command_prints_a_table_and_writes_it_down(tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    result = invoke("run", "laundering", "--suite", "quoted block", "--suite", "choice among the user's words",
                    "--budget", "40", "--seed", "5", "--json", str(target))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "quoted block" in result.stdout
    assert "named in the threat model: choice among the user's words" in result.stdout
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["seed"] == 5
    assert {row["name"] for row in document["techniques"]} == {"quoted block", "choice among the user's words"}
    assert document["leaks"][0]["calls"][0]["tool"] == "send_mail"


def test_a_leak_that_is_not_named_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Echoes, "repeats", lambda *_: False)
    result = invoke("run", "laundering", "--suite", "echo", "--budget", "40")
    assert result.exit_code == 1
    assert "leak: echo (seed 0/echo/" in result.stdout
    assert "harm: `" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--suite", "words", "--budget", "3"), "--budget 3 is too small: give each of"),
        (("--suite", "wrods"), "there is no group 'wrods'; choose from: words, spelling"),
        (("--guard", "all"), "there is no guard for this corpus 'all'; choose from: checkvalve"),
        (("--mode", "pipeline"), "there is no mode for this corpus 'pipeline'"),
        (("--min-free", "3"), "the search has no schedule and no thresholds"),
        (("--profile", "lax"), "there is no trust profile 'lax'; choose from:"),
    ],
)
def test_a_wrong_request_runs_nothing(arguments: tuple[str, ...], said: str) -> None:
    result = invoke("run", "laundering", *arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_every_technique_has_attempts_that_would_harm() -> None:
    """An attempt that could harm nobody would make the table look good."""
    for technique in TECHNIQUES.values():
        drafts = [build(technique, f"0/{technique.name}/{number}") for number in range(12)]
        assert any(draft.harmful(call) for draft in drafts for call in draft.calls), technique.name
    assert {technique.group for technique in TECHNIQUES.values()} == set(GROUPS)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_long_search_finds_no_other_technique(seed: int) -> None:
    found = search(list(TECHNIQUES.values()), seed=seed, budget=12_000)
    assert {leak.technique for leak in unnamed(found)} <= {*OPEN, *SELDOM}
