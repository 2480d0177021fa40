"""``checkvalve witness``: run a witness for logs of other gateways.

Guarantees: without being told otherwise it listens on this machine only; it starts with at least one log that it knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from checkvalve.approvals.keyfile import load_key, save_key
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import read_keys
from checkvalve.approvals.notes import ED25519_TIMED
from checkvalve.gateway.errors import MissingExtraError, SettingsError
from checkvalve.gateway.witness import Witness

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_MISSING = "FastAPI or uvicorn"


def witness_app() -> typer.Typer:
    """Return the commands."""
    app = typer.Typer(help="Run a witness, which cosigns the audit logs of others.", no_args_is_help=True)

    @app.command()
    def key(
        file: Annotated[Path, typer.Argument(help="A new file for the key.")],
        *,
        name: Annotated[str, typer.Option(help="The witness's name, such as witness.example/w1.")],
    ) -> None:
        """Make the key of a witness, and print its public half: for `audit_anchors` and for verifiers."""
        made = LogKey.new(name, classic=ED25519_TIMED)
        save_key(made, file)
        for one in made.public:
            typer.echo(str(one))

    @app.command("serve")
    def serve_(
        *,
        key: Annotated[Path, typer.Option(help="The witness's key: what `witness key` has made.")],
        log: Annotated[list[Path], typer.Option(help="The public keys of a log that it cosigns; may be repeated.")],
        state: Annotated[Path, typer.Option(help="The file of what was cosigned; it must never be put back.")],
        host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="The port.", min=0, max=65_535)] = 8766,
        exposed: Annotated[
            bool, typer.Option("--exposed", help="Listen beyond this machine; put TLS in front of it.")
        ] = False,
    ) -> None:
        """Cosign the checkpoints of known logs over HTTP, until the process is told to stop."""
        if host not in _LOOPBACK and not exposed:
            raise SettingsError(f"{host} is reachable from elsewhere", "say --exposed, and put TLS in front of it")
        witness = open_witness(key, log, state)
        try:
            import uvicorn  # noqa: PLC0415  # an extra

            from checkvalve.gateway.witness_app import create_witness_app  # noqa: PLC0415  # needs the extra
        except ImportError as error:
            raise MissingExtraError.for_extra(_MISSING, "server") from error
        app = create_witness_app(witness)
        config = uvicorn.Config(app, host=host, port=port, access_log=False, server_header=False, log_level="warning")
        typer.echo(f"the witness listens on http://{host}:{port}/add-checkpoint", err=True)
        uvicorn.Server(config).run()

    return app


def open_witness(key: Path, logs: list[Path], state: Path) -> Witness:
    """Return the witness that these files describe.

    Raises:
        SettingsError: the key is a log's, or the state cannot be used.
        ApprovalError: a file of keys cannot be used.
    """
    mine = load_key(key)
    if mine.keys[0].kind != ED25519_TIMED:
        raise SettingsError(f"{key} is the key of a log", "make one for the witness: checkvalve witness key FILE")
    return Witness(mine, [read_keys(file) for file in logs], state)
