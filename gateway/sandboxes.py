"""From the settings to the sandbox of this gateway, and to the folder that a task's code may write.

Guarantees: a task's folder has a name that the task cannot choose, belongs to whoever runs the code, and can be
entered by nobody else; neither it nor anything that code may read holds a file of the gateway.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkvalve.gateway.bubblewrap import Bubblewrap
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.places import database_file, own_files
from checkvalve.gateway.sandbox import MIB, Limits
from checkvalve.gateway.settings import Settings

_OFF: Final = 'set sandbox = "bubblewrap" in the settings'
_NAME: Final = 32  # hexadecimal digits


def sandbox_of(settings: Settings, settings_file: Path | None = None) -> Bubblewrap:
    """Return the sandbox that the settings describe; nothing is tried yet.

    Raises:
        SandboxError: none is configured, or a folder that code may read is named by a relative path.
    """
    if settings.sandbox == "off":
        raise SandboxError("no sandbox is configured, and code never runs without one", _OFF)
    reads = tuple(Path(name).expanduser() for name in settings.sandbox_reads.split(":") if name)
    if wrong := next((path for path in reads if not path.is_absolute()), None):
        raise SandboxError(f"sandbox_reads names {wrong}", "give absolute paths")
    limits = Limits(
        seconds=settings.sandbox_seconds,
        memory=settings.sandbox_memory * MIB,
        processes=settings.sandbox_processes,
        disk=settings.sandbox_disk * MIB,
        output=settings.sandbox_output * 1024,
    )
    return Bubblewrap(limits, reads, tuple(own_files(settings, settings_file).values()))


@dataclass(frozen=True)
class WorkFolders:
    """The work folders of all tasks, below ``root``. ``owner`` is user and group that code runs as, or None."""

    root: Path
    owner: tuple[int, int] | None = None

    def of(self, task: str) -> Path:
        """Return the folder of one task, made when it is not there.

        Raises:
            SandboxError: the task has no name, or the folder cannot be made.
        """
        if not task:
            raise SandboxError(
                "the call belongs to no task, so it has no work folder", "run it through a gate, or give `work`"
            )
        folder = self.root / hashlib.sha256(task.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME]
        try:
            self.root.mkdir(mode=0o711, parents=True, exist_ok=True)
            if not folder.is_dir():
                folder.mkdir(mode=0o700)
                if self.owner is not None:
                    os.chown(folder, *self.owner)
        except OSError as error:
            remedy = "set sandbox_work to a folder that the gateway can write"
            raise SandboxError(f"the work folder {folder} cannot be made: {error.strerror}", remedy) from error
        return folder


def work_folders(settings: Settings, owner: tuple[int, int] | None = None) -> WorkFolders:
    """Return where the settings put the work folders.

    Raises:
        SandboxError: approvals are on a database server, and nobody said where the work folders are to be.
    """
    database = database_file(settings) if settings.database_url else None
    root = settings.sandbox_work or (database and database.with_name("work"))
    if root is None:
        raise SandboxError("no sandbox_work is set", "name the folder that is to hold the work folders of tasks")
    return WorkFolders(root, owner)
