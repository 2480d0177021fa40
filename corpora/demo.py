"""``python -m checkvalve.corpora.demo``: a poisoned mailbox, without and with Checkvalve. No model key, no network.

1. A fresh folder with a mailbox of real files. 2. The agent without Checkvalve. 3. The same agent with it; a scripted
reviewer refuses what the mails ordered and leaves the user's own question open. 4. How to answer that question from a
second terminal. 5. The audit log, verified. 6. The built-in corpus as a table. ``--resume`` goes on after the answer.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.padding import Padding

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.verify import verify
from checkvalve.corpora.builtin import run_builtin
from checkvalve.corpora.errors import CorpusError, MissingExtraError
from checkvalve.gateway.errors import GatewayError

if TYPE_CHECKING:
    from checkvalve.corpora.demo_run import Guarded

FOLDER: Final = Path("demo-data")
UNUSABLE: Final = 2
WIDTH: Final = 100  # longer lines are hard to read

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="where to make a new numbered folder for this run")] = FOLDER,
    resume: Annotated[
        Path | None, typer.Option(help="go on with this run, after the open question was decided")
    ] = None,
) -> None:
    """Show what a hijacked agent does to a mailbox, without and with Checkvalve."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    try:
        if resume is not None:
            go_on(resume.absolute(), console)
        else:
            show(folder.absolute(), console)
    except (CorpusError, ApprovalError, GatewayError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(UNUSABLE) from None


def show(folder: Path, console: Console) -> None:
    """Run both halves in a new folder below ``folder``, then the corpus."""
    _need_langchain()
    from checkvalve.corpora import demo_run, demo_view  # noqa: PLC0415  # they need the extra

    started = time.perf_counter()
    run = demo_run.new_run(folder)
    without, with_checkvalve = demo_run.Half(run / "without"), demo_run.Half(run / "with")
    without.set_up()
    with_checkvalve.set_up()
    demo_view.mailbox(console, without.office)

    before = without.manifest.read_bytes()
    ordered = demo_run.attacker_calls(demo_run.run_unguarded(without))
    demo_view.done_without(console, without, ordered, replaced=without.manifest.read_bytes() != before)

    with demo_run.guarded(with_checkvalve) as guarded:
        guarded.add_reviewer()
        guarded.start()
        guarded.refuse_what_nobody_asked_for()
        demo_view.decided(console, guarded.proposals())
        for proposal in guarded.pending():
            demo_view.how_to_approve(console, with_checkvalve, proposal)
        demo_view.heading(console, "4. The record, and the built-in corpus")
        _verify(console, guarded)
    report = run_builtin(guard="all")
    console.print(demo_view.corpus_table(report))
    for note in demo_view.corpus_notes(report):
        console.print(Padding(note, (0, 0, 0, 2)), style="dim")
    console.print(f"\n{time.perf_counter() - started:.0f} s. Everything is in {demo_view.near(run)}", style="dim")


def go_on(run: Path, console: Console) -> None:
    """Let the agent of an earlier run go on, and show what that did."""
    _need_langchain()
    from checkvalve.corpora import demo_run, demo_view  # noqa: PLC0415  # they need the extra

    half = demo_run.Half(run / "with")
    with demo_run.guarded(half) as guarded:
        before = len(half.office.sent())
        guarded.resume()
        for proposal in guarded.pending():
            demo_view.how_to_approve(console, half, proposal)
        demo_view.heading(console, "What has left the office of this run")
        demo_view.effects(console, half.office)
        sent = len(half.office.sent()) - before
        console.print(f"  {sent} mail was sent just now" if sent else "  nothing was sent just now", style="dim")
        _verify(console, guarded)


def _verify(console: Console, guarded: Guarded) -> None:
    from checkvalve.corpora import demo_view  # noqa: PLC0415  # it needs the extra

    report = verify(guarded.gateway.store)
    demo_view.verified(console, events=report.events, ok=report.ok, findings=[item.text for item in report.findings])


def _need_langchain() -> None:
    try:
        import langchain.agents  # noqa: F401, PLC0415  # an extra: said clearly when it is missing
    except ImportError:
        raise MissingExtraError("langchain", "langchain") from None


if __name__ == "__main__":
    sys.exit(app())
