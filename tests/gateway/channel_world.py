"""Somebody who is told: an HTTPS server of 127.0.0.1 that keeps what it hears, and notifiers that look at it."""

from __future__ import annotations

import datetime as dt
import http.server
import importlib.util
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from checkvalve.gateway.channel_file import Channels
from checkvalve.gateway.notifier import Notifier
from tests.approvals.made import Desk
from tests.waiting import LONG

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def receiver() -> Any:
    """Return the example that receivers start from."""
    spec = importlib.util.spec_from_file_location("webhook_receiver", EXAMPLES / "webhook_receiver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def resolve(monkeypatch: pytest.MonkeyPatch, first: list[str], then: list[str] | None = None) -> list[str]:
    """Let every name have these addresses; returns what is asked for."""
    asked: list[str] = []

    def found(host: str, port: int, **_: Any) -> list[Any]:
        answers = first if not asked or then is None else then
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


class Hook:
    """A server with TLS on this machine that answers with what it is told to, and keeps what it got."""

    def __init__(self, folder: Path) -> None:
        self.ca_file, keys = certificate(folder)
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.says = b""  # the body of every answer
        self.speaks = threading.Event()  # it keeps its answers back until this is set
        self.speaks.set()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                hook.speaks.wait(LONG)
                status, more = hook.answers.pop(0) if hook.answers else (204, {})
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(hook.says)

            def log_message(self, *_: Any) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_port}/hook?team=1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self) -> None:
        self.speaks.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost; returns the file to trust, and the file of the server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    trusted, both = folder / "ca.pem", folder / "server.pem"
    trusted.write_bytes(made)
    both.write_bytes(made + private)
    return trusted, both


def told(desk: Desk, *channels: Any, private: bool = True) -> Notifier:
    """Return a notifier whose channels have looked once, so that they hear of what happens from now on."""
    groups: dict[str, Any] = {"webhook": [], "slack": [], "mail": []}
    for channel in channels:
        groups[type(channel).__name__.lower()].append(channel)
    found = Notifier(
        Channels(private_hosts=["localhost"] if private else [], **groups), desk.queue, "https://g.example"
    )
    for channel in channels:
        found.tick(channel)
    return found
