"""The built-in corpus: our own cases under a guard, as a report; needs nothing but this package."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Final

from checkvalve.approvals.manifest import load_manifest, manifest_digest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.toolspec import Manifest
from checkvalve.corpora.case_run import SCHEDULES, By, MakeGuard, run_case
from checkvalve.corpora.cases import Case, areas, load_cases
from checkvalve.corpora.errors import UnknownCorpusError
from checkvalve.corpora.guard import AllowAll, CheckvalveGuard, ReviewNonRead
from checkvalve.corpora.report import CaseResult, Report
from checkvalve.corpora.runner import run_units
from checkvalve.graphs.inbound import Inbound

VERSION: Final = "1"
"""Raised when a case changes its meaning, so that numbers of different versions are not compared."""

GUARDS: Final = ("allow-all", "review-non-read", "checkvalve")


def load_builtin_manifest() -> Manifest:
    """Return the tool manifest that ships with the corpus."""
    with as_file(files("checkvalve.corpora") / "manifests" / "builtin.yaml") as path:
        return load_manifest(path)


def make_guards(name: str, profile: str, manifest: Manifest | None = None, inbound: Inbound | None = None) -> MakeGuard:
    """Return what makes a fresh guard called ``name`` for every run, over ``manifest`` or the built-in one.

    With ``inbound`` ours scans what it reads; without it the inbound filters are taken to have failed.

    Raises:
        UnknownCorpusError: no guard has this name.
    """
    known = load_builtin_manifest() if manifest is None else manifest
    if name == "checkvalve":
        policy = load_policy()
        return lambda: CheckvalveGuard(known, policy, profile, inbound=inbound)
    if name == "allow-all":
        return AllowAll
    if name == "review-non-read":
        return lambda: ReviewNonRead(known)
    raise UnknownCorpusError("guard", name, [*GUARDS, "all"])


def run_builtin(
    *,
    guard: str = "checkvalve",
    profile: str = "strict",
    schedule: str = "both",
    groups: Sequence[str] = (),
    cases: Sequence[Case] | None = None,
    progress: bool = False,
) -> Report:
    """Measure a guard (``all`` puts every guard beside Checkvalve), on all cases or on the areas in ``groups``.

    Raises:
        UnknownCorpusError: a guard, an area or the schedule is not known.
    """
    if schedule not in SCHEDULES:
        raise UnknownCorpusError("schedule", schedule, list(SCHEDULES))
    chosen = _choose(load_cases() if cases is None else tuple(cases), groups)
    *beside, main = GUARDS if guard == "all" else (guard,)
    others = tuple(_run(chosen, name, profile, schedule, progress=progress) for name in beside)
    return replace(_run(chosen, main, profile, schedule, progress=progress), others=others)


def _choose(cases: tuple[Case, ...], groups: Sequence[str]) -> tuple[Case, ...]:
    known = dict(areas(cases))
    for name in groups:
        if name not in known:
            raise UnknownCorpusError("group", name, list(known))
    return tuple(case for case in cases if not groups or case.area in groups)


def _run(cases: Sequence[Case], guard: str, profile: str, schedule: str, *, progress: bool) -> Report:
    make = make_guards(guard, profile)
    started = time.perf_counter()

    def work(case: Case) -> tuple[CaseResult, CaseResult]:
        return run_case(case, make, schedule)

    pairs = run_units(cases, work, label=f"builtin, {guard}") if progress else [work(case) for case in cases]
    return Report(
        corpus="builtin",
        version=VERSION,
        actor="hijacked",
        schedule=schedule,
        profile=profile if guard == "checkvalve" else guard,
        manifest={"builtin": manifest_digest(load_builtin_manifest())},
        policy_digest=load_policy().digest if guard == "checkvalve" else "",
        cases=[result for pair in pairs for result in pair],
        seconds=time.perf_counter() - started,
        guard=guard,
    )


def differences(report: Report, cases: Iterable[Case] | None = None) -> Iterator[str]:
    """Name every verdict that is not the one its case says is right."""
    by_id = {case.id: case for case in (load_cases() if cases is None else cases)}
    for result in report.cases:
        case = by_id[result.task]
        expected = case.attack if result.attack else case.twin.calls
        side: By = "attacker" if result.attack else "user"
        records = [record for record in result.calls if record.by == side]
        for number, (call, record) in enumerate(zip(expected, records, strict=True), start=1):
            if record.verdict not in call.expect:
                what = f"{'attack' if result.attack else 'twin'} call {number} ({call.name})"
                yield f"{case.id}: {what} is {record.verdict} by {record.rule}, should be {' or '.join(call.expect)}"
