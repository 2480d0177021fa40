"""What becomes of one link or resource of an outgoing text.

1. An address that is not usable (script, ``data:``, user name, signs that clients read differently): removed.
2. What loads by itself stays only from a host listed for that, with nothing told to it: else removed.
3. A link with a registered value, a secret or prompt text in it: removed, whoever named it.
4. A link whose text shows another host than it leads to: removed. 5. One that the user or a field that outsiders cannot
write named: stays. 6. A listed host: stays, unless another address is in it, or the model composed it with data in it.
7. One that no source holds as it stands, the model composed: removed. 8. The rest stands in what outsiders wrote: it is
shown and cannot be clicked.

Guarantees: pure; unknown origin counts as composed.
"""

from __future__ import annotations

import base64
import binascii
import enum
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

from checkvalve.filters.outbound.forms import Form
from checkvalve.filters.outbound.hosts import Address, HostRules, address_of
from checkvalve.filters.secrets.vendors import entropy
from checkvalve.filters.vocabulary import FILE_ENDINGS


class LinkOrigin(enum.StrEnum):
    """Who named an address."""

    NAMED = "named"  # the user, or a field that outsiders cannot write
    SOURCE = "source"  # it stands so in what outsiders wrote
    COMPOSED = "composed"  # nowhere: a model made it, or nobody knows


Origins: TypeAlias = Callable[[str], LinkOrigin]
"""Says of a link's target who named it."""
Disposition: TypeAlias = Literal["keep", "defang", "remove"]


def nobody(_target: str) -> LinkOrigin:
    """Return the origin of every link where nothing is known."""
    return LinkOrigin.COMPOSED


@dataclass(frozen=True, slots=True)
class LinkRules:
    """What the deployer allows. ``composed`` and ``fetched`` are ``keep`` where a policy decides on them itself."""

    hosts: HostRules = field(default_factory=HostRules)
    composed: Literal["remove", "keep"] = "remove"
    fetched: Literal["remove", "keep"] = "remove"
    source: Literal["defang", "keep"] = "defang"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The disposition of a link, with its coded reason."""

    what: Disposition
    code: str = ""


KEEP: Final = Ruling("keep")
_BLOB: Final = re.compile(r"[A-Za-z0-9+_-]{16,}={0,2}")
_NESTED: Final = re.compile(r"(?i)(?:https?:|ftp:|[/\\]{2,}[^/\\]{1,253}\.|\bwww\.)[^&\s]{1,2048}")
_NESTED_HOST: Final = re.compile(r"(?i)[=&?]((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24})(?=[/:&#]|$)")
_SHOWN_HOST: Final = re.compile(
    r"(?i)(?:https?:)?//[^\s\[\]()]{3,300}|(?<![\w@.-])(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}\b(?![\w@])"
)
_LONG_LABEL: Final = 20
_LONG_RUN: Final = 16
_RANDOM: Final = 3.4  # bits per sign
_DECODINGS: Final = 3
_MIN_TEXT: Final = 8


def judge(form: Form, rules: LinkRules, origins: Origins, is_private: Callable[[str], bool]) -> Ruling:
    """Rule on one link or resource; see the module's procedure. ``is_private`` looks for values that must not leave."""
    written = form.target.replace("\\", "/") if form.share else form.target
    address = address_of(written) if written else Address(problem="no-host")
    # 1.
    if address.problem and address.problem != "internal-host" and not form.resource:
        return Ruling("remove", "unusable-link")
    # 2.
    if form.resource:
        if rules.fetched == "keep":
            return KEEP
        allowed = rules.hosts.fetches(address) and not is_private(form.target)
        return KEEP if allowed else Ruling("remove", "auto-fetch")
    # 3.
    if is_private(form.target):
        return Ruling("remove", "link-data")
    # 4.
    if _shows_another_host(form.shown, address):
        return Ruling("remove", "disguised-link")
    return _by_origin(form.target, address, rules, origins)


