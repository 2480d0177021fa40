"""What the audit commands print for people: what was found, what it was compared with, and what that proves."""

from __future__ import annotations

import json
from collections.abc import Mapping

import typer
from rich.text import Text

from checkvalve.approvals.checkpoints import Opened
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.judge import checkpoint_json
from checkvalve.approvals.receipts import Receipt
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.sealer import Sealed
from checkvalve.approvals.terminal import console
from checkvalve.approvals.verify import VerifyReport, format_head
from checkvalve.approvals.witnessed import DO, Witnessed

_SECOND = 1_000_000
PROVES = "this proves that no signed event was changed, moved or cut off; not that what they say is true"


def say(text: str) -> None:
    """Print one line in which nothing is interpreted."""
    console().print(Text(neutralise(text)), soft_wrap=True)


def explain(report: VerifyReport, *, bundle: bool) -> None:
    """Print what verifying has found."""
    if not report.ok:
        _explain_findings(report)
        say("TAMPERED: the log or the tables are not what was written")
        say("   do: keep a copy, find out who could write there, then close it: checkvalve audit restart --note TEXT")
        return
    with_tables = "each other" if bundle else "each other and with the tables"
    say(f"ok: {report.events} events agree with {with_tables}")
    if report.signed is not None:
        say(f"signed: the first {report.signed['size']} events of {report.signed['origin']}{_when(report.signed)}")
    if not bundle:
        typer.echo(format_head(report.head))
    if report.compared:
        say(f"compared with: {', '.join(report.compared)}")
    if report.witnessed is not None:
        _explain_witnesses(report.witnessed)
    for note in report.notes:
        say(f"note: {note}")
    if report.compared and report.signed is not None:
        say(PROVES)
    _explain_doubt(report)


def _explain_findings(report: VerifyReport) -> None:
    for finding in report.findings:
        say(f"{finding.code}: {finding.text}")
    if report.more:
        say(f"and {report.more} more findings")


def _explain_doubt(report: VerifyReport) -> None:
    """Print why nobody can tell, where that is so."""
    if report.witnessed is not None and not report.witnessed.is_met:
        say("cannot tell whether others have seen the same log: the policy of witnesses is not met")
        say(f"   do: {DO}")
    if not report.compared:
        say("cannot tell whether the end was cut off or all of it rewritten: nothing outside the database was compared")
        say("   do: sign the log (audit key create, audit seal), or keep a head (audit head, audit verify --head FILE)")


def _explain_witnesses(found: Witnessed) -> None:
    if found.is_met:
        by = f" by {', '.join(found.by)}" if found.by else "; nobody is asked for"
        say(f"witnessed: the first {found.of} events{by}")
        return
    far = f"the first {found.size} of {found.of} signed events"
    say(f"witnessed: {far}; for all of them the quorum {found.quorum} lacks:")
    for text in found.lacks:
        say(f"   {text}")


def _when(signed: Mapping[str, object]) -> str:
    at = signed.get("signed_at")
    return f", at {to_the_second(at * _SECOND)}" if isinstance(at, int) and at else ""


def explain_sealed(sealed: Sealed) -> None:
    """Print what one round of signing did."""
    point = sealed.checkpoint
    say(f"signed: {point.size} events of {point.origin}, {sealed.added} of them new")
    for name, reason in sealed.failed.items():
        say(f"note: {name} was not told: {reason}")


def explain_receipt(receipt: Receipt, found: Opened, heard: Witnessed | None = None, *, as_json: bool) -> None:
    """Print what a good receipt proves; ``heard`` is how far the policy of witnesses is met, where one was given."""
    events = [event for event, _ in receipt.items]
    if as_json:
        value = {"ok": True, "checkpoint": checkpoint_json(found), "events": [event.to_json() for event in events]}
        value["witnesses"] = None if heard is None else heard.to_json()
        typer.echo(json.dumps(value, indent=2))
        return
    for event in events:
        content = " (content erased or withheld)" if event.is_erased else ""
        say(f"{event.seq}  {to_the_second(event.at)}  {event.kind}  {event.subject}{content}")
    point = found.checkpoint
    say(f"ok: in the log {point.origin} of {point.size} events{_when(checkpoint_json(found))}")
    if heard is not None:
        _explain_witnesses(heard)
        if not heard.is_met:
            say("cannot tell whether others have seen this log: the policy of witnesses is not met")
            say("   do: fetch the receipt again, once the witnesses have cosigned")
        return
    others = sorted({one.name for one in found.note.signatures} - {key.name for key in found.keys})
    if others:
        say(f"note: also signed by {', '.join(others)}; their keys were not given, so this was not checked")
