"""The keys that sign the log: made once, kept in a file for its owner alone, and replaced by keys that they sign.

1. A key file has two private keys under one name: Ed25519, and ML-DSA-44 where the machine has it.
2. A rotation is a statement that names the log, its size, the old public keys and the new ones, signed by *all* old and
   *all* new keys. Whoever trusts one side can so come to trust the other.
3. The old keys are good for checkpoints up to that size, the new ones from that size on. At the size itself both sign.
4. The key of a log that follows a closed one says which: what it signs begins with the event that says so, too.

Guarantees: a key file that others can read is refused; one that exists is never overwritten but by a rotation, which
keeps the old file beside it.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from checkvalve.approvals.durable import sync_folder
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.notes import ED25519, KINDS, MLDSA44, PrivateKey, PublicKey, has_mldsa, is_name, parse_key
from checkvalve.filters.strictjson import JSON

_FORMAT: Final = "checkvalve-log-key-1"
_ROTATION: Final = "checkvalve log key rotation 1"
_CONTEXT: Final = _ROTATION.encode()
_SEED: Final = 32
_OTHERS: Final = 0o077
_FIELDS: Final = {"format", "origin", "keys", "rotations"}
_MAYBE: Final = {"follows"}


@dataclass(frozen=True, slots=True)
class Rotation:
    """The statement that new keys sign from ``size`` on, with the signatures of both sides (in the order of keys)."""

    origin: str
    size: int
    old: tuple[PublicKey, ...]
    new: tuple[PublicKey, ...]
    signatures: tuple[bytes, ...]

    @property
    def message(self) -> bytes:
        """What is signed; its first line is no log's name and no number's, so it is never taken for a checkpoint."""
        lines = [_ROTATION, self.origin, str(self.size), "old", *map(str, self.old), "new", *map(str, self.new)]
        return "".join(f"{line}\n" for line in lines).encode()

    def is_good(self) -> bool:
        """Say whether every key of both sides signed it."""
        keys = (*self.old, *self.new)
        named = all(key.name == self.origin for key in keys)
        if not self.old or not self.new or not named or len(keys) != len(self.signatures):
            return False
        signed = zip(keys, self.signatures, strict=True)
        return all(key.accepts(self.message, found, _CONTEXT) for key, found in signed)

    def to_json(self) -> dict[str, JSON]:
        """Return the statement for files and events."""
        return {
            "origin": self.origin,
            "size": self.size,
            "old": [str(key) for key in self.old],
            "new": [str(key) for key in self.new],
            "signatures": [base64.b64encode(found).decode() for found in self.signatures],
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the statement in a file.

        Raises:
            ValueError: it is none.
        """
        try:
            old, new = (tuple(parse_key(key) for key in value[side]) for side in ("old", "new"))
            signatures = tuple(base64.b64decode(found, validate=True) for found in value["signatures"])
            return cls(str(value["origin"]), int(value["size"]), old, new, signatures)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("this is no rotation of a log's keys") from error


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may sign checkpoints of which sizes, as it follows from the keys that a verifier was given."""

    given: tuple[PublicKey, ...]
    sets: tuple[tuple[int, int | None, tuple[PublicKey, ...]], ...]  # from, to (both included), all of these keys

    @classmethod
    def of(cls, given: Sequence[PublicKey], rotations: Iterable[Rotation] = ()) -> Self:
        """Follow good rotations from the given keys, forwards and backwards; others are left out.

        A verifier that was given only some keys of a set asks for the signatures of these; of sets that it learns from
        a rotation it asks for all.
        """
        sets: list[tuple[int, int | None, tuple[PublicKey, ...]]] = [(0, None, tuple(given))]
        good = [rotation for rotation in sorted(rotations, key=lambda item: item.size) if rotation.is_good()]
        for rotation in good:
            first, _, keys = sets[-1]
            if set(keys) <= set(rotation.old):
                sets[-1:] = [(first, rotation.size, keys), (rotation.size, None, rotation.new)]
        for rotation in reversed(good):
            _, last, keys = sets[0]
            if set(keys) <= set(rotation.new):
                sets[:1] = [(0, rotation.size, rotation.old), (rotation.size, last, keys)]
        return cls(tuple(given), tuple(sets))

    def keys_for(self, size: int) -> list[tuple[PublicKey, ...]]:
        """Return the sets of keys of which one must have signed a checkpoint of this size."""
        return [keys for first, last, keys in self.sets if first <= size and (last is None or size <= last)]


@dataclass(frozen=True, slots=True)
class Follows:
    """The closed log that another one goes on from: its name, and who could sign it."""

    origin: str
    keys: tuple[PublicKey, ...]
    rotations: tuple[Rotation, ...] = ()

    @property
    def trust(self) -> Trust:
        """Who could sign which of its checkpoints."""
        return Trust.of(self.keys, self.rotations)

    def to_json(self) -> dict[str, JSON]:
        """Return it for files and events."""
        keys: list[JSON] = [str(key) for key in self.keys]
        rotations: list[JSON] = [one.to_json() for one in self.rotations]
        return {"origin": self.origin, "keys": keys, "rotations": rotations}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return it from a file or an event.

        Raises:
            ValueError: it is none.
        """
        try:
            keys = tuple(parse_key(key) for key in value["keys"])
            rotations = tuple(Rotation.from_json(one) for one in value["rotations"])
            return cls(str(value["origin"]), keys, rotations)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("this names no closed log") from error


