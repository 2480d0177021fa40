"""Changes of the rules in the terminal: every line of a difference as plain text, what becomes laxer in red."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from checkvalve.approvals.card import safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.render import neutralise, short
from checkvalve.approvals.ruleset_store import RuleChange
from checkvalve.approvals.rulesets import NAMES, PARTS, Line, counted, text_digest
from checkvalve.approvals.terminal import console

SHORT_ID: Final = 8
_STYLES: Final = {
    "in force": "bold green", "waiting": "bold yellow", "replaced": "dim", "expired": "dim", "refused": "bold red",
    "withdrawn": "dim",
}  # fmt: skip
_MARKS: Final = {"same": ("  ", "dim"), "removed": ("- ", "red"), "added": ("+ ", "green")}
ALONE: Final = {
    "first": "nothing was in force before",
    "single_user": "the rules in force say that one person uses the gateway",
}
"""Why one person was enough, in words."""


def print_line(item: RuleChange) -> None:
    """Print one change in two lines: how it stands, and who did what."""
    out = console()
    head = Text.assemble(
        (item.id[:SHORT_ID], "bold"), "  ", (item.state, _STYLES[item.state]), safe(f"  {item.digest}")
    )
    out.print(head, soft_wrap=True)
    out.print(Text("    ").append_text(safe(agreed(item), "dim")), soft_wrap=True)
    if item.note:
        out.print(Text("    ").append_text(Text(short(item.note, limit=900), overflow="fold")), soft_wrap=True)


def agreed(item: RuleChange) -> str:
    """Return who proposed a change and who decided it, in words."""
    made = f"proposed by {item.proposed_by}, {to_the_second(item.proposed_at)}"
    if item.state == "waiting":
        return f"{made}; waits for another administrator until {to_the_second(item.expires_at)}"
    if item.decided_at is None:
        return f"{made}; nobody decided it in time"
    word = {"refused": "refused", "withdrawn": "taken back"}.get(item.state, "confirmed")
    said = f"{made}; {word} by {item.decided_by}, {to_the_second(item.decided_at)}"
    if item.alone:
        said = f"{made}; adopted by {item.decided_by} alone, since {ALONE.get(item.alone, item.alone)}"
    said += f": {item.answer}" if item.answer else ""
    return said + (f"; in force until {to_the_second(item.until)}" if item.until is not None else "")


def print_parts(parts: Mapping[str, str], changed: Collection[str] = ()) -> None:
    """Print the digest of each part, and which of them are new."""
    for part in PARTS:
        if part in parts:
            text = Text.assemble((f"    {part:10}", "bold"), safe(parts[part]))
            console().print(text.append("  changed" if part in changed else "", style="bold yellow"), soft_wrap=True)


def print_first(texts: Mapping[str, str]) -> None:
    """Print how long each part is that is to be adopted first: there is nothing to compare it with."""
    out = console()
    out.print(Text("nothing is in force yet, so this is not compared with anything:", style="bold"), soft_wrap=True)
    for part in PARTS:
        said = f"    {part:10}{texts[part].count(chr(10))} lines, {text_digest(texts[part])}"
        out.print(safe(said), soft_wrap=True)


def print_differences(found: Mapping[str, Sequence[Line]]) -> None:
    """Print what differs, part by part, every line of it."""
    out = console()
    for part, lines in found.items():
        new, gone = counted(lines)
        out.print(Text(f"{NAMES[part]}: lines +{new} -{gone}", style="bold"), soft_wrap=True)
        for line in lines:
            if line.kind == "skipped":
                out.print(Text(f"    ({line.count} lines that stay)", style="dim"))
                continue
            mark, style = _MARKS[line.kind]
            end = Text("  (no line end)", style="dim") if line.unended else Text()
            out.print(Text(f"  {mark}{neutralise(line.text)}", style=style, overflow="fold") + end, soft_wrap=True)


def print_impact(impact: Mapping[str, Any]) -> None:
    """Print what a change would have changed of the recorded calls."""
    out = console()
    calls, left = impact.get("calls", 0), impact.get("left_out", 0)
    more = f", {left} older ones were not looked at" if left else ""
    head = f"On the record since {short(str(impact.get('since')))}: {calls} calls{more}"
    out.print(Text(head, style="bold"), soft_wrap=True)
    changed = impact.get("changed", {})
    said = ", ".join(f"{number} from {way}" for way, number in changed.items()) or "none"
    out.print(safe(f"would have been decided otherwise: {said}"), soft_wrap=True)
    if laxer := impact.get("laxer", 0):
        out.print(Text(f"{laxer} of them less strictly", style="bold white on red"))
    for item in impact.get("decisions", ()):
        was, now = (f"{item[side]['verdict']} by {item[side]['rule']}" for side in ("before", "after"))
        line = f"    {item['id'][:SHORT_ID]}  {item['tool']}: {was}, now {now}"
        out.print(Text(neutralise(line), style="red" if item["laxer"] else ""), soft_wrap=True)
    if asked := impact.get("asked_otherwise", 0):
        out.print(Text(f"questions that would have been answered otherwise: {asked}"))
    for item in impact.get("questions", ()):
        way = f"{item['before']}, now {item['after']}" if item["before"] != item["after"] else ", ".join(item["fields"])
        out.print(safe(f"    {item['id'][:SHORT_ID]}  {item['tool']}: {way}"), soft_wrap=True)
    for item in impact.get("findings", ()):
        style = "bold red" if item["level"] == "error" else "yellow"
        out.print(Text(neutralise(f"{item['level']}: {item['where']}: {item['text']}"), style=style), soft_wrap=True)


__all__ = ["ALONE", "agreed", "print_differences", "print_first", "print_impact", "print_line", "print_parts"]
