"""Start the sandbox's process, read what it writes, hold it to its limits, and leave nothing of it behind.

1. It gets no environment, no input, no terminal, and none of our open files but those named. 2. What it writes is read
up to a bound and thrown away beyond. 3. Time, memory of all processes and growth of the work folder are looked at while
it runs. 4. At the end, whatever the end was, everything in its process namespace is killed, and gone before this
returns: a daemon that it left behind cannot outlive it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandbox import Finished, Limits, Stopped
from checkvalve.gateway.sandbox_watch import resident, stored

_LOOK: Final = 0.05  # seconds between two looks at the limits
_CHUNK: Final = 65_536
_GONE_WITHIN: Final = 10.0  # seconds a killed namespace may take to be gone
_SHOWN: Final = 300  # characters of what the sandbox's own program says when it cannot start
_STATUS: Final = 4_096


@dataclass(slots=True)
class _Stream:
    """What was kept of one stream."""

    kept: bytearray = field(default_factory=bytearray)
    more: bool = False

    def take(self, data: bytes, most: int) -> None:
        room = max(0, most - len(self.kept))
        self.kept += data[:room]
        self.more = self.more or len(data) > room


@dataclass
class Launch:
    """What to start: the words, the files it may keep open, and as whom (None: as we are)."""

    argv: Sequence[str]
    status: int  # where it reports; read from here
    keep: Iterable[int]
    user: int | None
    group: int | None


def supervise(launch: Launch, work: Path, limits: Limits) -> Finished:
    """Run one command to its end; see the module's procedure.

    Raises:
        SandboxError: the sandbox could not be made, so nothing was run.
    """
    started = time.monotonic()
    before = stored(work, enough=1 << 62)
    try:
        process = subprocess.Popen(  # noqa: S603  # the adapter's own words; those of the command stand behind its `--`
            list(launch.argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            close_fds=True,
            pass_fds=tuple(launch.keep),
            start_new_session=True,
            user=launch.user,
            group=launch.group,
            extra_groups=None if launch.user is None else [],
        )
    except OSError as error:
        os.close(launch.status)
        raise SandboxError(f"{launch.argv[0]} cannot be started: {error.strerror}", "install bubblewrap") from error
    finally:
        for descriptor in launch.keep:
            os.close(descriptor)
    run = _Run(process, launch.status, limits, work, before, started)
    try:
        return run.to_the_end()
    finally:
        run.end()


@dataclass
class _Run:
    """One running sandbox."""

    process: subprocess.Popen[bytes]
    status: int
    limits: Limits
    work: Path
    before: int
    started: float
    output: _Stream = field(default_factory=_Stream)
    errors: _Stream = field(default_factory=_Stream)
    report: _Stream = field(default_factory=_Stream)
    init: int | None = None  # the first process of its namespace, as a file that stands for it and for no other
    root: int = 0
    next_disk: float = 0.0

    def to_the_end(self) -> Finished:
        stopped: Stopped = ""
        with selectors.DefaultSelector() as watched:
            for stream, most in ((self.process.stdout, "output"), (self.process.stderr, "errors")):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    watched.register(stream.fileno(), selectors.EVENT_READ, most)
            os.set_blocking(self.status, False)
            watched.register(self.status, selectors.EVENT_READ, "report")
            looked = 0.0
            while self.process.poll() is None and not stopped:
                self._read(watched, _LOOK)
                if time.monotonic() - looked >= _LOOK:
                    stopped, looked = self._over(), time.monotonic()
            if stopped:
                self.end()
            self._kill()
            self._read(watched, 0)
        code = self.process.wait()
        if not stopped and b'"exit-code"' not in self.report.kept:
            said = bytes(self.errors.kept).decode("utf-8", "replace").strip()[:_SHOWN]
            raise SandboxError(f"the sandbox could not be made, and nothing was run: {said or code}", _remedy(said))
        return Finished(
            code=128 - code if code < 0 else code,
            output=bytes(self.output.kept),
            errors=bytes(self.errors.kept),
            stopped=stopped,
            truncated=self.output.more or self.errors.more,
            seconds=time.monotonic() - self.started,
        )

    def end(self) -> None:
        """Kill whatever is left, and wait until it is gone."""
        self._kill()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self.init is not None:
            os.close(self.init)
            self.init = None
        if self.status >= 0:
            os.close(self.status)
            self.status = -1

    def _kill(self) -> None:
        """Kill the namespace by its first process: the kernel ends all others before that one is gone."""
        if self.init is None:
            return
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.init, signal.SIGKILL)
        gone = select.poll()  # not `select`, which knows no file of a number over 1024
        gone.register(self.init, select.POLLIN)
        gone.poll(_GONE_WITHIN * 1000)

    def _read(self, watched: selectors.BaseSelector, wait: float) -> None:
        """Take what there is to read; nothing is ever waited for beyond ``wait`` seconds."""
        if not watched.get_map():
            time.sleep(wait)
        while watched.get_map():
            ready = watched.select(wait)
            for key, _ in ready:
                data = _some(key.fd)
                if data:
                    self._take(str(key.data), data)
                elif data is not None:
                    watched.unregister(key.fd)
            if not ready or wait:
                return

    def _take(self, stream: str, data: bytes) -> None:
        if stream != "report":
            getattr(self, stream).take(data, self.limits.output)
            return
        self.report.take(data, _STATUS)
        if self.init is None and b"}" in self.report.kept:
            first = bytes(self.report.kept).partition(b"}")[0] + b"}"
            with contextlib.suppress(ValueError, KeyError, OSError):
                self.root = int(json.loads(first)["child-pid"])
                self.init = os.pidfd_open(self.root)

    def _over(self) -> Stopped:
        """Say which limit is passed, if one is."""
        now = time.monotonic()
        if now - self.started > self.limits.seconds:
            return "time"
        if self.root and resident(self.root) > self.limits.memory:
            return "memory"
        if now >= self.next_disk:
            most = self.before + self.limits.disk
            if stored(self.work, enough=most + 1) > most:
                return "disk"
            self.next_disk = time.monotonic() + 4 * (time.monotonic() - now)  # a large folder is looked at less often
        return ""


def _some(descriptor: int) -> bytes | None:
    """Return what can be read now: nothing at the end, None when there is nothing yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _remedy(said: str) -> str:
    if "namespace" in said or "uid map" in said or "loopback" in said:
        return (
            "allow unprivileged user namespaces for bubblewrap (sysctl kernel.unprivileged_userns_clone=1, "
            "user.max_user_namespaces; on Ubuntu an AppArmor profile for bwrap; in a container a seccomp profile that "
            "permits them), or run the gateway where they are allowed"
        )
    if "disable-userns" in said or "Unknown option" in said:
        return "install bubblewrap 0.8 or newer"
    return "`checkvalve sandbox check` says what works here"
