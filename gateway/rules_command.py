"""``checkvalve rules``: which rules this gateway may run under; a second person for changing them.

Looking is free, the rest takes a token. What a change says and what it would have changed is shown before anybody types
one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from checkvalve.approvals import audit
from checkvalve.approvals.errors import NotFoundError
from checkvalve.approvals.lists import events_table
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.rule_draft import MAX_OVERLAP
from checkvalve.approvals.ruleset_store import RuleChange, subject_of
from checkvalve.approvals.rulesets import PARTS, RuleText, set_digest
from checkvalve.approvals.terminal import REFUSED, AsJson, Token, TokenFile, console, opened, prove
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.rule_proposals import Wanted, differences, differing, draft_of, texts_of_base, whole
from checkvalve.gateway.rulefiles import read_part
from checkvalve.gateway.rules_shown import print_differences, print_first, print_impact, print_line, print_parts
from checkvalve.gateway.settings import LoadedSettings

ChangeId = Annotated[str, typer.Argument(help="The change's id, or its first characters.")]
Part = Annotated[
    list[str] | None,
    typer.Option("--part", help=f"Only this part: {', '.join(PARTS)}; the others stay. May be repeated."),
]
ManifestFile = Annotated[Path | None, typer.Option("--manifest", help="Another manifest than that of the settings.")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="Another policy than that of the settings.")]
ReviewFile = Annotated[Path | None, typer.Option("--review-rules", help="Other review rules than the settings'.")]
Note = Annotated[str, typer.Option(help="Why, in your own words, for whoever confirms it.")]
Overlap = Annotated[
    int,
    typer.Option(
        help="Seconds for which what is replaced stays in force, to bring several hosts up to date.",
        min=0,
        max=MAX_OVERLAP,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show it, and store nothing.")]
Loaded = Callable[[], LoadedSettings]


def rules_app(loaded: Loaded) -> typer.Typer:
    """Return the commands, over the settings that ``loaded`` reads."""
    app = typer.Typer(
        help="The rules that this gateway may run under: propose a change, confirm it as the second person.",
        no_args_is_help=True,
    )
    _add_status(app, loaded)
    _add_looking(app, loaded)
    _add_proposing(app, loaded)
    _add_deciding(app, loaded)
    return app


@contextmanager
def _place(loaded: Loaded) -> Iterator[Place]:
    found = loaded()
    with opened(lambda: open_queue(found.settings, create=False)) as queue:
        yield Place(queue, found.settings, found.file)


def _add_status(app: typer.Typer, loaded: Loaded) -> None:
    @app.command()
    def status(*, as_json: AsJson = False) -> None:
        """Say what is in force, and whether the files here are that. Exit code 1: they are not."""
        with _place(loaded) as place:
            current = place.queue.rule_changes.current()
            other = differing(place, current)
            if as_json:
                rows: list[dict[str, str]] = [{"part": o.part, "file": o.file, "digest": o.digest} for o in other]
                body = {"in_force": current and current.to_json(), "files_that_differ": rows}
                typer.echo(json.dumps(body, indent=2))
            else:
                _status(place, current, other)
            if other or (current is None and place.settings.require_adoption):
                raise typer.Exit(REFUSED)


def _status(place: Place, current: RuleChange | None, other: Sequence[RuleText]) -> None:
    out = console()
    if current is None:
        wanted = ", and the settings want that before anything runs" if place.settings.require_adoption else ""
        out.print(f"no rules were adopted yet{wanted or ': the files count as they are'}", soft_wrap=True)
        out.print("   do: checkvalve rules propose", soft_wrap=True)
        return
    print_line(current)
    print_parts(current.parts)
    for one in other:
        said = f"{one.part} {one.file}: {one.digest} is here, and {current.parts.get(one.part)} was adopted"
        out.print(Text(neutralise(said), style="bold red"), soft_wrap=True)
    out.print("a gateway would refuse to start" if other else "the files here are what was adopted")


def _add_looking(app: typer.Typer, loaded: Loaded) -> None:
    @app.command("list")
    def list_(
        *,
        everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the changes that wait for a second person, and what is in force."""
        with _place(loaded) as place:
            found = [c for c in place.queue.rule_changes.list() if everything or c.state in {"in force", "waiting"}]
            if as_json:
                typer.echo(json.dumps([item.to_json() for item in found], indent=2))
            elif not found:
                console().print("no rules were adopted yet, and no change waits: checkvalve rules propose")
            for item in [] if as_json else found:
                print_line(item)

    @app.command()
    def show(change_id: ChangeId, *, as_json: AsJson = False) -> None:
        """Show one change: what differs line by line, and what it would have changed of the recorded calls."""
        with _place(loaded) as place:
            found = place.queue.rule_changes.find(change_id)
            if as_json:
                typer.echo(json.dumps(whole(place, found), indent=2))
                return
            _show(place, found)
            with place.queue.store.read() as connection:
                events = list(audit.read_events(connection, subject=subject_of(found.tenant)))
            console().print(events_table([event for event in events if found.id in event.body]))

    @app.command()
    def text(
        part: Annotated[str, typer.Argument(help=f"One of {', '.join(PARTS)}.")],
        change_id: Annotated[str, typer.Argument(help="Of this change; default: of what is in force.")] = "",
    ) -> None:
        """Print one part as it was adopted or proposed, byte for byte: to look at, or to put a file back."""
        with _place(loaded) as place:
            known = place.queue.rule_changes
            found = known.find(change_id) if change_id else known.current()
            if found is None or part not in found.parts:
                raise NotFoundError("there is no such part", remedy="see: checkvalve rules status")
            typer.echo(known.texts(found)[part].encode(), nl=False)


