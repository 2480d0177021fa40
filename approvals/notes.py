"""Signed notes and their keys, in the formats of C2SP (``signed-note``, ``tlog-cosignature``).

A note is a text, an empty line, and one line for each signature: ``— name base64(key id || signature)``. A public key
travels as a vkey: ``name+key id+base64(type || key)``. Three types are known: 1 is Ed25519 over the text, 4 is Ed25519
with a time (what witnesses give), 6 is ML-DSA-44 with a time; that one is there where ``cryptography`` has it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from checkvalve.approvals.errors import LogError

ED25519: Final = 0x01
ED25519_TIMED: Final = 0x04
MLDSA44: Final = 0x06
KINDS: Final = {ED25519: "Ed25519", ED25519_TIMED: "Ed25519 with a time", MLDSA44: "ML-DSA-44"}

MAX_NOTE: Final = 131_072  # characters: sixteen signatures of the largest kind are half of it
_SIGNATURES: Final = 64
_KEY_BYTES: Final = {ED25519: 32, ED25519_TIMED: 32, MLDSA44: 1312}
_NAME: Final = re.compile(r"[^\s+]{1,255}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_LINE: Final = re.compile(r"\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_ID: Final = 4


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line, not judged yet."""

    name: str
    key_id: bytes
    data: bytes

    def __str__(self) -> str:
        return f"\u2014 {self.name} {base64.b64encode(self.key_id + self.data).decode()}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text (it ends with a newline) and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(f"{signature}\n" for signature in self.signatures)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signatures are checked with. ``kind`` is the signature type of ``signed-note``."""

    name: str
    kind: int
    raw: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that a signature line names the key by."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.raw).digest()[:_ID]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([self.kind]) + self.raw).decode()}"

    def accepts(self, message: bytes, signature: bytes, context: bytes | None = None) -> bool:
        """Say whether ``signature`` is this key's over ``message``.

        Raises:
            LogError: this machine's ``cryptography`` does not have the algorithm.
        """
        try:
            if self.kind == MLDSA44:
                _mldsa().MLDSA44PublicKey.from_public_bytes(self.raw).verify(signature, message, context)
            else:
                Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that signs; ``seed`` is 32 bytes for every kind."""

    name: str
    kind: int
    seed: bytes

    def __repr__(self) -> str:
        return f"PrivateKey({self.name!r}, {KINDS[self.kind]}, seed hidden)"

    @property
    def public(self) -> PublicKey:
        """The other half."""
        raw: bytes
        if self.kind == MLDSA44:
            raw = _mldsa().MLDSA44PrivateKey.from_seed_bytes(self.seed).public_key().public_bytes_raw()
        else:
            raw = Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        return PublicKey(self.name, self.kind, raw)

    def sign(self, message: bytes, context: bytes | None = None) -> bytes:
        """Return the bare signature over ``message``; ``context`` is ML-DSA's, and Ed25519 has none."""
        if self.kind == MLDSA44:
            signed: bytes = _mldsa().MLDSA44PrivateKey.from_seed_bytes(self.seed).sign(message, context)
            return signed
        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)


def _mldsa() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa  # noqa: PLC0415  # younger than the rest
    except ImportError as error:
        raise LogError("this `cryptography` has no ML-DSA-44", remedy="pip install -U cryptography") from error
    return mldsa


def has_mldsa() -> bool:
    """Say whether ML-DSA-44 can be used here."""
    try:
        _mldsa().MLDSA44PrivateKey.from_seed_bytes(b"\x00" * 32)
    except (LogError, UnsupportedAlgorithm):
        return False
    return True


def parse_key(vkey: str) -> PublicKey:
    """Return the public key in a vkey.

    Raises:
        ValueError: it is none, or of a type that is not known here.
    """
    name, _, rest = vkey.strip().partition("+")
    key_id, _, material = rest.partition("+")
    data = _decoded(material)
    if not _NAME.fullmatch(name) or not data or _KEY_BYTES.get(data[0]) != len(data) - 1:
        raise ValueError("this is no public key of a log or witness (name+id+base64)")
    key = PublicKey(name, data[0], data[1:])
    if key.id.hex() != key_id:
        raise ValueError("the id of this public key is not that of its bytes: a character was lost or changed")
    return key


def parse_keys(text: str) -> tuple[PublicKey, ...]:
    """Return the public keys in a text: one on each line; empty lines and lines that start with ``#`` do not count.

    Raises:
        ValueError: a line is no key, or there is none at all.
    """
    lines = [line.strip() for line in text.splitlines()]
    keys = tuple(parse_key(line) for line in lines if line and not line.startswith("#"))
    if not keys:
        raise ValueError("there is no public key in it")
    return keys


def is_name(name: str) -> bool:
    """Say whether a log or a witness may be called so: no spaces, no ``+``, nothing that cannot be printed."""
    return bool(_NAME.fullmatch(name)) and name.isprintable()


def parse_note(text: str) -> Note:
    """Return the note in ``text``.

    Raises:
        ValueError: it is none.
    """
    body, gap, lines = text.rpartition("\n\n")
    if len(text) > MAX_NOTE or _CONTROL.search(text) or not gap or not lines.endswith("\n"):
        raise ValueError("this is no signed note")
    return Note(body + "\n", parse_signatures(lines))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Return the signatures in some lines.

    Raises:
        ValueError: a line is none, or there are more than any note has.
    """
    found: list[Signature] = []
    for line in lines.removesuffix("\n").split("\n"):
        matched = _LINE.fullmatch(line)
        data = _decoded(matched[2]) if matched else b""
        if not matched or len(data) <= _ID or len(found) >= _SIGNATURES:
            raise ValueError("this is no signature line of a note")
        found.append(Signature(matched[1], data[:_ID], data[_ID:]))
    return tuple(found)


def signatures_of(note: Note, key: PublicKey) -> Sequence[Signature]:
    """Return the signatures that say they are of ``key``."""
    return [found for found in note.signatures if (found.name, found.key_id) == (key.name, key.id)]


def _decoded(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return data if base64.b64encode(data).decode() == text else b""  # one spelling for one value
