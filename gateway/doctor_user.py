"""What another user of this machine can do with a file: tried as that user where we are root, else computed from modes.

Guarantees: a file can be changed by whoever can write it, or can replace it, a link, or a folder on the way to it; a
folder on the way that one may not enter is in the way of everything behind it. What computing does not see: access
lists, capabilities and mandatory access control; then the answer says that it was computed.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.places import way_to

ROOT_LIKE: Final = frozenset({"root", "sudo", "wheel", "admin", "docker", "lxd", "libvirt", "disk", "shadow", "podman"})
"""Groups whose members can become root or read every file, as systems usually have it."""
_SECONDS: Final = 10
Way = Literal["r", "w", "x"]


@dataclass(frozen=True, slots=True)
class User:
    """A user of this machine."""

    name: str
    uid: int
    groups: frozenset[int]

    @property
    def root_like(self) -> list[str]:
        """The groups of this user that amount to root."""
        return sorted(name for name in map(_group, self.groups) if name in ROOT_LIKE)


def user_of(text: str) -> User:
    """Return the user with this name or number.

    Raises:
        SettingsError: there is none.
    """
    try:
        entry = pwd.getpwuid(int(text)) if text.isascii() and text.isdigit() else pwd.getpwnam(text)
    except (KeyError, OverflowError) as error:
        if text.isascii() and text.isdigit():  # a number needs no entry, as in a container
            return User(text, int(text), frozenset({int(text)}))
        raise SettingsError(
            f"there is no user {text!r} on this machine", "give the agent's user: name or number"
        ) from error
    return User(entry.pw_name, entry.pw_uid, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid)))


def own_user() -> User:
    """Return the user of this process."""
    uid = os.geteuid()
    try:
        return user_of(str(uid))
    except SettingsError:
        return User(str(uid), uid, frozenset(os.getgroups()))


@dataclass(frozen=True, slots=True)
class Access:
    """Looks at files as another user."""

    user: User

    @property
    def how(self) -> str:
        """How it looks: ``tried`` as that user, or ``computed`` from modes."""
        return "tried" if os.geteuid() == 0 and _setpriv() else "computed"

    def can_read(self, path: Path) -> bool:
        """Say whether the user can read a file that is there."""
        return path.exists() and self._may(path, "r")

    def can_change(self, path: Path) -> Path | None:
        """Return what the user can write in order to change a file: it, or a folder on the way; None for nothing."""
        if path.exists() and self._may(path, "w"):
            return path
        for step in way_to(path):
            folder = step.parent
            if folder.is_dir() and self._may(folder, "w") and not self._is_held(folder, step):
                return folder
            if not step.exists():
                break
        return None

    def _is_held(self, folder: Path, step: Path) -> bool:
        """Say whether a sticky folder keeps others from replacing what is there."""
        sticky = folder.stat().st_mode & stat.S_ISVTX
        there = step.is_symlink() or step.exists()
        return bool(sticky and there and self.user.uid not in {0, step.lstat().st_uid, folder.stat().st_uid})

    def _may(self, path: Path, way: Way) -> bool:
        if self.how == "computed":
            return self._computed(path, way)
        groups = ",".join(map(str, sorted(self.user.groups)))
        become = [
            _setpriv() or "",
            f"--reuid={self.user.uid}",
            f"--regid={min(self.user.groups)}",
            f"--groups={groups}",
        ]
        command = [*become, "--", "/usr/bin/test", f"-{way}", str(path)]
        done = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603  # no shell
        if done.returncode not in {0, 1}:
            return self._computed(path, way)
        return done.returncode == 0

    def _computed(self, path: Path, way: Way) -> bool:
        if self.user.uid == 0:
            return True
        real = path.resolve()
        inside = all(self._bits(parent, "x") for parent in real.parents)
        return inside and self._bits(real, way)

    def _bits(self, path: Path, way: Way) -> bool:
        found = path.stat()
        bit = {"r": 4, "w": 2, "x": 1}[way]
        if found.st_uid == self.user.uid:
            return bool(found.st_mode & (bit << 6))
        if found.st_gid in self.user.groups:
            return bool(found.st_mode & (bit << 3))
        return bool(found.st_mode & bit)


def _setpriv() -> str | None:
    return shutil.which("setpriv", path="/usr/bin:/bin")


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


__all__ = ["ROOT_LIKE", "Access", "User", "own_user", "user_of"]
