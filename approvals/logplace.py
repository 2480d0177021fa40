"""Where the signed log keeps its things: the key, its public half, the last checkpoint, and who else is told."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checkvalve.approvals import keychange
from checkvalve.approvals.anchors import Anchor, FileAnchor, S3Anchor, TimestampAnchor, read_anchor
from checkvalve.approvals.closedlogs import base_of
from checkvalve.approvals.errors import LogError
from checkvalve.approvals.judge import Outside
from checkvalve.approvals.keyfile import load_key, save_key
from checkvalve.approvals.lastsigned import read_signed
from checkvalve.approvals.logkeys import Follows, LogKey, origin_of
from checkvalve.approvals.logpolicy import Policy, read_policy
from checkvalve.approvals.notes import PublicKey, parse_keys
from checkvalve.approvals.sealer import HEARTBEAT, Sealer
from checkvalve.approvals.signers import FILE, HeldKey, Holders
from checkvalve.approvals.store import Store


@dataclass(frozen=True)
class LogPlace:
    """The files and anchors of one log. ``key`` is None where nobody said where the key is.

    ``signer`` says what holds the keys that are made from now on, and ``holders`` opens those that are held elsewhere.
    """

    key: Path | None = None
    signed: Path | None = None
    anchors: tuple[Anchor, ...] = ()
    heartbeat: int = HEARTBEAT
    policy_file: Path | None = None
    signer: str = FILE
    holders: Holders = field(default_factory=Holders, compare=False)

    @property
    def has_key(self) -> bool:
        """Say whether there is a key to sign with."""
        return self.key is not None and self.key.exists()

    def key_file(self) -> Path:
        """Return where the key is.

        Raises:
            LogError: nobody said.
        """
        if self.key is None:
            raise LogError("nobody said where the key of the log is", remedy="set audit_key = ... to a file")
        return self.key

    @property
    def public_file(self) -> Path:
        """The file of public keys, which verifiers get."""
        return self.key_file().with_name(self.key_file().name + ".pub")

    @property
    def signed_file(self) -> Path:
        """The file of the last checkpoint; beside the key, unless somebody said where."""
        return self.signed or self.key_file().with_name(self.key_file().name + ".signed")

    def load(self) -> LogKey:
        """Return the key; see :func:`load_key`."""
        return load_key(self.key_file(), self.holders)

    def held(self, origin: str, label: str = "") -> HeldKey | None:
        """Return the key that is to sign the log ``origin``: the one with this label, or a new one.

        None where keys are drawn into the key file.

        Raises:
            LogError: what holds it cannot be reached, or has no such key.
        """
        return self.holders.take(self.signer, label, origin)

    def made(self, origin: str = "", label: str = "", follows: Follows | None = None) -> LogKey:
        """Return keys for a log; nothing is written yet. For ``label`` see :meth:`held`.

        Raises:
            LogError: a log cannot be called so, or there is no such key.
        """
        origin = origin_of(origin)
        held = self.held(origin, label)
        if held is not None and follows is not None and any(held.raw == one.raw for one in follows.keys):
            raise LogError(
                "that key signed the log that is being closed", remedy="name another one, or let one be made"
            )
        return LogKey.new(origin, held=held, follows=follows)

    def create(self, origin: str = "", label: str = "") -> LogKey:
        """Make the keys of a log that has none, and keep them; for ``label`` see :meth:`held`.

        Raises:
            LogError: there are some, a log cannot be called so, or something cannot be reached or written.
        """
        if (file := self.key_file()).exists():  # looked at before a key is made in a token that nobody would use
            raise LogError(
                f"there is a key in {file} already", remedy="use it, or replace it: checkvalve audit key rotate"
            )
        key = self.made(origin, label)
        self.save(key)
        return key

    def save(self, key: LogKey, *, replacing: bool = False) -> None:
        """Write the key, and its public half beside it."""
        save_key(key, self.key_file(), replacing=replacing)
        self._publish(key)

    def _publish(self, key: LogKey) -> None:
        lines = "".join(f"{one}\n" for one in key.public)
        self.public_file.write_text(f"# public keys of the log {key.origin}\n{lines}", encoding="utf-8")

    def prepare(self, key: LogKey) -> None:
        """Write a new key beside the one that it is to replace, which stays; see :mod:`keychange`.

        Raises:
            LogError: one waits there already, or it cannot be written.
        """
        save_key(key, keychange.waiting_file(self.key_file()))

    def settle(self, store: Store) -> None:
        """Finish a change of keys whose event is in the log, and undo one that was interrupted before.

        Raises:
            LogError: a file cannot be read or written.
        """
        file = self.key_file()
        waiting = keychange.waiting_file(file)
        if not waiting.exists():
            return
        with store.write() as connection:  # so no change of keys is between its file and its event
            if not waiting.exists():
                return
            new = load_key(waiting, self.holders)
            finish = new.rotations[-1:] != () and new.rotations[-1] in keychange.told(connection, base_of(connection))
            if finish:
                self._publish(new)
            keychange.switch(file, finish=finish)

    def keep_old(self, number: int) -> None:
        """Keep the public keys of a log that is being closed under another name; ``number`` counts closed logs."""
        file = self.public_file
        if file.exists():
            _keep(file, file.with_name(f"{file.name}.closed-{number}"))

    def keep_signed(self, number: int) -> None:
        """Keep the last checkpoint of a closed log under another name, so that the next one begins without."""
        file = self.signed_file
        if file.exists():
            _keep(file, file.with_name(f"{file.name}.closed-{number}"))
            file.unlink()

    def sealer(self, store: Store) -> Sealer:
        """Return what signs the log of ``store``."""
        self.settle(store)
        return Sealer(
            store,
            self.load(),
            self.signed_file,
            anchors=self.anchors,
            heartbeat=self.heartbeat,
            known=lambda: keychange.kept_keys(self.key_file(), self.holders),
        )

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys that are beside the key, none where there are none.

        Raises:
            LogError: the file is damaged.
        """
        return read_keys(self.public_file) if self.key is not None and self.public_file.exists() else ()

    def policy(self) -> Policy | None:
        """Return whose cosignatures verifying asks for, None where nobody said.

        Raises:
            LogError: the file cannot be read, or is no policy.
        """
        return None if self.policy_file is None else read_policy(self.policy_file)

    def outside(self) -> Iterator[Outside]:
        """Yield the checkpoints that are kept outside the database, where they can be read here.

        Raises:
            LogError: one of them is an object store or a file of stamps, and it cannot be read now.
        """
        if self.key is not None and (text := read_signed(self.signed_file)) is not None:
            yield Outside("the last signed checkpoint", text)
        files = [anchor.path for anchor in self.anchors if isinstance(anchor, FileAnchor)]
        yield from kept_in(file for file in files if file.exists())
        stores = [anchor for anchor in self.anchors if isinstance(anchor, S3Anchor | TimestampAnchor)]
        yield from (Outside(f"anchor {anchor.name}", text) for anchor in stores for text in anchor.kept())


