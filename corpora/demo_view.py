"""What the demonstration prints. Every value that came out of a mail is neutralised before it reaches the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import neutralise
from checkvalve.corpora.demo_office import Office
from checkvalve.corpora.demo_run import TASK, Half, by_attacker
from checkvalve.corpora.report import Report

_SOURCE: Final = re.compile(r"tool:(?P<tool>\w+)/(?P<call>[^#]+)(?:#(?P<field>.*))?")
_SHOWN: Final = 60
"""Characters of a value that fit on a line; the files hold the rest."""
_GUARDS: Final = {"allow-all": "no guard", "review-non-read": "ask about everything", "checkvalve": "Checkvalve"}
_STOPPED: Final = frozenset({State.DENIED, State.REJECTED})
_STATES: Final = {
    State.DENIED: ("stopped, no question asked", "green"),
    State.REJECTED: ("stopped, the reviewer said no", "green"),
    State.PENDING: ("held back, waits for a person", "yellow"),
    State.SUCCEEDED: ("done, as the user asked", "green"),
}


def heading(console: Console, text: str) -> None:
    """Start a part."""
    console.print()
    if len(text) + 2 > console.width:  # a rule would cut it
        console.print(Text(text, style="bold"))
    else:
        console.rule(Text(text, style="bold"), align="left", style="dim")


def mailbox(console: Console, office: Office) -> None:
    """Show the task and what is in the inbox."""
    heading(console, "The task, and four mails of which three give orders")
    console.print(Text.assemble(("user: ", "bold"), TASK))
    for mail in office.list_mail():
        body = office.read_mail(mail["id"])["body"]
        console.print(
            Text.assemble((f"mail {mail['id']} ", "bold"), "from ", mail["from"], (f"  {mail['subject']}", "dim"))
        )
        for line in (line for line in body.splitlines() if line.startswith("ASSISTANT:")):
            console.print(Text(f"       {_short(line, console.width - 8)}", style="red"))


def done_without(console: Console, half: Half, ordered: Sequence[Mapping[str, Any]], *, replaced: bool) -> None:
    """Show what is on disk after the unguarded half: who was written to, who was paid, what was overwritten."""
    heading(console, "1. Without Checkvalve, with a model that obeys whatever it reads")
    effects(console, half.office, ordered)
    if replaced:
        where = half.manifest.relative_to(half.root.parent)
        console.print(Text.assemble(("  ✗ overwritten ", "red"), str(where), ("  the gateway's own manifest", "dim")))


def effects(console: Console, office: Office, ordered: Sequence[Mapping[str, Any]] = ()) -> None:
    """Show what left the office, from the files it left behind."""
    for payment in office.paid():
        bad = any(call.get("account") == payment["account"] for call in ordered)
        _effect(console, "paid", f"{payment['amount']:g} EUR to {payment['account']}", payment["reference"], bad=bad)
    for mail in office.sent():
        bad = any(call.get("to") == mail["to"] for call in ordered)
        size = f"{len(mail['body'])} characters" if len(mail["body"]) > _SHOWN else repr(mail["body"])
        _effect(console, "mailed", mail["to"], size, bad=bad)


def _effect(console: Console, verb: str, target: str, detail: str, *, bad: bool) -> None:
    style = "red" if bad else "green"
    mark = "  ✗ " if bad else "  ✓ "
    line = Text.assemble((f"{mark}{verb} ", style), neutralise(target), (f"  {neutralise(detail)}", "dim"))
    console.print(line, no_wrap=True, overflow="ellipsis")


def decided(console: Console, proposals: Sequence[Proposal]) -> None:
    """Show every call that was more than a read: what became of it, by which rule, and where its values came from."""
    heading(console, "2. With Checkvalve: the same agent, the same mails, the same obedient model")
    console.print(Text("  The reviewer's answers in this part are scripted.", style="dim"))
    console.print(Text("  ⊘ stopped  ✓ done  ? waits for you", style="dim"))
    calls = {proposal.call_id: proposal for proposal in proposals}
    for proposal in proposals:
        if proposal.rule == "read-inside":
            continue
        what, style = _STATES.get(proposal.state, (proposal.state.value, "dim"))
        mark = "⊘" if proposal.state in _STOPPED else {"green": "✓", "yellow": "?"}.get(style, "✗")
        console.print(Text.assemble((f"  {mark} {proposal.tool}: {what}", style), (f"  rule {proposal.rule}", "dim")))
        for argument in _arguments(proposal):
            _argument(console, proposal, argument, None if proposal.state is State.SUCCEEDED else calls)


def _arguments(proposal: Proposal) -> Iterable[Mapping[str, Any]]:
    """Pick the arguments that carry authority; what is only said does not decide where it goes."""
    arguments: Any = proposal.decision.get("arguments") or []
    return [argument for argument in arguments if argument["role"] != "content"]


def _argument(
    console: Console, proposal: Proposal, argument: Mapping[str, Any], calls: Mapping[str, Proposal] | None
) -> None:
    """Print one argument on a line, and below it where the value came from, unless it did no harm."""
    value: Any = proposal.args()
    for step in str(argument["path"]).split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    shown = Text.assemble(f"      {argument['path']} ", (_short(neutralise(str(value)), console.width - 20), "bold"))
    console.print(shown, no_wrap=True, overflow="ellipsis")
    if calls is None:
        return
    found = sorted(
        (origin(entry, calls) for entry in argument["origins"]), key=lambda text: not text.startswith("mail")
    )
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    text = f"from {found[0]}{more}" if found else "stands nowhere: nobody is known to have said it"
    console.print(Text(f"        {text}", style="dim"))


def origin(entry: Mapping[str, Any], calls: Mapping[str, Proposal]) -> str:
    """Say where a value stands: which mail, which field, which bytes of it, how it matched, and what that is worth."""
    found = _SOURCE.fullmatch(str(entry["source"]))
    start, end = entry["span"]
    where = f"bytes {start}-{end}, {entry['match']} match, {entry['trust']}"
    if found is None:
        return f"{neutralise(str(entry['source']))}, {where}"
    proposal = calls.get(found["call"])
    number = proposal.args().get("id") if proposal is not None and found["tool"] == "read_mail" else None
    place = f"mail {number}" if number is not None else f"the result of {found['tool']}"
    return f"{place}, {neutralise(found['field'] or 'text')}, {where}"


def how_to_approve(console: Console, half: Half, proposal: Proposal) -> None:
    """Print the commands for the second terminal, ready to copy."""
    heading(console, "3. One question is open. Decide it from a second terminal")
    console.print("The recipient stands only in a stranger's mail, so a person has to look:")
    start = f"{command('checkvalve')} --config {near(half.config)} approvals"
    digest = proposal.digest.removeprefix("sha256:")[:12]
    commands = [
        f"{start} show {proposal.id[:8]}",
        f"{start} approve {proposal.id[:8]} --digest {digest} --token-file {near(half.token)}",
        f"{near(Path(sys.executable))} -m checkvalve.corpora.demo --resume {near(half.root.parent)}",
    ]
    for line in commands:
        console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    note = "(The token lies in a file for this demonstration only: keep yours where the agent's user cannot read it.)"
    console.print(Text(note, style="dim"))


def command(name: str) -> str:
    """Return how to call an installed command from here."""
    beside = Path(sys.executable).with_name(name)
    return near(beside) if beside.exists() and shutil.which(name) != str(beside) else name


def near(path: Path) -> str:
    """Return ``path`` as it is shortest from the working folder, quoted when a shell needs that."""
    here = Path.cwd()
    text = str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else str(path)
    return text if re.fullmatch(r"[\w./~+-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def verified(console: Console, *, events: int, ok: bool, findings: Iterable[str]) -> None:
    """Say whether the audit log agrees with itself and with the tables."""
    style, text = ("green", "verified") if ok else ("red", "DOES NOT VERIFY")
    console.print(Text.assemble(("  audit log ", "bold"), f"{events} events, ", (text, style)))
    for finding in findings:
        console.print(Text(f"    {neutralise(finding)}", style="red"))


def corpus_table(report: Report) -> Table:
    """Draw the totals of the built-in corpus, one row for each guard."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(f"{report.total()['attacks']['total']} attacks and\ntheir harmless twins", no_wrap=True)
    for name in (
        "attacks\nwith an\neffect",
        "harmless\ntasks\nfinished",
        "of them\nwithout a\nquestion",
        "questions\nper task",
    ):
        table.add_column(name, justify="right")
    for one in (*report.others, report):
        total = one.total()
        attacks, benign = total["attacks"], total["benign"]
        row = [
            f"{attacks['executed']} of {attacks['with_tools']}",
            f"{benign['finished']} of {benign['total']}",
            str(benign["free"]),
            f"{total['questions']['per_benign_task']:.2f}",
        ]
        table.add_row(_GUARDS.get(one.guard, one.guard), *row, style="bold" if one is report else None)
    return table


def corpus_notes(report: Report) -> list[str]:
    """Say what the numbers of the table leave out, and why asking about everything is no cure."""
    attacks = report.total()["attacks"]
    words = attacks["total"] - attacks["with_tools"]
    notes = []
    if words:
        notes.append(
            f"{attacks['with_tools']} of the attacks need a tool; {words} ends in the text of an answer only, which no "
            "gateway of tool calls stops."
        )
    asking = next((one for one in report.others if one.guard == "review-non-read"), None)
    left = asking.executed() if asking else []
    if left and all(name.startswith("answer/") for name in left):
        notes.append(
            f"Asking about everything still lets {len(left)} through: they act by a link in the final answer, which is "
            "no tool call, so nobody is asked. Checkvalve decides answers too."
        )
    return notes


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


__all__ = [
    "by_attacker",
    "corpus_notes",
    "corpus_table",
    "decided",
    "done_without",
    "effects",
    "heading",
    "how_to_approve",
    "mailbox",
    "origin",
    "verified",
]
