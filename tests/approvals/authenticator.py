"""A device with passkeys, in software: what it answers is what a browser sends, and it can be made to misbehave."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

UP, UV, AT = 0x01, 0x04, 0x40  # present, verified, with a new key


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Device:
    """One key. ``flags`` are what it claims; ``origin`` is where its browser says it is."""

    origin: str = "https://gate.example"
    flags: int = UP | UV
    count: int = 0
    counts: bool = True
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    handle: bytes | None = None

    def make(self, options: str) -> str:
        """Answer what registering asks."""
        asked = json.loads(options)
        self.handle = raw(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        data = self._data(asked["rp"]["id"], self.flags | AT)
        data += bytes(16) + len(self.id).to_bytes(2) + self.id + cbor2.dumps(public)
        sent = {"fmt": "none", "attStmt": {}, "authData": data}
        client = self._client("webauthn.create", asked["challenge"])
        return self._json({"clientDataJSON": b64(client), "attestationObject": b64(cbor2.dumps(sent))})

    def answer(self, options: str, **changes: Any) -> str:
        """Answer what signing in asks; ``changes`` replace parts of what is asked."""
        asked = {**json.loads(options), **changes}
        self.count += int(self.counts)
        data = self._data(asked["rpId"], self.flags)
        client = self._client("webauthn.get", asked["challenge"])
        signed = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response: dict[str, Any] = {"clientDataJSON": b64(client), "authenticatorData": b64(data)}
        response |= {"signature": b64(signed), "userHandle": b64(self.handle) if self.handle else None}
        return self._json(response)

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}).encode()

    def _json(self, response: dict[str, Any]) -> str:
        return json.dumps({"id": b64(self.id), "rawId": b64(self.id), "type": "public-key", "response": response})
