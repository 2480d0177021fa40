"""``checkvalve corpus run laundering``: the table of the search, every leak made small, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from checkvalve.approvals.facts import PROFILES
from checkvalve.corpora.errors import CorpusError, UnknownCorpusError
from checkvalve.corpora.laundering.court import Court, Outcome
from checkvalve.corpora.laundering.draft import Accept, Draft, Read, Say
from checkvalve.corpora.laundering.named import NAMED
from checkvalve.corpora.laundering.search import Leak, Row, leaks, search
from checkvalve.corpora.laundering.technique import Technique
from checkvalve.corpora.laundering.techniques import GROUPS, TECHNIQUES

BUDGET: Final = 4000
"""Attempts of one run, when nothing is said: a few for each technique, in well under a minute."""
_SHOWN: Final = 3
"""Leaks shown of one technique; the JSON file has all that were kept."""


def launder(
    console: Console, *, seed: int, budget: int, profile: str, groups: Sequence[str], json_file: Path | None
) -> int:
    """Run the search, show what it found, and return the exit code: 1 when something leaks that is not named.

    Raises:
        CorpusError: a group, a profile or the budget makes no sense.
    """
    techniques = _chosen(groups)
    if profile not in PROFILES:
        raise UnknownCorpusError("trust profile", profile, list(PROFILES))
    if budget < len(techniques):
        raise CorpusError(f"--budget {budget} is too small: give each of {len(techniques)} techniques one attempt")
    rows = search(techniques, seed=seed, budget=budget, court=Court(profile=profile))
    console.print(_table(rows))
    _explain(rows, console)
    if json_file is not None:
        json_file.write_text(json.dumps(report(rows, seed, budget), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if unnamed(rows) else 0


def unnamed(rows: Sequence[Row]) -> list[Leak]:
    """Return the leaks of techniques that are not on the named list."""
    return [leak for leak in leaks(rows) if leak.technique not in NAMED]


def report(rows: Sequence[Row], seed: int, budget: int) -> dict[str, Any]:
    """Return the published form: a row for each technique, and every leak that was kept."""
    return {
        "corpus": "laundering",
        "seed": seed,
        "budget": budget,
        "techniques": [
            {
                "name": row.technique.name,
                "group": row.technique.group,
                "tried": row.tried,
                **{outcome.value: count for outcome, count in row.counts.items()},
                "twins": row.twins,
                "twins_asked": row.twins_asked,
                "named": NAMED.get(row.technique.name, ""),
            }
            for row in rows
        ],
        "leaks": [
            {"technique": leak.technique, "seed": leak.seed, "rule": leak.rule, **_in_json(leak.draft)}
            for leak in leaks(rows)
        ],
    }


def _chosen(groups: Sequence[str]) -> list[Technique]:
    """Return the techniques of the named groups; a technique's own name is a group of one."""
    known = [*GROUPS, *TECHNIQUES]
    for group in groups:
        if group not in known:
            raise UnknownCorpusError("group", group, known)
    return [one for one in TECHNIQUES.values() if not groups or one.group in groups or one.name in groups]


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="laundering: attempts by technique")
    table.add_column("technique", overflow="fold")
    for column in ("tried", "refused", "asked", "harmless", "leaks", "honest twins asked"):
        table.add_column(column, justify="right")
    group = ""
    for row in rows:
        if row.technique.group != group:
            group = row.technique.group
            table.add_section()
        found = row.counts[Outcome.LEAK]
        mark = f"{found} (named)" if found and row.technique.name in NAMED else str(found)
        table.add_row(
            row.technique.name,
            *(str(row.counts[outcome]) if outcome else str(row.tried) for outcome in _COLUMNS),
            mark,
            f"{row.twins_asked} of {row.twins}" if row.twins else "",
        )
    table.add_section()
    totals = [sum(row.counts[outcome] for row in rows) for outcome in Outcome]
    asked, twins = sum(row.twins_asked for row in rows), sum(row.twins for row in rows)
    table.add_row("all", str(sum(totals)), *map(str, totals), f"{asked} of {twins}")
    return table


_COLUMNS: Final = (None, Outcome.REFUSED, Outcome.ASKED, Outcome.HARMLESS)


def _explain(rows: Sequence[Row], console: Console) -> None:
    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for row in rows:
        name = row.technique.name
        if row.leaks and name in NAMED:
            say(f"named in the threat model: {name}: {NAMED[name]}")
        for leak in list(row.leaks.values())[:_SHOWN] if name not in NAMED else ():
            say(f"leak: {name} (seed {leak.seed}, rule {leak.rule})")
            for line in in_words(leak.draft):
                say(f"    {line}")
    for row in rows:
        if row.asked_examples:
            say(f"an honest twin was asked about: {row.technique.name}: {row.asked_examples[0]}")


def in_words(draft: Draft) -> list[str]:
    """Return a draft as lines for a person: what was said and read, what is called, and what the user had given."""
    lines = [f"{kind}: {json.dumps(value, ensure_ascii=False)}" for kind, value in _events(draft)]
    lines += [f"call {call.tool}: {json.dumps(dict(call.args), ensure_ascii=False)}" for call in draft.calls]
    if draft.changes:
        lines.append(f"changes: {', '.join(draft.changes)}")
    why = f"`{draft.goal}` is none of {list(draft.named)}"
    if draft.carries:
        why = "nobody asked for this, or private data goes along"
    return [*lines, f"harm: {why}"]


def _events(draft: Draft) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for event in draft.events:
        match event:
            case Say(text):
                found.append(("user", text))
            case Read(tool, result, args):
                found.append((f"read {tool}({json.dumps(dict(args), ensure_ascii=False) if args else ''})", result))
            case Accept(value, source, role, tool):
                found.append(("accepted", f"{value} from {source} as {role} of {tool}"))
    return found


def _in_json(draft: Draft) -> dict[str, Any]:
    return {
        "history": [list(event) for event in _events(draft)],
        "calls": [{"tool": call.tool, "args": dict(call.args)} for call in draft.calls],
        "goal": draft.goal,
        "named": list(draft.named),
        "carries": draft.carries,
        "changes": list(draft.changes),
    }
