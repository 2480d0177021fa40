"""``checkvalve policy diff`` and ``replay``: what another policy or manifest would have said to the recorded calls.

Guarantees: no call runs, no verdict is changed and nothing is recorded; the queue closes what is overdue, as at every
look at it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.kit_cedar import read_formulas
from checkvalve.approvals.kit_replay import OF_THE_SURFACE, Redecided, by_facts, policy_differences, rule_differences
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import MAX_POLICY_BYTES, Policy, load_policy
from checkvalve.approvals.previewspec import RULE as PREVIEW
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.toolspec import Manifest
from checkvalve.gateway.app import open_queue, own_paths
from checkvalve.gateway.policykit_explain import Loaded, ManifestOption, parts_of
from checkvalve.gateway.policykit_run import checked
from checkvalve.gateway.policykit_terminal import AsJson, finish, packaged, say, text_of
from checkvalve.graphs.past import can_replay, decide_again
from checkvalve.graphs.services import Services

_SHOWN = 200  # lines of changes; the rest is counted


def diff_command(loaded: Loaded) -> Callable[..., None]:
    """Return the command, over these settings."""

    def diff(
        policy: Annotated[Path, typer.Argument(help="The other policy (.cedar).")],
        *,
        against: Annotated[
            Path | None,
            typer.Option(help="The policy to compare with; default: that of the settings, or the packaged."),
        ] = None,
        manifest: ManifestOption = None,
        recorded: Annotated[bool, typer.Option(help="Decide the recorded calls of the store as well.")] = True,
        as_json: AsJson = False,
    ) -> None:
        """Say how two policies differ: over all calls there could be, and over those that are recorded.

        Exit code 1 when any verdict differs.
        """
        settings = loaded()
        base = against or settings.settings.policy
        old, new = load_policy(base), load_policy(policy)
        before, after = (read_formulas(_text(path), str(path)) for path in (base, policy))
        differences = list(policy_differences(before, after))
        changes: list[Redecided] = []
        if recorded:
            named = manifest or settings.settings.manifest
            declared = load_manifest(named) if named else None
            changes = [_between(row, declared, old, new) for row in open_queue(settings.settings, create=False).list()]
        if as_json:
            answer = {"rules": rule_differences(old, new), "verdicts": differences, **_counted(changes)}
            typer.echo(json.dumps(answer, indent=2))
        else:
            for kind, names in rule_differences(old, new).items():
                if names:
                    say(f"{kind.replace('_', ' ')}: {', '.join(names)}")
            for item in differences:
                shown = f" (as with: {item['with']})" if item["with"] else ""
                say(f"{item['action']}: can be {item['after']} where it was {item['before']}{shown}")
            _print(changes)
        finish(good=not differences and not any(item.changed for item in changes))

    return diff


def replay_command(loaded: Loaded) -> Callable[..., None]:
    """Return the command, over these settings."""

    def replay(
        *,
        manifest: ManifestOption = None,
        policy: Annotated[
            Path | None, typer.Option(help="The policy to decide with; default: that of the settings.")
        ] = None,
        profile: Annotated[str, typer.Option(help="The trust profile; default: the recorded one of each call.")] = "",
        thread: Annotated[str, typer.Option(help="Only the calls of this thread.")] = "",
        facts_only: Annotated[
            bool, typer.Option("--facts", help="Keep the recorded facts; do not compute them.")
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """Decide the recorded calls again and say which verdicts would change; exit code 1 when one does.

        Where the history of a thread is stored, everything is computed anew, as of when the call was proposed.
        Elsewhere the recorded facts are used.
        """
        settings = loaded()
        declared, rules = parts_of(settings, manifest, policy)
        queue = open_queue(settings.settings, create=False)
        services = Services(
            declared,
            rules,
            queue,
            Executor(queue),
            SqlContentStore(queue.store),
            protected=own_paths(settings.settings, settings.file),
            sandbox=settings.settings.sandbox != "off",
        )
        rows = queue.list(thread=thread)
        changes = [
            decided_again(row, rows, services, profile and checked(profile), facts_only=facts_only) for row in rows
        ]
        if as_json:
            typer.echo(json.dumps(_counted(changes), indent=2))
        else:
            _print(changes)
        finish(good=not any(item.changed for item in changes))

    return replay


def _text(path: Path | None) -> str:
    return packaged("default.cedar") if path is None else text_of(path, MAX_POLICY_BYTES)


def _action(row: Proposal, manifest: Manifest | None) -> str:
    spec = manifest.find(row.tool, row.server) if manifest else None
    return spec.effect.value if spec else "answer" if row.tool == "answer" and not row.server else ""


def _between(row: Proposal, manifest: Manifest | None, old: Policy, new: Policy) -> Redecided:
    """Compare two policies over the recorded facts of one call."""
    action, recorded = _action(row, manifest), (row.verdict_name, row.rule)
    before, before_rule, _ = by_facts(row.decision, recorded, action, old)
    after, after_rule, how = by_facts(row.decision, recorded, action, new)
    return _redecided(row, (before, before_rule), (after, after_rule), how)


def decided_again(
    row: Proposal, rows: Sequence[Proposal], services: Services, profile: str, *, facts_only: bool = False
) -> Redecided:
    """Decide a recorded call again: over the history of its thread where that is stored, else by its recorded facts."""
    recorded = row.verdict_name, row.rule
    queue: Queue = services.queue
    if facts_only or row.rule in {*OF_THE_SURFACE, PREVIEW} or not can_replay(queue, row):
        after, rule, how = by_facts(row.decision, recorded, _action(row, services.manifest), services.policy)
        return _redecided(row, recorded, (after, rule), how)
    used = profile or str(row.decision.get("profile") or services.profile)
    verdict = decide_again(replace(services, profile=used), row, rows).verdict
    return _redecided(row, recorded, (verdict.name, verdict.rule), "history")


def _redecided(row: Proposal, before: tuple[str, str], after: tuple[str, str], how: Any) -> Redecided:
    return Redecided(row.id, row.thread, row.tool, *before, *after, how)


def _counted(changes: Sequence[Redecided]) -> dict[str, Any]:
    moved = Counter(f"{item.before} to {item.after}" for item in changes if item.changed)
    return {"calls": len(changes), "changed": dict(moved), "decisions": [item.to_json() for item in changes]}


def _print(changes: Sequence[Redecided]) -> None:
    changed = [item for item in changes if item.changed]
    for item in changed[:_SHOWN]:
        was, now = f"{item.before} by {item.before_rule}", f"{item.after} by {item.after_rule}"
        say(f"{item.id[:8]}  {item.tool}: {was}, now {now}  (from {item.how})")
    if len(changed) > _SHOWN:
        say(f"and {len(changed) - _SHOWN} more")
    counts = Counter(item.how for item in changes)
    rest = ", ".join(f"{number} from {how}" for how, number in sorted(counts.items()))
    if counts["unknown"]:
        say(f"{counts['unknown']} could not be judged: the tool is gone, or the facts are of another version")
    if not changes:
        say("no calls are recorded: the store of the settings has none yet")
        return
    say(f"{len(changes)} recorded calls, {len(changed)} would be decided otherwise{f' ({rest})' if rest else ''}")
