"""What the gateway may be told, in one frozen object, and the only place that reads the environment.

Guarantees: an unknown key in the file or an unknown ``CHECKVALVE_*`` variable is an error that names the nearest known
key; the working folder is never looked at, so a relative path is relative to the settings file, and one in a variable
is refused; a settings file, manifest, policy or database inside ``agent_workdir`` is refused, because the agent could
rewrite it.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from checkvalve.gateway.errors import SettingsError

PREFIX: Final = "CHECKVALVE_"
CONFIG_VARIABLE: Final = "CHECKVALVE_CONFIG"
RESERVED: Final = frozenset({CONFIG_VARIABLE, "CHECKVALVE_REVIEWER_TOKEN"})
"""Variables that are not settings: where the file is, and the credential of a reviewer, which no object may hold."""

MAX_FILE_BYTES: Final = 262_144  # a settings file is a page; anything larger is a mistake or an attack
DAY: Final = 86_400


class Settings(BaseModel):
    """Every setting of the gateway, checked and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["observe", "enforce"] = Field("enforce", description="observe decides and records, and stops nothing")
    database_url: str = Field("", description="where approvals and the audit log live; default: the user's data folder")
    manifest: Path | None = Field(None, description="the YAML file that declares the tools")
    policy: Path | None = Field(None, description="a Cedar policy file; default: the packaged policy")
    profile: str = Field("strict", min_length=1, max_length=64, description="the trust profile")
    single_user: bool = Field(False, description="the requester may approve; every record then says self_approved")
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    decide_within: int = Field(DAY, ge=1, le=30 * DAY, description="seconds a question stays open")
    execute_within: int = Field(900, ge=1, le=DAY, description="seconds an approval may be used")
    agent_workdir: Path | None = Field(None, description="the folder the agent can write: nothing of ours may be there")
    wait_for_review: float = Field(0.0, ge=0, le=3600, allow_inf_nan=False, description="seconds to wait, then pause")


@dataclass(frozen=True)
class LoadedSettings:
    """Settings with the place each value came from: ``default``, ``file`` or the name of a variable."""

    settings: Settings
    file: Path | None
    origins: Mapping[str, str]


def load_settings(config: Path | None = None, environ: Mapping[str, str] | None = None) -> LoadedSettings:
    """Read file and environment; the environment wins over the file.

    Args:
        config: the settings file; else ``CHECKVALVE_CONFIG``; else ``checkvalve/config.toml`` in the user's
            configuration folder, when it is there.
        environ: the environment, ``os.environ`` when not given.

    Raises:
        SettingsError: something is unknown, malformed, missing, or lies in ``agent_workdir``.
    """
    env = os.environ if environ is None else environ
    file = _find_file(config, env)
    from_file = _read_file(file) if file else {}
    from_env = _read_environment(env)
    values = {**from_file, **from_env}
    origins = dict.fromkeys(Settings.model_fields, "default")
    origins.update(dict.fromkeys(from_file, "file"))
    origins.update({name: PREFIX + name.upper() for name in from_env})
    if not values.get("database_url"):
        values["database_url"] = f"sqlite:///{_data_folder(env) / 'checkvalve.db'}"
        origins["database_url"] = "default"
    settings = _validate(values, origins, file)
    _refuse_agent_folder(settings, file)
    return LoadedSettings(settings, file, origins)


