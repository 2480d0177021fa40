"""Who is running an attempt, and whether that process can still be: the difference between slow and dead.

An owner is a boot, a process namespace, a process id and the time that process started, so that a reused process id
is not mistaken for its predecessor. Where another machine or container owns the attempt, only the lease can tell.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_SELF_NAMESPACE: Final = Path("/proc/self/ns/pid")
_START_TIME: Final = 19  # field 22 of /proc/PID/stat, counted after the name, which may hold anything
_ELSEWHERE: Final = "elsewhere"  # no /proc: every owner is judged by its lease


@dataclass(frozen=True, slots=True)
class Owner:
    """One claim of one process of one boot of one machine. ``claim`` tells the claims of a process apart."""

    boot: str
    namespace: str
    pid: int
    started: str
    claim: str = ""

    def __str__(self) -> str:
        return f"{self.boot}/{self.namespace}/{self.pid}/{self.started}/{self.claim}"

    def is_same_process(self, other: Owner) -> bool:
        """Say whether both are claims of one process."""
        return replace(self, claim="") == replace(other, claim="")

    @classmethod
    def me(cls, claim: str = "") -> Owner:
        """Return the present process as the owner of a claim."""
        try:
            boot = _BOOT_ID.read_text(encoding="ascii").strip()
            namespace = str(_SELF_NAMESPACE.readlink())
        except OSError:
            boot = namespace = _ELSEWHERE
        return cls(boot, namespace.replace("/", ""), os.getpid(), _started(os.getpid()), claim)

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """Return the stored owner, or None when the text is not one."""
        parts = text.split("/")
        if len(parts) != 5 or not parts[2].isdigit():  # noqa: PLR2004  # the five fields
            return None
        return cls(parts[0], parts[1], int(parts[2]), parts[3], parts[4])


def _started(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    if not fields or fields[0] in {"Z", "X"}:  # a zombie runs nothing any more
        return ""
    return fields[_START_TIME] if len(fields) > _START_TIME else ""


def is_dead(owner: str, *, lease_until: int, now: int) -> bool:
    """Say whether the process that owns an attempt must count as gone.

    1. The lease is over: whoever it is had its time.
    2. The same boot and process namespace: the process table knows.
    3. Anywhere else, only the lease can tell.
    """
    if now >= lease_until:
        return True
    who, here = Owner.parse(owner), Owner.me()
    if who is None or here.boot == _ELSEWHERE or (who.boot, who.namespace) != (here.boot, here.namespace):
        return False
    return _started(who.pid) != who.started
