"""What a reviewer sees of one call, in the terminal: always the same parts in the same order, content as plain text.

Nothing here interprets content: every piece of it passes :mod:`render` and enters a ``rich.text.Text``, which has no
markup. Tables fold and never cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from checkvalve.approvals.audit import Event
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.moves import OBSERVE, Grant
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import block, neutralise, warnings
from checkvalve.filters.strictjson import JSON

SHORT_ID: Final = 8
SHORT_DIGEST: Final = 12
_TRUST_STYLE: Final = {"untrusted": "bold red", "verified": "yellow", "authoritative": "green"}
_LOUD: Final = "bold white on red"


def safe(value: object, style: str = "") -> Text:
    """Return untrusted text for one line."""
    return Text(neutralise(str(value)), style=style, overflow="fold")


def digest_hex(proposal: Proposal) -> str:
    """Return the digest's hexadecimal part, which is what a reviewer types."""
    return proposal.digest.removeprefix("sha256:")


def card(
    proposal: Proposal, *, outcome: Outcome, grant: Grant | None, events: Sequence[Event] = (), full: bool = False
) -> RenderableType:
    """Return the whole card: what, why, arguments with their origins, who and when, and what happened so far."""
    parts: list[RenderableType] = []
    if proposal.mode == OBSERVE:
        parts.append(
            Text("OBSERVE MODE: this call was recorded and not stopped, whatever the verdict says", style=_LOUD)
        )
    if proposal.self_approved:
        parts.append(Text("SELF-APPROVED: the person who asked for this call also approved it", style=_LOUD))
    parts += [_facts(proposal, grant), Text("Arguments", style="bold"), _arguments(proposal, full=full)]
    if proposal.endorsable:
        parts += [Text("A yes also accepts, for the rest of this task", style="bold"), _offers(proposal, full=full)]
    if outcome.result is not None or outcome.error is not None:
        parts += [Text("Result (untrusted content)", style="bold"), _result(outcome, full=full)]
    if events:
        parts += [Text("History", style="bold"), _timeline(events)]
    return Panel(Group(*parts), title=safe(f"{proposal.state.value}: {_name(proposal)}"), title_align="left")


def _name(proposal: Proposal) -> str:
    return f"{proposal.server}/{proposal.tool}" if proposal.server else proposal.tool


def _facts(proposal: Proposal, grant: Grant | None) -> Table:
    table = _table(header=False)
    rows: list[tuple[str, object]] = [
        ("tool", _name(proposal)),
        ("verdict", proposal.verdict_name),
        ("rule", proposal.rule),
        ("reason", proposal.reason),
        ("remedy", proposal.remedy),
        ("requester", proposal.requester or "not known"),
        ("thread", proposal.thread),
        ("state", f"{proposal.state.value} since {to_the_second(proposal.updated_at)}"),
        ("moved by", proposal.decided_by),
        ("code", proposal.code),
        ("note", proposal.note),
        ("permit", "" if grant is None else f"{grant.issued_by}, {'used' if grant.used_at else 'not used'}"),
        ("decide by", to_the_second(proposal.decide_by) if proposal.state is State.PENDING else ""),
        ("execute by", _deadline(proposal)),
        ("id", proposal.id),
        ("size", f"{len(proposal.canonical):,} bytes"),
        ("digest", digest_hex(proposal)),
    ]
    for name, value in rows:
        if value != "":
            table.add_row(Text(name, style="dim"), safe(value, "bold" if name == "digest" else ""))
    return table


def _deadline(proposal: Proposal) -> str:
    open_ = proposal.state is State.APPROVED and proposal.mode != OBSERVE and proposal.execute_by is not None
    return to_the_second(proposal.execute_by) if open_ and proposal.execute_by is not None else ""


