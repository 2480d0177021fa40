"""Does the gateway itself stand: database, migrations, signed log, anchors, clock, files of rules, sandbox.

Guarantees: a database of an older version is named and not migrated; the log is verified as ``checkvalve audit verify``
does it; an anchor is looked for and told nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import sqlalchemy as sa

from checkvalve.approvals import schema
from checkvalve.approvals.addresses import shown_address
from checkvalve.approvals.anchors import FileAnchor, SyslogAnchor, WitnessAnchor
from checkvalve.approvals.clock import system_clock, to_the_second
from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.review_rules import load_review_rules
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import events
from checkvalve.approvals.verify import verify
from checkvalve.approvals.witnessed import DO
from checkvalve.gateway.channel_file import load_channels
from checkvalve.gateway.doctor import Finding, ok, problem, unknown, warning
from checkvalve.gateway.doctor_oncall import oncall_findings
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.places import database_file
from checkvalve.gateway.sandboxes import sandbox_of
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.step_channels import lost_channels

_EARLIEST: Final = 1_735_689_600  # 2025: a clock before that was never set
_AHEAD: Final = 60_000_000  # microseconds by which an event may be ahead of this clock
_SECONDS: Final = 5


def database(settings: Settings) -> Iterator[Finding]:
    """Say whether the database answers, and has the tables of this version; nothing is migrated."""
    file = database_file(settings)
    if file is not None and not file.exists():
        yield problem("database", f"there is no database {file}", "checkvalve approvals reviewer add NAME makes it")
        return
    engine = sa.create_engine(settings.database_url)
    try:
        with engine.connect() as connection:
            found = schema.revision(connection)
            there = connection.execute(sa.text("SELECT now()")).scalar() if file is None else None
    finally:
        engine.dispose()
    shown = shown_address(engine.url)
    if found != schema.NEWEST:
        yield problem(
            "database", f"{shown} has the tables of version {found or 'none'}; this program's are {schema.NEWEST}",
            "back it up, and start the gateway once: it brings them up to date",
        )  # fmt: skip
    else:
        yield ok("database", f"{shown} answers, at version {found}")
    apart = 0.0 if there is None else there.timestamp() - time.time()
    if abs(apart) > _SECONDS:
        yield problem("clock", f"the database's clock is {apart:+.0f} s off this one", "run NTP on both")


def log(store: Store, settings: Settings) -> Iterator[Finding]:
    """Say whether the log is signed, and is what was signed."""
    place = log_place(settings)
    keys = place.public_keys()
    if not place.has_key and settings.audit_sealer != "apart":
        yield warning("audit log", "the log is not signed: there is no key", "checkvalve audit key create")
    kept, policy = list(place.outside()) if keys else (), place.policy() if keys else None
    report = verify(store, keys=keys, outside=kept, policy=policy, now=system_clock())
    if not report.ok:
        first = report.findings[0]
        text = f"the log or a table is not what was recorded: {first.text}"
        yield problem("audit log", text, "look at all of it: checkvalve audit verify")
    elif report.witnessed is not None and not report.witnessed.is_met:
        lacking = "; ".join(report.witnessed.lacks)
        yield unknown("audit log", f"witnesses are missing for the newest checkpoint: {lacking}", DO)
    elif keys and report.is_judged:
        yield ok("audit log", f"{report.events} events verify, and agree with {', '.join(report.compared)}")
    elif keys:
        yield unknown(
            "audit log", "nothing outside the database was compared", "set audit_anchors, or let it be signed"
        )
    else:
        yield ok("audit log", f"{report.events} events are in order; without a key nobody can say if all are there")
    for note in report.notes:
        yield warning("audit log", note)


def anchors(settings: Settings) -> Iterator[Finding]:
    """Say whether the places outside can be reached; nothing is sent there."""
    found = log_place(settings).anchors
    if not found:
        yield warning("anchors", "there is no anchor: whoever holds key and database can write another history",
                      "set audit_anchors to a place that the gateway's user cannot rewrite")  # fmt: skip
    for anchor in found:
        if isinstance(anchor, FileAnchor):
            target = anchor.path if anchor.path.exists() else anchor.path.parent
            good = os.access(target, os.W_OK)
        elif isinstance(anchor, WitnessAnchor):
            good = _answers(anchor.url)
        elif isinstance(anchor, SyslogAnchor) and isinstance(anchor.address, str):
            good = Path(anchor.address).exists()
        else:
            good = True  # a datagram is sent to nobody in particular
        if good:
            yield ok("anchors", f"{anchor.name} can be reached")
        else:
            yield problem("anchors", f"{anchor.name} cannot be reached", "mend it: until then nothing is kept there")


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=_SECONDS):
            return True
    except OSError:
        return False


def clock(store: Store) -> Iterator[Finding]:
    """Say whether the clock can be right: it is not before this program, nor before the newest event."""
    now = system_clock()
    with store.read() as connection:
        last = connection.execute(sa.select(sa.func.max(events.c.at))).scalar() or 0
    if now < _EARLIEST * 1_000_000:
        yield problem("clock", f"this machine says it is {to_the_second(now)}", "set the clock, and run NTP")
    elif last > now + _AHEAD:
        text = f"the newest event is of {to_the_second(last)}, and it is {to_the_second(now)} here"
        yield problem("clock", text, "set the clock: deadlines and sign-ins are judged by it")
    else:
        yield ok("clock", f"it is {to_the_second(now)}, after every event")


def files(settings: Settings) -> Iterator[Finding]:
    """Say whether manifest, policy, review rules and channels can be used."""
    if settings.manifest is not None:
        yield ok("manifest", f"{len(load_manifest(settings.manifest).tools)} tools are declared")
    load_policy(settings.policy)
    yield ok("policy", "it can be used")
    rules = load_review_rules(settings.review_rules)
    if settings.channels is not None:
        load_channels(settings.channels)
        yield ok("channels", f"{settings.channels} can be used")
    for name in lost_channels(rules, settings.channels):
        yield problem(
            "channels", f"a review rule tells channel:{name}, which is not there", "add it, or correct the rule"
        )
    yield from oncall_findings(settings, rules)


def sandbox(settings: Settings, file: Path | None) -> Iterator[Finding]:
    """Say whether code has a place to run."""
    if settings.sandbox == "off":
        yield ok("sandbox", "off: tools that run code are denied")
        return
    sandbox_of(settings, file).check()
    yield ok("sandbox", f"{settings.sandbox} works here")


__all__ = ["anchors", "clock", "database", "files", "log", "sandbox"]
