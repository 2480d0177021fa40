"""What channels send: that it is delivered, comes again where it failed, and is mail."""

from __future__ import annotations

import json
import smtplib
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.outbox import Outbox
from checkvalve.approvals.records import State
from checkvalve.approvals.store import Store
from checkvalve.gateway import notifier, safe_post
from checkvalve.gateway.channel_file import Mail, Slack, Webhook, secrets_of
from checkvalve.gateway.notifier import LONGEST, TRIES, wait_after
from checkvalve.gateway.safe_post import post
from tests.approvals.made import Desk, HandClock
from tests.gateway.channel_world import Hook, receiver, told
from tests.gateway.hook_secrets import secret_file
from tests.waiting import LONG, until


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(f"sqlite:///{tmp_path}/gate.db") as store:
        yield Desk.at(store, HandClock())


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    found = Hook(tmp_path)
    try:
        yield found
    finally:
        found.close()


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
