"""The file of channels: who is told what happens, by webhook, in chat and by mail.

Guarantees: an unknown key, kind or tier is an error that names it; a secret stands in a file of its own and never here;
relative paths are relative to the file. Without ``values`` no channel is told an argument's value.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Sequence
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from checkvalve.approvals.notices import FOR_PEOPLE, KINDS, Notice
from checkvalve.approvals.risk import TIERS, Tier
from checkvalve.gateway.errors import ChannelError

MAX_FILE: Final = 65_536
MAX_SECRETS: Final = 4
"""Secrets that sign at the same time: an old and a new one while they are changed."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # how Standard Webhooks marks one
_SECRET_BYTES: Final = range(24, 65)
_NAME: Final = r"^[a-z][a-z0-9-]{0,39}$"
_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_KEYS: Final = ("secret_file", "url_file", "password_file", "ca_file")
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")


def _kinds(value: list[str]) -> list[str]:
    if unknown := set(value) - set(KINDS):
        raise ValueError(f"there is no kind {min(unknown)!r}; known are {', '.join(KINDS)}")
    return value


def check_url(value: str) -> str:
    """Return ``value`` if it is an address that may be posted to.

    Raises:
        ValueError: it is not https, carries a name or a password, or is none at all.
    """
    parts = urlsplit(value) if _PRINTABLE.fullmatch(value) else None
    if parts is None or parts.scheme != "https" or not parts.hostname:
        raise ValueError("a channel's address begins with https://")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.username is not None or parts.fragment or not _HOST.fullmatch(host):
        raise ValueError("a channel's address has a plain host name and no user, password or fragment")
    _ = parts.port  # raises where it is none
    return value


def _address(value: str) -> str:
    name, address = parseaddr(value)
    if name or address != value or "@" not in value or not _PRINTABLE.fullmatch(value):
        raise ValueError("this is no plain mail address")
    return value


Kinds: TypeAlias = Annotated[list[str], AfterValidator(_kinds)]
Url: TypeAlias = Annotated[str, AfterValidator(check_url)]
Address: TypeAlias = Annotated[str, AfterValidator(_address)]


class Channel(BaseModel):
    """What all channels have: ``events`` are kinds of notices, ``tiers`` the risks that go there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=_NAME)
    events: Kinds = list(FOR_PEOPLE)
    tiers: list[Tier] = list(TIERS)
    values: list[Tier] = []

    def wants(self, notice: Notice) -> bool:
        """Say whether this channel is told; what is about no call has no tier.

        A broken glass reaches every channel, and a step of escalation the channel that it names.
        """
        return notice.is_for(self.name) or self._is_asked_for(notice)

    def _is_asked_for(self, notice: Notice) -> bool:
        return notice.kind in self.events and (notice.tier is None or notice.tier in self.tiers)

    def shows_values(self, notice: Notice) -> bool:
        """Say whether the arguments' values may be told here."""
        return notice.tier is not None and notice.tier in self.values


class Webhook(Channel):
    """A program that is told, with a signature. ``ca_file`` is whom it trusts beside the system's authorities."""

    url: Url
    secret_file: Path
    events: Kinds = list(KINDS)
    ca_file: Path | None = None


class Slack(Channel):
    """A chat that takes Slack's incoming webhooks. The address is a secret, so it stands in a file."""

    url_file: Path
    ca_file: Path | None = None


class Mail(Channel):
    """A mail server, and who gets mail."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    host: str = Field(pattern=r"^[A-Za-z0-9.-]{1,253}$")
    port: int = Field(587, ge=1, le=65_535)
    tls: Literal["starttls", "tls", "none"] = "starttls"
    username: str = Field("", max_length=200)
    password_file: Path | None = None
    sender: Address = Field(alias="from")
    to: list[Address] = Field(min_length=1, max_length=50)
    ca_file: Path | None = None

    @model_validator(mode="after")
    def _no_password_in_the_open(self) -> Mail:
        if bool(self.username) != (self.password_file is not None):
            raise ValueError("username and password_file go together")
        if self.username and self.tls == "none":
            raise ValueError("a password is not sent without TLS")
        return self


class Channels(BaseModel):
    """The whole file. ``private_hosts`` are names that may lead to addresses of this network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    private_hosts: list[Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}$")]] = []
    webhook: list[Webhook] = []
    slack: list[Slack] = []
    mail: list[Mail] = []

    def all(self) -> Sequence[Webhook | Slack | Mail]:
        """Return every channel."""
        return (*self.webhook, *self.slack, *self.mail)

    @model_validator(mode="after")
    def _names_differ(self) -> Channels:
        names = [channel.name for channel in self.all()]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two channels are called {doubled[0]!r}")
        return self


