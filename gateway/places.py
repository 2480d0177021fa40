"""Where the files of a gateway are: what they are called when nobody says, and that the agent cannot write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import make_url

from checkvalve.approvals.anchors import FileAnchor, parse_anchors
from checkvalve.gateway.channel_file import secret_files
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.oncall_file import oncall_secrets

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

MODEL_FILE: Final = re.compile(r"(recorded|scripted|gguf):(.+)", re.DOTALL)
"""The name of a model that is a file."""
TOOLS_FILE: Final = re.compile(r"(.+\.py)(:\w+)?", re.DOTALL)
"""Tools that are in a file, not in an installed module."""

_MAX_LINKS: Final = 40  # as many as Linux follows


def is_manifest(name: str) -> bool:
    """Say whether ``name`` is that of a manifest, which declares tools and does not bring them."""
    return name.endswith((".yaml", ".yml"))


def database_file(settings: Settings) -> Path | None:
    """Return the file behind an SQLite URL, or None for a database server."""
    return _file_of(settings.database_url)


def checkpoint_place(settings: Settings) -> Path | str:
    """Return where paused runs live: a file, or the address of a database server.

    Raises:
        SettingsError: approvals are on a server, and nobody said where the runs are to live.
    """
    if settings.checkpoint_url:
        return _file_of(settings.checkpoint_url) or settings.checkpoint_url
    database = database_file(settings)
    if database is None:
        raise SettingsError("no checkpoint_url is set", "name a database of its own for paused runs")
    return database.with_name("runs.db")


def tokens_file(settings: Settings) -> Path:
    """Return the file of API tokens.

    Raises:
        SettingsError: approvals are on a server, and nobody said where the tokens are.
    """
    database = database_file(settings)
    if settings.api_tokens is None and database is None:
        raise SettingsError("no api_tokens is set", "name the file of API tokens: api_tokens = ...")
    return settings.api_tokens or (database or Path()).with_name("api-tokens.json")


def audit_key_file(settings: Settings) -> Path | None:
    """Return the file of the key that signs the audit log, None where approvals are on a server and nobody said."""
    if settings.audit_key is not None:
        return settings.audit_key
    database = database_file(settings) if settings.database_url else None
    return database and database.with_name("audit-key.json")


def _log_files(settings: Settings) -> dict[str, Path | None]:
    """Return what the signed log is kept in, beside the database."""
    key = audit_key_file(settings)
    anchors = [anchor.path for anchor in parse_anchors(settings.audit_anchors) if isinstance(anchor, FileAnchor)]
    return {
        "key of the audit log": key,
        "public key of the audit log": key and key.with_name(key.name + ".pub"),
        "PIN of the token": settings.audit_pkcs11_pin_file,
        "module of the token": settings.audit_pkcs11_module,
        "last signed checkpoint": settings.audit_signed or (key and key.with_name(key.name + ".signed")),
        **{f"anchor of the audit log {number}": path for number, path in enumerate(anchors, 1)},
    }


def _channel_files(settings: Settings) -> dict[str, Path | None]:
    """Return the file of channels, and the files of secrets that it names."""
    secrets = secret_files(settings.channels) if settings.channels else ()
    return {
        "file of channels": settings.channels,
        **{f"secret of a channel {number}": path for number, path in enumerate(secrets, 1)},
    }


def _oncall_files(settings: Settings) -> dict[str, Path | None]:
    """Return the file of on-call schedules, and the files of secrets that it names."""
    secrets = oncall_secrets(settings.oncall) if settings.oncall else ()
    return {
        "file of on-call schedules": settings.oncall,
        **{f"secret of an on-call service {number}": path for number, path in enumerate(secrets, 1)},
    }


def own_files(settings: Settings, file: Path | None) -> dict[str, Path]:
    """Return every file that decides for the gateway or holds its records, by what it is."""
    tools = TOOLS_FILE.fullmatch(settings.tools)
    models = {name: MODEL_FILE.fullmatch(getattr(settings, name)) for name in ("reader", "actor")}
    checkpoints = _file_of(settings.checkpoint_url) if settings.checkpoint_url else None
    database = database_file(settings) if settings.database_url else None
    found = {
        "settings file": file,
        "manifest": settings.manifest,
        "policy": settings.policy,
        "file of review rules": settings.review_rules,
        "database": database,
        "runs": checkpoints or (database and database.with_name("runs.db")),
        "file of API tokens": settings.api_tokens or (database and database.with_name("api-tokens.json")),
        "file of values that never leave": settings.outbound_values,
        "secret of the organisation's sign-in": settings.oidc_client_secret,
        **_channel_files(settings),
        **_oncall_files(settings),
        **_log_files(settings),
        "tools": Path(tools[1]) if tools else None,
        **{name: Path(match[2]) if match else None for name, match in models.items()},
    }
    return {name: path for name, path in found.items() if path is not None}


def _file_of(address: str) -> Path | None:
    url = make_url(address)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def way_to(path: Path) -> Iterator[Path]:
    """Yield every place on the way to ``path``, each with no link before its last step, as the system walks it.

    1. A plain step goes down. 2. A link puts what it points to before the steps that are left.
    3. ``..`` goes up from where the links before it have led, not from where they stand.
    """
    left = list(reversed(path.absolute().parts))
    here, links = Path(left.pop()), 0
    while left:
        step = left.pop()
        if step == "..":  # 3.
            here = here.parent
            continue
        there = here / step
        yield there
        target = there.readlink() if there.is_symlink() else None
        if target is None:  # 1.
            here = there
            continue
        links += 1
        if links > _MAX_LINKS:
            raise SettingsError(f"{path} leads through too many links", "give the path of the file itself")
        if target.is_absolute():
            here = Path(target.anchor)
        left.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))  # 2.


def _is_in(path: Path, folder: Path) -> bool:
    """Say whether ``path`` lies in ``folder``, also where the file system tells no cases apart or has it twice."""
    if path.is_relative_to(folder):
        return True
    try:
        return folder.exists() and any(place.samefile(folder) for place in (path, *path.parents) if place.exists())
    except OSError:
        return False


def refuse_agent_folder(settings: Settings, file: Path | None) -> None:
    """Refuse settings under which the agent could write what decides for the gateway.

    Raises:
        SettingsError: one of our files lies in ``agent_workdir``, or the way to it leads through there: whoever can
            replace a link or a folder on the way chooses the file.
    """
    if settings.agent_workdir is None:
        return
    folder = settings.agent_workdir.resolve()
    for name, path in own_files(settings, file).items():
        if any(_is_in(step, folder) for step in way_to(path)):
            raise SettingsError(
                f"the {name} {path} lies in the agent's working folder {folder}",
                "move it where the agent cannot write: whoever can edit it decides for the gateway",
            )
