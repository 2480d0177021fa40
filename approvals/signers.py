"""Who can sign for the log: a key in the key file, one in a token (PKCS#11), one in a key service.

1. Whoever signs knows a :class:`Signer` and nothing of where its private half is. The one in the key file is
   :class:`~checkvalve.approvals.notes.PrivateKey`; one that is held elsewhere is a :class:`HeldKey`.
2. What holds a key elsewhere is asked for two things, its public half and a signature (:class:`KeyHolder`). It is
   opened when something is signed, and again after it failed: a token that comes back is used in the next round.
3. Every signature is checked before it is used (:func:`signature_of`). One that is not of the key is refused and said.

Guarantees: what a holder raises becomes one :class:`SignerError`, and its text is not shown: it may hold a secret.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from checkvalve.approvals.errors import LogError, SignerError
from checkvalve.approvals.notes import ED25519, PublicKey

FILE: Final = "file"
"""The name of the signer whose keys are in the key file."""
_T = TypeVar("_T")
_SIZE: Final = 32  # bytes of an Ed25519 public key (RFC 8032)


class Signer(Protocol):
    """One key that signs. ``str(public)`` is its public half as a vkey (C2SP ``signed-note``)."""

    @property
    def name(self) -> str:
        """Whose key it is: the name of the log, or of the witness."""

    @property
    def kind(self) -> int:
        """The signature type of ``signed-note``."""

    @property
    def public(self) -> PublicKey:
        """The half that verifiers get."""

    def sign(self, message: bytes, context: bytes | None = None) -> bytes:
        """Return the bare signature over ``message``; ``context`` is ML-DSA's, and Ed25519 has none.

        Raises:
            LogError: it cannot be signed now.
        """


class KeyHolder(Protocol):
    """What holds one Ed25519 key; what a plug-in has to give. It may raise what it likes: nothing is signed then."""

    def public_key(self) -> bytes:
        """Return the public half, 32 bytes (RFC 8032)."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature over ``message`` itself, not over a digest of it: 64 bytes (RFC 8032)."""


@dataclass(frozen=True, slots=True)
class Source:
    """One way to hold keys: how a key that is there is opened, and how a new one is made, where that is possible.

    Both take and return a key's label, as that way knows it: a label in a token, an id or an address in a key service.
    """

    open: Callable[[str], KeyHolder]
    create: Callable[[], str] | None = None


class Holders:
    """Opens what holds keys, by the name of the signer and the label of the key. Safe to use from several threads."""

    def __init__(self, find: Callable[[str], Source] | None = None) -> None:
        """``find`` returns the way with a name; it raises :class:`SignerError` where there is none."""
        self._find = find or _none
        self._open: dict[tuple[str, str], KeyHolder] = {}
        self._lock = threading.Lock()

    def sign(self, signer: str, label: str, message: bytes) -> bytes:
        """Return what the holder says is its signature.

        Raises:
            SignerError: it cannot be reached, or does not sign. It is opened anew the next time.
        """
        return self._asked(signer, label, lambda holder: holder.sign(message))

    def public(self, signer: str, label: str) -> bytes:
        """Return the public half of a key, 32 bytes.

        Raises:
            SignerError: it cannot be reached, or gives something else.
        """
        found = self._asked(signer, label, lambda holder: holder.public_key())
        if len(found) != _SIZE:
            raise SignerError(
                f"the signer {signer} gives no Ed25519 public key for {label!r}", remedy="name an Ed25519 key"
            )
        return found

    def take(self, signer: str, label: str, origin: str) -> HeldKey | None:
        """Return the key ``label`` for the log ``origin``; without a label a new one. None stands for the key file.

        Raises:
            LogError: there is no such key, or this signer makes none.
        """
        if signer == FILE:
            if label:
                raise LogError(
                    "the key file has no keys to choose from", remedy="set audit_signer to what holds the key"
                )
            return None
        if not label:
            label = self._made(signer)
        return HeldKey(origin, ED25519, self.public(signer, label), signer, label, self)

    def _made(self, signer: str) -> str:
        create = self._find(signer).create
        if create is None:
            raise LogError(
                f"the signer {signer} makes no keys", remedy="make one with its tools, and name it: --signer-key KEY"
            )
        return _told(signer, create)

    def _asked(self, signer: str, label: str, ask: Callable[[KeyHolder], bytes]) -> bytes:
        with self._lock:
            source = self._find(signer)
            try:
                holder = self._open.get((signer, label)) or _told(signer, lambda: source.open(label))
                self._open[signer, label] = holder
                return _in_bytes(signer, _told(signer, lambda: ask(holder)))
            except SignerError:
                self._close(self._open.pop((signer, label), None))
                raise

    @staticmethod
    def _close(holder: KeyHolder | None) -> None:
        close = getattr(holder, "close", None)  # a plug-in need not have one
        if callable(close):
            with suppress(Exception):  # it failed already
                close()


def _none(signer: str) -> Source:
    raise SignerError(f"this program was not told what the signer {signer} is", remedy="name it in the settings")


def _told(signer: str, ask: Callable[[], _T]) -> _T:
    try:
        return ask()
    except SignerError:
        raise
    except Exception as error:  # somebody else's code
        raise SignerError(
            f"the signer {signer} does not answer ({type(error).__name__}): nothing was signed",
            remedy="mend it; it is asked again at the next checkpoint",
        ) from error


def _in_bytes(signer: str, found: object) -> bytes:
    """Return what somebody else's code gave, which may be anything; of a number `bytes` makes as many zeros."""
    if isinstance(found, bytes | bytearray | memoryview):
        return bytes(found)
    raise SignerError(
        f"the signer {signer} gives {type(found).__name__} where bytes have to be: nothing was signed",
        remedy="mend it: `public_key` and `sign` return bytes",
    )


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key whose private half is held elsewhere: its public half, and who holds it under which label."""

    name: str
    kind: int
    raw: bytes
    signer: str
    label: str
    holders: Holders = field(compare=False, repr=False)

    @property
    def public(self) -> PublicKey:
        """The half that verifiers get."""
        return PublicKey(self.name, self.kind, self.raw)

    def sign(self, message: bytes, context: bytes | None = None) -> bytes:  # noqa: ARG002  # Ed25519 has none
        """Return the bare signature over ``message``; see :class:`Signer`."""
        return self.holders.sign(self.signer, self.label, message)


def signature_of(key: Signer, message: bytes, context: bytes | None = None) -> bytes:
    """Return the signature of ``key`` over ``message``, after checking that it is one.

    A fault while signing, or a holder that has another key under that label, must not end up in a log: others would
    refuse its checkpoints for ever.

    Raises:
        LogError: it cannot be signed now.
        SignerError: what came back is no signature of this key over this message.
    """
    found = key.sign(message, context)
    if not key.public.accepts(message, found, context):
        where = f"the signer {key.signer}, key {key.label!r}," if isinstance(key, HeldKey) else "the key file"
        raise SignerError(
            f"{where} gave a signature that is not of the key {key.public.id.hex()} of {key.name}: it was not used",
            remedy="look which key is there under that name; nothing was signed",
        )
    return found


__all__ = ["FILE", "HeldKey", "Holders", "KeyHolder", "Signer", "Source", "signature_of"]