def load_channels(file: Path) -> Channels:
    """Read the file, and make sure that every secret it names can be used.

    Raises:
        ChannelError: the file or a secret cannot be used; the error says which and what to do.
    """
    try:
        found = Channels.model_validate(_placed(_read(file), file))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "file"
        raise ChannelError(
            f"{file}: {place}: {first['msg'].removeprefix('Value error, ')}",
            "see docs/channels.md for what a channel may say",
        ) from error
    for channel in found.all():
        if isinstance(channel, Webhook):
            secrets_of(channel)
        elif isinstance(channel, Slack):
            url_of(channel)
        elif channel.password_file is not None:
            secret_text(channel.password_file)
    return found


def secret_files(file: Path) -> list[Path]:
    """Return the files of secrets that a file of channels names; none where it cannot be read, which is said later."""
    try:
        entries = _placed(_read(file), file)
    except ChannelError:
        return []
    tables = (entry for group in entries.values() if isinstance(group, list) for entry in group)
    return [
        entry[key] for entry in tables if isinstance(entry, dict) for key in _KEYS if isinstance(entry.get(key), Path)
    ]


def secrets_of(channel: Webhook) -> list[bytes]:
    """Return the secrets that sign for a webhook: one on each line of its file, ``whsec_`` and base64.

    Raises:
        ChannelError: the file cannot be read, or a line is none.
    """
    lines = secret_text(channel.secret_file).split()
    found = [_secret(line) for line in lines[:MAX_SECRETS]]
    if not found or len(lines) > MAX_SECRETS or None in found:
        raise ChannelError(
            f"{channel.secret_file} holds no usable secrets", "make one: checkvalve channels secret > FILE"
        )
    return [secret for secret in found if secret is not None]


def url_of(channel: Slack) -> str:
    """Return the address of a chat.

    Raises:
        ChannelError: the file cannot be read, or holds none.
    """
    try:
        return check_url(secret_text(channel.url_file).strip())
    except ValueError as error:
        raise ChannelError(f"{channel.url_file}: {error}", "put the incoming webhook's address into it") from error


def secret_text(file: Path) -> str:
    """Return what a file of a secret holds.

    Raises:
        ChannelError: it cannot be read, is empty, or others may read it.
    """
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise ChannelError(
            f"{file} cannot be read ({type(error).__name__})", "check the path in the file of channels"
        ) from error
    if mode & 0o007:
        raise ChannelError(f"{file} can be read by others", f"chmod o= {file}")
    if not text.strip() or len(text) > MAX_FILE:
        raise ChannelError(f"{file} holds no secret", "put it there, alone")
    return text


def _secret(line: str) -> bytes | None:
    try:
        found = base64.b64decode(line.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) in _SECRET_BYTES and line.startswith(SECRET_PREFIX) else None


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise ChannelError(f"{file} is over {MAX_FILE} bytes", "a file of channels is short")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise ChannelError(f"{file} cannot be read: {error.strerror}", "check the setting `channels`") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ChannelError(f"{file} is not valid TOML: {error}", "mend the line that is named") from error


def _placed(entries: dict[str, Any], file: Path) -> dict[str, Any]:
    """Make the paths in it relative to the file."""
    for group in entries.values():
        for entry in group if isinstance(group, list) else []:
            for key in _KEYS if isinstance(entry, dict) else ():
                if isinstance(entry.get(key), str):
                    entry[key] = file.parent / Path(entry[key]).expanduser()
    return entries


__all__ = [
    "Channel", "Channels", "Mail", "Slack", "Webhook",
    "check_url", "load_channels", "secret_files", "secret_text", "secrets_of", "url_of",
]  # fmt: skip
