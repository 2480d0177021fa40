"""What the gateway may be told, in one frozen object, and the only place that reads the environment.

Guarantees: an unknown key in the file or an unknown ``CHECKVALVE_*`` variable is an error that names the nearest known
key; the working folder is never looked at, so a relative path is relative to the settings file, and one in a variable
is refused; a settings file, manifest, policy or database inside ``agent_workdir`` is refused, because the agent could
rewrite it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import ConfigDict, Field, ValidationError
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from checkvalve.approvals.addresses import shown_address
from checkvalve.gateway.audit_settings import AUDIT_PATHS, SECRETS
from checkvalve.gateway.channel_settings import CHANNEL_PATHS
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.places import MODEL_FILE, TOOLS_FILE, refuse_agent_folder
from checkvalve.gateway.review_settings import REVIEW_PATHS, ReviewSettings
from checkvalve.gateway.settings_problems import remedy, said
from checkvalve.gateway.toml_file import path_in, read_toml

PREFIX: Final = "CHECKVALVE_"
CONFIG_VARIABLE: Final = "CHECKVALVE_CONFIG"
REVIEWER_VARIABLE: Final = "CHECKVALVE_REVIEWER_TOKEN"
RESERVED: Final = frozenset({CONFIG_VARIABLE, REVIEWER_VARIABLE})
"""Variables that are not settings: where the file is, and the credential of a reviewer, which no object may hold."""

_PLACES: Final = frozenset({"manifest", "policy", "agent_workdir", "api_tokens", "sandbox_work", "outbound_values"})
_PATHS: Final = _PLACES | AUDIT_PATHS | CHANNEL_PATHS | REVIEW_PATHS
_URLS: Final = frozenset({"database_url", "checkpoint_url"})

MAX_FILE_BYTES: Final = 262_144  # a settings file is a page; anything larger is a mistake or an attack
DAY: Final = 86_400


class Settings(ReviewSettings):
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
    endorsed_for: int = Field(7 * DAY, ge=1, le=30 * DAY, description="seconds that accepted data counts in its task")
    max_questions: int = Field(20, ge=1, le=200, description="questions one task may ask before it is paused")
    tenant: str = Field("", max_length=100, description="tells apart gateways that share a database: for mandates")
    agent_workdir: Path | None = Field(None, description="the folder the agent can write: nothing of ours may be there")
    wait_for_review: float = Field(0.0, ge=0, le=3600, allow_inf_nan=False, description="seconds to wait, then pause")
    # the two-agent pipeline: `checkvalve run` and `checkvalve serve`
    tools: str = Field("", description="the Python module with the agent's tools, or a .py file; `module:NAME` for one")
    reader: str = Field(
        "", description="the model that sees content: provider:model, or recorded:, scripted:, gguf:FILE"
    )
    actor: str = Field("", description="the model that has tools and sees references; named like the reader")
    checkpoint_url: str = Field("", description="where paused runs live; default: `runs.db` beside the database")
    on_new_message: Literal["hold", "supersede", "allow-parallel"] = Field(
        "hold",
        description="what a new message does while a call waits: hold keeps it, supersede takes the call back, "
        "allow-parallel begins a task of its own",
    )
    bits_per_source: float = Field(
        64.0, ge=0, le=10_000, allow_inf_nan=False, description="how much one source may decide of the actor's view"
    )
    max_turns: int = Field(50, ge=1, le=1_000, description="turns of the actor in one task")
    max_calls: int = Field(100, ge=0, le=10_000, description="calls of tools in one task")
    max_asks: int = Field(200, ge=0, le=10_000, description="questions to the reader in one task")
    # code: `docs/sandbox.md`
    sandbox: Literal["off", "bubblewrap"] = Field("off", description="where tools that run code do so; off: nowhere")
    sandbox_work: Path | None = Field(
        None, description="holds a work folder for each task; default: beside the database"
    )
    sandbox_reads: str = Field("", description="folders that code may read beside /usr: paths with `:` between them")
    sandbox_seconds: float = Field(60.0, gt=0, le=DAY, allow_inf_nan=False, description="seconds a command may take")
    sandbox_memory: int = Field(1024, ge=16, le=1_048_576, description="MiB that its processes may hold together")
    sandbox_processes: int = Field(128, ge=1, le=65_536, description="its processes and threads at a time")
    sandbox_disk: int = Field(1024, ge=1, le=1_048_576, description="MiB that it may add to its work folder")
    sandbox_output: int = Field(64, ge=1, le=65_536, description="KiB of output that are kept, and of errors")
    # what leaves: answers, and the content of calls
    outbound_links: Literal["named", "sources"] = Field(
        "named", description="which links stay links: those of the user and of trusted fields, or of every source"
    )
    outbound_hosts: str = Field("", description="hosts that may be linked to anyway: a.example, *.b.example")
    outbound_images: str = Field("", description="hosts that clients may load pictures from by themselves")
    outbound_values: Path | None = Field(None, description="a file of values that never leave, one on each line")
    outbound_mask: str = Field("", description="personal data that never leaves: email, phone, card, iban, ...")
    # the HTTP API: `checkvalve serve`
    host: str = Field(
        "127.0.0.1", min_length=1, max_length=253, description="the address `checkvalve serve` listens on"
    )
    port: int = Field(8765, ge=0, le=65_535, description="its port")
    api_tokens: Path | None = Field(None, description="the file of API tokens; default: beside the database")
    max_runs: int = Field(4, ge=1, le=64, description="runs that one server works on at the same time")


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
    refuse_agent_folder(settings, file)
    return LoadedSettings(settings, file, origins)


def refuse_reviewer_token(environ: Mapping[str, str] | None = None) -> None:
    """Refuse to go on where a reviewer's credential is in the environment: tools of this process could approve with it.

    Dropping it would not do: the system shows a process its first environment for as long as it lives.

    Raises:
        SettingsError: the variable is set.
    """
    if (os.environ if environ is None else environ).get(REVIEWER_VARIABLE):
        raise SettingsError(
            f"{REVIEWER_VARIABLE} is set where tools run: they could read it and approve their own calls",
            f"unset it here (env -u {REVIEWER_VARIABLE} ...); give it to `checkvalve approvals` only",
        )


def shown(settings: Settings) -> dict[str, object]:
    """Return the settings as people may see them: a password in the database URL is hidden."""
    values = settings.model_dump(mode="json")
    for name in _URLS:
        if values[name]:
            values[name] = shown_address(make_url(str(values[name])))
    return values


def _find_file(config: Path | None, env: Mapping[str, str]) -> Path | None:
    if config is not None:
        path = path_in(str(config), "--config", SettingsError)
        return _existing(path.absolute(), "--config")  # the person at the keyboard chose this path
    if named := env.get(CONFIG_VARIABLE):
        return _existing(_absolute(named, CONFIG_VARIABLE), CONFIG_VARIABLE)
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


def _absolute(text: str | Path, name: str) -> Path:
    path = path_in(str(text), name, SettingsError)
    if not path.is_absolute():
        raise SettingsError(f"{name}: {path} is relative", "give an absolute path: the working folder is never used")
    return path


def _read_file(file: Path) -> dict[str, object]:
    values = read_toml(file, most=MAX_FILE_BYTES, error=SettingsError, remedy="check the file's permissions")
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(f"{file}: unknown key {name!r}", _nearest(name))
        if name in SECRETS:
            raise SettingsError(f"{file}: {name} is a secret, for no such file", f"set {PREFIX}{name.upper()}")
    return {name: _place(name, value, file) for name, value in values.items()}


def _place(name: str, value: object, file: Path) -> object:
    """Make the relative paths of a settings file relative to that file."""
    if not isinstance(value, str):
        return value
    where = f"{file}: {name}"
    if name in _PATHS:
        return file.parent / path_in(value, where, SettingsError)
    if name in _URLS:
        url = _url(value, where)
        if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
            place = file.parent / path_in(url.database, where, SettingsError)
            return url.set(database=str(place)).render_as_string(False)
    if name == "tools" and (found := TOOLS_FILE.fullmatch(value)):
        return f"{file.parent / path_in(found[1], where, SettingsError)}{found[2] or ''}"
    if name in {"reader", "actor"} and (found := MODEL_FILE.fullmatch(value)):
        return f"{found[1]}:{file.parent / path_in(found[2], where, SettingsError)}"
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
        values[name] = _absolute(value, variable) if name in _PATHS else value
        if (path := _path_in(name, value, variable)) is not None:
            _absolute(path, variable)
    return values


def _path_in(name: str, value: str, variable: str) -> Path | None:
    """Return the path inside a value that is more than a path."""
    if name in _URLS:
        url = _url(value, variable)
        is_file = url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:"
        return Path(url.database or "") if is_file else None
    if name == "tools" and (found := TOOLS_FILE.fullmatch(value)):
        return Path(found[1])
    if name in {"reader", "actor"} and (found := MODEL_FILE.fullmatch(value)):
        return Path(found[2])
    return None


def _url(value: str, place: str) -> URL:
    try:
        return make_url(value)
    except ArgumentError as error:
        raise SettingsError(f"{place}: this is no database URL", "write sqlite:////path/to.db") from error


def _nearest(name: str, prefix: str = "") -> str:
    close = difflib.get_close_matches(name.lower(), Settings.model_fields, n=1, cutoff=0.0)
    known = close[0] if close else next(iter(Settings.model_fields))
    return f"did you mean {prefix + known.upper() if prefix else known}?"


def _validate(values: dict[str, object], origins: Mapping[str, str], file: Path | None) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        place = origins.get(name, "file")
        where = f"{file}: {name}" if place == "file" else place
        raise SettingsError(f"{where}: {said(first)}", remedy(first)) from error
