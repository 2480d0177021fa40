"""``checkvalve serve``: the review pages, and the HTTP API over one pipeline; ``checkvalve token``: who may use that.

Guarantees: without being told otherwise it listens on this machine only; it refuses to start the API without tokens, or
anything over a wider address without being asked twice; nothing of a request is logged. There is no default password:
where nobody is a reviewer yet, a link that is good once and for an hour is printed, and not logged.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Annotated, Any

import typer

from checkvalve.approvals.manifest import load_manifest
from checkvalve.approvals.policy import load_policy
from checkvalve.approvals.queue import Queue
from checkvalve.gateway.app import build, open_queue
from checkvalve.gateway.errors import MissingExtraError, SettingsError
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.ladder_keeper import LadderKeeper
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.places import tokens_file
from checkvalve.gateway.rules_said import require_ever_kept, say_rules
from checkvalve.gateway.seed_keeper import SeedKeeper
from checkvalve.gateway.settings import LoadedSettings, Settings, refuse_reviewer_token
from checkvalve.gateway.token_command import add_tokens

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_BACKLOG = 128  # connections that wait to be accepted
_REFUSED = 1  # the exit code of a clear no
_UNSIGNED = (
    "This process signs nothing: what is decided here is signed by a gateway over the same database, or by "
    "`checkvalve audit seal`. Until then nobody could prove that it was not changed."
)
_GRACE = 5  # seconds for open streams when the server stops


def register(app: typer.Typer, loaded: Callable[[], LoadedSettings]) -> None:
    """Add the commands to ``app``; ``loaded`` reads the settings."""
    _add_serve(app, loaded)
    tokens = typer.Typer(help="Who may use the HTTP API.", no_args_is_help=True)
    add_tokens(tokens, loaded)
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
        review_only: Annotated[
            bool,
            typer.Option("--review-only", help="Serve the review pages alone: needs only the database, signs nothing."),
        ] = False,
        allow_unreachable: Annotated[
            bool,
            typer.Option("--allow-unreachable", help="Start also where a quorum takes more people than have accounts."),
        ] = False,
    ) -> None:
        """Serve the review pages and the pipeline of the settings, and go on with runs whose approvals were decided."""
        found = loaded()
        changed: dict[str, Any] = {"host": host or found.settings.host}
        changed["port"] = found.settings.port if port is None else port
        settings = found.settings.model_copy(update=changed)
        if settings.host not in _LOOPBACK and not exposed:
            raise SettingsError(
                f"{settings.host} is reachable from elsewhere", "say --exposed, and put TLS in front of it"
            )
        chosen = LoadedSettings(settings, found.file, found.origins)
        if review_only:
            serve_pages(chosen)
            return
        tokens = ApiTokens(tokens_file(settings))
        if not tokens.clients():
            remedy = "add a token: checkvalve token add NAME, or serve the review pages alone: --review-only"
            raise SettingsError("nobody may use the API yet", remedy)
        serve(chosen, tokens, allow_unreachable=allow_unreachable)


def serve(found: LoadedSettings, tokens: ApiTokens, *, allow_unreachable: bool = False) -> None:
    """Serve until the process is told to stop.

    Raises:
        MissingExtraError: the extra ``server`` is not installed.
        SettingsError: tools or models are not named, nobody can listen at this address, or a quorum takes more people
            than have accounts.
    """
    try:
        import uvicorn  # noqa: F401, PLC0415  # an extra

        from checkvalve.gateway.http_api import create_app  # noqa: PLC0415  # needs the extra
        from checkvalve.gateway.web_pages import Site  # noqa: PLC0415  # the same
    except ImportError as error:
        raise MissingExtraError.for_extra("FastAPI, Jinja2 or uvicorn", "server") from error
    from checkvalve.gateway.pipelines import open_pipeline  # noqa: PLC0415  # slow to load
    from checkvalve.gateway.probe_keeper import ProbeKeeper  # noqa: PLC0415  # the same
    from checkvalve.gateway.undo_point import UndoPoint  # noqa: PLC0415  # the same
    from checkvalve.graphs.undoing import Undoing  # noqa: PLC0415  # the same

    with (
        _listening(found.settings) as listener,
        build(found.settings, settings_file=found.file) as gateway,
        open_pipeline(gateway) as pipeline,
        ProbeKeeper(gateway.services, pipeline.tools),
    ):
        if not allow_unreachable:
            require_ever_kept(gateway.queue)
        say_rules(gateway.queue, found.settings.channels)
        app: Any = create_app(gateway, pipeline, tokens)
        if found.settings.review_pages:
            point = UndoPoint(Undoing(gateway.services), pipeline.tools)
            app = Site(_pages(gateway.queue, found, listener, point), app)
        get_logger().info("serving runs", origin=_origin(found.settings, listener))
        _run(app, listener)


def serve_pages(found: LoadedSettings) -> None:
    """Serve the review pages alone, beside gateways that run elsewhere over the same database.

    Raises:
        MissingExtraError: the extra ``server`` is not installed.
        SettingsError: nobody can listen at this address, or a reviewer's credential is in the environment.
    """
    try:
        import uvicorn  # noqa: F401, PLC0415  # an extra

        from checkvalve.gateway.web_pages import Site  # noqa: PLC0415  # needs the extra
    except ImportError as error:
        raise MissingExtraError.for_extra("FastAPI, Jinja2 or uvicorn", "server") from error
    from checkvalve.gateway.undo_point import review_point  # noqa: PLC0415  # slow to load

    refuse_reviewer_token()
    with _listening(found.settings) as listener:
        queue = open_queue(found.settings)
        typer.echo(_UNSIGNED, err=True)
        say_rules(queue, found.settings.channels)
        ladder = LadderKeeper(queue, seeding=_seeding(queue, found.settings))
        ladder.start()
        try:
            _run(Site(_pages(queue, found, listener, review_point(found.settings, queue, found.file))), listener)
        finally:
            ladder.stop()
            queue.store.close()


def _seeding(queue: Queue, settings: Settings) -> SeedKeeper | None:
    """Return what makes seeded items beside gateways that run elsewhere; it takes their manifest."""
    if settings.manifest is None:
        return None
    manifest, policy = load_manifest(settings.manifest), load_policy(settings.policy)
    return SeedKeeper(queue, manifest, policy, per_week=settings.seeded_items, profile=settings.profile)


def _run(app: Any, listener: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415  # an extra

    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on", timeout_graceful_shutdown=_GRACE
    )
    uvicorn.Server(config).run(sockets=[listener])


def _pages(queue: Queue, found: LoadedSettings, listener: socket.socket, point: Any) -> Any:
    """Return the review pages; say where they are, and how the first reviewer gets in."""
    from checkvalve.gateway.result_text import result_text  # noqa: PLC0415  # slow to load
    from checkvalve.gateway.web_pages import create_pages, open_desk  # noqa: PLC0415  # needs the extra

    settings, port = found.settings, listener.getsockname()[1]
    desk = open_desk(queue, settings, unpack=result_text, port=port, settings_file=found.file)
    origin = _origin(settings, listener)
    desk.undo = point
    get_logger().info("serving the review pages", origin=f"{origin}/review")
    typer.echo(f"The review pages are at {origin}/review", err=True)
    if not queue.reviewers.list():
        typer.echo("Nobody may decide yet. Open this link within an hour; it works once:", err=True)
        typer.echo(f"{origin}/review/setup/{desk.door.invitations.first()}", err=True)
    return create_pages(desk, settings)


def _origin(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.review_origin or f"http://{host}:{listener.getsockname()[1]}"


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


__all__ = ["register", "serve"]
