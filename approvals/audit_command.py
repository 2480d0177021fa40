"""``checkvalve audit``: read the log, sign it, prove single events, and verify it here or elsewhere.

Exit codes of ``verify`` and ``verify-receipt``: 0 everything agrees; 1 it was tampered with; 2 it cannot be told (no
database, no key, no file, or nothing outside the database to compare with).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import sqlalchemy as sa
import typer

from checkvalve.approvals import audit, audit_files_command
from checkvalve.approvals.audit_words import explain, explain_receipt, explain_sealed
from checkvalve.approvals.bundles import read_bundle, verify_bundle
from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.errors import ApprovalError, LogError, LogTamperedError
from checkvalve.approvals.lists import events_table
from checkvalve.approvals.logplace import LogPlace, kept_in, read_keys
from checkvalve.approvals.logpolicy import Policy, read_policy
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.receipts import make_receipt, parse_receipt, tlog_proof, verify_receipt
from checkvalve.approvals.sealwatch import watch as watching
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events as events_of
from checkvalve.approvals.terminal import REFUSED, AsJson, console, stop
from checkvalve.approvals.verify import VerifyReport, format_head, parse_head, verify
from checkvalve.approvals.witnessed import judge_witnesses

TAMPERED: Final = 1
CANNOT_TELL: Final = 2
_SHOWN: Final = 50

Keys = Annotated[Path | None, typer.Option("--key", help="The log's public keys: what `audit key public` prints.")]
Anchors = Annotated[
    list[Path] | None, typer.Option("--anchor", help="A file that an anchor wrote, or one signed checkpoint; several.")
]

PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", help="Whose cosignatures to ask for (C2SP tlog-policy); its log lines stand for --key."),
]


@contextmanager
def _opened(open_store: Callable[[], Store]) -> Iterator[Store]:
    with _told(), open_store() as store:
        yield store


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except LogTamperedError as error:
        stop(f"TAMPERED: {error}", TAMPERED)
    except ApprovalError as error:
        stop(f"error: {error}", CANNOT_TELL)


def audit_app(open_store: Callable[[], Store], place: Callable[[], LogPlace] = LogPlace) -> typer.Typer:
    """Return the commands over the store that ``open_store`` opens; they close it again."""
    app = typer.Typer(help="Read, sign and verify the log of decisions and effects.", no_args_is_help=True)
    _add_verify(app, open_store, place)
    _add_reading(app, open_store)
    _add_sealing(app, open_store, place)
    _add_receipts(app, open_store)
    audit_files_command.register(app, open_store, place, _told)
    return app


def _add_verify(app: typer.Typer, open_store: Callable[[], Store], place: Callable[[], LogPlace]) -> None:
    @app.command("verify")
    def verify_(
        *,
        head: Annotated[Path | None, typer.Option(help="A file with a head that `audit head` printed earlier.")] = None,
        key: Keys = None,
        anchor: Anchors = None,
        policy: PolicyFile = None,
        bundle: Annotated[
            Path | None, typer.Option(help="Verify this exported log instead of the database; needs --key.")
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Check events, tables and signatures, against each other and against what was kept elsewhere."""
        with _told():
            outside = [*kept_in(anchor or [])]
            asked, keys = _trusted(policy, key)
            if bundle is not None:
                if not keys:
                    raise LogError("a bundle is judged with a public key", remedy="give it: --key FILE")
                _end(verify_bundle(read_bundle(bundle), keys, outside, asked), as_json=as_json, bundle=True)
            saved = _read_head(head) if head is not None else None
            with open_store() as store:
                here = place()
                asked = asked or here.policy()
                keys = keys or _keys_of(asked) or here.public_keys()
                if asked is not None and not keys:
                    raise LogError("a policy is judged with the log's key", remedy="give it: --key FILE, or a log line")
                if outside and not keys:
                    raise LogError("an anchor is judged with a public key", remedy="give it: --key FILE")
                kept = [*outside, *(here.outside() if keys else ())]
                report = verify(store, saved=saved, keys=keys, outside=kept, policy=asked, now=system_clock())
            _end(report, as_json=as_json)


def _trusted(file: Path | None, key: Path | None) -> tuple[Policy | None, tuple[PublicKey, ...]]:
    """Return the policy that is asked for, and the keys of the log, which may stand in it.

    Raises:
        LogError: the keys are in both, or the policy has those of several logs.
    """
    asked = None if file is None else read_policy(file)
    if key is None:
        return asked, _keys_of(asked)
    if asked is not None and asked.logs:
        raise LogError(
            "the policy has the keys of the log already", remedy="leave --key away, or take its log lines out"
        )
    return asked, read_keys(key)


def _keys_of(asked: Policy | None) -> tuple[PublicKey, ...]:
    found = () if asked is None else asked.keys_of("")
    if asked is not None and asked.logs and not found:
        raise LogError("the policy has keys of several logs", remedy="keep the lines of the one that is verified")
    return found


def _end(report: VerifyReport, *, as_json: bool, bundle: bool = False) -> None:
    """Print what was found, and leave with the exit code."""
    if as_json:
        typer.echo(json.dumps({**report.to_json(), "judged": report.is_judged}, indent=2))
    else:
        explain(report, bundle=bundle)
    raise typer.Exit(TAMPERED if not report.ok else 0 if report.is_judged else CANNOT_TELL)