def _keep(file: Path, kept: Path) -> None:
    """Copy a file to a new one, which is on disk when this returns; the same copy again changes nothing."""
    try:
        data = file.read_bytes()
        if kept.exists() and kept.read_bytes() == data:
            return
        with os.fdopen(os.open(kept, os.O_CREAT | os.O_EXCL | os.O_WRONLY, file.stat().st_mode & 0o644), "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise LogError(f"{file} cannot be kept as {kept}: {error.strerror}", remedy=f"move {kept} away") from error


def kept_in(files: Iterable[Path]) -> Iterator[Outside]:
    """Yield the checkpoints in files of anchors.

    Raises:
        LogError: a file cannot be read, or has no checkpoint.
    """
    for file in files:
        found = [Outside(f"anchor {file}", text, short) for text, short in read_anchor(file)]
        if not found:
            raise LogError(f"there is no checkpoint in {file}", remedy="give a file that an anchor has written")
        yield from found


def read_keys(file: Path) -> tuple[PublicKey, ...]:
    """Return the public keys of one log in a file.

    Raises:
        LogError: it has none, or of several logs.
    """
    try:
        keys = parse_keys(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise LogError(f"the file {file} cannot be read", remedy="give a file with the log's public key") from error
    except ValueError as error:
        raise LogError(
            f"{file} holds no public key: {error}", remedy="give what `checkvalve audit key public` printed"
        ) from error
    if len({key.name for key in keys}) != 1:
        raise LogError(f"{file} has keys of several logs", remedy="give the keys of one log")
    return keys
