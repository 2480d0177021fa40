"""Channels: the file, signatures, where messages may go, what they hold, and that what fails comes again."""

from __future__ import annotations

import base64
import datetime as dt
import http.server
import importlib.util
import json
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.gateway import notifier, safe_post
from checkvalve.gateway.channel_file import Channels, Mail, Slack, Webhook, secrets_of
from checkvalve.gateway.notifier import LONGEST, TRIES, Notifier, wait_after
from checkvalve.gateway.safe_post import is_public, post
from checkvalve.gateway.webhook_signature import headers
from tests.approvals.made import Desk, HandClock
from tests.gateway.hook_secrets import secret_file
from tests.waiting import LONG, until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OLD = "whsec_" + base64.b64encode(bytes(32)).decode()


def receiver() -> Any:
    """Return the example that receivers start from."""
    spec = importlib.util.spec_from_file_location("webhook_receiver", EXAMPLES / "webhook_receiver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk.at(store, HandClock())


class TestSignatures:
    def test_the_scheme_is_that_of_standard_webhooks(self) -> None:
        """Computed by OpenSSL from the published scheme: id, time and body with dots between them."""
        body = b'{"type":"x"}'
        made = headers("msg_1", 1_700_000_000, body, [bytes(range(32))])
        assert made == {
            "webhook-id": "msg_1",
            "webhook-timestamp": "1700000000",
            "webhook-signature": "v1,Lb2lGY1NwLU374cIn8s002qG1XvdHK6XToSjcNFDuCg=",
        }

    def test_the_example_takes_what_is_signed_and_refuses_everything_else(self) -> None:
        module, body, now = receiver(), b'{"type":"approval.asked"}', 1_700_000_000
        key, old = bytes(range(32)), bytes(32)
        good = headers("msg_1", now, body, [key])
        assert module.verified([key], good, body, now + 299)["id"] == "msg_1"
        assert module.verified([old, key], good, body, now)["id"] == "msg_1"  # while a secret is changed
        assert module.verified([old], headers("msg_1", now, body, [key, old]), body, now)["id"] == "msg_1"
        bad: list[tuple[dict[str, str], bytes, float]] = [
            (good, body, now + 301),
            (good, body, now - 301),
            (good, body + b" ", now),
            ({**good, "webhook-id": "msg_2"}, body, now),
            ({**good, "webhook-timestamp": str(now + 1)}, body, now),
            ({**good, "webhook-timestamp": "9" * 5_000}, body, now),
            ({**good, "webhook-timestamp": "\u0661"}, body, now),
            ({**good, "webhook-signature": ""}, body, now),
            ({**good, "webhook-signature": good["webhook-signature"].removeprefix("v1,")}, body, now),
            ({**good, "webhook-signature": "v1,"}, body, now),
            ({**good, "webhook-signature": "v1,\u00e4"}, body, now),
            ({}, body, now),
        ]
        for told, data, at in bad:
            with pytest.raises(module.RefusedError):
                module.verified([key], told, data, at)


class TestAddresses:
    @pytest.mark.claim("C9")
    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
            "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1",
            "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
            "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::",
            "2002:a9fe:a9fe::1", "2001:db8::1", "fec0::1", "feff::1", "192.88.99.1", "::ffff:192.88.99.1",
        ],
    )  # fmt: skip
    def test_an_address_that_is_not_of_the_internet_is_known(self, address: str) -> None:
        assert not is_public(address)

    @pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101"])
    def test_an_address_of_the_internet_is_known(self, address: str) -> None:
        assert is_public(address)

    @pytest.mark.claim("C9")
    def test_one_private_address_among_public_ones_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolve(monkeypatch, ["93.184.216.34", "10.0.0.7"])
        assert post("https://two.example/", b"", {}).word == "private_address"

    @pytest.mark.claim("C9")
    def test_a_name_is_looked_up_once_and_the_address_that_was_looked_at_is_used(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name that answers with another address the second time leads nowhere else."""
        asked = resolve(monkeypatch, ["93.184.216.34"], then=["127.0.0.1"])
        used: list[Any] = []

        class Plain:
            def settimeout(self, _: float) -> None: ...

            def close(self) -> None: ...

            def connect(self, place: Any) -> None:
                used.append(place)
                raise OSError

        monkeypatch.setattr(socket, "socket", lambda *_: Plain())
        assert post("https://rebind.example/hook", b"", {}).word == "not_connected"
        assert used == [("93.184.216.34", 443)]
        assert asked == ["rebind.example"]

    @pytest.mark.parametrize("url", ["http://a.example/", "ftp://a.example/", "https:///x", "file:///etc/passwd"])
    def test_nothing_but_https_is_posted_to(self, url: str) -> None:
        assert post(url, b"", {}).word == "not_https"


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


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    found = Hook(tmp_path)
    try:
        yield found
    finally:
        found.close()


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


@pytest.mark.enable_socket  # 127.0.0.1 only
class TestDelivery:
    def webhook(self, hook: Hook, folder: Path, **more: Any) -> Webhook:
        return Webhook(name="ops", url=hook.url, secret_file=secret_file(folder), ca_file=hook.ca_file, **more)

    def test_what_fails_comes_again_with_its_id_and_what_arrived_does_not(
        self, desk: Desk, hook: Hook, tmp_path: Path
    ) -> None:
        channel = self.webhook(hook, tmp_path)
        sender = told(desk, channel)
        hook.answers = [(500, {}), (503, {"Retry-After": "120"})]
        row = desk.propose()
        assert sender.tick(channel) == 1
        assert sender.tick(channel) == 0  # not at once
        desk.clock.advance(seconds=6)
        assert sender.tick(channel) == 1
        desk.clock.advance(seconds=100)
        assert sender.tick(channel) == 0  # the server asked for two minutes
        desk.clock.advance(seconds=30)
        assert sender.tick(channel) == 1
        desk.clock.advance(days=3)
        assert sender.tick(channel) == 0
        (path, first, body), (_, second, again), (_, _, third) = hook.got
        assert path == "/hook?team=1"
        assert first["webhook-id"] == second["webhook-id"]
        assert body == again == third
        message = receiver().verified(secrets_of(channel), first, body, time.time())
        data = message["data"]
        assert (message["type"], data["approval"], data["digest"]) == ("approval.asked", row.id, row.digest)
        assert data["review"] == f"https://g.example/review/items/{row.id}"
        assert "values" not in data

    def test_what_never_arrives_is_given_up_and_kept(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        channel = self.webhook(hook, tmp_path)
        sender = told(desk, channel)
        hook.answers = [(500, {})] * (TRIES + 5)
        desk.propose()
        for _ in range(TRIES + 3):
            sender.tick(channel)
            desk.clock.advance(hours=7)
        assert len(hook.got) == TRIES
        box = Outbox(desk.queue.store, desk.clock)
        assert [item.code for item in box.dead("ops")] == ["status_500"]
        assert box.revive("ops") == 1
        hook.answers = []
        sender.tick(channel)
        assert box.dead("ops") == []
        assert len(hook.got) == TRIES + 1

    @pytest.mark.claim("C9")
    def test_a_redirect_is_not_followed_and_410_is_the_end(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        channel = self.webhook(hook, tmp_path)
        sender = told(desk, channel)
        hook.answers = [(302, {"Location": hook.url.replace("/hook", "/elsewhere")}), (410, {})]
        desk.propose()
        sender.tick(channel)
        desk.clock.advance(seconds=6)
        sender.tick(channel)
        assert [path for path, _, _ in hook.got] == ["/hook?team=1"] * 2
        assert [item.code for item in Outbox(desk.queue.store, desk.clock).dead()] == ["status_410"]

    @pytest.mark.claim("C9")
    def test_this_machine_is_reached_only_where_the_file_says_so(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        channel = self.webhook(hook, tmp_path)
        sender = told(desk, channel, private=False)
        desk.propose()
        sender.tick(channel)
        assert hook.got == []
        assert [item.waiting for item in Outbox(desk.queue.store, desk.clock).standing()] == [1]

    def test_a_certificate_of_nobody_is_not_talked_to(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        stranger = Webhook(name="ops", url=hook.url, secret_file=secret_file(tmp_path))
        answer = post(stranger.url, b"{}", {}, private_hosts=["localhost"])
        assert (answer.word, hook.got) == ("bad_certificate", [])
        wrong = post(
            hook.url.replace("localhost", "127.0.0.1"), b"{}", {}, private_hosts=["127.0.0.1"], ca_file=hook.ca_file
        )
        assert wrong.word == "bad_certificate"

    def test_a_server_that_says_nothing_is_left(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(safe_post, "DEADLINE", 0.2)
        hook.speaks.clear()
        assert not post(hook.url, b"{}", {}, private_hosts=["localhost"], ca_file=hook.ca_file).ok
        assert not hook.speaks.is_set(), "left before it said anything"

    @pytest.mark.claim("C4")
    def test_an_answer_decides_nothing(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        channel = self.webhook(hook, tmp_path)
        sender = told(desk, channel)
        row = desk.propose()
        hook.answers = [(200, {"X-Decision": "approve", "Set-Cookie": "decision=approve"})]
        sender.tick(channel)
        assert len(hook.got) == 1
        assert desk.queue.get(row.id) == row

    def test_a_channel_that_hangs_holds_up_no_other_one(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        fine = self.webhook(hook, tmp_path)
        dead = Webhook(name="dead", url="https://localhost:1/", secret_file=secret_file(tmp_path))
        sender = told(desk, dead, fine)
        sender.start()
        try:
            desk.propose()
            until(lambda: hook.got)
        finally:
            sender.stop()

    def test_a_chat_gets_its_message(self, desk: Desk, hook: Hook, tmp_path: Path) -> None:
        file = secret_file(tmp_path, hook.url)
        channel = Slack(name="chat", url_file=file, ca_file=hook.ca_file)
        sender = told(desk, channel)
        desk.propose()
        assert sender.tick(channel) == 1
        ((_, sent, body),) = hook.got
        assert sent["content-type"] == "application/json"
        assert "webhook-signature" not in sent
        assert json.loads(body)["blocks"][0]["type"] == "header"


def test_waits_grow_are_spread_and_are_bounded() -> None:
    for tries in range(1, TRIES + 1):
        found = [wait_after(tries) for _ in range(50)]
        full = min(LONGEST, 5.0 * 3.0 ** (tries - 1))
        assert full / 2 <= min(found) < max(found) <= full
    assert wait_after(1, retry_after=3_600.0) == 3_600.0
    assert wait_after(1_000) <= LONGEST


class Smtp:
    """A mail server that says what it is told to."""

    log: list[Any]
    fails: dict[str, Exception]

    def __init__(self, host: str, port: int, timeout: float = 0) -> None:
        self.log.append(("connect", host, port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def starttls(self, context: ssl.SSLContext) -> None:
        assert context.verify_mode is ssl.CERT_REQUIRED
        self._do("starttls")

    def login(self, user: str, password: str) -> None:
        self._do("login", user, password)

    def send_message(self, message: Any, from_addr: str, to_addrs: list[str]) -> None:
        self._do("send", message, from_addr, to_addrs)

    def _do(self, name: str, *rest: Any) -> None:
        if name in self.fails:
            raise self.fails[name]
        self.log.append((name, *rest))


class TestMail:
    def channel(self, folder: Path, **more: Any) -> Mail:
        told: dict[str, Any] = {"name": "mail", "host": "mail.example", "from": "gate@corp.example"}
        password = {"username": "gate", "password_file": secret_file(folder, "hunter2")}
        return Mail(**{**told, "to": ["ops@corp.example", "ann@corp.example"], **password, **more})

    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> type[Smtp]:
        Smtp.log, Smtp.fails = [], {}
        monkeypatch.setattr(smtplib, "SMTP", Smtp)
        return Smtp

    def test_a_mail_goes_out_behind_tls(self, desk: Desk, server: type[Smtp], tmp_path: Path) -> None:
        channel = self.channel(tmp_path)
        sender = told(desk, channel)
        row = desk.propose()
        assert sender.tick(channel) == 1
        steps = [entry[0] for entry in server.log]
        assert steps == ["connect", "starttls", "login", "send"]
        _, message, sent_from, sent_to = server.log[-1]
        assert (sent_from, sent_to) == ("gate@corp.example", ["ops@corp.example", "ann@corp.example"])
        assert message.get_content_type() == "text/plain"
        text = message.get_content()
        assert f"https://g.example/review/items/{row.id}" in text
        assert "eve" not in text  # no value unless the file says so
        assert "hunter2" not in message.as_string()
        assert sender.tick(channel) == 0

    @pytest.mark.parametrize(
        ("step", "error", "code"),
        [
            ("starttls", smtplib.SMTPNotSupportedError("no"), "no_tls"),
            ("login", smtplib.SMTPAuthenticationError(535, b"no"), "not_let_in"),
            ("send", smtplib.SMTPRecipientsRefused({}), "recipients_refused"),
            ("send", smtplib.SMTPDataError(451, b"later"), "not_now"),
            ("send", smtplib.SMTPDataError(554, b"no"), "refused"),
            ("send", smtplib.SMTPServerDisconnected(), "not_connected"),
            ("send", TimeoutError(), "not_connected"),
        ],
    )
    def test_what_fails_is_a_word_and_comes_again(
        self, step: str, error: Exception, code: str, desk: Desk, server: type[Smtp], tmp_path: Path
    ) -> None:
        channel = self.channel(tmp_path)
        sender = told(desk, channel)
        server.fails = {step: error}
        desk.propose()
        sender.tick(channel)
        assert not any(entry[0] == "send" for entry in server.log)
        if step == "starttls":
            assert not any(entry[0] == "login" for entry in server.log)  # no password in the open
        box = Outbox(desk.queue.store, desk.clock)
        assert [item.waiting for item in box.standing()] == [1]
        server.fails = {}
        desk.clock.advance(minutes=1)
        assert sender.tick(channel) == 1
        assert code.isidentifier()

    def test_a_secret_that_is_gone_is_a_failure_and_no_crash(
        self, desk: Desk, server: type[Smtp], tmp_path: Path
    ) -> None:
        channel = self.channel(tmp_path)
        sender = told(desk, channel)
        (tmp_path / "hook.secret").unlink()
        desk.propose()
        assert sender.tick(channel) == 1
        assert [item.waiting for item in Outbox(desk.queue.store, desk.clock).standing()] == [1]


@pytest.mark.claim("C9")
def test_a_store_that_fails_stops_no_watcher(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Webhook(name="ops", url="https://h.example/", secret_file=secret_file(tmp_path))
    monkeypatch.setattr(notifier, "EVERY", 0.02)
    sender, seen = told(desk, channel), threading.Event()

    def broken(_: Any) -> int:
        if seen.is_set():
            return 0
        seen.set()
        raise ApprovalError("the disk is gone")

    monkeypatch.setattr(sender, "tick", broken)
    sender.start()
    assert seen.wait(LONG)
    sender.stop()
    assert desk.propose().state is State.PENDING
