"""A work folder with the probes in it, and the same probe run inside the sandbox and outside of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checkvalve.gateway.bubblewrap import Bubblewrap
from checkvalve.gateway.sandbox import MIB, Finished, Limits

PROBES = Path(__file__).with_name("sandbox_probes.py")
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin")
SECRET = "s3cret-of-the-host"
SMALL = Limits(seconds=30, memory=512 * MIB, processes=32, open_files=64, file_size=16 * MIB, disk=64 * MIB)


@dataclass
class Jail:
    """One sandbox and its folders: ``work`` for the code, ``host`` with what the code must not see."""

    folder: Path
    sandbox: Bubblewrap = field(default_factory=lambda: Bubblewrap(SMALL))

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def host(self) -> Path:
        return self.folder / "host"

    def limited(self, **limits: Any) -> Jail:
        return replace(self, sandbox=replace(self.sandbox, limits=replace(self.sandbox.limits, **limits)))

    def inside(self, name: str, *arguments: object) -> Finished:
        words = [PYTHON or "python3", "sandbox_probes.py", name, *map(str, arguments)]
        return self.sandbox.run(words, self.work)

    def outside(self, name: str, *arguments: object) -> int:
        """Run the probe as this process would, in a folder of its own; 0 when it gets through."""
        with tempfile.TemporaryDirectory(dir=self.host) as place:
            words = [sys.executable, str(PROBES), name, *map(str, arguments)]
            return subprocess.run(words, cwd=place, capture_output=True, timeout=60, check=False).returncode


@contextmanager
def jail() -> Iterator[Jail]:
    """Make the folders where whoever runs the code can reach them."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="checkvalve-jail-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "work").mkdir(0o700)
        (folder / "host").mkdir()
        (folder / "host").chmod(0o777)  # only the sandbox protects it
        shutil.copy(PROBES, folder / "work")
        found = Jail(folder)
        if found.sandbox.outsider is not None:
            for path in (folder / "work", folder / "work" / PROBES.name):
                os.chown(path, *found.sandbox.outsider)
        yield found
