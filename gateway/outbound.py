"""From settings to the rules of what leaves: hosts, kinds of personal data, and the file of values that never leave.

The file has one value on each line; ``canary: `` before one says that it stands in the instructions, so that a text
with it is withheld as a whole; lines that begin with ``#`` and empty ones are skipped. One of these may be ``# key: ``
and a random number, under which the whole file is digested. Guarantees: no value is in an error, a log or a
representation; a password in a database URL is registered without being asked for; what is said of the file to people
lets nobody try out whether a value is in it, since the key never leaves it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlalchemy.engine import make_url

from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.outbound.hosts import HostRules
from checkvalve.filters.outbound.judge import LinkRules
from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.pii.detect import find_pii
from checkvalve.filters.pii.kinds import KINDS, NAME
from checkvalve.filters.secrets.registered import MIN_VALUE, Registered
from checkvalve.filters.secrets.scan import REGISTERED
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.settings import Settings

MAX_VALUES: Final = 1_000
MAX_BYTES: Final = 1_048_576
_MASKS: Final = KINDS - {NAME}
_KEY: Final = "# key:"
_RANDOM: Final = re.compile(r"[0-9a-fA-F]{32,256}")
"""128 bits or more: less could be tried out together with a value."""
_VARIED: Final = 6
"""Different digits at least: 32 random ones have fewer once in 10^12, and made-up keys repeat themselves."""


def outbound_rules(settings: Settings) -> OutboundRules:
    """Return what the settings say of texts that leave.

    Raises:
        SettingsError: a host, a kind or the file of values cannot be used.
    """
    hosts = _hosts(settings.outbound_hosts, "outbound_hosts"), _hosts(settings.outbound_images, "outbound_images")
    kinds = _kinds(settings.outbound_mask)
    if kinds:
        find_pii("0", kinds)  # builds the recognisers now, so that no text's deadline pays for it
    return OutboundRules(
        links=LinkRules(HostRules.of(*hosts), source="defang" if settings.outbound_links == "named" else "keep"),
        registered=registered_values(settings),
        pii=kinds,
    )


def _hosts(text: str, name: str) -> list[str]:
    found = _list(text)
    for host in found:
        if not HostRules.of([host]).listed:
            raise SettingsError(f"{name}: {host!r} is no host", "write names such as docs.example.org, *.example.org")
    return found


def _kinds(text: str) -> frozenset[str]:
    found = frozenset(_list(text))
    if unknown := sorted(found - _MASKS):
        known = ", ".join(sorted(_MASKS))
        raise SettingsError(f"outbound_mask: there is no kind {unknown[0]!r}", f"choose from: {known}")
    return found


def _list(text: str) -> list[str]:
    return [part for piece in text.split(",") if (part := piece.strip())]


def registered_values(settings: Settings) -> Registered:
    """Return the values that never leave, and that no card shows.

    Raises:
        SettingsError: the file of values cannot be used.
    """
    values = [] if settings.outbound_values is None else list(_values(settings.outbound_values))
    passwords = [make_url(url).password for url in (settings.database_url, settings.checkpoint_url) if url]
    return Registered([*values, *((REGISTERED, one) for one in passwords if one and _is_long(one))])


def values_mark(settings: Settings) -> str:
    """Return what people adopt of the file of values: how many there are and, where it has a key, a keyed digest.

    A plain digest of a short list could be tried out by everybody who may look at the rules. Empty without a file.

    Raises:
        SettingsError: the file cannot be used, or its key is none.
    """
    if settings.outbound_values is None:
        return ""
    data, lines = _lines(settings.outbound_values)
    codes = [code for code, _ in _said(settings.outbound_values, lines)]
    mark = f"values: {codes.count(REGISTERED)}, canaries: {codes.count(CANARY)}"
    keys = [line.strip().removeprefix(_KEY).strip() for line in lines if line.strip().startswith(_KEY)]
    if not keys:
        return mark
    if len(keys) > 1 or not _RANDOM.fullmatch(keys[0]) or len(set(keys[0].lower())) < _VARIED:
        remedy = f"write one line `{_KEY} ...` with what `openssl rand -hex 32` prints"
        raise SettingsError(f"{settings.outbound_values}: its key is no random number of 32 hex digits", remedy)
    return f"{mark}, hmac-sha256:{hmac.new(keys[0].lower().encode(), data, hashlib.sha256).hexdigest()}"


def _is_long(value: str) -> bool:
    return sum(map(str.isalnum, value)) >= MIN_VALUE


def _values(file: Path) -> Iterator[tuple[str, str]]:
    return _said(file, _lines(file)[1])


def _lines(file: Path) -> tuple[bytes, list[str]]:
    try:
        data = file.read_bytes()
        lines = data.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read as a list of values", "give a UTF-8 file of your own") from error
    if len(data) > MAX_BYTES or len(lines) > MAX_VALUES:
        raise SettingsError(f"{file} is too large for a list of values", f"give at most {MAX_VALUES} of them")
    return data, lines


def _said(file: Path, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        code, value = (
            (CANARY, text.removeprefix("canary:").strip()) if text.startswith("canary:") else (REGISTERED, text)
        )
        try:
            Registered([(code, value)])
        except HostileInputError as error:
            raise SettingsError(f"{file}, line {number}: {error}", "give longer values, or take the line out") from None
        yield code, value
