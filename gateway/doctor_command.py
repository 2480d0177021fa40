"""``checkvalve doctor``: looks at an installation, says what it finds, and ends with 0, 1 or 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from checkvalve.approvals.queue import Queue
from checkvalve.gateway import (
    doctor_agent,
    doctor_owners,
    doctor_people,
    doctor_pins,
    doctor_rules,
    doctor_service,
    doctor_signer,
)
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.doctor import Check, Finding, State, examine, result, unknown
from checkvalve.gateway.doctor_user import user_of
from checkvalve.gateway.logs import printable
from checkvalve.gateway.settings import LoadedSettings

_MARKS = {State.PROBLEM: "PROBLEM", State.UNKNOWN: "unknown", State.WARNING: "warning", State.OK: "ok"}


def register(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    """Add the command to ``app``; ``loaded`` reads the settings."""

    @app.command("doctor")
    def doctor(
        *,
        agent_user: Annotated[str, typer.Option(help="The user of this machine under whom the agent runs.")] = "",
        secret: Annotated[
            list[Path] | None, typer.Option(help="Another file that the agent must not read, such as a token file.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Check this installation: whether the agent is kept apart, and whether everything works.

        Ends with 0 where all is well, 1 for a problem, 2 where something could not be judged.
        """
        findings = look(loaded(), agent_user=agent_user, secrets=secret or [])
        code = result(findings)
        if as_json:
            typer.echo(json.dumps({"result": code, "findings": [one.to_json() for one in findings]}, indent=2))
        else:
            for one in sorted(findings, key=lambda found: list(State).index(found.state)):
                _say(one)
            typer.echo(_SUMMARY[code])
        raise typer.Exit(code)


_SUMMARY = {
    0: "no problem was found",
    1: "there is a problem: mend what is marked PROBLEM",
    2: "no problem was found, and something could not be judged",
}


def look(found: LoadedSettings, *, agent_user: str = "", secrets: Sequence[Path] = ()) -> list[Finding]:
    """Return what is found with these settings; the queue is opened only where its tables are this version's."""
    settings, file = found.settings, found.file
    named = agent_user or settings.agent_user
    agent = user_of(named) if named else None
    ours = doctor_agent.files_of(settings, file, secrets)
    checks: list[tuple[str, Check]] = [
        ("separation from the agent", lambda: doctor_agent.separation(agent, ours, settings)),
        ("modes of secrets", lambda: doctor_agent.modes(ours, settings)),
        ("agent's folder", lambda: doctor_agent.workdir(agent, settings)),
        ("environment", doctor_people.environment),
        ("self-approval", lambda: doctor_people.self_approval(settings)),
        ("address", lambda: doctor_people.addresses(settings)),
        ("organisation's sign-in", lambda: doctor_people.provider(settings)),
        ("owners of tokens", lambda: doctor_owners.tokens(settings)),
        ("files", lambda: doctor_service.files(settings)),
        ("sandbox", lambda: doctor_service.sandbox(settings, file)),
        ("anchors", lambda: doctor_service.anchors(settings)),
        ("pinned versions", lambda: doctor_pins.pinned(settings)),
    ]
    findings = examine([*checks, ("database", lambda: doctor_service.database(settings))])
    if any(one.check == "database" and one.state is not State.OK for one in findings):
        return [*findings, *(unknown(name, "needs the database") for name in ("audit log", "reviewers", "rules"))]
    queue = open_queue(settings, create=False)
    with queue.store:
        return [*findings, *examine(_inside(queue, found))]


def _inside(queue: Queue, found: LoadedSettings) -> Iterable[tuple[str, Check]]:
    return (
        ("audit log", lambda: doctor_service.log(queue.store, found.settings)),
        ("signing key", lambda: doctor_signer.signing_key(found.settings)),
        ("clock", lambda: doctor_service.clock(queue.store)),
        ("reviewers", lambda: doctor_people.quorum(queue)),
        ("passkeys", lambda: doctor_people.ways_in(queue)),
        ("owners of programs", lambda: doctor_owners.programs(queue, found.settings)),
        ("rules", lambda: doctor_rules.adoption(queue, found)),
    )


def _say(one: Finding) -> None:
    how = f" [{one.how}]" if one.how else ""
    typer.echo(f"{_MARKS[one.state]:8}{one.check}: {printable(one.text, 1_000)}{how}")
    if one.remedy and one.state is not State.OK:
        typer.echo(f"         do: {printable(one.remedy, 1_000)}")


__all__ = ["look", "register"]
