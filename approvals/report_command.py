"""``checkvalve approvals report``: how people decide, and what could be a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.padding import Padding
from rich.text import Text

from checkvalve.approvals.card import SHORT_ID, plain_table, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.report import FAST, WEEK, Group, Person, Report, lately
from checkvalve.approvals.report_words import NAMES, rows_of, span, value_in_words
from checkvalve.approvals.terminal import AsJson, console, opened

_DAY: Final = slice(0, 10)
_SHORT: Final = 8


def add_report(app: typer.Typer, open_queue: Callable[[], Queue]) -> None:
    """Add the command to ``app``."""

    @app.command("report")
    def report_(
        *,
        week: Annotated[bool, typer.Option("--week", help="The last seven days; this is the default.")] = False,  # noqa: ARG001
        days: Annotated[int, typer.Option(help="How many days back.", min=1, max=3_650)] = WEEK,
        fast: Annotated[float, typer.Option(help="Seconds in which nobody reads a call.", min=0.1, max=600)] = FAST,
        as_json: AsJson = False,
    ) -> None:
        """Show what is always approved, what never is, and how people decide."""
        with opened(open_queue) as queue:
            queue.sweep()
            found = lately(queue.store, queue.clock(), days=days, fast=fast)
            if as_json:
                typer.echo(json.dumps(found.to_json(), indent=2))
            else:
                _print(found, queue)


def _print(found: Report, queue: Queue) -> None:
    out = console()
    span = f"{to_the_second(found.since)[_DAY]} to {to_the_second(found.until)[_DAY]}"
    _print_glasses(found)
    if found.seeded is not None and found.seeded.rate is not None:
        out.print(
            f"of {found.seeded.answered} made-up questions the team saw {found.seeded.caught} ({found.seeded.rate:.0%})"
        )
    if not found.groups:
        out.print(f"nobody was asked anything, {span}")
        return
    out.print(Text(f"What was asked, {span}", style="bold"))
    for group in found.groups:
        _print_group(group)
        _print_rule(group, queue)
    _print_figures(found)
    if found.people:
        out.print(Text("\nWho decided", style="bold"))
        out.print(_people(found.people, found.fast))


def _print_figures(found: Report) -> None:
    """Print the figures of everybody together, and the approve rate of each rule."""
    out = console()
    out.print(Text("\nHow people looked", style="bold"))
    table = plain_table("figure", "value")
    for row in rows_of(found.attention):
        said = value_in_words(row) + (f" ({row.tool}, task {row.thread})" if row.tool else "")
        table.add_row(NAMES[row.key].format(fast=f"{found.fast:g}"), safe(said))
    out.print(table)
    if found.attention.rules:
        out.print(Text("\nApproved, by rule", style="bold"))
        rules = plain_table("rule", "approved, of those that people answered")
        for rule, share in found.attention.rules:
            rules.add_row(safe(rule), share.in_words())
        out.print(rules)


def _print_glasses(found: Report) -> None:
    """Print what ran by one person's word: first of all, since somebody has to have looked."""
    out = console()
    if found.glasses:
        out.print(Text("By one person's word", style="bold red"))
    for item in found.glasses:
        state = f"looked at by {item.looked_by}" if not item.is_open else "NOBODY HAS LOOKED"
        said = f"{item.proposal_id[:_SHORT]}  {to_the_second(item.at)} by {item.by}, {state}"
        out.print(safe(said, "" if not item.is_open else "bold red"), soft_wrap=True)
        out.print(Padding(safe(item.reason), (0, 0, 0, 4)))


def _print_group(group: Group) -> None:
    out = console()
    counts = [f"{group.asked} asked", f"{group.approved} approved", f"{group.rejected} rejected"]
    counts += [f"{group.expired} expired"] if group.expired else []
    counts += [f"{group.open} open"] if group.open else []
    counts += [f"half within {_span(group.median_wait)}"] if group.median_wait is not None else []
    out.print(Text.assemble(safe(group.tool, "bold"), safe(f"  {group.rule}, {group.tier.value}"), overflow="fold"))
    out.print(Padding(Text.assemble("from ", safe(place_of(group.source).in_words()), overflow="fold"), (0, 0, 0, 4)))
    out.print(Padding(Text(", ".join(counts)), (0, 0, 0, 4)))
    if group.advice:
        out.print(Padding(Text(group.advice, style="bold yellow"), (0, 0, 0, 4)))


def _print_rule(group: Group, queue: Queue) -> None:
    """Lead from what is always approved to a standing rule, with what its tightest form would have done."""
    if not group.example or not group.advice.startswith("always approved: make"):
        return
    try:
        run = queue.standing_rules.trial(group.example).run
    except ApprovalError as error:
        said = f"no standing rule: {error.message}"
    else:
        refused = f", {len(run.rejected)} of them refused by people" if run.rejected else ""
        said = f"as a standing rule, to the byte: {len(run.covered)} of {run.looked} calls in 30 days{refused}"
    console().print(Padding(Text(neutralise(said)), (0, 0, 0, 4)), soft_wrap=True)
    command = f"checkvalve approvals standing dry-run {group.example[:SHORT_ID]}"
    console().print(Padding(Text(command, style="dim"), (0, 0, 0, 4)), soft_wrap=True)


def _people(people: list[Person], fast: float) -> object:
    names = ("who", "approved", "rejected", "shown to answer", f"yes within {fast:g} s", "fullest hour")
    table = plain_table(*names)
    for person in people:
        table.add_row(
            safe(person.name),
            person.rate.in_words(),
            str(person.rejected),
            _few(person.look.of) if person.look.seconds is None else _span(person.look.seconds),
            person.quick.in_words() if person.quick.of else "not known",
            str(person.fullest_hour),
        )
    return table


def _few(count: int) -> str:
    return f"too few ({count})" if count else "not known"


def _span(seconds: float | None) -> str:
    return "" if seconds is None else span(seconds)


__all__ = ["add_report"]