def _arguments(proposal: Proposal, *, full: bool) -> Table:
    table = _table("argument", "role", "value", "bytes", "where it comes from")
    reports = _reports(proposal.decision)
    for path, value in leaves(proposal.args()):
        text = value if isinstance(value, str) else json.dumps(value)
        report = reports.get(path, {})
        shown = Text(block(text, full=full), overflow="fold")
        for warning in warnings(text):
            shown.append(f"\n! {warning}", style="bold red")
        size = f"{len(text.encode('utf-8', 'surrogatepass')):,}"
        table.add_row(safe(path), safe(report.get("role", "not declared")), shown, Text(size), _origins(report))
    return table


def leaves(value: JSON, path: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield every scalar and every empty container with its dotted path: nothing of a call is left out."""
    inner: Iterable[tuple[object, JSON]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    if isinstance(value, dict | list) and value:
        for key, item in inner:
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif path:
        yield path, value


def _reports(decision: dict[str, JSON]) -> dict[str, dict[str, JSON]]:
    arguments = decision.get("arguments")
    reports = [item for item in arguments if isinstance(item, dict)] if isinstance(arguments, list) else []
    return {str(item.get("path")): item for item in reports}


def _origins(report: dict[str, JSON]) -> Text:
    """Return every place the value was found at, or that nobody is known to have said it."""
    origins = report.get("origins")
    text = Text(overflow="fold")
    for origin in origins if isinstance(origins, list) else []:
        if not isinstance(origin, dict):
            continue
        trust = str(origin.get("trust"))
        span = origin.get("span")
        where = f" bytes {span[0]}-{span[1]}" if isinstance(span, list) and len(span) == 2 else ""  # noqa: PLR2004  # a pair
        text.append("" if not text else "\n")
        text.append(neutralise(f"{trust}: "), style=_TRUST_STYLE.get(trust, "bold red"))
        text.append(neutralise(f"{origin.get('source')}{where}, {origin.get('match')}"))
    return text or Text("nowhere: nobody is known to have said it", style="bold red")


def _offers(proposal: Proposal, *, full: bool) -> Table:
    table = _table("value", "role", "source")
    for offer in proposal.endorsable:
        value = Text(block(offer["value"], full=full), overflow="fold")
        table.add_row(value, safe(offer["role"]), safe(offer["source"], "bold red"))
    return table


def _result(outcome: Outcome, *, full: bool) -> Text:
    value = outcome.result if outcome.error is None else outcome.error
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Text(block(text, full=full), overflow="fold")


def _timeline(events: Iterable[Event]) -> Table:
    table = _table("event", "at", "kind", "by", "code")
    for event in events:
        body = json.loads(event.body)
        by = body.get("by") or body.get("issued_by") or ""
        what = (safe(event.kind), safe(by), safe(body.get("code") or body.get("reason") or ""))
        table.add_row(Text(str(event.seq)), Text(to_the_second(event.at)), *what)
    return table


def events_table(events: Iterable[Event]) -> Table:
    """Return audit events, one line each."""
    table = _table("event", "at", "kind", "subject", "what")
    for event in events:
        body = neutralise(event.body)
        table.add_row(
            Text(str(event.seq)),
            Text(to_the_second(event.at)),
            safe(event.kind),
            safe(event.subject[:SHORT_ID]),
            Text(body),
        )
    return table


def queue_table(proposals: Iterable[Proposal]) -> Table:
    """Return proposals, one line each."""
    table = _table("id", "state", "tool", "reason", "requester", "since", "digest")
    for proposal in proposals:
        table.add_row(
            Text(proposal.id[:SHORT_ID]),
            Text(proposal.state.value),
            safe(_name(proposal)),
            safe(proposal.reason),
            safe(proposal.requester),
            Text(to_the_second(proposal.updated_at)),
            Text(digest_hex(proposal)[:SHORT_DIGEST]),
        )
    return table


def _table(*names: str, header: bool = True) -> Table:
    table = Table(show_header=header, box=None, pad_edge=False)
    for name in names or ("", ""):
        table.add_column(name, overflow="fold")
    return table
