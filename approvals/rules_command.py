"""``checkvalve approvals rules``: the review rules as they count, and whether the people there can keep them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.text import Text

from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.review_rules import ReviewRules, load_review_rules
from checkvalve.approvals.rules_check import check
from checkvalve.approvals.terminal import REFUSED, AsJson, console, opened

File = Annotated[
    Path | None, typer.Argument(help="A file of review rules; default: those of the setting `review_rules`.")
]


def rules_app(open_queue: Callable[[], Queue]) -> typer.Typer:
    """Return the commands over review rules."""
    app = typer.Typer(help="Who has to say yes to what, and within which time.", no_args_is_help=True)

    @app.command("check")
    def check_(file: File = None, *, as_json: AsJson = False) -> None:
        """Say whether the file can be used, and whether the present reviewers can keep it. Exit code 1: they cannot."""
        with opened(open_queue) as queue:
            rules = load_review_rules(file) if file else queue.rules
            found = check(rules, queue.reviewers.accounts())
        bad = any(item.level == "error" for item in found)
        if as_json:
            rows = [{"level": item.level, "where": item.where, "text": item.text} for item in found]
            typer.echo(json.dumps({"ok": not bad, "findings": rows}, indent=2))
        else:
            for item in found:
                style = "bold red" if item.level == "error" else "yellow"
                console().print(
                    Text(neutralise(f"{item.level}: {item.where}: {item.text}"), style=style), soft_wrap=True
                )
            console().print("the rules cannot be kept" if bad else "the rules can be kept")
        if bad:
            raise typer.Exit(REFUSED)

    @app.command()
    def show(file: File = None, *, as_json: AsJson = False) -> None:
        """Print the rules in full, with the defaults written out, as a file that says the same."""
        with opened(open_queue) as queue:
            rules, times = load_review_rules(file) if file else queue.rules, queue.seconds
        found = written_out(rules, decide_within=times[0], execute_within=times[1])
        typer.echo(json.dumps(found, indent=2) if as_json else yaml.safe_dump(found, sort_keys=False), nl=as_json)

    return app


_FIELDS = (
    "approve", "deny", "decide_within", "execute_within", "step_up", "note_required", "break_glass", "remind",
    "escalate", "channels",
)  # fmt: skip


def written_out(rules: ReviewRules, *, decide_within: int, execute_within: int) -> dict[str, Any]:
    """Return rules that say the same with every field of every tier; times are in seconds."""
    plans = rules.every(decide_within=decide_within, execute_within=execute_within)
    tiers = {plan.tier.value: plan.to_json() for _, plan, when in plans if when is None}
    shown = {tier: {name: plan[name] for name in _FIELDS} for tier, plan in tiers.items()}
    listed = [rule.model_dump(mode="json", exclude_unset=True) for rule in rules.rules]
    return {"tiers": shown, **({"rules": listed} if listed else {})}


__all__ = ["rules_app", "written_out"]
