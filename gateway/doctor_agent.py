"""Is there a boundary between the agent and the gateway? Everything of ours is looked at as the agent's user.

1. Without a named user nothing can be said, and that is said. 2. The same user, root, or a group that amounts to it:
no separation at all, whatever the modes are. 3. Each file of ours: may the agent read it where it is a secret, or
change it where it decides? 4. Each secret: may anybody but its owner?
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import make_url

from checkvalve.approvals.addresses import has_password
from checkvalve.approvals.turns import SUFFIX
from checkvalve.gateway.doctor import Finding, ok, problem, unknown, warning
from checkvalve.gateway.doctor_user import Access, User, own_user
from checkvalve.gateway.places import own_files

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

_OPEN_TO_READ: Final = frozenset(
    {"settings file", "manifest", "policy", "tools", "file of channels", "file of review rules", "reader", "actor"}
)
"""Files that the agent may read: they decide, and hold no secret. The settings are looked at for a password apart."""
_PUBLIC: Final = ("public key", "anchor", "last signed", "module of the token")
_PTRACE: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_SEPARATE: Final = "separation from the agent"


def files_of(settings: Settings, file: Path | None, more: Sequence[Path] = ()) -> dict[str, Path]:
    """Return every file of ours by what it is, with what SQLite keeps beside a database, and ``more`` secrets."""
    found = own_files(settings, file)
    for name in ("database", "runs"):
        for suffix in ("-wal", "-shm", SUFFIX):
            if name in found and (beside := found[name].with_name(found[name].name + suffix)).exists():
                found[f"{name}{suffix}"] = beside
    return found | {f"credential {path.name}": path.absolute() for path in more}


def is_secret(name: str, path: Path, settings: Settings) -> bool:
    """Say whether a file may be read by its owner alone."""
    if name == "settings file":
        return has_password(make_url(settings.database_url))
    return name not in _OPEN_TO_READ and not any(word in name for word in _PUBLIC) and path.exists()


def separation(agent: User | None, files: Mapping[str, Path], settings: Settings) -> Iterator[Finding]:
    """Yield what the agent's user can do with our files; see the module's list."""
    if agent is None:  # 1.
        yield unknown(
            _SEPARATE,
            "nobody said under which user the agent runs, so nothing can be said about it. Under the gateway's own "
            "user there is no separation: such an agent can approve for itself, edit the database, and read every key",
            "run the agent under a user of its own, and say so: --agent-user NAME, or agent_user = ...",
        )
        return
    service = _service(files)
    yield from _identity(agent, service)
    if agent.uid in {0, service.uid}:
        return
    access = Access(agent)  # 3.
    bad = 0
    for name, path in files.items():
        secret = is_secret(name, path, settings)
        if secret and access.can_read(path):
            bad += 1
            yield problem(
                _SEPARATE, f"the agent can read the {name}: {path}", f"chmod 600 {path}, in a folder of mode 700",
                how=access.how,
            )  # fmt: skip
        if (by := access.can_change(path)) is not None:
            bad += 1
            through = "" if by == path else f", since it can write {by}"
            remedy = "let the service's user alone write it, and every folder on the way to it"
            yield problem(_SEPARATE, f"the agent can change the {name}: {path}{through}", remedy, how=access.how)
    if not bad:
        text = f"{agent.name} (uid {agent.uid}) can read no secret and change no file of ours; {len(files)} looked at"
        yield ok(_SEPARATE, text, how=access.how)


def _identity(agent: User, service: User) -> Iterator[Finding]:
    """Say whether the two users are two at all."""
    if agent.uid == service.uid:  # 2.
        scope = _PTRACE.read_text().strip() if _PTRACE.exists() else "?"
        text = f"THERE IS NO SEPARATION: agent and gateway are the same user {service.name} (uid {service.uid})"
        traced = "it can also read the gateway's memory (ptrace)" if scope == "0" else f"ptrace_scope is {scope}"
        remedy = "run the agent under a user of its own; no mode of a file helps against the owner"
        yield problem(_SEPARATE, f"{text}; {traced}", remedy)
    elif agent.uid == 0:
        yield problem(_SEPARATE, "THERE IS NO SEPARATION: the agent is root", "run the agent under a user of its own")
    if agent.root_like and agent.uid != 0:
        groups = ", ".join(agent.root_like)
        text = f"THERE IS NO SEPARATION: {agent.name} is in the group {groups}, which amounts to root"
        yield problem(_SEPARATE, text, f"take {agent.name} out of it")
    shared = sorted(agent.groups & service.groups - {0}) if agent.uid != service.uid else []
    if shared:
        text = f"agent and gateway share the group {', '.join(map(str, shared))}: what it may, the agent may"
        yield warning(_SEPARATE, text, "give the gateway a group of its own")


def _service(files: Mapping[str, Path]) -> User:
    """Return the user of the gateway: the owner of its database or settings where root looks, else who looks."""
    mine = own_user()
    if os.geteuid() != 0:
        return mine
    for name in ("database", "settings file", "key of the audit log"):
        path = files.get(name)
        if path is not None and path.exists() and (owner := path.stat().st_uid) != 0:
            return User(path.owner() if _known(path) else str(owner), owner, frozenset({path.stat().st_gid}))
    return mine


def _known(path: Path) -> bool:
    try:
        path.owner()
    except KeyError:
        return False
    return True


def modes(files: Mapping[str, Path], settings: Settings) -> Iterator[Finding]:
    """Yield each secret that others than its owner can read or write."""
    looked = 0
    for name, path in files.items():  # 4.
        if not is_secret(name, path, settings):
            continue
        looked += 1
        mode = stat.S_IMODE(path.stat().st_mode)
        closed = stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
        if mode & 0o077 and not closed:
            text = f"the {name} {path} has mode {mode:04o}: others than its owner may use it"
            yield problem("modes of secrets", text, f"chmod 600 {path}, or chmod 700 {path.parent}")
    yield ok("modes of secrets", f"{looked} secrets were looked at")


def workdir(agent: User | None, settings: Settings) -> Iterator[Finding]:
    """Say whether it is known where the agent writes."""
    folder = settings.agent_workdir
    if folder is None:
        yield warning(
            "agent's folder", "agent_workdir is not set: nobody refuses settings, manifest or policy in there",
            "set agent_workdir = ... to the folder that the agent can write",
        )  # fmt: skip
    elif not folder.is_dir():
        yield warning("agent's folder", f"there is no folder {folder}", "mend agent_workdir, or make it")
    else:
        yield ok("agent's folder", f"nothing of ours lies in {folder}" + (f", used by {agent.name}" if agent else ""))


__all__ = ["files_of", "is_secret", "modes", "separation", "workdir"]
