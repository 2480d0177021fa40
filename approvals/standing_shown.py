"""Standing rules and their dry runs in the terminal: content as plain text, what people refused first and in red.

Guarantees: a rule is printed under the veil of the task that its call was of: what a card does not show is a mark here.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text

from checkvalve.approvals.bounds_shown import rule_words
from checkvalve.approvals.card import plain_table, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import short
from checkvalve.approvals.standing import StandingRule
from checkvalve.approvals.standing_dryrun import LISTED, DryRun
from checkvalve.approvals.standing_entry import StandingEntry
from checkvalve.approvals.terminal import console

SHORT_ID: Final = 8
_MAX: Final = 900  # characters of a rule in words, or of one value; `--json` has all of it
_STYLES: Final = {
    "in force": "bold green", "waiting": "bold yellow", "used up": "yellow", "revoked": "bold red", "expired": "dim",
}  # fmt: skip
_OPTIONS: Final = {"is": "--or", "same": "--same", "at": "--at", "up_to": "--up-to", "any": "--any"}
_ENDS: Final = {
    "rejected": ("REFUSED by a person", "bold red"),
    "denied": ("denied by a rule, and would stay so", "yellow"),
    "unanswered": ("nobody answered", "yellow"),
    "open": ("still waits", "yellow"),
    "approved": ("approved", "green"),
    "standing": ("let through by a standing rule", "green"),
}


def print_line(item: StandingEntry, veil: Veil) -> None:
    """Print one rule in three lines: how it stands and until when, what it says, and how much of it is left."""
    out, until = console(), to_the_second(item.expires_at)
    when = f"until {until}" if item.state in {"in force", "waiting", "used up"} else f"since {_ended(item)}"
    head = Text.assemble((item.id[:SHORT_ID], "bold"), "  ", (item.state, _STYLES[item.state]), safe(f" {when}"))
    out.print(head, soft_wrap=True)
    out.print(
        Text("    ").append_text(Text(short(rule_words(item.rule, veil), limit=_MAX), overflow="fold")),
        soft_wrap=True,
    )
    out.print(Text("    ").append_text(safe(f"{used(item)}; {agreed(item)}", "dim")), soft_wrap=True)


def used(item: StandingEntry) -> str:
    """Return how much of a rule was used, in words."""
    calls = f"used: {len(item.used)} of {item.rule.max_calls} calls"
    return calls if item.rule.max_total is None else f"{calls}, {item.spent:f} of {item.rule.max_total:f}"


def agreed(item: StandingEntry) -> str:
    """Return who agreed to a rule, in words."""
    if not item.confirmed_by:
        return f"made by {item.made_by}; waits for a second person"
    alone = item.confirmed_by == item.made_by
    return f"made by {item.made_by} alone" if alone else f"made by {item.made_by}, confirmed by {item.confirmed_by}"


def _ended(item: StandingEntry) -> str:
    at = to_the_second(item.expires_at if item.ended_at is None else item.ended_at)
    return f"{at}, by {item.ended_by}" if item.ended_by else at


def print_rule(rule: StandingRule, veil: Veil, *, days: int) -> None:
    """Print a rule that is not saved, value by value."""
    table = plain_table("argument", "role", "kind", "has to be", "wider by")
    for item in rule.constraints:
        said = item.in_words().removeprefix(f"{item.dotted()} ")
        wider = Text(", ".join(_OPTIONS[how] for how in item.others()), style="dim")
        text = Text(short(veil.bound(item.role, said), limit=_MAX), overflow="fold")
        table.add_row(safe(item.dotted()), Text(item.role), safe(item.kind), text, wider)
    out = console()
    out.print(Text.assemble("A standing rule for ", safe(f"{rule.name}, {rule.effect}", "bold")), soft_wrap=True)
    out.print(table)
    limits = f"at most {rule.per_day} calls a day and {rule.max_calls} in all, for {days} days"
    if rule.max_amount is not None and rule.max_total is not None:
        limits += f"; up to {rule.max_amount:f} each and {rule.max_total:f} together"
    people = "one person makes it" if rule.persons == 1 else "one person makes it and another confirms it"
    for line in (f"for {rule.requester or 'anybody'}; {limits}", f"answers {', '.join(rule.answers)}; {people}"):
        out.print(safe(line), soft_wrap=True)


def print_run(run: DryRun) -> None:
    """Print what a rule would have done, what people refused first."""
    out, count = console(), len(run.covered)
    since = to_the_second(run.since)
    out.print(Text(f"Since {since}: {run.looked} calls of the tool, {count} of them let through", style="bold"))
    table = plain_table("call", "at", "for", "how it ended", "by")
    for item in run.ordered():
        said, style = _ENDS[item.end]
        beyond = "" if item.within else " (beyond the limits)"
        row = (safe(item.id[:SHORT_ID]), Text(to_the_second(item.at)), safe(item.requester or "nobody by name"))
        table.add_row(*row, Text(said + beyond, style=style), safe(item.by))
    if count:
        out.print(table)
    for end, (said, style) in _ENDS.items():
        if (more := run.counts.get(end, 0) - LISTED) > 0:
            out.print(Text(f"and {more} more: {said}", style=style))
    if run.unreadable:
        out.print(Text(f"{run.unreadable} records cannot be read: checkvalve audit verify", style="bold red"))
    out.print(f"questions that it would have saved: {run.saved}")
    if run.rejected:
        said = f"people refused {len(run.rejected)} of these calls: this rule cannot be saved"
        out.print(Text(said, style="bold white on red"))


def print_entry(item: StandingEntry, veil: Veil) -> None:
    """Print everything of one rule."""
    print_line(item, veil)
    table = plain_table(header=False)
    rows = [
        ("made from", item.proposal_id),
        ("made at", to_the_second(item.made_at)),
        ("people needed", str(max(item.needed, item.rule.persons))),
        ("schema", item.rule.schema_digest),
        ("declared as", item.rule.tool_digest),
        ("tenant", item.tenant),
        ("id", item.id),
    ]
    for name, value in rows:
        if value:
            table.add_row(Text(name, style="dim"), safe(value))
    console().print(table)


__all__ = ["agreed", "print_entry", "print_line", "print_rule", "print_run", "used"]