@dataclass(frozen=True, slots=True)
class LogKey:
    """A log's name, the keys that sign it, and how they came to be."""

    origin: str
    keys: tuple[PrivateKey, ...]
    rotations: tuple[Rotation, ...] = ()
    previous: tuple[
        PrivateKey, ...
    ] = ()  # sign beside the new ones once more, for the first checkpoint that covers the rotation
    follows: Follows | None = None  # the closed log that this one goes on from

    @classmethod
    def new(cls, origin: str = "", *, classic: int = ED25519, follows: Follows | None = None) -> Self:
        """Draw keys for a log called ``origin``; ``classic`` is the kind of the one that is not ML-DSA.

        Raises:
            LogError: a log cannot be called so.
        """
        origin = origin or f"checkvalve.local/{secrets.token_hex(8)}"
        if not is_name(origin):
            raise LogError(
                f"a log cannot be called {origin!r}", remedy="use a name such as example.com/agents: no spaces, no +"
            )
        return cls(origin, _drawn(origin, classic), follows=follows)

    @property
    def public(self) -> tuple[PublicKey, ...]:
        """What verifiers get."""
        return tuple(key.public for key in self.keys)

    @property
    def trust(self) -> Trust:
        """What the owner of the key trusts."""
        return Trust.of(self.public, self.rotations)

    def rotated(self, size: int) -> LogKey:
        """Return new keys that these ones sign; they are good from ``size`` on."""
        new = _drawn(self.origin, self.keys[0].kind)
        unsigned = Rotation(self.origin, size, self.public, tuple(key.public for key in new), ())
        signed = tuple(key.sign(unsigned.message, _CONTEXT) for key in (*self.keys, *new))
        rotations = (*self.rotations, replace(unsigned, signatures=signed))
        return LogKey(self.origin, new, rotations, self.keys, self.follows)


def _drawn(origin: str, classic: int) -> tuple[PrivateKey, ...]:
    kinds = (classic, MLDSA44) if has_mldsa() else (classic,)
    return tuple(PrivateKey(origin, kind, secrets.token_bytes(_SEED)) for kind in kinds)


def save_key(key: LogKey, file: Path, *, replacing: bool = False) -> None:
    """Write a key file, private and whole.

    Raises:
        LogError: there is one already, or it cannot be written.
    """
    keys: list[JSON] = [{"kind": one.kind, "seed": base64.b64encode(one.seed).decode()} for one in key.keys]
    rotations: list[JSON] = [rotation.to_json() for rotation in key.rotations]
    value: dict[str, JSON] = {"format": _FORMAT, "origin": key.origin, "keys": keys, "rotations": rotations}
    value |= {} if key.follows is None else {"follows": key.follows.to_json()}
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as stream:
            stream.write(json.dumps(value, indent=1) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            if replacing:
                os.link(file, file.with_name(f"{file.name}.old-{secrets.token_hex(4)}"))
                target.replace(file)
            else:
                os.link(target, file)  # fails where there is one
        finally:
            target.unlink(missing_ok=True)
        sync_folder(file.parent)
    except FileExistsError:
        raise LogError(
            f"there is a key in {file} already", remedy="use it, or replace it: checkvalve audit key rotate"
        ) from None
    except OSError as error:
        raise LogError(
            f"the key file {file} cannot be written: {error.strerror}", remedy="check the folder and its permissions"
        ) from error


def load_key(file: Path) -> LogKey:
    """Return the key in a file.

    Raises:
        LogError: there is none, others can read it, or it is no key file.
    """
    try:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
                raise LogError(f"others may read the key file {file}", remedy=f"chmod 600 {file}, or make a new key")
            value = json.loads(stream.read(1_048_576))
        if not isinstance(value, dict) or set(value) - _MAYBE != _FIELDS or value["format"] != _FORMAT:
            raise ValueError("not a key file")
        origin = str(value["origin"])
        keys = tuple(PrivateKey(origin, int(one["kind"]), base64.b64decode(one["seed"])) for one in value["keys"])
        rotations = tuple(Rotation.from_json(one) for one in value["rotations"])
        follows = Follows.from_json(value["follows"]) if "follows" in value else None
        if not is_name(origin) or not keys or not all(len(key.seed) == _SEED and key.kind in KINDS for key in keys):
            raise ValueError("not a key file")
    except FileNotFoundError as error:
        raise LogError(f"there is no key file {file}", remedy="make one: checkvalve audit key create") from error
    except OSError as error:
        raise LogError(
            f"the key file {file} cannot be read: {error.strerror}", remedy="check its owner and its permissions"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LogError(f"{file} is no key file of a log", remedy="make one: checkvalve audit key create") from error
    return LogKey(origin, keys, rotations, follows=follows)