def _show(place: Place, found: RuleChange) -> None:
    base, after = texts_of_base(place, found), place.queue.rule_changes.texts(found)
    print_line(found)
    if base:
        print_parts(found.parts, differences(base, after))
    _compare(base, after)
    print_impact(found.impact)
    if found.overlap:
        console().print(f"what is replaced stays in force for {found.overlap} seconds after it was confirmed")


def _add_proposing(app: typer.Typer, loaded: Loaded) -> None:
    @app.command()
    def propose(  # each is an option
        context: typer.Context,
        *,
        part: Part = None,
        manifest: ManifestFile = None,
        policy: PolicyFile = None,
        review_rules: ReviewFile = None,
        note: Note = "",
        overlap: Overlap = 0,
        dry_run: DryRun = False,
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Propose the files of the settings, or others, as the rules. Where nothing is in force, they count at once."""
        named = {"manifest": manifest, "policy": policy, "review": review_rules}
        with _place(loaded) as place:
            given = {name: read_part(name, path) for name, path in named.items() if path is not None}
            parts = part or ([] if not given else list(given))
            draft = draft_of(place, Wanted(given, parts, note, overlap))
            known = place.queue.rule_changes
            if not as_json:
                console().print(f"proposed rules: {set_digest(draft.parts)}", soft_wrap=True)
                _compare(known.texts(known.current()), draft.texts)
                print_impact(draft.impact)
            if dry_run:
                typer.echo(
                    json.dumps({"parts": draft.parts, "impact": draft.impact}, indent=2)
                    if as_json
                    else "nothing was stored"
                )
                return
            made = known.propose(draft, prove(context, place.queue, token, token_file))
            _tell(made, as_json=as_json)


def _compare(base: Mapping[str, str], after: Mapping[str, str]) -> None:
    if base:
        print_differences(differences(base, after))
    else:
        print_first(after)


def _add_deciding(app: typer.Typer, loaded: Loaded) -> None:
    @app.command()
    def confirm(
        context: typer.Context,
        change_id: ChangeId,
        *,
        digest: Annotated[str, typer.Option(help="The digest you looked at; default: that of what is shown now.")] = "",
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Agree to a change as the second person. From then on gateways run under these rules and no others."""
        with _place(loaded) as place:
            found = place.queue.rule_changes.find(change_id)
            if not as_json:
                _show(place, found)
            reviewer = prove(context, place.queue, token, token_file)
            _tell(place.queue.rule_changes.confirm(found.id, reviewer, digest or found.digest), as_json=as_json)

    @app.command()
    def refuse(
        context: typer.Context,
        change_id: ChangeId,
        *,
        note: Annotated[str, typer.Option(help="Why, in your own words.")] = "",
        as_json: AsJson = False,
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Say no to a change that waits; whoever proposed it takes it back with this."""
        with _place(loaded) as place:
            found = place.queue.rule_changes.find(change_id)
            reviewer = prove(context, place.queue, token, token_file)
            _tell(place.queue.rule_changes.refuse(found.id, reviewer, note), as_json=as_json)


def _tell(made: RuleChange, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(made.to_json(), indent=2))
        return
    print_line(made)
    said = {
        "waiting": f"it counts for nothing before another administrator confirms it: rules confirm {made.id[:8]}",
        "in force": "gateways with other rules run nothing from now on: bring their files up to date, start them again",
    }
    if made.state in said:
        console().print(said[made.state], soft_wrap=True)


__all__ = ["rules_app"]
