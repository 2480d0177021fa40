"""Checkpoints: a log's name, its size and its root, signed; in the format of C2SP (``tlog-checkpoint``).

Guarantees: a checkpoint is accepted only with a good signature of *every* key that is asked for; a bad signature of a
key that is known makes the whole note bad; signatures of unknown keys prove nothing and do no harm.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from checkvalve.approvals.errors import LogError
from checkvalve.approvals.merkle import EMPTY, SIZE
from checkvalve.approvals.notes import (
    ED25519,
    MLDSA44,
    Note,
    PublicKey,
    Signature,
    parse_note,
    signatures_of,
)
from checkvalve.approvals.signers import Signer, signature_of

_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_LINES: Final = 3
_STAMP: Final = struct.Struct(">Q")
_LABEL: Final = b"subtree/v1\n\x00"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log at one moment: ``root`` over its first ``size`` events."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint whose signatures are good. ``signed_at`` is the newest signed time in seconds, 0 if none has one."""

    checkpoint: Checkpoint
    note: Note
    keys: tuple[PublicKey, ...]
    signed_at: int = 0


def parse_checkpoint(text: str) -> Checkpoint:
    """Return what a checkpoint's text says. Extension lines are refused: nothing here writes or judges them.

    Raises:
        ValueError: it is no checkpoint.
    """
    lines = text.split("\n")
    if len(lines) != _LINES + 1 or lines[-1] or not lines[0] or not _SIZE.fullmatch(lines[1]):
        raise ValueError("this is no checkpoint: name, size and root, a line each")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except ValueError as error:
        raise ValueError("this is no checkpoint: the root is not base64") from error
    found = Checkpoint(lines[0], int(lines[1]), root)
    if len(root) != SIZE or found.text != text:
        raise ValueError("this is no checkpoint: the root is not 32 bytes")
    if found.size == 0 and root != EMPTY:
        raise ValueError("this is no checkpoint: an empty log has another root")
    return found


def sign(checkpoint: Checkpoint, keys: Iterable[Signer], *, now: int) -> Note:
    """Return the checkpoint, signed by all ``keys``. ``now`` is the time in seconds that timed signatures name.

    Raises:
        LogError: one of them does not sign.
    """
    return Note(checkpoint.text, tuple(cosign(checkpoint, key, now=now) for key in keys))


def cosign(checkpoint: Checkpoint, key: Signer, *, now: int) -> Signature:
    """Return one signature over a checkpoint, which is good.

    Raises:
        LogError: the key does not sign.
    """
    signed = signature_of(key, _message(checkpoint, key.name, key.kind, now))
    stamp = b"" if key.kind == ED25519 else _STAMP.pack(now)
    return Signature(key.name, key.public.id, stamp + signed)


def open_checkpoint(text: str, keys: Sequence[PublicKey]) -> Opened:
    """Return the checkpoint in a signed note after checking that every one of ``keys`` signed it.

    Raises:
        ValueError: it is no signed checkpoint.
        LogError: a signature is missing or bad, or none was asked for.
    """
    note = parse_note(text)
    checkpoint = parse_checkpoint(note.text)
    if not keys:
        raise LogError("there is no key to check the checkpoint with", remedy="give the log's public key")
    stamps = [_checked(note, checkpoint, key) for key in keys]
    return Opened(checkpoint, note, tuple(keys), max(stamps))


def is_signed_by(note: Note, checkpoint: Checkpoint, key: PublicKey) -> bool:
    """Say whether ``key`` has signed the checkpoint, and no signature of its name and id is bad."""
    try:
        _checked(note, checkpoint, key)
    except LogError:
        return False
    return True


def _checked(note: Note, checkpoint: Checkpoint, key: PublicKey) -> int:
    found = signatures_of(note, key)
    if not found:
        raise LogError(f"the checkpoint of {checkpoint.size} events is not signed by {key.name} {key.id.hex()}")
    stamps = []
    for signature in found:
        timed = key.kind != ED25519
        if timed and len(signature.data) <= _STAMP.size:
            raise LogError(f"a signature of {key.name} over the checkpoint of {checkpoint.size} events is bad")
        stamp = _STAMP.unpack(signature.data[: _STAMP.size])[0] if timed else 0
        bare = signature.data[_STAMP.size :] if timed else signature.data
        if not key.accepts(_message(checkpoint, key.name, key.kind, stamp), bare):
            raise LogError(f"a signature of {key.name} over the checkpoint of {checkpoint.size} events is bad")
        stamps.append(stamp)
    return max(stamps)


def _message(checkpoint: Checkpoint, name: str, kind: int, now: int) -> bytes:
    """Return the bytes that a key of this kind signs (``tlog-cosignature``)."""
    if kind == ED25519:
        return checkpoint.text.encode()
    if kind == MLDSA44:
        cosigner, origin = name.encode(), checkpoint.origin.encode()
        named = bytes([len(cosigner)]) + cosigner + _STAMP.pack(now) + bytes([len(origin)]) + origin
        return _LABEL + named + _STAMP.pack(0) + _STAMP.pack(checkpoint.size) + checkpoint.root
    return f"cosignature/v1\ntime {now}\n{checkpoint.text}".encode()
