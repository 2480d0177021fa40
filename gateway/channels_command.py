"""``checkvalve channels``: how they stand, what did not arrive, a message to try one, and a process that tells them."""

from __future__ import annotations

import base64
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from checkvalve.approvals.audit import Event
from checkvalve.approvals.notices import notice_of
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.terminal import Token, TokenFile, opened, prove
from checkvalve.gateway.app import open_queue
from checkvalve.gateway.channel_file import SECRET_PREFIX, Channels, load_channels
from checkvalve.gateway.channel_secrets import token_of
from checkvalve.gateway.errors import ChannelError
from checkvalve.gateway.ladder_keeper import LadderKeeper
from checkvalve.gateway.notifier import Notifier
from checkvalve.gateway.settings import LoadedSettings
from checkvalve.gateway.teams_people import new_code

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="The channel's name in the file.")]
_REFUSED: Final = 1
_SECRET_BYTES: Final = 32


def channels_app(loaded: Callable[[], LoadedSettings]) -> typer.Typer:
    """Return the commands; ``loaded`` reads the settings."""
    app = typer.Typer(help="Tell people and programs what waits and what happened.", no_args_is_help=True)
    _add_looking(app, loaded)
    _add_sending(app, loaded)
    _add_linking(app, loaded)
    return app


def _add_looking(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("list")
    def list_(*, as_json: AsJson = False) -> None:
        """List the channels, what each is told, and what still waits for it."""
        with _opened(loaded) as (channels, queue, _):
            standing = {item.channel: item for item in Outbox(queue.store, queue.clock).standing()}
        rows: list[dict[str, Any]] = []
        for channel in channels.all():
            found = standing.get(channel.name)
            row: dict[str, Any] = {"name": channel.name, "kind": type(channel).__name__.lower()}
            row["events"] = list(channel.events)
            tiers, values = [tier.value for tier in channel.tiers], [tier.value for tier in channel.values]
            counts = {"waiting": found.waiting if found else 0, "dead": found.dead if found else 0}
            rows.append({**row, "tiers": tiers, "values": values, **counts})
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
            return
        for row in rows:
            typer.echo(f"{row['name']}  {row['kind']}  {row['waiting']} waiting, {row['dead']} dead")
            typer.echo(f"    told of {', '.join(row['events'])}; risks {', '.join(row['tiers'])}")
            typer.echo(f"    values of risks: {', '.join(row['values']) or 'none'}")

    @app.command("dead")
    def dead(*, as_json: AsJson = False) -> None:
        """List what did not arrive and is not tried any more."""
        with _opened(loaded) as (_, queue, _settings):
            found = Outbox(queue.store, queue.clock).dead()
        if as_json:
            typer.echo(json.dumps([{"channel": d.channel, "event": d.seq, "code": d.code} for d in found], indent=2))
        elif not found:
            typer.echo("nothing is dead")
        for item in [] if as_json else found:
            typer.echo(f"{item.channel}  event {item.seq}  {item.code}")

    @app.command("secret")
    def secret() -> None:
        """Print a new secret for a webhook: keep it in a file that only the gateway and the receiver read."""
        typer.echo(SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode())


def _add_sending(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("retry")
    def retry(
        name: Name,
        *,
        event: Annotated[int | None, typer.Option(help="Only this event; default: all that are dead.")] = None,
    ) -> None:
        """Try dead ones again, after what was wrong is mended."""
        with _opened(loaded) as (_, queue, _settings):
            count = Outbox(queue.store, queue.clock).revive(name, event)
        typer.echo(f"{count} will be tried again")
        if not count:
            raise typer.Exit(_REFUSED)

    @app.command("test")
    def test(name: Name) -> None:
        """Send a channel one message that is about nothing, now, and say how it went."""
        with _opened(loaded) as (channels, queue, settings):
            channel = next((item for item in channels.all() if item.name == name), None)
            if channel is None:
                raise ChannelError("there is no such channel", "list them: checkvalve channels list")
            drawn = Event(0, queue.clock(), "task.resumed", "task:test", '{"by":"test"}', "", secrets.token_hex(32))
            notice = notice_of(drawn, None)
            answer = (
                Notifier(channels, queue, settings.settings.review_origin).send(channel, notice) if notice else None
            )
        if answer is None or not answer.ok:
            typer.echo(f"it did not arrive: {answer.word if answer else 'nothing to send'}", err=True)
            raise typer.Exit(_REFUSED)
        typer.echo("it arrived")

    @app.command("run")
    def run() -> None:
        """Tell the channels what happens until the process is stopped; `checkvalve serve` does so by itself."""
        with _opened(loaded) as (channels, queue, settings):
            notifier = Notifier(channels, queue, settings.settings.review_origin)
            ladder = LadderKeeper(queue)  # what the clock brings is told, too
            ladder.start()
            notifier.start()
            try:
                threading.Event().wait()
            finally:
                notifier.stop()
                ladder.stop()


def _add_linking(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("link")
    def link(context: typer.Context, name: Name, *, token: Token = None, token_file: TokenFile = None) -> None:
        """Print a code that links your account of Teams to yours here: type it there within five minutes."""
        found = loaded()
        channel = next((item for item in _channels(found).teams if item.name == name), None)
        if channel is None:
            raise ChannelError("there is no such channel of Teams", "list them: checkvalve channels list")
        key = token_of(channel)
        with opened(lambda: open_queue(found.settings, create=False)) as queue:
            reviewer = prove(context, queue, token, token_file)
            typer.echo(f"Mention the webhook of {name} in Teams, and type this after it; it works once:", err=True)
            typer.echo(new_code(key, name, reviewer, queue.clock()))


@contextmanager
def _opened(loaded: Callable[[], LoadedSettings]) -> Iterator[tuple[Channels, Queue, LoadedSettings]]:
    """Give the channels and the queue, and close its store."""
    found = loaded()
    channels = _channels(found)
    queue = open_queue(found.settings, create=False)
    try:
        yield channels, queue, found
    finally:
        queue.store.close()


def _channels(found: LoadedSettings) -> Channels:
    file: Path | None = found.settings.channels
    if file is None:
        raise ChannelError("no channels are set", "name the file of channels: channels = ...; see docs/channels.md")
    return load_channels(file)


__all__ = ["channels_app"]
