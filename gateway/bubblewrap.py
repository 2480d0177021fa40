"""The sandbox made with bubblewrap (``bwrap``): namespaces, a file system of little, no capability, a filter of calls.

What code sees: the system's programs and libraries (``/usr``), read only; its work folder at ``/task``; an empty
``/tmp``; a ``/proc`` and a ``/dev`` of its own; a user, a host name and an environment that say nothing. What it does
not see: the network, home folders, ``/etc``, ``/run``, ``/var``, other processes, and any file of the gateway.

Guarantees: what is not listed is not there; the command's words stand behind ``--`` and are never read as options of
the sandbox; a gateway that is root runs code as another user, since root's files and limits are root's everywhere.
"""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandbox import WORK, Finished, Limits, checked_words
from checkvalve.gateway.sandbox_run import Launch, supervise
from checkvalve.gateway.sandbox_syscalls import MACHINES, filter_for

PLACES: Final = "/usr/bin:/usr/local/bin:/bin"
"""Where ``bwrap`` is looked for; never by the caller's PATH."""
PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for inside. The work folder is not in it."""
OUTSIDER: Final = "nobody"
"""As whom code runs when the gateway is root."""

_USER: Final = 1000  # what code believes to be
_LINKS: Final = ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
_FILES: Final = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
_NETWORK_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")
_ACCOUNTS: Final = (
    ("/etc/passwd", f"agent:x:{_USER}:{_USER}:agent:{WORK}:/usr/sbin/nologin\n"),
    ("/etc/group", f"agent:x:{_USER}:\n"),
)
_NAMESPACES: Final = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_HIDDEN: Final = tuple(map(Path, ("/proc", "/sys", "/dev", "/run", "/var/run", "/root", "/home", "/boot", "/etc")))


@dataclass(frozen=True)
class Bubblewrap:
    """Runs programs in bubblewrap. ``reads`` are folders that code may read beside the system's own."""

    limits: Limits = field(default_factory=Limits)
    reads: tuple[Path, ...] = ()
    closed: tuple[Path, ...] = ()
    """Files of the gateway: neither the work folder nor ``reads`` may hold one of them, or lie beside its way."""

    def check(self) -> None:
        """Prove that a program can be started here; see :class:`checkvalve.gateway.sandbox.Sandbox`."""
        self._program()
        for folder in self.reads:
            self._refuse_read(folder)
        if not shutil.which("prlimit", path="/usr/bin:/bin"):
            raise SandboxError("there is no prlimit, which sets the limits of code", "install util-linux")
        with scratch_folder(self.outsider) as work:
            done = self.run(["true"], work)
        if done.code != 0:
            raise SandboxError(f"a program that does nothing ended with {done.code} in the sandbox", "look at the log")

    def run(self, argv: Sequence[str], work: Path, *, network: bool = False) -> Finished:
        """Run one program; see :class:`checkvalve.gateway.sandbox.Sandbox`."""
        words = checked_words(argv)
        work = self._work(work)
        self._program()  # before anything is opened
        call_filter = _filter()
        data = [_read_once(text.encode()) for _, text in _ACCOUNTS]
        rules = _read_once(call_filter)
        status, report = os.pipe()
        command = self.command(words, work, network=network, files=data, rules=rules, report=report)
        user, group = self.outsider or (None, None)
        return supervise(Launch(command, status, (*data, rules, report), user, group), work, self.limits)

    @property
    def outsider(self) -> tuple[int, int] | None:
        """Return user and group that code runs as, when the gateway is root."""
        if os.geteuid() != 0:
            return None
        try:
            found = pwd.getpwnam(OUTSIDER)
        except KeyError:
            raise SandboxError(
                f"the gateway is root, and there is no user {OUTSIDER} to run code as", "run it as a user of its own"
            ) from None
        return found.pw_uid, found.pw_gid

    def command(
        self, words: Sequence[str], work: Path, *, network: bool, files: Sequence[int], rules: int, report: int
    ) -> list[str]:
        """Return the whole command line; ``files``, ``rules`` and ``report`` are open files that it is given."""
        places: list[str] = ["--ro-bind", "/usr", "/usr"]
        for name in _LINKS:
            places += _link_or_bind(Path(name))
        for name in (*_FILES, *(_NETWORK_FILES if network else ())):
            places += ["--ro-bind-try", name, name]
        for descriptor, (name, _) in zip(files, _ACCOUNTS, strict=True):
            places += ["--ro-bind-data", str(descriptor), name]
        more = [word for folder in self.reads for word in ("--ro-bind", str(folder), str(folder))]
        scratch = str(self.limits.scratch)
        return [
            str(self._program()),
            *_NAMESPACES,
            *(() if network else ("--unshare-net",)),
            *("--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
            *("--uid", str(_USER), "--gid", str(_USER), "--hostname", "sandbox"),
            *places,
            *("--proc", "/proc", "--dev", "/dev", "--size", scratch, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108
            *("--size", scratch, "--tmpfs", "/tmp"),  # noqa: S108  # the sandbox's own
            *more,
            *("--bind", str(work), WORK, "--chdir", WORK, "--remount-ro", "/"),
            *("--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", WORK, "--setenv", "LANG", "C.UTF-8"),
            *("--setenv", "TMPDIR", "/tmp"),  # noqa: S108
            *("--json-status-fd", str(report), "--seccomp", str(rules)),
            "--",
            *self._limited(),
            "--",
            *words,
        ]

    def _limited(self) -> list[str]:
        """Return the program that sets the limits of each process, inside, where the number of processes is its own."""
        limits = self.limits
        return [
            "/usr/bin/prlimit",
            f"--cpu={max(1, round(limits.seconds))}",
            f"--as={limits.address_space}",
            f"--nproc={limits.processes}",
            f"--nofile={limits.open_files}",
            f"--fsize={limits.file_size}",
            "--core=0",
            "--memlock=0",
            "--msgqueue=0",
        ]

    def _program(self) -> Path:
        found = shutil.which("bwrap", path=PLACES)
        if found is None:
            raise SandboxError(
                "bubblewrap is not installed, and code never runs without it", "apt-get install bubblewrap"
            )
        return Path(found)

    def _work(self, work: Path) -> Path:
        """Return the folder that is to be written, without links on the way."""
        try:
            found = work.resolve(strict=True)
        except OSError:
            raise SandboxError(f"there is no work folder {work}", "make it, or name another one") from None
        if not found.is_dir() or len(found.parts) < 3 or self._holds_ours(found):  # noqa: PLR2004  # `/`, `/srv`: never
            raise SandboxError(
                f"{found} cannot be a work folder", "name a folder of its own that holds nothing of the gateway"
            )
        if self.outsider is not None and not _reachable(found, *self.outsider):
            raise SandboxError(
                f"code runs as {OUTSIDER} when the gateway is root, and {OUTSIDER} cannot reach or write {found}",
                f"run the gateway as a user of its own, or give {OUTSIDER} the folder and the way to it",
            )
        return found

    def _refuse_read(self, folder: Path) -> None:
        found = folder.resolve()
        if found == Path("/") or any(found == hidden or hidden.is_relative_to(found) for hidden in _HIDDEN):
            raise SandboxError(f"code may not read all of {found}", "name the folder that it needs")
        if self._holds_ours(found):
            raise SandboxError(f"{found} holds a file of the gateway", "name a folder that does not")

    def _holds_ours(self, folder: Path) -> bool:
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir) if _has_account() else None
        return any(path.resolve().is_relative_to(folder) for path in (*self.closed, *([home] if home else [])))


def _has_account() -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwuid(os.geteuid()).pw_dir.strip("/"))
    return False


