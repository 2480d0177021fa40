"""What a person sees of a run: one line for each step, on standard error; standard output is left to the answer.

Guarantees: only ids, names of the manifest, counts and codes are shown, and each made safe for a terminal; a command to
copy is never broken into lines. Without a terminal nothing moves and nothing is coloured.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from checkvalve.approvals.records import Proposal
from checkvalve.approvals.render import neutralise
from checkvalve.graphs.events import (
    Answered,
    Cleaned,
    Decided,
    Event,
    Executed,
    Extracted,
    ItemIngested,
    Proposed,
    ReaderAsked,
    Stopped,
    TaskStarted,
    Waiting,
)

_WIDTH: Final = 10  # of the first column: the longest word of a step
_SUBJECT: Final = 18  # of the second one
_PLAIN_WIDTH: Final = 100  # where there is no terminal to ask
_ID: Final = 8  # characters of an id that are shown; commands take a prefix
_GOOD, _BAD, _ASK, _DIM = "green", "red", "yellow", "dim"
_STYLES: Final = {"allow": _GOOD, "review": _ASK, "deny": _BAD, "succeeded": _GOOD, "failed": _BAD, "unknown": _BAD}
_VERBS: Final = {"read": "asked", "select": "selects", "each": "takes fields", "join": "joins"}


class RunView:
    """Prints the steps of one run as they come."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, or to ``console``."""
        self._console = console or _error_console()
        self._status: Status | None = None
        self._cap = 0.0

    def head(self, thread: str, reader: str, actor: str, bits: float) -> None:
        """Say what runs."""
        self._cap = bits
        for word, text in (("thread", thread), ("reader", reader), ("actor", actor)):
            self._row(Text(word, style=_DIM), _safe(text))

    def working(self) -> AbstractContextManager[object]:
        """Show that something is going on, where that can be seen."""
        if not self._console.is_terminal:
            return nullcontext()
        self._status = self._console.status(Text("the actor thinks", style=_DIM), spinner="dots")
        return self._status

    def step(self, event: Event) -> None:
        """Print the line of ``event``."""
        word, style, subject, note, going_on = self._line(event)
        if event.agent:
            note = f"{note}  (in {event.agent})" if note else f"in {event.agent}"
        self._row(Text(word, style=style), _safe(subject), Text(_safe(note).plain, style=_DIM))
        if self._status is not None:
            self._status.update(Text(going_on, style=_DIM))

    def waiting(self, proposals: Sequence[Proposal], command: Sequence[str], again: Sequence[str]) -> None:
        """Say what a person has to decide, and with which commands."""
        many = len(proposals) > 1
        self._console.print()
        self._console.print(Text(f"{'These calls wait' if many else 'This call waits'} for a person:", style=_ASK))
        for row in proposals:
            self._console.print(Text.assemble("  ", _safe(row.tool), (f"  {row.rule}", _ASK)))
            if row.remedy:
                indented = Table.grid(padding=(0, 1))
                indented.add_row("   ", Text(neutralise(row.remedy), style=_DIM))
                self._console.print(indented)
            self._command([*command, "approve", row.id[:_ID]])
            self._command([*command, "reject", row.id[:_ID]])
        self._console.print(Text("Then go on:", style=_DIM))
        self._command(again)

    def over(self, text: str, command: Sequence[str] = ()) -> None:
        """Say why the run ended without an answer."""
        self._console.print(Text(text, style=_BAD))
        if command:
            self._command(command)

    def _row(self, word: Text, *rest: Text) -> None:
        row = Table.grid(padding=(0, 1))
        row.add_column(width=_WIDTH, no_wrap=True)
        for number in range(len(rest)):
            row.add_column(min_width=_SUBJECT if number + 1 < len(rest) else None, overflow="fold")
        row.add_row(word, *rest)
        self._console.print(row)

    def _command(self, words: Sequence[str]) -> None:
        line = Text("    " + shlex.join(words), style="bold")
        self._console.print(line, soft_wrap=True)  # never broken: it is there to be copied

    def _line(self, event: Event) -> tuple[str, str, str, str, str]:  # noqa: C901, PLR0911  # one case for each event
        """Return word, its style, subject and note of the event's line, and what goes on after it."""
        match event:
            case TaskStarted():
                return "started", "", "the task", _count(event.message, "message") + " so far", "the actor thinks"
            case ItemIngested():
                shown = _count(event.references, "reference")
                return "ingested", _GOOD, event.tool, f"labelled and stored, {shown}", "the actor thinks"
            case ReaderAsked():
                what = "the reader" if event.what == "read" else "stored lists"
                return "reader", "", what, f"{_VERBS.get(event.what, event.what)}  {event.call}", "the reader reads"
            case Extracted():
                return self._extracted(event)
            case Proposed():
                given = f"{_count(event.references, 'reference')} as arguments" if event.references else "no references"
                return "proposed", "", event.tool, f"{given}  {event.call}", "the gate decides"
            case Decided():
                style = _STYLES.get(event.verdict, "")
                return "decided", style, event.tool or "a call", f"{event.verdict}: {event.rule}", "the gate decides"
            case Waiting():
                return "waiting", _ASK, "a person decides", event.approval[:_ID], "waiting"
            case Executed():
                return "executed", _STYLES.get(event.state, ""), event.tool, event.state, "taking in the result"
            case Answered():
                return "answered", _GOOD, "", f"record {event.approval[:_ID]}", "done"
            case Cleaned():
                return "cleaned", _ASK, "the answer", f"taken out: {event.codes}", "the gate decides"
            case Stopped():
                return "stopped", _BAD, "", event.code, "done"
            case _:
                return event.kind, "", "", "", ""

    def _extracted(self, event: Extracted) -> tuple[str, str, str, str, str]:
        bits = f"{event.bits:.4g} bits, {event.spent:.4g} of {self._cap:.4g} used" if event.source else ""
        tries = _count(event.tries, "try", "tries") if event.tries > 1 else ""
        note = ", ".join(part for part in (event.code, bits, tries) if part)
        style = _ASK if event.code else _GOOD
        return "extracted", style, event.source or "nothing", note, "the actor thinks"


def _count(number: int, word: str, many: str = "") -> str:
    return f"{number} {word if number == 1 else many or word + 's'}"


def _safe(text: str) -> Text:
    return Text(neutralise(text))


def _error_console() -> Console:
    width = None if sys.stderr.isatty() else _PLAIN_WIDTH
    return Console(stderr=True, highlight=False, markup=False, width=width)


def printable_answer(text: str) -> str:
    """Return an answer for a terminal: its lines stay, and whatever could steer the terminal is shown by code point."""
    return "\n".join(neutralise(line) for line in text.split("\n"))


__all__ = ["RunView", "printable_answer"]
