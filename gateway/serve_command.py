"""``checkvalve serve``: the HTTP API over one pipeline; and ``checkvalve token``: who may use it.

Guarantees: without being told otherwise it listens on this machine only; it refuses to start without tokens or over a
wider address without being asked twice; nothing of a request is logged.
"""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable
from typing import Annotated, Any

import typer

from checkvalve.gateway.app import build
from checkvalve.gateway.errors import MissingExtraError, SettingsError
from checkvalve.gateway.http_tokens import SCOPES, ApiTokens
from checkvalve.gateway.logs import get_logger, printable
from checkvalve.gateway.places import tokens_file
from checkvalve.gateway.settings import LoadedSettings, Settings

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_BACKLOG = 128  # connections that wait to be accepted
_REFUSED = 1  # the exit code of a clear no
_GRACE = 5  # seconds for open streams when the server stops


def register(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    """Add the commands to ``app``; ``loaded`` reads the settings."""
    _add_serve(app, loaded)
    tokens = typer.Typer(help="Who may use the HTTP API.", no_args_is_help=True)
    _add_tokens(tokens, loaded)
    app.add_typer(tokens, name="token")


def _add_serve(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    @app.command("serve")
    def serve_(
        *,
        host: Annotated[str, typer.Option(help="The address to listen on; default: that of the settings.")] = "",
        port: Annotated[int | None, typer.Option(help="The port; 0 draws one.", min=0, max=65_535)] = None,
        exposed: Annotated[
            bool, typer.Option("--exposed", help="Listen beyond this machine; put TLS in front of it.")
        ] = False,
    ) -> None:
        """Serve the pipeline of the settings over HTTP, and go on with runs whose approvals were decided."""
        found = loaded()
        changed: dict[str, Any] = {"host": host or found.settings.host}
        changed["port"] = found.settings.port if port is None else port
        settings = found.settings.model_copy(update=changed)
        if settings.host not in _LOOPBACK and not exposed:
            raise SettingsError(
                f"{settings.host} is reachable from elsewhere", "say --exposed, and put TLS in front of it"
            )
        tokens = ApiTokens(tokens_file(settings))
        if not tokens.clients():
            raise SettingsError("nobody may use the API yet", "add a token: checkvalve token add NAME")
        serve(LoadedSettings(settings, found.file, found.origins), tokens)


def serve(found: LoadedSettings, tokens: ApiTokens) -> None:
    """Serve until the process is told to stop.

    Raises:
        MissingExtraError: the extra ``server`` is not installed.
        SettingsError: tools or models are not named, or nobody can listen at this address.
    """
    try:
        import uvicorn  # noqa: PLC0415  # an extra

        from checkvalve.gateway.http_api import create_app  # noqa: PLC0415  # needs the extra
    except ImportError as error:
        raise MissingExtraError.for_extra("FastAPI or uvicorn", "server") from error
    from checkvalve.gateway.pipelines import open_pipeline  # noqa: PLC0415  # slow to load

    with (
        _listening(found.settings) as listener,
        build(found.settings, settings_file=found.file) as gateway,
        open_pipeline(gateway) as pipeline,
    ):
        app = create_app(gateway, pipeline, tokens)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="on",
                timeout_graceful_shutdown=_GRACE,
            )
        )
        get_logger().info("serving runs", origin=f"http://{found.settings.host}:{listener.getsockname()[1]}")
        server.run(sockets=[listener])


def _listening(settings: Settings) -> socket.socket:
    """Take the port before anything else is done: a second server on it changes nothing and says so."""
    host, port = settings.host, settings.port
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise SettingsError(f"there is no address {host} here ({error.strerror})", "give another --host") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(
                f"port {port} of {host} is in use", "stop what uses it, or give another --port"
            ) from error
        raise SettingsError(
            f"nothing can listen at {host}:{port} ({error.strerror})", "give another --host or --port"
        ) from error
    return listener


def _add_tokens(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    def tokens() -> ApiTokens:
        return ApiTokens(tokens_file(loaded().settings))

    @app.command("add")
    def add(
        name: Annotated[str, typer.Argument(help="In whose name its runs are made; this person may not approve them.")],
        *,
        scope: Annotated[
            list[str] | None, typer.Option(help=f"What it may: {', '.join(SCOPES)}; default: both.")
        ] = None,
    ) -> None:
        """Add a token and print it, once. A name may have several."""
        known = tokens()
        token = known.add(name, scope or SCOPES)
        typer.echo("This token is shown once:", err=True)
        person = next(client.name for client in known.clients() if client.selector == token.split("_")[1])
        same = [client.selector for client in known.clients() if client.name == person]
        if len(same) > 1:
            typer.echo(
                f"{person} now has {len(same)} tokens; take one back: checkvalve token remove SELECTOR", err=True
            )
        typer.echo(token)

    @app.command("list")
    def list_(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
        """List the tokens by their selectors."""
        known = tokens()
        rows = [{"selector": c.selector, "name": c.name, "scopes": sorted(c.scopes)} for c in known.clients()]
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif not rows:
            typer.echo(f"there is no token in {printable(str(known.file))} yet: checkvalve token add NAME")
        else:
            for row in rows:
                typer.echo(f"{row['selector']}  {row['name']}  {', '.join(row['scopes'])}")

    @app.command("remove")
    def remove(selector: Annotated[str, typer.Argument(help="The selector that `token list` shows.")]) -> None:
        """Take a token back; running servers refuse it from now on."""
        known = tokens()
        if selector not in {client.selector for client in known.clients()}:
            typer.echo("error: there is no such token (see: checkvalve token list)", err=True)
            raise typer.Exit(_REFUSED)
        known.remove(selector)


__all__ = ["register", "serve"]