def _read_head(file: Path) -> audit.Head:
    try:
        return parse_head(file.read_text(encoding="utf-8"))
    except OSError as error:
        stop(f"cannot tell: the file {file} cannot be read ({error.strerror})", CANNOT_TELL)
    except ValueError as error:
        stop(f"cannot tell: {file} holds no head that `audit head` printed ({error})", CANNOT_TELL)


def _add_reading(app: typer.Typer, open_store: Callable[[], Store]) -> None:
    @app.command("head")
    def head_() -> None:
        """Print the head of the log: keep it where the gateway's user cannot write."""
        with _opened(open_store) as store:
            typer.echo(format_head(audit.head(store)))

    @app.command()
    def show(
        *,
        subject: Annotated[str, typer.Option(help="Only events of this proposal: its id or the start of it.")] = "",
        after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
        limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = _SHOWN,
        as_json: AsJson = False,
    ) -> None:
        """Print events in order, one line each; --json has everything that was recorded."""
        with _opened(open_store) as store, store.read() as connection:
            whole = _whole(connection, subject) if subject else ""
            events = list(audit.read_events(connection, subject=whole, after=after, limit=limit + 1))
        shown = events[:limit]
        if as_json:
            typer.echo(json.dumps([event.to_json() for event in shown], indent=2))
        else:
            console().print(events_table(shown))
        if len(events) > limit:
            console(stderr=True).print(f"more events follow; --after {shown[-1].seq} shows them")


def _add_sealing(app: typer.Typer, open_store: Callable[[], Store], place: Callable[[], LogPlace]) -> None:
    @app.command()
    def seal(
        *,
        watch: Annotated[bool, typer.Option("--watch", help="Go on signing until stopped, with heartbeats.")] = False,
    ) -> None:
        """Sign what was written since the last checkpoint, and tell the anchors."""
        with _opened(open_store) as store:
            sealer = place().sealer(store)
            if not watch:
                explain_sealed(sealer.seal())
                return
            watching(sealer, store)


def _add_receipts(app: typer.Typer, open_store: Callable[[], Store]) -> None:
    @app.command()
    def receipt(
        name: Annotated[str, typer.Argument(metavar="ID", help="A proposal's id or its start, or an event's number.")],
        *,
        tlog: Annotated[
            bool, typer.Option("--tlog-proof", help="Print the C2SP form, for other programs; one event only.")
        ] = False,
    ) -> None:
        """Print the proof that a call's events are in the signed log; it verifies offline."""
        with _opened(open_store) as store, store.read() as connection:
            wanted = _wanted(connection, name)
            if tlog and len(wanted) != 1:
                stop("error: --tlog-proof proves one event; give its number", REFUSED)
            made = make_receipt(connection, wanted)
        typer.echo(tlog_proof(made) if tlog else json.dumps(made.to_json(), indent=1), nl=not tlog)

    @app.command("verify-receipt")
    def verify_receipt_(
        file: Annotated[Path, typer.Argument(help="What `audit receipt` printed.")],
        *,
        key: Keys = None,
        policy: PolicyFile = None,
        as_json: AsJson = False,
    ) -> None:
        """Check a receipt with the log's public key alone: no database, no network."""
        with _told():
            asked, keys = _trusted(policy, key)
            if not keys:
                raise LogError("a receipt is judged with a public key", remedy="give it: --key FILE")
            try:
                found = parse_receipt(file.read_text(encoding="utf-8"))
            except OSError as error:
                stop(f"cannot tell: the file {file} cannot be read ({error.strerror})", CANNOT_TELL)
            except ValueError:
                stop(f"cannot tell: {file} is no receipt that `audit receipt` printed", CANNOT_TELL)
            good = verify_receipt(found, keys)
            heard = None if asked is None else judge_witnesses(asked, [("the receipt", good)])
            if heard is not None and heard.forged:
                raise LogTamperedError(heard.forged[0])
            explain_receipt(found, good, heard, as_json=as_json)
            if heard is not None and not heard.is_met:
                raise typer.Exit(CANNOT_TELL)


def _wanted(connection: sa.Connection, name: str) -> list[audit.Event]:
    if name.isdecimal() and len(name) < 8:  # noqa: PLR2004  # ids have eight hex digits before the first dash
        found = list(audit.read_events(connection, after=int(name) - 1, limit=1))
        if not found or found[0].seq != int(name):
            stop(f"error: there is no event {name}", REFUSED)
        return found
    return list(audit.read_events(connection, subject=_whole(connection, name)))


def _whole(connection: sa.Connection, prefix: str) -> str:
    """Return the one subject that starts like this."""
    column = events_of.c.subject
    query = sa.select(column).where(column.startswith(prefix.strip().casefold(), autoescape=True)).distinct().limit(2)
    found = connection.execute(query).scalars().all()
    if not found:
        stop(f"error: no event is about {prefix} (list the calls: checkvalve approvals list --all)", REFUSED)
    if len(found) > 1:
        stop(f"error: several proposals start with {prefix}; give more of the id", REFUSED)
    return str(found[0])
