"""Where the files of a gateway are: what they are called when nobody says, and that the agent cannot write them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import make_url

from checkvalve.gateway.errors import SettingsError

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

MODEL_FILE: Final = re.compile(r"(recorded|scripted|gguf):(.+)", re.DOTALL)
"""The name of a model that is a file."""
TOOLS_FILE: Final = re.compile(r"(.+\.py)(:\w+)?", re.DOTALL)
"""Tools that are in a file, not in an installed module."""


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
        "database": database,
        "runs": checkpoints or (database and database.with_name("runs.db")),
        "file of API tokens": settings.api_tokens or (database and database.with_name("api-tokens.json")),
        "tools": Path(tools[1]) if tools else None,
        **{name: Path(match[2]) if match else None for name, match in models.items()},
    }
    return {name: path for name, path in found.items() if path is not None}


def _file_of(address: str) -> Path | None:
    url = make_url(address)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def refuse_agent_folder(settings: Settings, file: Path | None) -> None:
    """Refuse settings under which the agent could write what decides for the gateway.

    Raises:
        SettingsError: one of our files lies in ``agent_workdir``.
    """
    if settings.agent_workdir is None:
        return
    folder = settings.agent_workdir.resolve()
    for name, path in own_files(settings, file).items():
        # Both the link and what it points to: whoever can replace the link chooses the file.
        if path.resolve().is_relative_to(folder) or path.absolute().is_relative_to(folder):
            raise SettingsError(
                f"the {name} {path} lies in the agent's working folder {folder}",
                "move it where the agent cannot write: whoever can edit it decides for the gateway",
            )