@contextmanager
def scratch_folder(owner: tuple[int, int] | None) -> Iterator[Path]:
    """Make a folder for a trial, and remove it with everything in it."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="checkvalve-") as name:  # all may pass /tmp
        if owner is not None:
            os.chown(name, *owner)
        yield Path(name)


def _filter() -> bytes:
    found = filter_for(platform.machine())
    if found is None:
        raise SandboxError(
            f"no filter of system calls is known for {platform.machine()}", f"use one of: {', '.join(MACHINES)}"
        )
    return found


def _read_once(data: bytes) -> int:
    """Return an open file that holds ``data`` and has no name."""
    descriptor = os.memfd_create("checkvalve", os.MFD_CLOEXEC)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _link_or_bind(path: Path) -> list[str]:
    """Return how ``/bin`` and the like are made: a link as on this machine, or the folder, or nothing."""
    with suppress(OSError):
        if path.is_symlink():
            return ["--symlink", str(path.readlink()), str(path)]
        if path.is_dir():
            return ["--ro-bind", str(path), str(path)]
    return []


def _reachable(folder: Path, user: int, group: int) -> bool:
    """Say whether a user may pass every folder on the way, and write the last one."""

    def may(path: Path, bits: int) -> bool:
        found = path.stat()
        shift = 6 if found.st_uid == user else 3 if found.st_gid == group else 0
        return (found.st_mode >> shift) & bits == bits

    return all(may(parent, 0o1) for parent in folder.parents) and may(folder, 0o7)
