"""The commands ``checkvalve corpus list`` and ``checkvalve corpus run NAME``.

Guarantees: everything that can be wrong with the request (an unknown name, a JSON path that cannot be written) is said
before the run starts; the exit code is 0 when every threshold holds, 1 when one does not, and 2 when nothing was run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.facts import PROFILES
from checkvalve.corpora.agentdojo.run import SUITES, run_agentdojo
from checkvalve.corpora.builtin import differences, run_builtin
from checkvalve.corpora.cases import areas, load_cases
from checkvalve.corpora.crossings import in_words
from checkvalve.corpora.errors import CorpusError, UnknownCorpusError
from checkvalve.corpora.incident_report import IncidentReport, expectation_table
from checkvalve.corpora.incident_run import expectations, run_incidents
from checkvalve.corpora.laundering.command import BUDGET, launder
from checkvalve.corpora.laundering.techniques import GROUPS
from checkvalve.corpora.remaining import in_words as in_words_of
from checkvalve.corpora.remaining import remaining
from checkvalve.corpora.report import Report, table
from checkvalve.corpora.runner import Thresholds
from checkvalve.corpora.texts.command import TEXTS, about_texts, run_texts

UNUSABLE: Final = 2
LAUNDERING: Final = "laundering"
"""Not a corpus of cases but a search: it has a table of its own."""
FILE_WIDTH: Final = 100
"""Columns of a table that goes into a file or another program."""

app = typer.Typer(
    name="corpus",
    help="Measure the gateway against attacks, with a model that obeys the attacker.",
    no_args_is_help=True,
)


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    profile: str
    guard: str
    schedule: str
    groups: tuple[str, ...]
    processes: int
    mode: str = "guard"


@dataclass(frozen=True)
class Corpus:
    """One corpus that can be run by name."""

    about: str
    groups: Callable[[], Sequence[str]]
    run: Callable[[Request], Report]


def _guard_only(asked: Request) -> None:
    if asked.mode != "guard":
        raise UnknownCorpusError("mode for this corpus", asked.mode, ["guard"])
    if asked.profile not in PROFILES:
        raise UnknownCorpusError("profile for this corpus", asked.profile, list(PROFILES))


def _run_builtin(asked: Request) -> Report:
    _guard_only(asked)
    return run_builtin(
        guard=asked.guard, profile=asked.profile, schedule=asked.schedule, groups=asked.groups, progress=True
    )


def _run_agentdojo(asked: Request) -> Report:
    return run_agentdojo(
        guard=asked.guard,
        mode=asked.mode,
        profile=asked.profile,
        schedule=asked.schedule,
        suites=asked.groups or SUITES,
        processes=asked.processes,
    )


def _run_incidents(asked: Request) -> Report:
    _guard_only(asked)
    return run_incidents(guard=asked.guard, profile=asked.profile, groups=asked.groups, progress=True)


def _areas() -> list[str]:
    return [name for name, _ in areas(load_cases())]


CORPORA: Final[dict[str, Corpus]] = {
    "builtin": Corpus("our own attacks, each with a harmless twin; needs nothing else", _areas, _run_builtin),
    "incidents": Corpus(
        "fixtures of public incidents, each with a harmless twin; needs nothing else", expectations, _run_incidents
    ),
    "agentdojo": Corpus("the AgentDojo benchmark; needs the extra `agentdojo`", lambda: SUITES, _run_agentdojo),
}


@app.command("list")
def list_corpora() -> None:
    """Name the corpora and their groups."""
    for name, corpus in CORPORA.items():
        typer.echo(f"{name}: {corpus.about}\n    groups: {', '.join(corpus.groups())}")
    typer.echo(f"{LAUNDERING}: a seeded search for leaks; needs nothing else\n    groups: {', '.join(GROUPS)}")
    typer.echo(about_texts())


@app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="builtin, incidents, agentdojo, laundering or texts")],
    profile: Annotated[
        str, typer.Option(help="the trust profile: strict or contacts; for agentdojo also mandates or drafted")
    ] = "strict",
    guard: Annotated[
        str, typer.Option(help="checkvalve, allow-all, review-non-read, or all to compare them")
    ] = "checkvalve",
    mode: Annotated[str, typer.Option(help="guard, pipeline (with hijacked models), or both in one table")] = "guard",
    schedule: Annotated[
        str, typer.Option(help="when the attack comes: first, end, or both (the worse one counts)")
    ] = "both",
    suite: Annotated[list[str] | None, typer.Option(help="run this group only; may be repeated")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the whole report here")] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="explain every question that remains without an attack")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="how many processes share the work")] = os.cpu_count() or 1,
    max_executed: Annotated[
        int | None, typer.Option(min=0, help="fail when more attacks than this had an effect")
    ] = None,
    min_free: Annotated[
        int | None, typer.Option(min=0, help="fail when fewer tasks than this ran without a question")
    ] = None,
    min_finished: Annotated[int | None, typer.Option(min=0, help="fail when fewer tasks than this finished")] = None,
    seed: Annotated[int, typer.Option(help="of the search `laundering`: the same seed, the same attempts")] = 0,
    budget: Annotated[int, typer.Option(min=1, help="of the search `laundering`: how many attempts")] = BUDGET,
    data: Annotated[Path | None, typer.Option(help="for `texts`: the folder of labelled texts (*.jsonl)")] = None,
    html: Annotated[Path | None, typer.Option(help="for `texts`: write a page with plots here")] = None,
) -> None:
    """Run a corpus and show the table.

    Exit code 1 says that a threshold was missed, an incident judged wrongly, or a leak found that is not named.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, FILE_WIDTH)
    try:
        if json_file is not None and name in {LAUNDERING, *CORPORA}:
            _check_writable(json_file)
        if name == LAUNDERING:
            _search_only(guard, mode, schedule, (max_executed, min_free, min_finished))
            found = launder(
                console, seed=seed, budget=budget, profile=profile, groups=tuple(suite or ()), json_file=json_file
            )
            raise typer.Exit(found)
        if name == TEXTS:
            raise typer.Exit(run_texts(console, data=data, only=tuple(suite or ()), html=html, json_file=json_file))
        corpus = _known(name)
        report = corpus.run(Request(profile, guard, schedule, tuple(suite or ()), processes, mode))
    except (CorpusError, ApprovalError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(UNUSABLE) from None
    console.print(table(report))
    _explain(report, console)
    if questions:
        for line in remaining(report):
            console.print(in_words_of(line), markup=False, highlight=False, soft_wrap=True)
    if json_file is not None:
        _write(report, json_file)
    failures = Thresholds(max_executed, min_free, min_finished).failures(report)
    for failure in failures:
        typer.echo(f"threshold missed: {failure}", err=True)
    wrong = report.wrong() if isinstance(report, IncidentReport) else []
    raise typer.Exit(1 if failures or wrong else 0)


def _search_only(guard: str, mode: str, schedule: str, bounds: tuple[int | None, ...]) -> None:
    """Refuse options that the search has no use for: they would look as if they had been followed."""
    if guard != "checkvalve":
        raise UnknownCorpusError("guard for this corpus", guard, ["checkvalve"])
    if mode != "guard":
        raise UnknownCorpusError("mode for this corpus", mode, ["guard"])
    if schedule != "both" or any(bound is not None for bound in bounds):
        raise CorpusError(
            "the search has no schedule and no thresholds: leave these options out; any leak is exit code 1"
        )


def _known(name: str) -> Corpus:
    if name not in CORPORA:
        raise UnknownCorpusError("corpus", name, [*CORPORA, LAUNDERING, TEXTS])
    return CORPORA[name]


def _explain(report: Report, console: Console) -> None:
    """Name what the numbers stand for: effects that happened, goals without a tool, verdicts that surprise."""
    if report.executed():
        console.print(f"attacks with an effect: {', '.join(report.executed())}", markup=False, highlight=False)
    if report.inside_mandates():
        console.print(
            f"attacks inside what a mandate allows: {', '.join(report.inside_mandates())}",
            markup=False,
            highlight=False,
        )
    if report.text_only_goals():
        console.print(
            f"goals of text only, which no tool gateway stops: {', '.join(report.text_only_goals())}",
            markup=False,
            highlight=False,
        )
    for one in (*report.others, report):
        if "steering" in (numbers := one.total()):
            console.print(in_words(one.guard, numbers), markup=False, highlight=False)
    if report.corpus == "builtin" and report.guard == "checkvalve":
        for difference in differences(report):
            console.print(f"not the expected verdict: {difference}", markup=False, highlight=False, soft_wrap=True)
    if isinstance(report, IncidentReport):
        _explain_incidents(report, console)


def _explain_incidents(report: IncidentReport, console: Console) -> None:
    """Show the fixtures by expectation, then by name those that wait and those that are wrong."""
    console.print(expectation_table(report))
    for capability, sides in report.waiting().items():
        for side in sides:
            console.print(f"waits for: {capability}: {side}", markup=False, highlight=False, soft_wrap=True)
    for side in report.wrong():
        console.print(f"not the expected verdict: {side}", markup=False, highlight=False, soft_wrap=True)


def _check_writable(path: Path) -> None:
    """Find out now, not after minutes of work, that the report could not be written."""
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise CorpusError(
            f"--json {path} cannot be written: {error.strerror}; choose a file in a folder that exists"
        ) from error


def _write(report: Report, path: Path) -> None:
    """Write beside the target and rename, so that a reader never sees half a report."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        typer.echo(f"error: --json {path} could not be written: {error.strerror}", err=True)
        raise typer.Exit(UNUSABLE) from None
