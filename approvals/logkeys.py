"""The keys that sign the log: made once, kept in a file (:mod:`keyfile`), and replaced by keys that they sign.

1. A log has two keys under one name: Ed25519, and ML-DSA-44 where the machine has it. The private half of the
   first may be held elsewhere (:mod:`signers`).
2. A rotation is a statement that names the log, its size, the old public keys and the new ones, signed by *all* old and
   *all* new keys. Whoever trusts one side can so come to trust the other.
3. The old keys are good for checkpoints up to that size, the new ones from that size on. At the size itself both sign.
4. The key of a log that follows a closed one says which: what it signs begins with the event that says so, too.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from checkvalve.approvals.errors import LogError
from checkvalve.approvals.notes import ED25519, MLDSA44, PrivateKey, PublicKey, has_mldsa, is_name, parse_key
from checkvalve.approvals.signers import Signer, signature_of
from checkvalve.filters.strictjson import JSON

_ROTATION: Final = "checkvalve log key rotation 1"
_CONTEXT: Final = _ROTATION.encode()
_SEED: Final = 32


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
    keys: tuple[Signer, ...]
    rotations: tuple[Rotation, ...] = ()
    previous: tuple[Signer, ...] = ()  # sign once more, beside the new ones, the first checkpoint after the rotation
    follows: Follows | None = None  # the closed log that this one goes on from

    @classmethod
    def new(
        cls, origin: str = "", *, classic: int = ED25519, held: Signer | None = None, follows: Follows | None = None
    ) -> Self:
        """Draw keys for a log called ``origin``; ``classic`` is the kind of the one that is not ML-DSA.

        ``held`` stands in its place where its private half is held elsewhere.

        Raises:
            LogError: a log cannot be called so.
        """
        origin = origin_of(origin)
        return cls(origin, _drawn(origin, classic, held), follows=follows)

    @property
    def public(self) -> tuple[PublicKey, ...]:
        """What verifiers get."""
        return tuple(key.public for key in self.keys)

    @property
    def trust(self) -> Trust:
        """What the owner of the key trusts."""
        return Trust.of(self.public, self.rotations)

    def rotated(self, size: int, held: Signer | None = None) -> LogKey:
        """Return new keys that these ones sign; they are good from ``size`` on. ``held`` is one of them.

        Raises:
            LogError: one of them does not sign.
        """
        if held is not None and held.public in self.public:
            raise LogError("that key signs the log already", remedy="name another one, or let one be made")
        new = _drawn(self.origin, self.keys[0].kind, held)
        unsigned = Rotation(self.origin, size, self.public, tuple(key.public for key in new), ())
        signed = tuple(signature_of(key, unsigned.message, _CONTEXT) for key in (*self.keys, *new))
        rotations = (*self.rotations, replace(unsigned, signatures=signed))
        return LogKey(self.origin, new, rotations, self.keys, self.follows)


def origin_of(name: str) -> str:
    """Return the name that a log gets; one is drawn where none is given.

    Raises:
        LogError: a log cannot be called so.
    """
    name = name or f"checkvalve.local/{secrets.token_hex(8)}"
    if not is_name(name):
        raise LogError(
            f"a log cannot be called {name!r}", remedy="use a name such as example.com/agents: no spaces, no +"
        )
    return name


def _drawn(origin: str, classic: int, held: Signer | None) -> tuple[Signer, ...]:
    first = held or PrivateKey(origin, classic, secrets.token_bytes(_SEED))
    return (first, PrivateKey(origin, MLDSA44, secrets.token_bytes(_SEED))) if has_mldsa() else (first,)