def _by_origin(target: str, address: Address, rules: LinkRules, origins: Origins) -> Ruling:
    origin = origins(target)
    # 5.
    if origin is LinkOrigin.NAMED:
        return KEEP
    # 6.
    if rules.hosts.links(address):
        if any(not rules.hosts.links(address_of(inner)) for inner in nested(target)):
            return Ruling("remove", "nested-link")
        return Ruling("remove", "link-data") if origin is LinkOrigin.COMPOSED and has_blob(target) else KEEP
    # 7.
    if origin is LinkOrigin.COMPOSED and address.problem != "internal-host":
        return Ruling("remove", "composed-link") if rules.composed == "remove" else KEEP
    # 8.
    return Ruling("defang", "foreign-link") if rules.source == "defang" else KEEP


def nested(target: str) -> list[str]:
    """Return the addresses inside the path, query and fragment of ``target``, decoded."""
    rest = re.sub(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/{0,2}[^/?#]*", "", target)
    for _ in range(_DECODINGS):
        rest = unquote(rest)
    found = [match[0] for match in _NESTED.finditer(rest)]
    hidden = (_decoded(piece) for piece in _BLOB.findall(rest))
    hosts = (match[1] for match in _NESTED_HOST.finditer(rest))
    return [
        *found,
        *(text for text in hidden if _NESTED.match(text)),
        *(host for host in hosts if host.rpartition(".")[2].lower() not in FILE_ENDINGS),
    ]


def has_blob(target: str) -> bool:
    """Say whether a part of ``target`` reads like data: text in Base64 or hexadecimal, or signs at random.

    A host label of twenty signs at random counts as well. Digests and ids look the same, which is why this is asked of
    addresses only that no source holds.
    """
    scheme, _, rest = target.rpartition("://")
    host = re.split(r"[/?#]", rest or scheme, maxsplit=1)[0]
    labels = [label for label in host.split(".") if len(label) >= _LONG_LABEL and (_is_random(label) or _says(label))]
    pieces = _BLOB.findall(unquote((rest or scheme)[len(host) :]))
    return bool(labels) or any(_decoded(piece) or _is_random(piece) for piece in pieces)


def _is_random(piece: str) -> bool:
    longest = max(re.split(r"[_-]", piece), key=len)  # the words of a title are short, a code is not
    mixed = any(map(str.isdigit, longest)) and any(map(str.isalpha, longest))
    return mixed and len(longest) >= _LONG_RUN and entropy(longest) >= _RANDOM


def _says(label: str) -> bool:
    """Say whether a label of a host is text in hexadecimal or Base32, the two encodings that host names can carry."""
    for decode in (bytes.fromhex, lambda text: base64.b32decode(text.upper() + "=" * (-len(text) % 8))):
        try:
            text = decode(label).decode("ascii")
        except (ValueError, binascii.Error):
            continue
        if len(text) >= _MIN_TEXT and text.isprintable():
            return True
    return False


def _decoded(piece: str) -> str:
    """Return the text behind Base64 or hexadecimal, empty when there is none."""
    plain = piece.rstrip("=").replace("-", "+").replace("_", "/")
    for decode in (bytes.fromhex, _from_base64):
        try:
            text = decode(plain).decode("ascii")
        except (ValueError, binascii.Error):
            continue
        if len(text) >= _MIN_TEXT and text.isprintable():
            return text
    return ""


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def _shows_another_host(shown: str, address: Address) -> bool:
    """Say whether a link's text names a host, and not the one it leads to."""
    match = _SHOWN_HOST.search(shown)
    if not match or "](" in shown:  # an image as the text of a link shows no address
        return False
    named = address_of(match[0])
    bare = "//" not in match[0]
    if named.problem or (bare and "/" not in shown and named.host.rpartition(".")[2] not in _COMMON_ENDS):
        return False
    return named.host.removeprefix("www.") != address.host.removeprefix("www.")


_COMMON_ENDS: Final = frozenset({"com", "org", "net", "edu", "gov", "io", "dev", "example", "test", "uk", "de", "fr"})
