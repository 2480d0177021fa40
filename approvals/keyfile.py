"""The file of a log's keys: for its owner alone, written whole, and read only where nobody else may.

A key that is drawn here stands in it with its seed. One that is held elsewhere (:mod:`signers`) stands in it with who
holds it, under which label, and its public half; such a file has no secret of that key.

Guarantees: a key file that others can read is refused; one that exists is never overwritten but by a rotation, which
keeps the old file beside it.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any, Final

from checkvalve.approvals.durable import sync_folder
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.logkeys import Follows, LogKey, Rotation
from checkvalve.approvals.notes import ED25519, ED25519_TIMED, KINDS, PrivateKey, is_name
from checkvalve.approvals.signers import HeldKey, Holders, Signer
from checkvalve.filters.strictjson import JSON

_FORMAT: Final = "checkvalve-log-key-1"
_SEED: Final = 32  # bytes; a raw Ed25519 public key has as many
_OTHERS: Final = 0o077
_FIELDS: Final = {"format", "origin", "keys", "rotations"}
_MAYBE: Final = {"follows"}


def save_key(key: LogKey, file: Path, *, replacing: bool = False) -> None:
    """Write a key file, private and whole.

    Raises:
        LogError: there is one already, or it cannot be written.
    """
    keys: list[JSON] = [_to_json(one) for one in key.keys]
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


def load_key(file: Path, holders: Holders | None = None) -> LogKey:
    """Return the key in a file; ``holders`` opens what it says is held elsewhere, when something is signed.

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
        keys = tuple(_from_json(origin, one, holders or Holders()) for one in value["keys"])
        rotations = tuple(Rotation.from_json(one) for one in value["rotations"])
        follows = Follows.from_json(value["follows"]) if "follows" in value else None
        if not is_name(origin) or not keys:
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


def _to_json(key: Signer) -> JSON:
    if isinstance(key, HeldKey):
        public = base64.b64encode(key.raw).decode()
        return {"kind": key.kind, "signer": key.signer, "label": key.label, "public": public}
    if isinstance(key, PrivateKey):
        return {"kind": key.kind, "seed": base64.b64encode(key.seed).decode()}
    raise LogError("this key can be kept in no file", remedy="give one that is drawn here, or one that is held")


def _from_json(origin: str, value: dict[str, Any], holders: Holders) -> Signer:
    kind = int(value["kind"])
    if "signer" not in value:
        key = PrivateKey(origin, kind, base64.b64decode(value["seed"]))
        if len(key.seed) != _SEED or kind not in KINDS:
            raise ValueError("not a key file")
        return key
    raw = base64.b64decode(value["public"], validate=True)
    if kind not in {ED25519, ED25519_TIMED} or len(raw) != _SEED:
        raise ValueError("not a key file")
    return HeldKey(origin, kind, raw, str(value["signer"]), str(value["label"]), holders)


__all__ = ["load_key", "save_key"]
