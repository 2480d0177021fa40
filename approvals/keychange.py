"""Changing the keys while others sign: who may sign now, with which keys, and the files of a change under way.

1. The new key is written beside the old one (``….next``) while the database's write lock is held; the event that says
   so commits; then the file is switched in one step, and the old one stays as ``….old-…``.
2. An interrupted change is settled under the write lock at the next start: finished where its event is in the log, and
   undone where it is not. An undone key is kept under another name, since only that event shows that it was never used.
3. Whoever signs reads the changes in the log first. A key that was replaced signs nothing: the one that replaced it is
   read from the files, or nothing is signed here.
4. The checkpoint that first covers a change is signed by both sides, whoever signs it.

The file ``….next`` goes away by taking the key's place: who reads it first and the key's own file second misses none.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from checkvalve.approvals.audit import Event
from checkvalve.approvals.durable import sync_folder
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.judge import KEYS, ROTATED, rotations_in
from checkvalve.approvals.keyfile import load_key
from checkvalve.approvals.logkeys import LogKey, Rotation
from checkvalve.approvals.notes import PublicKey
from checkvalve.approvals.signers import Holders, Signer
from checkvalve.approvals.tables import events

Known = Callable[[], Iterable[LogKey]]
"""Reads all keys of the log that are here now."""


def told(connection: sa.Connection, base: int) -> list[Rotation]:
    """Return the changes of keys that the log after event ``base`` tells of, in order."""
    mine = (events.c.subject == KEYS, events.c.kind == ROTATED, events.c.seq > base)
    query = sa.select(events).where(*mine).order_by(events.c.seq)
    return rotations_in(Event(**row) for row in connection.execute(query).mappings())


def is_out(key: LogKey, changes: Iterable[Rotation]) -> bool:
    """Say whether a key was replaced, by the signatures of itself and of what replaced it."""
    return _now(key, changes) != frozenset(key.public)


def followed(key: LogKey, changes: Sequence[Rotation], known: Known) -> LogKey:
    """Return the key that signs now: ``key``, or the one that replaced it (step 3).

    Raises:
        LogError: it was replaced, and the new one is not here.
    """
    now = _now(key, changes)
    if now == frozenset(key.public):
        return key
    for found in known():
        if frozenset(found.public) == now:
            return replace(found, previous=(*key.keys, *key.previous))
    raise LogError(
        f"the keys of the log {key.origin} were replaced, and the new ones are not here: nothing is signed",
        remedy="put the new key file where the old one is, for its owner alone, and start again what signs",
    )


def require_told(key: LogKey, changes: Sequence[Rotation]) -> None:
    """Make sure that the log knows how this key came to be: who trusts the old one could not follow.

    Raises:
        LogError: it does not.
    """
    if key.rotations and key.rotations[-1] not in changes:
        raise LogError(
            f"no event says that this key replaced another one of the log {key.origin}: nothing is signed",
            remedy="put the old key file (its name ends in .old-...) back where the key is, and start what signs again",
        )


def signers(key: LogKey, signed: int, size: int, known: Known) -> list[Signer]:
    """Return what signs the checkpoint of ``size`` events after one of ``signed`` (step 4).

    Raises:
        LogError: it covers a change, and the old key is not here.
    """
    found = list(key.keys)
    for change in key.rotations:
        if signed < change.size <= size:
            old = _private(change.old, key, known)
            found += [one for one in old if one not in found]
    return found


def _private(wanted: Sequence[PublicKey], key: LogKey, known: Known) -> list[Signer]:
    held = {one.public: one for one in (*key.keys, *key.previous)}
    if not set(wanted) <= set(held):
        held |= {one.public: one for found in known() for one in found.keys}
    if not set(wanted) <= set(held):
        raise LogError(
            "the first checkpoint after the keys were replaced is signed by the old key too, and it is not here",
            remedy="put the old key file (its name ends in .old-...) back beside the key, and start again what signs",
        )
    return [held[one] for one in wanted]


def _now(key: LogKey, changes: Iterable[Rotation]) -> frozenset[PublicKey]:
    now = frozenset(key.public)
    for change in changes:
        if frozenset(change.old) == now and change.is_good():  # a planted event replaces nothing
            now = frozenset(change.new)
    return now


def waiting_file(file: Path) -> Path:
    """Return where the new key is until its event is in the log."""
    return file.with_name(f"{file.name}.next")


def kept_keys(file: Path, holders: Holders) -> Iterator[LogKey]:
    """Yield the keys that are here: one that waits, the key itself, and old ones; what cannot be read is left out."""
    for one in (waiting_file(file), file):
        with suppress(LogError):
            yield load_key(one, holders)
    for one in sorted(file.parent.glob(f"{file.name}.old-*")):
        with suppress(LogError):
            yield load_key(one, holders)


def switch(file: Path, *, finish: bool) -> None:
    """Put the waiting key in the place of the old one, which is kept; or keep the waiting one under another name.

    Raises:
        LogError: the folder cannot be used; it can be done again.
    """
    waiting, kept = waiting_file(file), file.with_name(f"{file.name}.old-{secrets.token_hex(4)}")
    try:
        if finish:
            os.link(file, kept)
            waiting.replace(file)
        else:
            waiting.replace(kept)
        sync_folder(file.parent)
    except OSError as error:
        raise LogError(
            f"the key file {file} cannot be switched: {error.strerror}", remedy="check the folder and its permissions"
        ) from error
