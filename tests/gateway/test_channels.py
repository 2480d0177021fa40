"""Channels: what a signature is, and where messages may go."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from checkvalve.gateway.safe_post import is_public, post
from checkvalve.gateway.webhook_signature import headers
from tests.gateway.channel_world import receiver, resolve


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
