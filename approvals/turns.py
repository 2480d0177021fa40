"""Whose turn it is to write to a SQLite file, among the threads and processes of one host.

SQLite lets one writer in and has the others sleep, each for longer the longer it has waited already: under load those
who came first starve. Here writers take turns before they ask SQLite for its lock.

1. Threads of one process stand in a line, first come, first served. 2. Who is at its head locks a byte of a file beside
the database to be the next one, and then another byte, which whose turn it is has locked: who has just written cannot
overtake. The next one asks often, the others the less often the longer the last wait was, so all of them equally.
3. The turn ends with the transaction; the kernel ends it with the process, however that ends.

Guarantees: nothing depends on a turn but who waits for how long. SQLite's own lock decides who writes: where no turn is
to be had in time (a holder that hangs, a file or folder that cannot be used), and for a thread that has the turn
already, the writer goes on without one, as if there were none. A file that somebody deletes is made again.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

SUFFIX: Final = "-turn"
"""What the file's name has behind that of the database. It is empty, and may be deleted at any time."""

_NOW, _NEXT = 0, 1  # bytes of the file: locked by whose turn it is, and by whose it will be
_PAUSES: Final = ((0.05, 0.0005, 0.002), (0.05, 0.002, 0.01))
"""For each byte, the pause between two tries: a part of the wait, and its bounds in seconds."""
_PRIVATE: Final = 0o600
MAX_LINES: Final = 32
"""Databases of which a process keeps the file open; a gateway has one or two."""


class _Line:
    """The writers of this process to one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._place = -1
        self._last = 0.0  # seconds that the last turn was waited for: how many others there are
        self._mutex = threading.Lock()
        self._waiting = deque[tuple[int, threading.Lock]]()
        self._holder = 0  # the thread whose turn it is; no thread has the number 0

    def is_mine(self) -> bool:
        """Say whether the calling thread has the turn."""
        return self._holder == threading.get_ident()

    def is_idle(self) -> bool:
        """Say whether nobody has the turn or waits for it."""
        with self._mutex:
            return not self._holder and not self._waiting

    def take(self, until: float) -> None:
        """Wait for the turn of the calling thread, until then at most."""
        me, ready = threading.get_ident(), threading.Lock()
        with self._mutex:
            if self._holder:
                ready.acquire()
                self._waiting.append((me, ready))
            else:
                self._holder = me
        taken = False
        try:
            taken = ready.acquire(timeout=max(0.0, until - time.monotonic())) and self._lock(until)
        finally:
            if not taken:
                self._leave(me, ready)

    def give(self) -> None:
        """Give the turn to the next one, where the calling thread has it."""
        if not self.is_mine():
            return
        with suppress(OSError, ValueError):  # the place was closed beside us: then the lock is gone, too
            fcntl.lockf(self._place, fcntl.LOCK_UN, 1, _NOW)
        self._leave(threading.get_ident())

    def close(self) -> None:
        """Let go of the file; a turn of the process from which this one was forked is not ended by it."""
        place, self._place = self._place, -1
        if place >= 0:
            with suppress(OSError):
                os.close(place)

    def _leave(self, me: int, ready: threading.Lock | None = None) -> None:
        """Leave the line, from its head or from within; from the head the next one has the turn."""
        with self._mutex:
            if self._holder == me:
                self._holder, following = self._waiting.popleft() if self._waiting else (0, None)
                if following is not None:
                    following.release()
            elif ready is not None:
                self._waiting.remove((me, ready))

    def _lock(self, until: float) -> bool:
        """Become the next one, then wait until the present one is done: who has just written cannot overtake."""
        try:
            self._open()
            start = time.monotonic()
            if not self._locked(_NEXT, until):
                return False
            self._last = time.monotonic() - start
            try:
                return self._locked(_NOW, until)
            finally:
                fcntl.lockf(self._place, fcntl.LOCK_UN, 1, _NEXT)
        except (OSError, ValueError):  # no file can be made here, or it was closed beside us
            return False

    def _locked(self, byte: int, until: float) -> bool:
        start = time.monotonic()
        while True:
            with suppress(BlockingIOError, PermissionError):  # the two ways to say that somebody else has it
                fcntl.lockf(self._place, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                return True
            now = time.monotonic()
            if now >= until:
                return False
            waited = now - start if byte == _NOW else max(now - start, self._last)
            part, least, most = _PAUSES[byte]
            time.sleep(min(max(waited * part, least), most))

    def _open(self) -> None:
        """Open the file, anew where it was deleted meanwhile."""
        if self._place >= 0 and os.fstat(self._place).st_nlink:
            return
        self.close()
        self._place = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)


_LINES: Final[dict[str, _Line]] = {}
_mutex = threading.Lock()


@contextmanager
def turn(database: Path, patience: float) -> Iterator[None]:
    """Wait at most ``patience`` seconds for the turn to write to a database, and hold it while the block runs."""
    key = os.path.realpath(database)
    with _mutex:
        line = _LINES.get(key)
        if line is None:
            _let_go()
            line = _LINES[key] = _Line(Path(key + SUFFIX))
    if line.is_mine():
        yield
        return
    try:
        line.take(time.monotonic() + patience)
        yield
    finally:
        line.give()


def _let_go() -> None:
    """Close the files of databases that nobody writes to now, the oldest first, where there are many of them."""
    for key, line in [*_LINES.items()]:
        if len(_LINES) < MAX_LINES:
            return
        if line.is_idle():
            line.close()
            del _LINES[key]


def _leave_parent() -> None:
    """Forget the lines of the process from which this one was forked: its threads and its turn are not ours."""
    global _mutex  # noqa: PLW0603  # a thread of the parent may have held it
    _mutex = threading.Lock()
    for line in _LINES.values():
        line.close()
    _LINES.clear()


os.register_at_fork(after_in_child=_leave_parent)

__all__ = ["SUFFIX", "turn"]
