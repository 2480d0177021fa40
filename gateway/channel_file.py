"""The file of channels: who is told what happens, by webhook, in chat and by mail.

Guarantees: an unknown key, kind or tier is an error that names it; a secret stands in a file of its own and never here;
relative paths are relative to the file. Without ``values`` no channel is told an argument's value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from checkvalve.approvals.notices import FOR_PEOPLE, KINDS, Notice
from checkvalve.approvals.risk import TIERS, Tier
from checkvalve.gateway.channel_secrets import (
    SECRET_PREFIX,
    check_url,
    secret_text,
    secrets_of,
    token_of,
    url_of,
)
from checkvalve.gateway.errors import ChannelError
from checkvalve.gateway.placed_file import PlacedFile

_NAME: Final = r"^[a-z][a-z0-9-]{0,39}$"
_FILE: Final = PlacedFile(
    "channels",
    ("secret_file", "url_file", "password_file", "token_file", "ca_file"),
    ChannelError,
    "see docs/channels.md for what a channel may say",
)
_UUID: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")


def _kinds(value: list[str]) -> list[str]:
    if unknown := set(value) - set(KINDS):
        raise ValueError(f"there is no kind {min(unknown)!r}; known are {', '.join(KINDS)}")
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


class Teams(Channel):
    """A channel of Microsoft Teams. The workflow's address is a secret, so it stands in a file.

    With ``token_file``, the security token of an outgoing webhook, people of ``tenant`` may answer there: a yes to
    calls of the risks in ``approve``, a no to those in ``reject``.
    """

    url_file: Path
    ca_file: Path | None = None
    token_file: Path | None = None
    tenant: str = Field("", pattern=_UUID + "|^$")
    approve: list[Literal[Tier.LOW, Tier.MEDIUM]] = []
    reject: list[Tier] = list(TIERS)

    @model_validator(mode="after")
    def _answers_need_a_door(self) -> Teams:
        if bool(self.tenant) != (self.token_file is not None):
            raise ValueError("token_file and tenant go together")
        if self.approve and not self.tenant:
            raise ValueError("approve takes token_file and tenant: nobody could say who answers")
        if unseen := [tier.value for tier in self.approve if tier not in self.values]:
            raise ValueError(f"a yes needs what it is about: put {unseen[0]!r} into values, too")
        return self


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
    teams: list[Teams] = []
    mail: list[Mail] = []

    def all(self) -> Sequence[Webhook | Slack | Teams | Mail]:
        """Return every channel."""
        return (*self.webhook, *self.slack, *self.teams, *self.mail)

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
    found = _FILE.load(file, Channels)
    for channel in found.all():
        if isinstance(channel, Webhook):
            secrets_of(channel)
        elif isinstance(channel, Slack | Teams):
            url_of(channel)
            if isinstance(channel, Teams) and channel.token_file is not None:
                token_of(channel)
        elif channel.password_file is not None:
            secret_text(channel.password_file)
    return found


def channel_names(file: Path | None) -> frozenset[str] | None:
    """Return the names in a file of channels; None where there is none, or it cannot be read, which is said later."""
    try:
        return None if file is None else frozenset(channel.name for channel in load_channels(file).all())
    except ChannelError:
        return None


def secret_files(file: Path) -> list[Path]:
    """Return the files of secrets that a file of channels names; none where it cannot be read, which is said later."""
    return _FILE.named(file)


__all__ = [
    "SECRET_PREFIX", "Channel", "Channels", "Mail", "Slack", "Teams", "Webhook",
    "channel_names", "check_url", "load_channels", "secret_files", "secret_text", "secrets_of", "token_of", "url_of",
]  # fmt: skip
