"""``checkvalve audit key|export|erase|prune``: the log's keys, and what leaves the log."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer

from checkvalve.approvals import audit, restart_command
from checkvalve.approvals.audit_words import explain_sealed, say
from checkvalve.approvals.bundles import export_bundle
from checkvalve.approvals.clock import micros, rfc3339, system_clock
from checkvalve.approvals.erased_words import erase_hand_over
from checkvalve.approvals.erasure import erase_call, erase_thread
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import KINDS, PublicKey
from checkvalve.approvals.ocsf import to_ocsf
from checkvalve.approvals.ocsf_integrity import signed_logs, to_attested
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.retention import prune
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.signers import HeldKey
from checkvalve.approvals.store import Store
from checkvalve.approvals.terminal import NO_DECISION, SignerKey, Token, TokenFile, prove, stop
from checkvalve.filters.strictjson import JSON

Told = Callable[[], AbstractContextManager[None]]


class Format(enum.StrEnum):
    """What an export may be."""

    BUNDLE = "bundle"
    JSONL = "jsonl"
    OCSF = "ocsf"
    OCSF_ATTESTED = "ocsf-1.9"


def register(app: typer.Typer, open_store: Callable[[], Store], place: Callable[[], LogPlace], told: Told) -> None:
    """Add the commands; ``told`` turns errors into messages and exit codes."""
    keys = typer.Typer(help="The keys that sign the log.", no_args_is_help=True)
    _add_keys(keys, open_store, place, told)
    app.add_typer(keys, name="key")
    _add_export(app, open_store, told)
    _add_erase(app, open_store, told)
    _add_prune(app, open_store, place, told)
    restart_command.register(app, open_store, place, told)


def _add_keys(app: typer.Typer, open_store: Callable[[], Store], place: Callable[[], LogPlace], told: Told) -> None:
    @app.command()
    def create(
        *,
        origin: Annotated[
            str, typer.Option(help="The log's name, such as example.com/agents; else one is drawn.")
        ] = "",
        signer_key: SignerKey = "",
        whole: Annotated[bool, typer.Option("--print", help="Also print the public keys, one on each line.")] = False,
    ) -> None:
        """Make the key of the log; from then on the gateway signs it. Says where its public half is."""
        with told():
            here = place()
            key = here.create(origin, signer_key)
            for one in key.public if whole else ():
                typer.echo(str(one))
            say(f"the log {key.origin} has a key now: {', '.join(_short(one) for one in key.public)}")
            say(f"the public keys, for verifiers, are in {_near(here.public_file)}")
            _say_where(key, here)

    @app.command()
    def public() -> None:
        """Print the public keys: all that a verifier needs."""
        with told():
            keys = place().public_keys()
            if not keys:
                raise LogError("there is no key yet", remedy="make one: checkvalve audit key create")
            for one in keys:
                typer.echo(str(one))

    @app.command()
    def rotate(*, signer_key: SignerKey = "") -> None:
        """Replace the keys: the old ones sign the new ones, so verifiers of either can go on."""
        with told(), open_store() as store:
            here = place()
            sealer = here.sealer(store)
            held = here.held(here.load().origin, signer_key)
            sealed = sealer.rotate(here.prepare, lambda: here.settle(store), held)
            explain_sealed(sealed)
            _say_where(here.load(), here)
            for one in here.public_keys():
                typer.echo(str(one))
            typer.echo(
                "give these lines to verifiers; what signs with this key file takes the new key by itself", err=True
            )
            typer.echo("on other machines put the new file in its place and start what signs again", err=True)
            typer.echo("then delete the old key file", err=True)


def _say_where(key: LogKey, here: LogPlace) -> None:
    """Say where the private halves are."""
    held = [one for one in key.keys if isinstance(one, HeldKey)]
    for one in held:
        say(f"{_short(one.public)} is held by {one.signer}, key {one.label}; what signs has to reach it")
    for drawn in (one for one in key.keys if not isinstance(one, HeldKey)):
        say(f"{_short(drawn.public)} itself is in {_near(here.key_file())}")


def _short(key: PublicKey) -> str:
    """Return a key's kind, and the id that signatures name it by."""
    return f"{KINDS[key.kind]} {key.id.hex()}"


def _near(file: Path) -> Path:
    """Return a path as people read it, without ``..``."""
    return Path(os.path.normpath(file))


