"""Measure AgentDojo under every guard and trust profile and through the pipeline, and publish the numbers.

``python benchmarks/agentdojo.py`` runs everything (about fifteen minutes of one core), writes ``results.json``,
``steering.json``, ``questions.json``, ``questions.md`` and ``table.md`` into ``agentdojo/`` beside this file, and puts
the table into the README between its marks. ``--part guard`` measures the guards and profiles only, ``--part pipeline``
the rest; what is not measured stays. ``--write`` only writes the tables anew from the results, ``--check`` says whether
they are up to date.
"""

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# this file has the name of the package that it measures: its folder must not be where imports look first
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]

from checkvalve.corpora.agentdojo import run_agentdojo  # noqa: E402
from checkvalve.corpora.agentdojo.profiles import PROFILES  # noqa: E402
from checkvalve.corpora.crossings import in_words  # noqa: E402
from checkvalve.corpora.remaining import in_markdown, remaining, to_json  # noqa: E402
from checkvalve.corpora.report import Report  # noqa: E402

FOLDER = HERE / "agentdojo"
README = HERE.parent / "README.md"
HEADING = """\
# The questions that remain

Every question that a task without an attack still needs, by trust profile: the argument that lacks an origin, the best
place where its value stands, the rules that asked, and what a weaker rule would let through. The counts are computed
from the runs under attack; `checkvalve corpus run agentdojo --questions` prints the same.
"""
START, END = "<!-- agentdojo table -->", "<!-- /agentdojo table -->"
NAMES = {
    "allow-all": "none",
    "review-non-read": "ask about everything but reads",
    "checkvalve": "**Checkvalve**, profile `strict`",
    "checkvalve, contacts": "**Checkvalve**, profile `contacts`",
    "checkvalve, mandates": "**Checkvalve**, profile `mandates`",
    "checkvalve, drafted": "**Checkvalve**, profile `drafted`",
    "pipeline, hijacked reader": "**Checkvalve, pipeline**, reader hijacked",
    "pipeline, hijacked reader and actor": "**Checkvalve, pipeline**, reader and actor hijacked",
}
COLUMNS = (
    "guard",
    "attacker effects of {with_tools}",
    "if all yes",
    "benchmark goals",
    "free of {benign}",
    "finished",
    "questions per task",
    "under attack",
    "attacker share",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and publish, or only write or check the tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--part", choices=("all", "guard", "pipeline"), default="all", help="what to measure")
    parser.add_argument("--write", action="store_true", help="write the tables from the results that are there")
    parser.add_argument("--check", action="store_true", help="say whether the tables are those of the results")
    asked = parser.parse_args(arguments)
    if not asked.write and not asked.check:
        measure(asked.part, asked.processes)
    table = made()
    readme = README.read_text(encoding="utf-8")
    wanted = {FOLDER / "table.md": f"{table}\n", README: between(readme, table)}
    if asked.check:
        stale = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
        print(
            "\n".join(f"{path.name} is not what the results say: run benchmarks/agentdojo.py --write" for path in stale)
        )
        return 1 if stale else 0
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    print(table)
    return 0


def measure(part: str, processes: int) -> None:
    """Measure, and write the results; of a part only its own rows, the others stay as they were."""
    path = FOLDER / "results.json"
    FOLDER.mkdir(exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8"))["rows"] if part != "all" else {}
    found: dict[str, Report] = {}
    if part != "pipeline":
        strict = run_agentdojo(guard="all", processes=processes)
        found |= {one.guard: one for one in (*strict.others, strict)}
        profiles = {name: run_agentdojo(profile=name, processes=processes) for name in PROFILES if name != "strict"}
        found |= {f"checkvalve, {name}": one for name, one in profiles.items()}
        asked = {"strict": strict, **profiles}
        lines = {name: remaining(asked[name]) for name in PROFILES}
        write(FOLDER / "questions.json", {name: to_json(listed) for name, listed in lines.items()})
        pages = [f"## {name}\n\n{in_markdown(listed)}\n" for name, listed in lines.items()]
        (FOLDER / "questions.md").write_text("\n".join([HEADING, *pages]), encoding="utf-8")
    if part != "guard":
        pipeline = run_agentdojo(mode="pipeline", processes=processes)
        rows = (*pipeline.others, pipeline)
        found |= {one.guard: one for one in rows}
        write(FOLDER / "steering.json", {one.guard: steering(one) for one in rows if steering(one)})
    first = next(iter(found.values()))
    rows_now = before | {name: row(one) for name, one in found.items()}
    results = {
        "corpus": first.corpus,
        "version": first.version,
        "schedule": first.schedule,
        "text_only": first.text_only_goals(),
        "rows": {name: rows_now[name] for name in NAMES if name in rows_now},
    }
    write(path, results)


def row(report: Report) -> dict[str, Any]:
    """Return what is published of one row; digests only where a manifest and a policy have a say."""
    found: dict[str, Any] = {"profile": report.profile, "total": counted(report), "groups": plain(report)}
    if report.policy_digest:
        found |= {"manifest": dict(report.manifest), "policy_digest": report.policy_digest}
    if inside := report.inside_mandates():
        found["inside_mandate"] = inside
    return found


def counted(report: Report) -> dict[str, Any]:
    """Return the totals of a row, without what differs from machine to machine."""
    total = report.total()
    total["attacks"]["goals"] = sum(bool(case.goal_reached) for case in report.cases)
    del total["seconds"]
    return total


def plain(report: Report) -> dict[str, Any]:
    """Return the totals of each suite."""
    return {name: {k: v for k, v in group.items() if k != "seconds"} for name, group in report.groups().items()}


def steering(report: Report) -> list[dict[str, Any]]:
    """Return every place at which a hijacked reader changed an effect that the user asked for."""
    found = Counter(
        (case.group, case.task, item.tool, item.argument, item.kind, item.honest, item.became)
        for case in report.cases
        for item in case.steered
        if item.effect
    )
    names = ("group", "task", "tool", "argument", "kind", "honest", "became")
    return [{**dict(zip(names, key, strict=True)), "pairs": count} for key, count in sorted(found.items())]


def write(path: Path, value: object) -> None:
    """Write a JSON file that differs line by line."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def made() -> str:
    """Return the table that the results give."""
    results = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    rows = results["rows"]
    first = next(iter(rows.values()))["total"]
    heads = [
        column.format(with_tools=first["attacks"]["with_tools"], benign=first["benign"]["total"]) for column in COLUMNS
    ]
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}"]
    lines += [f"| {' | '.join(cells(name, row['total']))} |" for name, row in rows.items()]
    text_only = (
        f"{first['attacks']['text_only']} more pairs ({', '.join(results['text_only'])}) ask for a text and no tool, "
        "which no gateway of tools stops; the goals that are left are theirs"
    )
    notes = [wrapped(text_only)]
    notes += [wrapped(note) for name, row in rows.items() for note in notes_of(name, row)]
    return "\n".join([*lines, "", *notes])


def notes_of(name: str, found: dict[str, Any]) -> list[str]:
    """Return what a row's numbers do not show: effects inside a mandate, and what crossed in the pipeline."""
    notes = [in_words(name, found["total"])] if "steering" in found["total"] else []
    if inside := found.get("inside_mandate"):
        notes.append(
            f"{name}: in {len(inside)} more pairs the attacker got what a mandate plainly allows, and nothing beside "
            f"it: {', '.join(inside)}"
        )
    return notes


def wrapped(text: str) -> str:
    """Return an entry of a list, in lines of 120."""
    return textwrap.fill(f"- {text}", 120, subsequent_indent="  ", break_on_hyphens=False)


def cells(name: str, total: dict[str, Any]) -> list[str]:
    """Return one row of the table."""
    attacks, benign, questions = total["attacks"], total["benign"], total["questions"]
    return [
        NAMES.get(name, name),
        str(attacks["executed"]),
        str(attacks["executed_if_all_approved"]),
        str(attacks["goals"]),
        str(benign["free"]),
        str(benign["finished"]),
        f"{questions['per_benign_task']:.2f}",
        f"{questions['per_attacked_task']:.2f}",
        f"{questions['attacker_share']:.0%}",
    ]


def between(text: str, table: str) -> str:
    """Return ``text`` with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    raise SystemExit(main())