def database_file(settings: Settings) -> Path | None:
    """Return the file behind an SQLite URL, or None for a database server."""
    url = make_url(settings.database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def shown(settings: Settings) -> dict[str, object]:
    """Return the settings as people may see them: a password in the database URL is hidden."""
    values = settings.model_dump(mode="json")
    values["database_url"] = make_url(settings.database_url).render_as_string(hide_password=True)
    return values


def _find_file(config: Path | None, env: Mapping[str, str]) -> Path | None:
    if config is not None:
        return _existing(config.expanduser().absolute(), "--config")  # the person at the keyboard chose this path
    if named := env.get(CONFIG_VARIABLE):
        return _existing(_absolute(Path(named), CONFIG_VARIABLE), CONFIG_VARIABLE)
    default = _home(env, "XDG_CONFIG_HOME", ".config") / "checkvalve" / "config.toml"
    return default if default.is_file() else None


def _existing(path: Path, name: str) -> Path:
    if not path.is_file():
        raise SettingsError(f"{name}: there is no settings file {path}", "give the path of a TOML file that exists")
    return path


def _home(env: Mapping[str, str], variable: str, fallback: str) -> Path:
    named = Path(env.get(variable, ""))
    if named.is_absolute():  # the XDG specification: a relative value is invalid and ignored
        return named
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return home / fallback


def _data_folder(env: Mapping[str, str]) -> Path:
    return _home(env, "XDG_DATA_HOME", ".local/share") / "checkvalve"


def _absolute(path: Path, name: str) -> Path:
    path = path.expanduser()
    if not path.is_absolute():
        raise SettingsError(f"{name}: {path} is relative", "give an absolute path: the working folder is never used")
    return path


def _read_file(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise SettingsError(f"{file} is over {MAX_FILE_BYTES} bytes", "give a settings file, they are short")
        values: dict[str, object] = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}", "check the file's permissions") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}", "mend the line that is named") from error
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(f"{file}: unknown key {name!r}", _nearest(name))
    return {name: _place(name, value, file) for name, value in values.items()}


def _place(name: str, value: object, file: Path) -> object:
    """Make the relative paths of a settings file relative to that file."""
    if name in {"manifest", "policy", "agent_workdir"} and isinstance(value, str):
        return file.parent / Path(value).expanduser()
    if name == "database_url" and isinstance(value, str):
        url = _url(value, str(file))
        if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
            return url.set(database=str(file.parent / Path(url.database).expanduser())).render_as_string(False)
    return value


def _read_environment(env: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for variable in sorted(env):
        if not variable.startswith(PREFIX) or variable in RESERVED:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in Settings.model_fields or variable != variable.upper():
            raise SettingsError(f"unknown variable {variable}", _nearest(name, PREFIX))
        value = env[variable]
        if not value:
            continue  # `CHECKVALVE_POLICY=` is how a shell says "not set"
        if name in {"manifest", "policy", "agent_workdir"}:
            values[name] = _absolute(Path(value), variable)
        else:
            values[name] = value
        if name == "database_url":
            url = _url(value, variable)
            if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
                _absolute(Path(url.database), variable)
    return values


def _url(value: str, place: str) -> URL:
    try:
        return make_url(value)
    except ArgumentError as error:
        raise SettingsError(f"{place}: database_url is no database URL", "write sqlite:////path/to.db") from error


def _nearest(name: str, prefix: str = "") -> str:
    close = difflib.get_close_matches(name.lower(), Settings.model_fields, n=1, cutoff=0.0)
    known = close[0] if close else next(iter(Settings.model_fields))
    return f"did you mean {prefix + known.upper() if prefix else known}?"


def _validate(values: dict[str, object], origins: Mapping[str, str], file: Path | None) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        place = origins.get(name, "file")
        where = f"{file}: {name}" if place == "file" else place
        raise SettingsError(f"{where}: {first['msg']}", "`checkvalve config show` lists every setting") from error


def _refuse_agent_folder(settings: Settings, file: Path | None) -> None:
    if settings.agent_workdir is None:
        return
    folder = settings.agent_workdir.resolve()
    ours = {"settings file": file, "manifest": settings.manifest, "policy": settings.policy}
    for name, path in {**ours, "database": database_file(settings)}.items():
        # Both the link and what it points to: whoever can replace the link chooses the file.
        if path and (path.resolve().is_relative_to(folder) or path.absolute().is_relative_to(folder)):
            raise SettingsError(
                f"the {name} {path} lies in the agent's working folder {folder}",
                "move it where the agent cannot write: whoever can edit it decides for the gateway",
            )
