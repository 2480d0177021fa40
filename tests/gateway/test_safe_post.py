"""Connecting is a part of the time that a message has, and a name leads to a few addresses at most."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from checkvalve.gateway import safe_post
from checkvalve.gateway.safe_post import MAX_ADDRESSES, post
from tests.gateway.channel_world import resolve
from tests.waiting import LONG

pytestmark = pytest.mark.claim("C9")


class Silent:
    """A server on this machine that takes connections and never says a word."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.taken: list[socket.socket] = []
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            found, _ = self.server.accept()
            found.settimeout(LONG)
            if found.recv(1) == b"!":
                found.close()
                return
            self.taken.append(found)

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"!")
        self.thread.join()
        for found in (*self.taken, self.server):
            found.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    found = Silent()
    try:
        yield found
    finally:
        found.close()


@pytest.mark.enable_socket  # 127.0.0.1 only
def test_once_the_time_is_over_no_further_address_is_tried(silent: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them takes the connection and never shakes hands."""
    monkeypatch.setattr(safe_post, "addresses", lambda *_: [(int(socket.AF_INET), "127.0.0.1")] * (MAX_ADDRESSES - 1))
    monkeypatch.setattr(safe_post, "TIMEOUT", 1.0)
    answer = post(f"https://localhost:{silent.port}/", b"{}", {}, deadline=0.5)
    assert (answer.word, answer.sent) == ("timeout", False)
    assert len(silent.taken) <= 1


@pytest.mark.enable_socket  # 127.0.0.1 only
def test_while_hands_are_shaken_a_connection_can_be_cut(silent: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps alone would take much longer than anybody waits for a test."""
    monkeypatch.setattr(safe_post, "addresses", lambda *_: [(int(socket.AF_INET), "127.0.0.1")])
    monkeypatch.setattr(safe_post, "TIMEOUT", 100 * LONG)
    monkeypatch.setattr(safe_post._Checked, "left", lambda _: 100 * LONG)
    answer = post(f"https://localhost:{silent.port}/", b"{}", {}, deadline=0.5)
    assert answer.word == "timeout"


def test_of_many_addresses_a_few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, [f"93.184.216.{number}" for number in range(1, 60)])
    used: list[object] = []

    class Plain:
        def settimeout(self, _: float) -> None: ...

        def close(self) -> None: ...

        def connect(self, place: object) -> None:
            used.append(place)
            raise OSError

    monkeypatch.setattr(socket, "socket", lambda *_: Plain())
    assert post("https://many.example/hook", b"", {}).word == "not_connected"
    assert len(used) == MAX_ADDRESSES
