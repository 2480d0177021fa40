"""Where messages go and what signs them: addresses, secrets and security tokens, each in a file of its own.

Guarantees: an address is https with a plain host name; a file that others may read is refused, and so is what is no
file or too long a one, of which no more is read than may be in one; errors name files and never what is in them.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from checkvalve.gateway.errors import ChannelError

if TYPE_CHECKING:
    from checkvalve.gateway.channel_file import Slack, Teams, Webhook

MAX_FILE: Final = 65_536
"""Bytes of a file of channels, of on-call schedules, or of a secret."""
MAX_SECRETS: Final = 4
"""Secrets that sign at the same time: an old and a new one while they are changed."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # how Standard Webhooks marks one
_SECRET_BYTES: Final = range(24, 65)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")


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


def secrets_of(channel: Webhook) -> list[bytes]:
    """Return the secrets that sign for a webhook: one on each line of its file, ``whsec_`` and base64.

    Raises:
        ChannelError: the file cannot be read, or a line is none.
    """
    return signing_secrets(channel.secret_file)


def signing_secrets(file: Path) -> list[bytes]:
    """Return the secrets in a file that sign; see :func:`secrets_of`.

    Raises:
        ChannelError: the file cannot be read, or a line is none.
    """
    lines = secret_text(file).split()
    found = [_secret(line) for line in lines[:MAX_SECRETS]]
    if not found or len(lines) > MAX_SECRETS or None in found:
        raise ChannelError(f"{file} holds no usable secrets", "make one: checkvalve channels secret > FILE")
    return [secret for secret in found if secret is not None]


def token_of(channel: Teams) -> bytes:
    """Return the security token with which Teams signs what people say to a channel's outgoing webhook.

    Raises:
        ChannelError: there is none, the file cannot be read, or holds none.
    """
    if channel.token_file is None:
        raise ChannelError(f"the channel {channel.name} takes no answers", "give it token_file and tenant")
    try:
        found = base64.b64decode(secret_text(channel.token_file).strip(), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) not in _SECRET_BYTES:
        raise ChannelError(
            f"{channel.token_file} holds no security token", "put the one in that Teams showed for the outgoing webhook"
        )
    return found


def url_of(channel: Slack | Teams) -> str:
    """Return the address of a chat.

    Raises:
        ChannelError: the file cannot be read, or holds none.
    """
    try:
        return check_url(secret_text(channel.url_file).strip())
    except ValueError as error:
        raise ChannelError(
            f"{channel.url_file}: {error}", "put the address of the webhook or workflow into it"
        ) from error


def secret_text(file: Path) -> str:
    """Return what a file of a secret holds.

    Raises:
        ChannelError: it cannot be read, is no regular file, is empty or too long, or others may read it.
    """
    try:
        mode, raw = _read(file)
        text = raw.decode("utf-8")
    except (OSError, ValueError) as error:  # also no UTF-8, and a path with a character that none has
        raise ChannelError(
            f"{file} cannot be read ({type(error).__name__})", "check the path in the file that names it"
        ) from error
    if not stat.S_ISREG(mode):
        raise ChannelError(f"{file} is no regular file", "put the secret into a file of its own")
    if mode & 0o007:
        raise ChannelError(f"{file} can be read by others", f"chmod o= {file}")
    if not text.strip() or len(raw) > MAX_FILE:
        raise ChannelError(f"{file} holds no secret", "put it there, alone")
    return text


def _read(file: Path) -> tuple[int, bytes]:
    """Return the mode of a file, and of a regular one its first bytes: one more than it may have."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # a pipe that nobody writes to would be waited for
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        return mode, stream.read(MAX_FILE + 1) if stat.S_ISREG(mode) else b""


def _secret(line: str) -> bytes | None:
    try:
        found = base64.b64decode(line.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) in _SECRET_BYTES and line.startswith(SECRET_PREFIX) else None


__all__ = [
    "MAX_FILE", "MAX_SECRETS", "SECRET_PREFIX", "check_url", "secret_text", "secrets_of", "signing_secrets",
    "token_of", "url_of",
]  # fmt: skip