def _add_export(app: typer.Typer, open_store: Callable[[], Store], told: Told) -> None:
    @app.command()
    def export(
        file: Annotated[Path, typer.Argument(help="A new file.")],
        *,
        form: Annotated[
            Format,
            typer.Option(
                "--format",
                help="bundle verifies offline; jsonl, ocsf and ocsf-1.9 (signed records) are for others.",
            ),
        ] = Format.BUNDLE,
        after: Annotated[int, typer.Option(min=0, help="Only events after this number; not for a bundle.")] = 0,
        log: Annotated[str, typer.Option(help="The name of a log that was closed; for a bundle.")] = "",
    ) -> None:
        """Write the log to a file."""
        with told(), open_store() as store, store.read() as connection:
            if form is Format.BUNDLE:
                if after:
                    stop("error: a bundle has the whole log; leave --after away", NO_DECISION)
                count = export_bundle(connection, file, log)
            else:
                count = _write(file, (json.dumps(one) for one in _exported(connection, form, after)))
        say(f"{count} events are in {file}")


def _exported(connection: sa.Connection, form: Format, after: int) -> Iterator[dict[str, JSON]]:
    logs = signed_logs(connection) if form is Format.OCSF_ATTESTED else []
    with closing(audit.read_events(connection, after=max(after - 1, 0), limit=1)) as found:
        before = next(found, None) if after else None
    with closing(audit.read_events(connection, after=after)) as listed:
        for event in listed:
            if form is Format.OCSF_ATTESTED:
                yield to_attested(event, before, logs)
            else:
                yield to_ocsf(event) if form is Format.OCSF else event.to_json()
            before = event


def _write(file: Path, lines: Iterable[str]) -> int:
    try:
        place = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise LogError(f"{file} cannot be written: {error.strerror}", remedy="give a new file") from error
    with os.fdopen(place, "w", encoding="utf-8") as out:
        return sum(1 for line in lines if out.write(line + "\n"))


def _add_erase(app: typer.Typer, open_store: Callable[[], Store], told: Told) -> None:
    @app.command()
    def erase(
        context: typer.Context,
        proposal: Annotated[
            str, typer.Argument(metavar="[ID]", help="The proposal's id, or its first characters.")
        ] = "",
        *,
        thread: Annotated[str, typer.Option(help="Erase a whole task: its calls, words and results.")] = "",
        hand_over: Annotated[str, typer.Option(help="Erase the reason of a hand-over that is over.")] = "",
        note: Annotated[str, typer.Option(help="Why; kept in the log.")],
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Erase what a call or a task was about. The events stay, empty, and every proof still fits."""
        with told(), open_store() as store:
            if sum(map(bool, (proposal, thread, hand_over))) != 1:
                stop("error: give one of the id of a call, --thread and --hand-over", NO_DECISION)
            queue = Queue(store)
            by, at = _administrator(queue, prove(context, queue, token, token_file)), system_clock()
            named = queue.find(proposal).id if proposal else ""
            with store.write() as connection:
                if hand_over:
                    count = erase_hand_over(connection, hand_over, at=at, by=by, reason=note)
                    done = f"the reason of the hand-over {hand_over}, in {count} events"
                elif thread:
                    calls, texts = erase_thread(connection, thread, at=at, by=by, reason=note)
                    done = f"{calls} calls and {texts} stored texts of {thread}"
                else:
                    count = erase_call(connection, named, at=at, by=by, reason=note)
                    done = f"the content of {named}, in {count} events"
        say(f"erased: {done}")
        say("backups, exports and receipts that were made before still have it")


def _administrator(queue: Queue, reviewer: Reviewer) -> str:
    """Return the name of who empties or removes records: that is for administrators."""
    with queue.store.read() as connection:
        return require_role(connection, reviewer, Role.ADMINISTRATOR).name


def _add_prune(app: typer.Typer, open_store: Callable[[], Store], place: Callable[[], LogPlace], told: Told) -> None:
    @app.command("prune")
    def prune_(
        context: typer.Context,
        *,
        older_than: Annotated[int, typer.Option(min=1, help="Days since a task was last touched.")],
        archive: Annotated[Path, typer.Option(help="A new file for the exported log, which has all that is removed.")],
        token: Token = None,
        token_file: TokenFile = None,
    ) -> None:
        """Export the log, check the export, and remove tasks that are over and old. Proofs still fit."""
        with told(), open_store() as store:
            queue = Queue(store)
            by = _administrator(queue, prove(context, queue, token, token_file))
            sealer, now = place().sealer(store), system_clock()
            sealer.seal()
            before = now - micros(timedelta(days=older_than))
            done = prune(store, place().public_keys(), archive, before=before, at=now, by=by)
            explain_sealed(sealer.seal())
        say(f"removed: {done.calls} calls and {done.events} events from before {rfc3339(before)}")
        say(f"they are in {archive}: {done.archive}")
