"""A log whose key lies in a file, as people have it, and changes of the key that may be interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from checkvalve.approvals.anchors import FileAnchor
from checkvalve.approvals.lastsigned import newest
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.notes import PublicKey, parse_note, signatures_of
from checkvalve.approvals.store import Store
from checkvalve.approvals.verify import verify
from tests.approvals.sealed import ORIGIN, write


class DiedError(Exception):
    """Stands for the end of the process."""


class FileLog:
    """A store whose log has its key in a file, as people have it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.place = LogPlace(folder / "key.json", anchors=(FileAnchor(folder / "anchor.jsonl"),))
        self.place.save(LogKey.new(ORIGIN))
        self.old = self.place.load()
        write(store, 3)
        self.place.sealer(store).seal()

    def rotate(self) -> None:
        """Change the keys as the command does."""
        self.place.sealer(self.store).rotate(self.place.prepare, lambda: self.place.settle(self.store))

    def rotate_until(self, *, committed: bool) -> None:
        """Change the keys, and die before the event is committed, or right after it."""

        def save(key: LogKey) -> None:
            self.place.prepare(key)
            if not committed:
                raise DiedError

        def settle() -> None:
            raise DiedError

        with pytest.raises(DiedError):
            self.place.sealer(self.store).rotate(save, settle)

    def require_good(self, *, size: int | None = None) -> None:
        """Verify with the first keys and with the present ones."""
        for keys in (self.old.public, self.place.public_keys()):
            report = verify(self.store, keys=keys, outside=self.place.outside())
            assert (report.ok, report.is_judged, report.findings) == (True, True, [])
            assert size is None or (report.signed or {})["size"] == size

    def signed_by(self, keys: Sequence[PublicKey]) -> bool:
        """Say whether all of these keys signed the newest checkpoint."""
        with self.store.read() as connection:
            note = parse_note(newest(connection) or "")
        return all(signatures_of(note, key) for key in keys)

    def rest(self) -> list[str]:
        """Return the key files that old keys were kept beside, one for each."""
        return sorted(file.name.split(".old-")[0] for file in self.folder.glob("key.json*") if ".old-" in file.name)

    def size(self) -> int:
        """Return how many events the newest checkpoint has."""
        with self.store.read() as connection:
            return int((newest(connection) or "\n0").split("\n")[1])
