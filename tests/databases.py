"""The databases that tests run against: files of SQLite, and a PostgreSQL server of this run's own.

The server is started when the first test asks for it, as a user without rights, in a new folder, on a socket in that
folder and no port. It never syncs its disk, unless its settings say so: tests kill processes, not the machine.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from checkvalve.approvals.store import Store

KINDS = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))
"""Parameters for a fixture that gives a test one database of each kind."""

_SAYS_HOW = 15  # the first version in which CREATE DATABASE takes a strategy; the ones before copy files
_PREFIX = "cv-pg-"
_LOCK = "alive"
_JUST_MADE = 60.0  # seconds
_ROOM = 4 << 30  # bytes: a server takes 200 MB of them

_UNSAFE = (
    "fsync=off",
    "full_page_writes=off",
    "max_connections=200",
    "shared_buffers=32MB",
    "autovacuum=off",
    "max_wal_size=128MB",
)


def programs() -> Path | None:
    """Return the folder of the newest server's programs on this machine."""
    known = [Path("/usr/lib/postgresql"), Path("/usr/local/lib/postgresql"), Path("/opt/homebrew/opt")]
    found = [path.parent for folder in known if folder.is_dir() for path in folder.glob("*/bin/initdb")]
    if config := shutil.which("pg_config"):
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
        found.append(Path(told))
    if path := shutil.which("initdb"):
        found.append(Path(path).parent)
    usable = [folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return max(usable, key=lambda folder: [int(n) for n in folder.parent.name.split(".") if n.isdigit()], default=None)


def _user() -> tuple[list[str], pwd.struct_passwd]:
    """Return how to run a program as somebody who may run a server, and who that is. Root may not."""
    if os.getuid() != 0:
        return [], pwd.getpwuid(os.getuid())
    try:
        who = pwd.getpwnam("postgres")
    except KeyError:
        who = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups"], who


@dataclass
class Server:
    """A running server."""

    folder: Path
    bin: Path
    prefix: list[str]
    user: str
    settings: tuple[str, ...] = _UNSAFE
    process: subprocess.Popen[bytes] | None = None
    names: Iterator[int] = field(default_factory=itertools.count)
    strategy: str = ""

    def url(self, database: str) -> str:
        """Return the store's address of a database."""
        return f"postgresql+psycopg://{self.user}@/{database}?host={self.folder}"

    def dsn(self, database: str) -> str:
        """Return the same address as libpq writes it."""
        return f"host={self.folder} user={self.user} dbname={database}"

    def start(self) -> None:
        """Start it, or start it again; it ends with the thread that starts it."""
        options = [word for setting in self.settings for word in ("-c", setting)]
        place = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-c", "listen_addresses="]
        log = (self.folder / "log").open("ab")
        die = [] if not shutil.which("setpriv") else [*(self.prefix or ["setpriv"]), "--pdeathsig", "QUIT"]
        self.process = subprocess.Popen(
            [*(die or self.prefix), str(self.bin / "postgres"), *place, *options], stdout=log, stderr=log
        )
        log.close()
        until = time.monotonic() + 60
        while not self._answers():
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text()[-2_000:])
            time.sleep(0.05)

    def _answers(self) -> bool:
        command = [str(self.bin / "pg_isready"), "-q", "-h", str(self.folder)]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it at once, as a crash does."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Run statements outside a transaction."""
        import psycopg  # the extra `postgres`, which whoever runs a server has

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def empty(self, like: str = "template0") -> str:
        """Make a database and return its name."""
        name = f"db{next(self.names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {like}{self.strategy}")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _place(settings: tuple[str, ...]) -> str:
    """Return where a server may lie: in memory, where there is enough of it and its disk does not matter.

    Both paths are short, as that of a socket must be.
    """
    memory = Path("/dev/shm")
    fits = memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) and shutil.disk_usage(memory).free > _ROOM
    if settings != _UNSAFE or not fits:
        return "/tmp"
    _remove_left_behind(memory)
    return str(memory)


def _remove_left_behind(memory: Path) -> None:
    """Give back the memory of servers whose tests were killed: nobody holds the lock of theirs any more."""
    for folder in memory.glob(f"{_PREFIX}*"):
        with suppress(OSError), (folder / _LOCK).open("rb") as lock:
            if time.time() - folder.stat().st_mtime < _JUST_MADE:
                continue  # its lock may be about to be taken
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


def _strategy(folder: Path) -> str:
    """Return how to say that a database is copied file by file: half the work of copying it through the log."""
    said = subprocess.run([str(folder / "postgres"), "--version"], capture_output=True, text=True, check=True).stdout
    known = re.search(r"\d+", said)
    return " STRATEGY file_copy" if known and int(known[0]) >= _SAYS_HOW else ""


@contextmanager
def running_server(*, settings: tuple[str, ...] = _UNSAFE) -> Iterator[Server]:
    """Give a server with a database ``ready`` that has the tables of the store."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed; run: scripts/system-packages postgres")
    prefix, who = _user()
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_place(settings)))
    os.chown(place, who.pw_uid, who.pw_gid)
    alive = (place / _LOCK).open("wb")
    fcntl.flock(alive, fcntl.LOCK_EX)
    server = Server(place, folder, prefix, who.pw_name, settings)
    try:
        made = [
            *prefix,
            str(folder / "initdb"),
            "-D",
            str(place / "data"),
            "-U",
            who.pw_name,
            "-A",
            "trust",
            "--no-sync",
        ]
        subprocess.run([*made, "-E", "UTF8", "--locale=C"], check=True, capture_output=True, cwd="/")
        server.start()
        server.strategy = _strategy(folder)
        server.run("CREATE DATABASE ready TEMPLATE template0")
        Store.open(server.url("ready")).close()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)
        alive.close()


class Databases:
    """Makes databases for one test, and removes them after it."""

    def __init__(self, kind: str, folder: Path, server: Server | None) -> None:
        self.kind = kind
        self._folder = folder
        self._server = server
        self._numbers = itertools.count(1)
        self._made: list[str] = []

    def make(self, *, ready: bool = False) -> str:
        """Return the address of a new database: empty, or (only quicker) with the store's tables in it."""
        if self._server is None:
            file = self._folder / f"store{next(self._numbers)}.db"
            if not ready:
                file.touch(mode=0o600)  # a file that is not there begins with the tables: tests/paid_once.py
            return f"sqlite:///{file}"
        name = self._server.empty("ready" if ready else "template0")
        self._made.append(name)
        return self._server.url(name)

    def remove(self) -> None:
        for name in self._made:
            if self._server is not None:
                self._server.drop(name)
