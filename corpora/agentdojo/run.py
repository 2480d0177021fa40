"""The whole benchmark: every task alone and with every attack, on several processes, under one guard or all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from checkvalve.approvals.manifest import manifest_digest
from checkvalve.approvals.policy import Policy, load_policy
from checkvalve.corpora.agentdojo.actors import MOMENTS, Moment, Run, benign, hijacked
from checkvalve.corpora.agentdojo.adapter import load_suite, package_version
from checkvalve.corpora.agentdojo.pipeline_run import ROWS, Company, Setting
from checkvalve.corpora.agentdojo.profiles import check_profile, engine_of, mandates_of, manifest_of, packaged_manifest
from checkvalve.corpora.agentdojo.score import attack_case, benign_case, worse
from checkvalve.corpora.errors import UnknownCorpusError
from checkvalve.corpora.guard import AllowAll, CheckvalveGuard, Guard, ReviewNonRead
from checkvalve.corpora.report import CaseResult, Report
from checkvalve.corpora.runner import run_units

DEFAULT_VERSION: Final = "v1.2.2"
SUITES: Final = ("workspace", "travel", "banking", "slack")
GUARDS: Final = ("allow-all", "review-non-read", "checkvalve")
MODES: Final = ("guard", "pipeline", "both")
SCHEDULES: Final = ("both", *MOMENTS)
OURS: Final = ("checkvalve", *ROWS)
"""The rows that a profile and a policy have a say in."""


@dataclass(frozen=True)
class Plan:
    """What to run. It travels to every process, so it holds names and paths only."""

    version: str = DEFAULT_VERSION
    profile: str = "strict"
    manifest_dir: Path | None = None
    policy_path: Path | None = None
    moments: tuple[Moment, ...] = MOMENTS
    guards: tuple[str, ...] = ("checkvalve",)
    rows: tuple[str, ...] = ()
    """The rows of pipeline mode, or none."""


@dataclass(frozen=True)
class Unit:
    """One task with all its attacks: the smallest piece of work that goes to a process."""

    plan: Plan
    suite: str
    task: str
    attacks: tuple[str, ...]


def run_agentdojo(  # noqa: PLR0913  # what the command line can say, all of it by name
    *,
    profile: str = "strict",
    manifest_dir: Path | None = None,
    policy_path: Path | None = None,
    schedule: str = "both",
    guard: str = "checkvalve",
    mode: str = "guard",
    suites: Sequence[str] = SUITES,
    processes: int = 2,
    limit: int | None = None,
) -> Report:
    """Measure a guard (``all`` puts every guard beside Checkvalve), the pipeline, or both, and return the report.

    ``limit`` keeps the first so many user tasks of each suite, for a quick look. In the modes with a pipeline, the
    report is that of its worse row, and everything else stands beside it.

    Raises:
        MissingExtraError: ``agentdojo`` is not installed.
        UnknownCorpusError: a suite, guard, mode or schedule has an unknown name.
        ManifestError, PolicyError: a manifest or the policy cannot be used.
    """
    _known("mode", mode, MODES)
    plan = Plan(
        profile=check_profile(profile, mode=mode),
        manifest_dir=manifest_dir,
        policy_path=policy_path,
        moments=_moments(schedule),
        guards=() if mode == "pipeline" else _guards(guard),
        rows=() if mode == "guard" else ROWS,
    )
    started = time.perf_counter()
    units = _units(plan, [_known("suite", name, SUITES) for name in suites], limit)
    digests = {name: manifest_digest(manifest_of(profile, name, plan.version, manifest_dir)) for name in suites}
    found = run_units(units, run_unit, label=f"agentdojo {plan.version}", processes=processes)
    seconds = time.perf_counter() - started

    def report(one: str, others: tuple[Report, ...] = ()) -> Report:
        return Report(
            corpus="agentdojo",
            version=f"{plan.version} (agentdojo {package_version()})",
            actor="hijacked",
            schedule=schedule,
            profile=profile if one in OURS else one,
            manifest=digests,
            policy_digest=_policy(policy_path).digest if one in OURS else "",
            cases=[case for answer in found for case in answer[one]],
            seconds=seconds,
            guard=one,
            others=others,
        )

    *beside, main = (*plan.guards, *plan.rows)
    return report(main, tuple(report(one) for one in beside))


def run_unit(unit: Unit) -> dict[str, list[CaseResult]]:
    """Run one task alone and under each of its attacks, for every guard of the plan.

    The guards take turns on each attack, so that its environment is loaded once for all of them.
    """
    suite, yardstick = load_suite(unit.plan.version, unit.suite), packaged_manifest(unit.suite)
    guards = {name: _factory(unit, name) for name in unit.plan.guards}
    found: dict[str, list[CaseResult]] = {name: [] for name in guards}
    for attack in (None, *unit.attacks):
        injections = suite.injections(unit.task, attack) if attack is not None else {}
        for name, guard in guards.items():

            def start(guard: Callable[[], Guard] = guard, injections: Mapping[str, str] = injections) -> Run:
                return Run(suite.episode(unit.task, injections), guard(), yardstick)

            found[name].append(_alone(start) if attack is None else _attacked(start, attack, unit.plan.moments))
    return found | _in_pipeline(unit)


def _in_pipeline(unit: Unit) -> dict[str, list[CaseResult]]:
    """Run the same task through the pipeline. The case without an attack stands in both rows."""
    if not unit.plan.rows:
        return {}
    company = _company(unit.plan, unit.suite)
    alone = company.alone(unit.task)
    found = {row: [alone] for row in unit.plan.rows}
    for attack in unit.attacks:
        for row, case in company.attacked(unit.task, attack, unit.plan.moments).items():
            found[row].append(case)
    return found


@cache
def _company(plan: Plan, name: str) -> Company:
    """Return the pipeline of a suite: built once in each process."""
    manifest = manifest_of(plan.profile, name, plan.version, plan.manifest_dir)
    suite, policy = load_suite(plan.version, name), _policy(plan.policy_path)
    return Company(Setting(suite, manifest, policy, engine_of(plan.profile), packaged_manifest(name)))


def _alone(start: Callable[[], Run]) -> CaseResult:
    started = time.perf_counter()
    run = start()
    finished = run.episode.finished(benign(run))
    return benign_case(run, finished=finished, seconds=time.perf_counter() - started)


def _attacked(start: Callable[[], Run], attack: str, moments: Sequence[Moment]) -> CaseResult:
    tries: list[CaseResult] = []
    for moment in moments:
        started = time.perf_counter()
        run = start()
        output = hijacked(run, attack, moment)
        # One unfinished try is enough for the pair, so the second one need not be checked.
        finished = all(case.finished for case in tries) and run.episode.finished(output)
        goal = run.episode.goal_reached(attack, output)
        seconds = time.perf_counter() - started
        tries.append(attack_case(run, attack, moment, finished=finished, goal=goal, seconds=seconds))
    return worse(tries)


def _factory(unit: Unit, name: str) -> Callable[[], Guard]:
    """Return what makes a fresh guard for each run."""
    plan = unit.plan
    if name == "allow-all":
        return AllowAll
    if name == "review-non-read":
        return lambda: ReviewNonRead(packaged_manifest(unit.suite))
    manifest = manifest_of(plan.profile, unit.suite, plan.version, plan.manifest_dir)
    policy, engine = _policy(plan.policy_path), engine_of(plan.profile)
    mandates = mandates_of(plan.profile, unit.suite, unit.task)
    return lambda: CheckvalveGuard(manifest, policy, engine, mandates)


@cache
def _policy(path: Path | None) -> Policy:
    return load_policy(path)


def _units(plan: Plan, suites: Sequence[str], limit: int | None) -> list[Unit]:
    """List the work, suite by suite; loading every suite here lets forked workers share it."""
    units = []
    for name in suites:
        suite = load_suite(plan.version, name)
        units += [Unit(plan, name, task, tuple(suite.attacks)) for task in list(suite.user_tasks)[:limit]]
    return units


def _guards(guard: str) -> tuple[str, ...]:
    return GUARDS if guard == "all" else (_known("guard", guard, GUARDS),)


def _moments(schedule: str) -> tuple[Moment, ...]:
    _known("schedule", schedule, SCHEDULES)
    return MOMENTS if schedule == "both" else tuple(moment for moment in MOMENTS if moment == schedule)


def _known(what: str, name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise UnknownCorpusError(what, name, list(known))
    return name
