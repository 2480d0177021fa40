"""``checkvalve policy test`` and ``simulate``: files of cases under one policy, or under several side by side.

Guarantees: nothing is executed or recorded. A policy of one's own passes only when every permit has a case that it must
not permit. The packaged policy ships its cases, which run when no file is named.
"""

from __future__ import annotations

import itertools
import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkvalve.approvals.facts import PROFILES
from checkvalve.approvals.kit_cases import CaseResult, negative_tests, undecided, unknown_rules
from checkvalve.approvals.kit_cedar import read_formulas
from checkvalve.approvals.policy import MAX_POLICY_BYTES, load_policy
from checkvalve.approvals.reasons import REMEDIES
from checkvalve.approvals.render import short
from checkvalve.gateway.errors import CaseError
from checkvalve.gateway.policykit_cases import CaseFile, cases_of, parts_for, read_cases
from checkvalve.gateway.policykit_terminal import AsJson, finish, packaged, packaged_path, say, text_of

Files = Annotated[list[Path], typer.Argument(help="Files of cases (YAML or JSON).")]
Manifest = Annotated[Path | None, typer.Option(help="The manifest; default: the one that the file names.")]
_WIDTH: Final = 120
_PACKAGED: Final = "default"
_STYLES: Final = {"allow": "green", "review": "yellow", "deny": "red"}


def run_cases(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files of cases (YAML or JSON); none: those of the packaged policy.")
    ] = None,
    *,
    manifest: Manifest = None,
    policy: Annotated[Path | None, typer.Option(help="The policy; default: the file's, or the packaged one.")] = None,
    profile: Annotated[str, typer.Option(help="The trust profile; default: the file's.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run the cases that ship beside a policy. Every permit of your own policy needs a case it must not permit."""
    given = files or [packaged_path("default.cases.yaml")]
    answers = [_tested(read_cases(cases_of(file)), manifest, policy, profile) for file in given]
    good = all(not item["problems"] and all(case["passed"] for case in item["cases"]) for item in answers)
    if as_json:
        typer.echo(json.dumps(answers, indent=2))
    else:
        for item in answers:
            _print(item)
    finish(good=good)


def _tested(file: CaseFile, manifest: Path | None, policy: Path | None, profile: str) -> dict[str, Any]:
    declared, rules, own = parts_for(file, manifest, policy)
    formulas = read_formulas(packaged("default.cedar") if own is None else text_of(own, MAX_POLICY_BYTES), str(own))
    results = file.run(declared, rules, checked(profile or file.profile))
    missing = unknown_rules(formulas, (item.expected for item in results), REMEDIES)
    problems = [f"no rule is called {rule!r}, so a case that names it tests nothing" for rule in missing]
    idle: list[str] = []
    if own is not None:
        idle = undecided(formulas, results)
        held = negative_tests(formulas, results)
        permits = [item.rule.id for item in formulas if item.rule.decision != "deny"]
        problems += [
            f"the permit {rule} has no case that it must not permit; write one with `never: [{rule}]`"
            for rule in permits
            if rule not in held
        ]
    return {"file": str(file.path), "cases": [item.to_json() for item in results], "problems": problems, "idle": idle}


def checked(profile: str) -> str:
    """Return the name of a profile that exists.

    Raises:
        CaseError: there is none of this name.
    """
    if profile not in PROFILES:
        raise CaseError(f"there is no profile {profile!r}", f"use one of: {', '.join(PROFILES)}")
    return profile


def _print(item: dict[str, Any]) -> None:
    failed = [case for case in item["cases"] if not case["passed"]]
    for case in failed:
        say(f"FAILED {case['name']}")
        for problem in case["problems"]:
            say(f"   {problem}")
    if failed:
        say(f"   to see why: checkvalve policy explain {item['file']} --case {shlex.quote(failed[0]['name'])}")
    for problem in item["problems"]:
        say(f"PROBLEM {problem}")
    if item["idle"]:
        say(f"note: no case is decided by {', '.join(item['idle'])}")
    say(f"{item['file']}: {len(item['cases']) - len(failed)} of {len(item['cases'])} cases passed")


def simulate(
    files: Files,
    *,
    manifest: Annotated[
        list[Path] | None, typer.Option(help="A manifest; give several to compare. Default: the file's.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy, or `default`; give several to compare. Default: the file's.")
    ] = None,
    profile: Annotated[
        list[str] | None, typer.Option(help="A trust profile; give several to compare. Default: all there are.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run files of cases under several manifests, policies and profiles side by side, and count the verdicts."""
    read = [read_cases(cases_of(file)) for file in files]
    manifests: Sequence[Path | None] = manifest or [None]
    columns = [
        (_title(declared, rules, name), _results(read, declared, rules, checked(name)))
        for declared, rules, name in itertools.product(manifests, policy or [""], profile or PROFILES)
    ]
    if as_json:
        typer.echo(json.dumps([_column(name, results) for name, results in columns], indent=2))
        return
    _table(columns)


def _title(manifest: Path | None, policy: str, profile: str) -> str:
    parts = ["" if manifest is None else manifest.name, Path(policy).name, profile]
    return " ".join(part for part in parts if part)


def _results(files: Sequence[CaseFile], manifest: Path | None, policy: str, profile: str) -> dict[str, CaseResult]:
    results = {}
    named = None if policy in {"", _PACKAGED} else Path(policy)
    for file in files:
        declared, rules, _ = parts_for(file, manifest, named)
        for item in file.run(declared, load_policy() if policy == _PACKAGED else rules, profile):
            name = item.expected.name
            results[f"{file.path.name}: {name}" if len(files) > 1 else name] = item
    return results


def _column(name: str, results: dict[str, CaseResult]) -> dict[str, Any]:
    counts = Counter(item.decision.verdict.name for item in results.values())
    cases = {
        key: {"verdict": item.decision.verdict.name, "rule": item.decision.verdict.rule}
        for key, item in results.items()
    }
    return {"under": name, "counts": dict(counts), "cases": cases}


def _table(columns: list[tuple[str, dict[str, CaseResult]]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("case", *(name for name, _ in columns)):
        table.add_column(Text(short(name)), overflow="fold")
    for case in columns[0][1]:
        cells = []
        for _, results in columns:
            verdict = results[case].decision.verdict
            cells.append(Text.assemble((verdict.name, _STYLES[verdict.name]), f" {short(verdict.rule)}"))
        changed = len({cell.plain for cell in cells}) > 1
        table.add_row(Text(short(case), style="bold" if changed else ""), *cells)
    totals = [Counter(item.decision.verdict.name for item in results.values()) for _, results in columns]
    table.add_row(
        Text("allowed, asked, denied", style="dim"),
        *(Text(f"{count['allow']}, {count['review']}, {count['deny']}", style="dim") for count in totals),
    )
    Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False).print(table)
